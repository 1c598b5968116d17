"""Calls for entries of the table that op_db's samples do not reach, and optimizer steps."""

DTYPES = ("float32", "bfloat16", "float16")

# Cases of tests/growing.py: the lengths that make known what grows, and the one whose programs are compiled, for
# the next power of two. The normal run has those of each rule of src/ir/padding.def, and one of decoding.
GROWING_LENGTHS, GROWN = (3, 4, 5, 6, 7), 9
GROWING_DECODES = ("step",)
GROWING_RULES = {
    "same": ("add", "where"),
    "bitcast": ("bytes",),
    "fill": ("sum", "argmax", "any", "layer_norm_growing", "grad_softmax"),
    "product": ("matmul_contracted", "sdpa_causal"),
    "create": ("arange", "tril"),
    "broadcast": ("mul_broadcast",),
    "transpose": ("transpose", "heads"),
    "reverse": ("flip", "cumsum_backward"),
    "reshape": ("unflatten_batch", "heads"),
    "slice": ("last", "all_but_first", "every_second"),
    "edges": ("pad",),
    "concatenate": ("cat",),
    "dynamic_slice": (),  # no lowering has it outside loops
    "dynamic_update": ("row_", "tail_"),
    "gather": ("embedding", "gather"),
    "scatter": ("index_put",),
    "last": ("sort",),
    "extent": (),  # of programs with bounded sizes, which are not padded
    "convolution": ("conv1d_batch", "conv1d_strided", "grad_conv2d"),
    "window": ("avg_pool2d", "grad_avg_pool2d"),
    "solve": ("solve_triangular",),
    "factor": (),  # cholesky is a call with a loop (expand_linalg.c)
    "composite": ("cumsum", "rand"),
    "call": ("grad_softmax", "cat"),
}
GROWING_SHORT = {name for names in GROWING_RULES.values() for name in names}


