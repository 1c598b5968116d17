"""JAX functions whose lowered text (`jax.jit(f).lower(...).as_text()`) our reader and vtpu must run."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(0)
X, W, V = (rng.standard_normal(s).astype(np.float32) for s in [(4, 8), (8, 3), (8,)])
IMAGE, KERNEL = rng.standard_normal((1, 8, 8, 4)).astype(np.float32), rng.standard_normal((3, 3, 2, 6)).astype(np.float32)
I2 = np.array([0, 2], np.int32)


def mlp_loss(w, x):
    return jnp.sum(jax.nn.gelu(x @ w) ** 2)


def attention(q):
    scores = jnp.einsum("bqd,bkd->bqk", q, q) / np.sqrt(q.shape[-1])
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -1e9)) @ q


FUNCTIONS = {
    "dot_tanh": (lambda x, w: jnp.tanh(x @ w), (X, W)),
    "softmax": (jax.nn.softmax, (X,)),
    "log_softmax_bf16": (lambda x: jax.nn.log_softmax(x.astype(jnp.bfloat16)).astype(jnp.float32), (X,)),
    "sort": (jnp.sort, (V,)),
    "argsort": (jnp.argsort, (V,)),
    "top_k": (lambda x: lax.top_k(x, 3), (X,)),
    "scan": (lambda v: lax.scan(lambda c, a: (c + a, c * a), jnp.float32(0), v), (V,)),
    "while": (lambda v: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, v)), (V,)),
    "fori": (lambda v: lax.fori_loop(0, 7, lambda i, s: s + v[i], jnp.float32(0)), (V,)),
    "cond": (lambda v: lax.cond(v.sum() > 3, lambda v: v * 2, lambda v: v - 1, v), (V,)),
    "switch": (lambda i, v: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v + 1], v), (np.int32(1), V)),
    "index_rows": (lambda x, i: x[i], (X, I2)),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i, 1), (X, np.array([[1, 0], [7, 3], [2, 2], [5, 6]], np.int32))),
    "scatter_add": (lambda x, i: x.at[i].add(1.0), (X, np.array([2, 2], np.int32))),
    "scatter_max": (lambda x, i: x.at[:, i].max(0.5), (X, I2)),
    "conv_general": (lambda a, k: lax.conv_general_dilated(a, k, (2, 1), [(1, 1), (0, 2)], lhs_dilation=(1, 2), rhs_dilation=(2, 1), feature_group_count=2,
                                                           dimension_numbers=("NHWC", "HWIO", "NHWC")), (IMAGE, KERNEL)),
    "conv_gradients": (jax.grad(lambda k, a: jnp.sum(lax.conv(a, k, (2, 2), "SAME") ** 2), argnums=(0, 1)),
                       (rng.standard_normal((3, 4, 3, 3)).astype(np.float32), rng.standard_normal((2, 4, 9, 9)).astype(np.float32))),
    "max_pool_gradient": (jax.grad(lambda a: jnp.sum(lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)), (IMAGE,)),
    "average_pool": (lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"), (IMAGE,)),
    "cumsum": (lambda x: jnp.cumsum(x, 1), (X,)),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 0), (X,)),
    "random_normal": (lambda s: jax.random.normal(jax.random.wrap_key_data(s), (3, 4)), (np.array([0, 7], np.uint32),)),
    "rfft": (jnp.fft.rfft, (V,)),
    "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (X,)),
    "layer_norm": (lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5), (X,)),
    "mlp_gradient": (jax.grad(mlp_loss, argnums=(0, 1)), (W, X)),
    "special": (lambda x: jax.scipy.special.erf(x) + jax.scipy.special.digamma(jnp.abs(x) + 1) + jax.scipy.special.gammaln(jnp.abs(x) + 1), (X,)),
    "complex": (lambda x: jnp.abs(jnp.exp(1j * x) + lax.complex(x, x)), (X,)),
    "integers": (lambda a, b: (a // b, a % b, a << 1, a & b, jnp.bitwise_count(a)), (np.arange(-3, 5, dtype=np.int32), np.arange(1, 9, dtype=np.int32))),
    "dynamic_slices": (lambda x, i: lax.dynamic_update_slice(x, jnp.zeros((2, 2), jnp.float32), (i, np.int32(0))) + lax.dynamic_slice(x, (i, i), (1, 8)), (X, np.int32(1))),
    "pad_slice_bf16": (lambda x: jnp.pad(x[::-1, ::2], ((1, 2), (0, 1)))[1:, :].reshape(-1).astype(jnp.bfloat16).astype(jnp.float32), (X,)),
    "einsum": (lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (rng.standard_normal((2, 3, 4)).astype(np.float32), rng.standard_normal((2, 5, 4)).astype(np.float32))),
    "concatenate": (lambda x: jnp.concatenate([x, x * 2], 1).T, (X,)),
    "eye": (lambda x: jnp.eye(3) + jnp.array([[1, 2, 3], [4, 5, 6], [7, 8, 9.5]]) * x, (np.float32(2),)),
    "reduce_custom": (lambda x: lax.reduce(x, jnp.float32(1), lambda a, b: a * b + 1, (0,)), (np.abs(X),)),
    "float8": (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), (X,)),
    "attention": (attention, (rng.standard_normal((2, 6, 4)).astype(np.float32),)),
    "vmap_grad": (jax.vmap(jax.grad(lambda v: jnp.sum(jnp.sin(v) * jax.nn.sigmoid(v)))), (X,)),
    "searchsorted": (lambda v, q: jnp.searchsorted(jnp.sort(v), q), (V, np.linspace(-2, 2, 5).astype(np.float32))),
    "median": (jnp.median, (V,)),
    "map_loop": (lambda x: lax.map(lambda r: jnp.dot(r, r), x), (X,)),
}
# A reduction whose function is not associative has no defined order: XLA may fold in any, so it is compared by reading only.
UNORDERED = {"reduce_custom"}
# XLA:CPU keeps float32 between bfloat16 operations; we round after each, as StableHLO says.
TOLERANCE = {"log_softmax_bf16": (1.6e-2, 1e-2)}


def lowered(name):
    function, inputs = FUNCTIONS[name]
    return jax.jit(function).lower(*inputs).as_text(), [np.asarray(x) for x in inputs]