def cases(torch, dtype):
    """name -> function that makes (call, tensors); gradients are taken by the tensors that require them."""
    F, aten = torch.nn.functional, torch.ops.aten

    def of(*shape, grad=False):
        return torch.rand(shape).add_(0.1).to(dtype).to("tpu").requires_grad_(grad)

    def call(function, *tensors):
        return lambda: (lambda: function(*tensors), tensors)

    def cell(kind, gates):
        def make():
            tensors = [of(2, gates * 4, grad=True), of(2, gates * 4, grad=True), of(2, 4, grad=True)]
            return (lambda: getattr(aten, kind).default(*tensors)), tensors

        return make

    def attention():
        q, k, v = (of(2, 2, 5, 4, grad=True) for _ in range(3))
        return (lambda: F.scaled_dot_product_attention(q, k, v)), [q, k, v]

    def masked_attention():
        q, k, v = (of(2, 2, 5, 4, grad=True) for _ in range(3))
        mask = torch.rand(5, 5).to(dtype).to("tpu")
        return (lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)), [q, k, v]

    def encoder():
        layer = (
            torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            .to(dtype)
            .to("tpu")
            .eval()
        )
        x = of(2, 3, 8)

        def run():
            with torch.no_grad():
                return layer(x)

        return run, [x]

    def attention_module():
        layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).to(dtype).to("tpu").eval()
        x = of(2, 3, 8)

        def run():
            with torch.no_grad():
                return layer(x, x, x, need_weights=False)

        return run, [x]

    def bag(mode):
        def make():
            weight = of(7, 3, grad=True)
            index, offsets = torch.tensor([1, 2, 4, 5, 4]).to("tpu"), torch.tensor([0, 2]).to("tpu")
            return (lambda: F.embedding_bag(index, weight, offsets, mode=mode)), [weight]

        return make

    def unscale():
        gradients, found, inverse = [of(3), of(2, 2)], torch.zeros(1).to("tpu"), torch.ones(1).to("tpu")
        return (
            lambda: torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse)
        ), gradients

    def update_scale():
        scale, growth = torch.ones(1).to("tpu"), torch.zeros(1, dtype=torch.int32).to("tpu")
        found = torch.zeros(1).to("tpu")
        return (lambda: torch._amp_update_scale_(scale, growth, found, 2.0, 0.5, 100)), [scale]

    def pool(function, shape, *arguments):
        def make():
            x = of(*shape, grad=True)
            return (lambda: function(x, *arguments)), [x]

        return make

    index = torch.tensor([0, 2, 1]).to("tpu")
    found = {
        "lstm cell": lambda: (
            lambda t=(of(2, 16, grad=True), of(2, 16, grad=True), of(2, 4, grad=True)): (
                (lambda: aten._thnn_fused_lstm_cell(*t)),
                t,
            )
        )(),
        "gru cell": lambda: (
            lambda t=(of(2, 12, grad=True), of(2, 12, grad=True), of(2, 4, grad=True)): (
                (lambda: aten._thnn_fused_gru_cell(*t)),
                t,
            )
        )(),
        "attention": attention,
        "masked attention": masked_attention,
        "encoder layer": encoder,
        "attention module": attention_module,
        "bag sum": bag("sum"),
        "bag mean": bag("mean"),
        "bag max": bag("max"),
        "unscale": unscale,
        "update scale": update_scale,
        "linspace": call(lambda: torch.linspace(0, 1, 5, dtype=dtype, device="tpu")),
        "logspace": call(lambda: torch.logspace(0, 1, 5, dtype=dtype, device="tpu")),
        "eye": call(lambda: torch.eye(4, dtype=dtype, device="tpu")),
        "eye.m": call(lambda: torch.eye(4, 3, dtype=dtype, device="tpu")),
        "arange": call(lambda: torch.arange(0, 5, 1, dtype=dtype, device="tpu")),
        "range": call(lambda: torch.range(0, 5, 1, dtype=dtype, device="tpu")),
        "tril_indices": call(lambda: torch.tril_indices(3, 4, device="tpu")),
        "triu_indices": call(lambda: torch.triu_indices(3, 4, device="tpu")),
        "randperm": call(lambda: torch.randperm(9, device="tpu")),
        "random_": call(lambda x: x.random_(), of(4)),
        "random_.to": call(lambda x: x.random_(7), of(4)),
        "random_.from": call(lambda x: x.random_(2, 7), of(4)),
        "bernoulli_": call(lambda x: x.bernoulli_(0.3), of(4)),
        "bernoulli_.Tensor": call(lambda x, p: x.bernoulli_(p), of(4), of(4)),
        "normal": call(lambda x: torch.normal(x, 1.0), of(4)),
        "normal 2": call(lambda x: torch.normal(1.0, x), of(4)),
        "dropout": call(lambda x: torch.native_dropout(x, 0.5, True), of(4, grad=True)),
        "poisson": call(torch.poisson, of(4)),
        "gamma": call(torch._standard_gamma, of(4)),
        "dirichlet": call(torch._sample_dirichlet, of(4)),
        "binomial": call(lambda x: torch.binomial(x * 10, x), of(4)),
        "int_mm": call(lambda x: torch._int_mm(x, x), torch.ones(32, 32, dtype=torch.int8).to("tpu")),
        "index_fill": call(lambda x: x.index_fill(0, index, x[0, 0].sum()), of(3, 3)),
        "embedding renorm": call(lambda w: F.embedding(index, w, max_norm=0.5), of(4, 3)),
        "repeat_interleave": call(lambda x: torch.repeat_interleave(x, index + 1, dim=0), of(3, 2)),
        "nonzero_static": call(lambda x: torch.nonzero_static(x, size=3), of(3, 2)),
        "unique": call(lambda x: torch.unique(x), of(5)),
        "unique dim": call(lambda x: torch.unique(x, dim=0), of(5, 2)),
        "unique consecutive": call(lambda x: torch.unique_consecutive(x, dim=0), of(5, 2)),
        "adaptive 2d": pool(F.adaptive_avg_pool2d, (1, 2, 6, 6), (3, 2)),
        "adaptive 3d": pool(F.adaptive_avg_pool3d, (1, 2, 4, 6, 6), (2, 3, 2)),
        "adaptive max 2d": pool(F.adaptive_max_pool2d, (1, 2, 6, 6), (3, 2)),
        "adaptive max 3d": pool(F.adaptive_max_pool3d, (1, 2, 4, 6, 6), (2, 3, 2)),
        "masked softmax": call(
            lambda x: torch._masked_softmax(x, torch.zeros(2, 3, dtype=torch.bool).to("tpu"), 1, 0),
            of(2, 3, grad=True),
        ),
        "rms norm": pool(lambda x: F.rms_norm(x, (4,)), (3, 4)),
        "assert": call(lambda x: torch._assert_async(x > 0), of(1)),
        "isin": call(lambda x: torch.isin(x, 1), of(4)),
        "isin 2": call(lambda x: torch.isin(1, x), of(4)),
        "fill tensor": call(lambda x: aten.fill.Tensor(x, x[0]), of(4)),
        "shift left": call(
            lambda x: aten.__lshift__.Scalar(x, 2), torch.ones(4, dtype=torch.int32).to("tpu")
        ),
        "shift right": call(
            lambda x: aten.__rshift__.Scalar(x, 2), torch.ones(4, dtype=torch.int32).to("tpu")
        ),
        "shift left 2": call(
            lambda x: aten.__lshift__.Tensor(x, x), torch.ones(4, dtype=torch.int32).to("tpu")
        ),
        "shift right 2": call(
            lambda x: aten.__rshift__.Tensor(x, x), torch.ones(4, dtype=torch.int32).to("tpu")
        ),
        "pow": call(lambda x: torch.pow(2.5, x), of(4, grad=True)),
        "remainder": call(lambda x: torch.remainder(2.5, x), of(4)),
        "clamp max": call(lambda x: torch.clamp_max(x, 0.5), of(4)),
        "bucketize": call(lambda x: torch.bucketize(0.5, x), of(4)),
        "searchsorted": call(lambda x: torch.searchsorted(x, 0.5), of(4)),
        "norm": call(lambda x: aten.norm.ScalarOpt_dim_dtype(x, 2, [0], False, dtype=torch.float32), of(4)),
        "index_put_impl": call(lambda x: aten._index_put_impl_(x, [index], x[:3].clone(), True), of(5, 2)),
        "scatter reduce": call(
            lambda x: aten.scatter.reduce(x, 0, index.unsqueeze(1), x, reduce="add"), of(3, 2)
        ),
        "scatter reduce 2": call(
            lambda x: aten.scatter.value_reduce(x, 0, index.unsqueeze(1), 2, reduce="add"), of(3, 2)
        ),
        "full": call(lambda: torch.full((3,), 2.5, dtype=dtype, device="tpu")),
        "zeros": call(lambda: torch.zeros(3, dtype=dtype, device="tpu")),
        "ones": call(lambda: torch.ones(3, dtype=dtype, device="tpu")),
        "rand": call(lambda: torch.rand(3, dtype=dtype, device="tpu")),
        "scalar": call(lambda: torch.scalar_tensor(2.5, dtype=dtype, device="tpu")),
        "randn": call(lambda: torch.randn(3, dtype=dtype, device="tpu")),
        "randint": call(lambda: torch.randint(2, 9, (3,), device="tpu")),
        "rand_like": call(torch.rand_like, of(3)),
        "randint_like": call(lambda x: torch.randint_like(x, 2, 9), of(3)),
        "aminmax": call(torch.aminmax, of(3)),
        "logcumsumexp": call(lambda x: torch.logcumsumexp(x, 0), of(3)),
        "cummax": call(lambda x: torch.cummax(x, 0), of(3)),
        "cummin": call(lambda x: torch.cummin(x, 0), of(3)),
        "convolution": pool(lambda x: F.conv2d(x, x[:, :, :2, :2]), (2, 3, 5, 5)),
        "linear": pool(lambda x: F.linear(x, x, x[0]), (3, 3)),
        "view dtype": call(lambda x: x.view(torch.int16 if x.element_size() == 2 else torch.int32), of(4)),
        "fold": call(lambda x: F.fold(x, (3, 3), 2), of(1, 4, 4)),
        "argsort": call(torch.argsort, of(4)),
        "unsafe index": call(lambda x: aten._unsafe_index.Tensor(x, [index]), of(4)),
        "unsafe index put": call(lambda x: aten._unsafe_index_put(x, [index], x[:3]), of(4)),
        "nearest exact 3d": pool(
            lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), (1, 2, 3, 3, 3)
        ),
        "bicubic aa": pool(
            lambda x: F.interpolate(x, size=(3, 3), mode="bicubic", antialias=True), (1, 2, 5, 5)
        ),
        "mm dtype": call(lambda x: torch.mm(x, x, out_dtype=torch.float32), of(3, 3)),
        "bmm dtype": call(lambda x: torch.bmm(x, x, out_dtype=torch.float32), of(2, 3, 3)),
        "zero tensor": call(lambda: torch._efficientzerotensor(4, dtype=dtype, device="tpu")),
    }
    return found


def optimizers(torch):
    """name -> function that makes a step whose state exists (the first step is done), and the bytes of the
    parameters and states that the step changes."""
    import itertools

    found = {}
    kinds = {
        "SGD": dict(momentum=0.9),
        "Adam": {},
        "AdamW": {},
        "Adagrad": {},
        "RMSprop": dict(momentum=0.9),
        "Adadelta": {},
        "Adamax": {},
        "NAdam": {},
        "RAdam": {},
        "ASGD": {},
        "Rprop": {},
    }
    for (kind, options), form in itertools.product(kinds.items(), ("fused", "foreach", "plain")):
        if form == "fused" and kind not in ("SGD", "Adam", "AdamW", "Adagrad"):
            continue

        def make(kind=kind, options=options, form=form):
            parameters = [
                torch.rand(8, 128).to("tpu").requires_grad_(),
                torch.rand(128).to("tpu").requires_grad_(),
            ]
            how = {form: True} if form != "plain" else {"foreach": False}
            optimizer = getattr(torch.optim, kind)(parameters, lr=0.01, **options, **how)
            for p in parameters:
                p.grad = torch.ones_like(p)
            optimizer.step()

            def held():
                states = [v for s in optimizer.state.values() for v in s.values()]
                on_device = [t for t in states if isinstance(t, torch.Tensor) and t.is_tpu]
                return parameters + [t for t in on_device if t.dim()]

            before = [t.detach().cpu().clone() for t in held()]
            optimizer.step()
            changed = [t for t, old in zip(held(), before) if not torch.equal(t.detach().cpu(), old)]
            return optimizer.step, sum(t.numel() * t.element_size() for t in changed)

        found[f"{kind}, {form}"] = make
    return found


# Entries that a call cannot leave a program of, and why; the gate fails for one that has a program after all.
NO_PROGRAM = {
    "_assert_async": "a check at run time: no program of a TPU has one (target.checks)",
    "_assert_async.msg": "a check at run time: no program of a TPU has one (target.checks)",
    "_efficientzerotensor": "a tensor of zeros without storage: nothing runs",
    "_fused_sdp_choice": "answers with a number, of the arguments' shapes alone",
}


def direct(torch, dtype):
    """name of an entry that other calls do not reach -> (arguments, keyword arguments) of one call."""

    def of(*shape):
        return torch.rand(shape).add_(0.1).to(dtype).to("tpu")

    def whole(*numbers, dtype=torch.int64):
        return torch.tensor(numbers, dtype=dtype).to("tpu")

    def complex_of(*shape):
        return torch.complex(torch.rand(shape), torch.rand(shape)).to("tpu")

    def optimizer(states, *numbers, **keywords):
        """One parameter, its gradient, `states` states and the step, as the fused kernels take them."""
        parts = [[torch.rand(3, 5).to("tpu")] for _ in range(2 + states)]
        return (*parts, *numbers), keywords

    rate, step = torch.tensor(0.01).to("tpu"), [torch.tensor(2.0).to("tpu")]
    adam = dict(beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False, lr=rate)
    sgd = dict(weight_decay=0.1, momentum=0.9, lr=rate, dampening=0.0)
    sgd.update(nesterov=False, maximize=False, is_first_step=False)
    adagrad = dict(lr=rate, lr_decay=0.1, weight_decay=0.1, eps=1e-8, maximize=False)
    bits = whole(5, 6, 7, dtype=torch.int32)
    truth = whole(1, 0, 1, dtype=torch.bool)
    image, kernel = of(1, 2, 5, 5), of(3, 2, 3, 3)
    window = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    norm = [of(4, 3, 2), of(3), of(3), of(3), of(3)]
    found = {
        "_aminmax": ((of(4),), {}),
        "_aminmax.dim": ((of(4, 2), 0), {}),
        "_assert_async": ((truth[0],), {}),
        "_assert_async.msg": ((truth[0], "why"), {}),
        "_cholesky_solve_helper": ((of(3, 2), torch.eye(3).to(dtype).to("tpu"), False), {}),
        "_cummax_helper": ((of(4), of(4), whole(0, 0, 0, 0), 0), {}),
        "_cummin_helper": ((of(4), of(4), whole(0, 0, 0, 0), 0), {}),
        "_efficientzerotensor": (([4],), dict(dtype=dtype, device="tpu")),
        "_embedding_bag_dense_backward": (
            (of(2, 3), whole(1, 2, 4), whole(0, 0, 1), whole(2, 1), whole(0, 0), 7, False, 0, None),
            {},
        ),
        "_fused_adagrad_.tensor_lr": optimizer(1, step, **adagrad),
        "_fused_adam_.tensor_lr": optimizer(2, [], step, **adam),
        "_fused_adamw_.tensor_lr": optimizer(2, [], step, **adam),
        "_fused_sdp_choice": ((of(2, 2, 5, 4), of(2, 2, 5, 4), of(2, 2, 5, 4)), {}),
        "_fused_sgd_.tensor_lr": optimizer(1, **sgd),
        "_linalg_eigvals": ((of(3, 3),), {}),
        "_logcumsumexp": ((of(4), 0), {}),
        "_native_batch_norm_legit_functional": ((*norm, True, 0.1, 1e-5), {}),
        "_native_batch_norm_legit_no_training": ((*norm, 0.1, 1e-5), {}),
        "_reshape_alias": ((of(2, 3), [3, 2], [2, 1]), {}),
        "adaptive_avg_pool2d.out": ((of(1, 2, 6, 6), [3, 2]), dict(out=of(1, 2, 3, 2))),
        "adaptive_avg_pool3d.out": ((of(1, 2, 4, 6, 6), [2, 3, 2]), dict(out=of(1, 2, 2, 3, 2))),
        "argsort": ((of(4),), {}),
        "bernoulli.p": ((of(4), 0.3), {}),
        "contiguous": ((of(3, 2).t(),), {}),
        "convolution_backward_overrideable": (
            (of(1, 3, 3, 3), image, kernel, *window, [True, True, True]),
            {},
        ),
        "convolution_overrideable": ((image, kernel, of(3), *window), {}),
        "div.Scalar_mode": ((of(4), 0.3), dict(rounding_mode="floor")),
        "flatten.using_ints": ((of(2, 3), 0, 1), {}),
        "floor_divide.Scalar": ((of(4), 0.3), {}),
        "fmod.Scalar": ((of(4), 0.3), {}),
        "imag": ((complex_of(4),), {}),
        "isfinite": ((of(4),), {}),
        "lift_fresh_copy": ((of(4),), {}),
        "linear": ((of(2, 3), of(4, 3), of(4)), {}),
        "log_softmax.int": ((of(2, 3), 1), {}),
        "narrow": ((of(4, 2), 0, 1, 2), {}),
        "norm.Scalar": ((of(4),), {}),
        "numpy_T": ((of(3, 2),), {}),
        "prims::convert_element_type": ((of(4), torch.float32), {}),
        "prims::device_put": ((of(4), torch.device("tpu")), {}),
        "prims::inductor_force_stride_order": ((of(3, 2), [2, 1]), {}),
        "prims::iota": (
            (5,),
            dict(start=1, step=2, dtype=torch.int32, device=torch.device("tpu"), requires_grad=False),
        ),
        "randperm.generator": ((9,), dict(generator=None, device="tpu")),
        "range.out": ((0, 5, 1), dict(out=of(6))),
        "real": ((complex_of(4),), {}),
        "reshape": ((of(3, 2), [2, 3]), {}),
        "resolve_conj": ((of(4),), {}),
        "resolve_neg": ((of(4),), {}),
        "select_copy.int": ((of(3, 2), 0, 1), {}),
        "slice_copy.Tensor": ((of(3, 2), 0, 1, 3), {}),
        "softmax.int": ((of(2, 3), 1), {}),
        "split.sizes": ((of(5, 2), [2, 3]), {}),
        "split_copy.Tensor": ((of(5, 2), 2), {}),
        "square": ((of(4),), {}),
        "squeeze_copy.dims": ((of(3, 1, 2), [1]), {}),
        "sub_.Scalar": ((of(4), 0.3), {}),
        "to.dtype": ((of(4), torch.int32), {}),
        "unique_dim_consecutive": ((of(5, 2), 0), dict(return_inverse=True, return_counts=True)),
        "view_as_complex_copy": ((torch.rand(4, 2).to("tpu"),), {}),
        "view_as_real_copy": ((complex_of(4),), {}),
        "view_copy.dtype": ((of(4), torch.int16 if dtype.itemsize == 2 else torch.int32), {}),
        "where.Scalar": ((truth, 0.3, 2.5), {}),
        "where.ScalarOther": ((truth, of(3), 2.5), {}),
        "where.ScalarSelf": ((truth, 0.3, of(3)), {}),
        "xlogy.Scalar_Other": ((of(4), 0.3), {}),
        "xlogy.Scalar_Self": ((0.3, of(4)), {}),
    }
    for name in ("bitwise_and.Scalar", "bitwise_or.Scalar", "bitwise_xor.Scalar"):
        found[name] = ((bits, 3), {})
    for name in ("bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar"):
        found[name] = ((bits, 3), {})
    return found
