"""The gate's own parts, and programs for a TPU run by XLA's CPU backend: all behind recorder.c."""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import aot  # noqa: E402
import compilers  # noqa: E402
import document  # noqa: E402
import gate  # noqa: E402
from document import Cell  # noqa: E402

needs_libtpu = pytest.mark.skipif(
    aot.libtpu_path() is None, reason="libtpu is not installed (tools/environment.sh tpu)"
)

HEAD = "func.func public @main(%0: tensor<4x8xf32> {tf.aliasing_output = 0 : i32}, %1: tensor<4x8xf32>)"
ADD = (
    HEAD
    + """ -> (tensor<4x8xf32>) {
  %2 = "stablehlo.add"(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  "func.return"(%2) : (tensor<4x8xf32>) -> ()
}"""
)
# libtpu ends the process on a size without a bound.
DEADLY = """func.func public @main(%0: tensor<?xf32>) -> (tensor<?xf32>) {
  %1 = "stablehlo.add"(%0, %0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  "func.return"(%1) : (tensor<?xf32>) -> ()
}"""
WRONG = ADD.replace("stablehlo.add", "stablehlo.nonesuch")


def test_donated_parameters():
    assert gate.donated(ADD) == {0: 128}
    assert gate.donated(
        ADD.replace("%1: tensor<4x8xf32>)", "%1: tensor<complex<f32>> {tf.aliasing_output = 1 : i32})")
    ) == {0: 128, 1: 8}
    assert gate.donated(WRONG.replace(" {tf.aliasing_output = 0 : i32}", "")) == {}


def test_equal_reasons_are_one():
    assert (
        document.plain("graph 'graph7', input 0: dtype f64 is not supported on TPU v5 lite")
        == "dtype f64 is not supported"
    )
    assert document.plain("function @main: dtype f64 is not supported on v5e") == "dtype f64 is not supported"
    assert document.plain("graph 'graph9': function @main: too large") == "too large"


def test_document_is_read_back(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "DOCUMENT", tmp_path / "table.md")
    results = {
        "v5e": {
            "add": Cell(["float32", "int64"], {"float16": "why"}),
            "mm": Cell([], {"float32": "because"}),
        },
        "v6e": {"add": Cell(["float32"], {})},
    }
    document.write("1.2", results, {}, ["lost", "_fused_sdp_choice"], ["fill"])
    assert document.read() == {
        ("add", "v5e"): {"f32", "i64"},
        ("add", "v6e"): {"f32"},
        ("mm", "v5e"): set(),
        ("mm", "v6e"): set(),
    }
    before = document.read()
    assert document.drops(before, "v5e", results["v5e"]) == []
    worse = {"add": Cell(["int64"], {"float32": "broken"})}
    assert document.drops(before, "v5e", worse) == ["v5e: add compiled for f32 and does not now"]
    assert document.drops(before, "v6e", {}) == ["v6e: add compiled for f32 and does not now"]
    text = document.DOCUMENT.read_text()
    assert "refused: f16 [1]" in text and "1. why" in text and "- `lost`: no sample" in text
    assert "- `_fused_sdp_choice`: answers with a number" in text and "to donate: `fill`." in text


def test_what_a_run_did_not_compile_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "DOCUMENT", tmp_path / "table.md")
    figures = {
        name: {"programs": 1, "flops": 2.0, **{k: 3 for k in document.FIGURES}}
        for name in ("model a", "growing decode, step")
    }
    full = {
        g: {"add": Cell(["float32"], {"float16": "why"}), "mm": Cell(["float32"], {})} for g in ("v5e", "v6e")
    }
    document.write("1", full, figures, [], [])
    before = document.DOCUMENT.read_text()
    new = {"v5e": {"add": Cell(["int64"], {}), "sub": Cell([], {"float32": "why", "int32": "new"})}}
    document.write("1", new, {}, [], [], adding=True)  # one entry more, on one generation
    text = document.DOCUMENT.read_text()
    assert "| `sub` | refused: f32 [1]; refused: i32 [2] |  |" in text and "2. new" in text
    kept = [line for line in before.splitlines() if line.startswith(("| `", "| model", "| growing decode", "1. "))]
    assert len(kept) == 5 and set(kept) <= set(text.splitlines())
    document.write("1", {"v5e": {"add": Cell(["int64"], {})}}, {}, [], [], names={"add", "mm"})
    assert "| `add` | i64 | f32; refused: f16 [1] |" in document.DOCUMENT.read_text()
    assert document.read()["mm", "v6e"] == {"f32"} and ("sub", "v5e") not in document.read()


def test_rows_that_a_run_does_not_make(tmp_path, monkeypatch):
    """The normal run neither misses nor overwrites training graphs and the growing cases of the long one."""
    monkeypatch.setattr(document, "DOCUMENT", tmp_path / "table.md")
    ran = Cell(["float32"], {})
    rows = ("add", "model gpt", "model gpt, training", "growing add", "growing dot", "growing decode, step")
    document.write("1", {"v5e": {name: ran for name in rows}}, {}, [], [])
    assert document.read() == {(name, "v5e"): {"f32"} for name in rows}

    def tried(name, long=False):
        return gate.is_tried(argparse.Namespace(long=long), name)

    made = [name for name in rows if tried(name)]
    assert made == ["add", "model gpt", "growing add", "growing decode, step"]
    assert all(tried(name, long=True) for name in rows)
    now = {name: ran for name in made}
    assert document.drops(document.read(), "v5e", now, tried) == []
    assert len(document.drops(document.read(), "v5e", now)) == 2
    del now["model gpt"]
    lost = ["v5e: model gpt compiled for f32 and does not now"]
    assert document.drops(document.read(), "v5e", now, tried) == lost
    before = document.DOCUMENT.read_text()
    results = {"v5e": {name: ran for name in made}}
    document.write("1", results, {}, [], [], tried=lambda name, generation: tried(name))
    assert document.DOCUMENT.read_text() == before


def test_what_the_long_run_alone_reaches_is_no_drop(tmp_path, monkeypatch):
    """A dtype that only a later sample reaches, or that the first samples are refused, is none of the normal run's."""
    monkeypatch.setattr(document, "DOCUMENT", tmp_path / "table.md")

    def of(dtype, first, programs=("p",), entry="conj"):
        refused = None if programs else "why"
        record = {"entry": entry, "dtype": dtype, "first": first, "programs": list(programs)}
        return record | {"refused": refused}

    def run(records, is_long):
        reports = {"p": {"status": "compiles"}}
        cells = {n: document.cell_of([r for r in records if r["entry"] == n], reports) for n in ("conj", "add")}
        spared = document.read_alone()
        drops = document.drops(document.read(), "v5e", {**cells}, spared={} if is_long else spared)
        only = document.alone(spared, records, is_long)
        document.write("1", {"v5e": cells}, {}, [], [], only_long=only)
        return drops

    short = [of("complex64", True), of("int32", True, ()), of("float32", True, entry="add")]
    long = [*short, of("float32", False), of("int32", False), of("float32", False, entry="add")]
    assert run(long, True) == []
    before = document.DOCUMENT.read_text()
    assert document.read_alone() == {"conj": {"f32", "i32"}}
    assert "| `conj` | f32 i32 c64 |" in before and "- `conj`: f32 i32" in before
    assert run(short, False) == [] and document.DOCUMENT.read_text() == before
    assert run(short, True) == ["v5e: conj compiled for f32 i32 and does not now"]  # the long run misses them
    assert document.read_alone() == {} and "| `conj` | c64; refused: i32 [1] |" in document.DOCUMENT.read_text()
    run(long, True)
    lost = ["v5e: conj compiled for c64 and does not now"]
    assert run([of("float32", True), *short[1:]], False) == lost  # and float32 is reached from now on
    assert document.read_alone() == {"conj": {"i32"}}


def test_programs_that_a_run_of_one_sample_has():
    """Kernels that torch's own ops call, in the first call of such an op and in the second."""
    import collect

    class Fake(collect.Collector):
        def __init__(self, samples):
            none = type("Nothing", (), {"tt_compile_cache_clear": lambda self: None})()
            self.core, self.options, self.where = none, argparse.Namespace(samples=samples), ""
            self.recorder = type("Recorder", (), {"tt_recorder_count": lambda self: 0})()
            self.torch = argparse.Namespace(tpu=argparse.Namespace(synchronize=lambda: None))
            self.names = [{"name": "conj"}, {"name": "mul"}]
            self.records, self.dtype = [], "float32"
            self.counts, self.firsts = collections.Counter(), collections.Counter()
            self.take = lambda begin: ["p"]

        def visit(self, entry, kernels, first=None):
            self.compiled_ops = lambda: kernels
            self.record(entry, "functional", lambda: None, first=first)

    long = Fake(3)
    long.visit(None, {1}, first=True)  # an op of torch's own, its first call
    long.visit(None, {0, 1}, first=False)
    long.visit(1, {1})
    found = [(r["entry"], r["first"]) for r in long.records]
    assert found[0] == ("mul", True) and found[3] == ("mul", False)
    assert sorted(found[1:3]) == [("conj", False), ("mul", False)]
    assert document.alone({}, [r | {"dtype": "float32"} for r in long.records], True) == {"conj": {"f32"}}


def test_no_answer_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "DOCUMENT", tmp_path / "table.md")
    record = {"entry": "model a", "dtype": "float32", "programs": ["p"], "refused": None}
    cell = document.cell_of([record], {"p": {"status": "died", "reason": "no answer in 9 s of CPU"}})
    assert cell == Cell([], {}, [], {"float32": "libtpu: no answer in 9 s of CPU"})
    cells = {"model a": cell}
    told = ["v5e: no answer to model a of float32: libtpu: no answer in 9 s of CPU"]
    assert gate.compiler_faults("v5e", cells, document.read_unanswered()) == told
    document.write("1", {"v5e": cells}, {}, [], [])
    text = document.DOCUMENT.read_text()
    assert "| `model a` | no answer: f32 [1] |" in text and "1. libtpu: no answer in 9 s" in text
    assert gate.compiler_faults("v5e", cells, document.read_unanswered()) == []
    assert document.read() == {("model a", "v5e"): set()}


def test_a_rounded_case_for_each_rule(monkeypatch):
    import growing
    import samples

    text = (gate.ROOT / "src/ir/padding.def").read_text()
    assert set(re.findall(r"^TT_PADDING\(\w+, (\w+)\)", text, re.M)) == set(samples.GROWING_RULES)
    assert samples.GROWING_SHORT <= set(growing.RULES)
    record = {"entry": "growing add", "dtype": "float32", "where": "dimension 0", "variant": "functional"}
    record |= {"programs": ["plain"], "written_bytes": 0, "rounded": 1}
    monkeypatch.setattr(gate, "program_text", lambda program: ADD)
    faults = [gate.call_faults([record | {"rounded": rounded}]) for rounded in (1, 0)]
    assert faults == [[], ["growing add of float32 (dimension 0): no program was rounded up"]]


def test_a_stopped_run_goes_on(tmp_path, monkeypatch):
    """Verdicts, though the last line is cut; and collected units, for the same key alone."""
    import collect

    monkeypatch.setattr(gate, "WORK", tmp_path)
    asked = []

    def compile_all(paths, topology, jobs, keep, until):
        asked.append([p.stem for p in paths])
        for p in paths:
            keep(p, {"path": str(p), "status": "died" if p.stem == "c" else "compiles"})

    monkeypatch.setattr(compilers, "compile_all", compile_all)
    options = argparse.Namespace(fresh=False, jobs=1, compilers=0, until=0)
    gate.verdicts("v5e", {"a", "b"}, "1", options)
    store = tmp_path / "verdicts_v5e_1.jsonl"
    store.write_text(store.read_text()[:-9])
    for generation, version in (("v5e", "1"), ("v5e", "1"), ("v6e", "1"), ("v5e", "2")):
        found = gate.verdicts(generation, {"a", "b", "c"}, version, options)
        assert {h: found[h]["status"] for h in "abc"} == {"a": "compiles", "b": "compiles", "c": "died"}
    assert asked == [["a", "b"], ["b", "c"], ["c"], ["a", "b", "c"], ["a", "b", "c"]]

    def collector(key):
        made = collect.Collector.__new__(collect.Collector)
        made.options, made.names, made.records = argparse.Namespace(key=key), [], []
        made.notes, made.counts, made.firsts = (collections.Counter() for _ in range(3))
        return made

    first, begun = collector("key"), tmp_path / "part.begun"
    first.records, first.counts[3, "float32", "inplace"] = [{"entry": "add"}], 2
    first.firsts[3, "float32", "inplace"] = 1
    first.save(begun, 7)
    again = collector("key")
    assert again.load(begun) == 7 and again.records == first.records and again.counts == first.counts
    assert again.firsts == first.firsts
    other = collector("another")
    assert other.load(begun) == 0 and other.records == [] and not other.counts
    begun.write_text(begun.read_text()[:-3])
    assert collector("key").load(begun) == 0


def test_who_is_asked_again(tmp_path, monkeypatch):
    """A program that took too long is not tried twice; one that killed the compiler is, alone; large ones first."""
    asked = []

    class Child:
        def __init__(self, topology):
            self.why, self.is_late = "why", False

        def ask(self, path, limit):
            asked.append(pathlib.Path(path).stem)
            self.is_late = "late" in path
            return None if "late" in path or "dies" in path else {"status": "compiles"}

        def close(self):
            pass

    monkeypatch.setattr(compilers, "Child", Child)
    paths = [tmp_path / name for name in ("a", "late", "b", "dies", "c", "large")]
    for number, path in enumerate(paths):
        path.write_text("x" * (compilers.LARGE + 1 if path.stem == "large" else 100 - number))
    answers = compilers.compile_all(paths, "v5e:1x1", jobs=1)
    assert asked == ["large", "a", "late", "b", "dies", "dies", "c"]
    assert [answers[str(p)]["status"] for p in paths] == ["compiles", "died"] * 2 + ["compiles"] * 2
    assert compilers.compile_all(paths, "v5e:1x1", jobs=1, until=0) == {} and len(asked) == 7


def test_in_place_programs_donate_what_they_read():
    plain = ADD.replace(" {tf.aliasing_output = 0 : i32}", "")
    texts = {"donates": ADD, "plain": plain}.get

    def fault(program, variant="inplace", reads=True, written=0):
        record = {"programs": [program], "variant": variant, "reads_base": reads, "written_bytes": written}
        return gate.in_place_fault(record, texts)

    assert fault("donates") is None and fault("donates", reads=False) is None
    assert "no program donates it" in fault("plain")
    assert fault("plain", reads=False) is None  # fill_: nothing of the base is read
    assert fault("plain", "functional") is None
    assert fault("donates", "step", written=128) is None
    assert "updates 256 bytes, its programs donate 128" in fault("donates", "step", written=256)


def test_which_in_place_forms_read_their_base():
    """By PyTorch's definitions; the gate asks the device, with two contents."""
    import collections

    import collect
    import torch

    collector = type("Collector", (), {"note": lambda self, error: None})()
    aten = torch.ops.aten
    x, y = torch.arange(6.0).to("tpu"), torch.rand(6).to("tpu")
    index = torch.tensor([1, 3]).to("tpu")
    cases = [
        (aten.fill_.Scalar, (x, 2.5), False),
        (aten.copy_.default, (x, y), False),
        (aten.bernoulli_.float, (x, 0.3), False),
        (aten.uniform_.default, (x, 0.0, 1.0), False),
        (aten.add_.Tensor, (x, y), True),
        (aten.index_fill_.int_Scalar, (x, 0, index, 2.5), True),  # the rest stays
        (aten.bitwise_not_.default, (index,), True),
        (aten.logical_not_.default, (torch.tensor([True, False]).to("tpu"),), True),
    ]
    found = collections.OrderedDict((str(f), collect.base_is_read(collector, f, a, {})) for f, a, _ in cases)
    assert found == collections.OrderedDict((str(f), reads) for f, _, reads in cases)
    assert torch.equal(x.cpu(), torch.arange(6.0))


def test_a_reason_is_of_an_entry_that_was_tried():
    import samples
    import torch

    assert not set(samples.NO_PROGRAM) - set(samples.direct(torch, torch.float32))


@pytest.mark.parametrize("work", ["import time; time.sleep(60)", "while True: pass"])
def test_a_compiler_that_hangs_or_runs_on_is_given_up(work):
    import queue

    child = compilers.Child.__new__(compilers.Child)
    child.lines, child.errors = queue.Queue(), []
    child.process = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, text=True)
    try:
        assert child.ask("program", 0.5) is None and "no answer in 0.5 s" in child.why
        child.lines.put('{"status": "compiles"}')
        assert child.ask("program", 0.5) == {"status": "compiles"}
    finally:
        child.close()


@needs_libtpu
@pytest.mark.slow
def test_a_death_costs_one_program(tmp_path):
    paths = []
    for name, text in (("a", ADD), ("b", DEADLY), ("c", WRONG), ("d", ADD.replace("4x8", "8x8"))):
        path = tmp_path / f"{name}.mlir"
        path.write_text(text)
        paths.append(str(path))
    answers = compilers.compile_all(paths, "v5e:1x1", jobs=1)
    status = [answers[p]["status"] for p in paths]
    assert status == ["compiles", "died", "refused", "compiles"], answers
    assert answers[paths[0]]["aliased"] == [0] and answers[paths[0]]["alias_bytes"] >= 128
    assert answers[paths[0]]["flops"] == 32
    assert "nonesuch" in answers[paths[2]]["reason"]


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    """Path of the recorder over XLA's CPU plugin, and its environment."""
    base = os.environ.get("TT_TEST_CPU_PLUGIN") or cpu_plugin()
    if not base:
        pytest.skip("no CPU plugin of XLA (package lammps-jax-pjrt-cpu)")
    return {
        "TORCH_TPU_PLUGIN": str(gate.build_recorder()),
        "TT_RECORDER_BASE": base,
        "TT_RECORDER_KIND": "TPU v5 lite",
        "TT_RECORDER_DIR": str(tmp_path_factory.mktemp("programs")),
    }


def cpu_plugin():
    import importlib.metadata

    try:
        files = importlib.metadata.files("lammps-jax-pjrt-cpu") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [str(f.locate()) for f in files if str(f).endswith(".so") and "pjrt" in str(f).lower()]
    return found[0] if found else None


def run(code, environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PRODUCTS = """
import torch, torch_tpu
torch.manual_seed(0)
def wide(*shape):
    return torch.randint(-2**62, 2**62, shape)
F = torch.nn.functional
cases = [
    (torch.matmul, wide(5, 7), wide(7, 3)), (torch.bmm, wide(2, 5, 7), wide(2, 7, 3)),
    (torch.mv, wide(5, 7), wide(7)), (torch.dot, wide(9), wide(9)),
    (torch.addmm, wide(5, 3), wide(5, 7), wide(7, 3)), (torch.matmul, wide(5, 0), wide(0, 3)),
    (F.conv1d, wide(2, 4, 9), wide(6, 4, 3)),
    (lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2), wide(2, 4, 6, 6), wide(6, 2, 3, 3)),
    (lambda x, w: F.conv_transpose2d(x, w, stride=2), wide(2, 4, 3, 3), wide(4, 2, 3, 3)),
    (lambda x, w: F.linear(x, w), wide(4, 6), wide(3, 6)),
    (torch.matmul, torch.randn(5, 7), torch.randn(7, 3)),
]
for i, (f, *inputs) in enumerate(cases):
    want = f(*inputs)
    got = f(*[t.to("tpu") for t in inputs])
    torch.testing.assert_close(got.cpu(), want)
for dtype in (torch.float64, torch.complex128):
    try:
        torch.ones(2, dtype=dtype).to("tpu")
    except NotImplementedError as error:
        assert "is not supported on TPU v5 lite" in str(error), error
    else:
        raise AssertionError(dtype)
print("same", torch.tpu.get_device_name())
"""


def test_products_for_a_tpu_through_xla(recorder):
    assert "same TPU v5 lite" in run(PRODUCTS, recorder)
    texts = [p.read_text() for p in pathlib.Path(recorder["TT_RECORDER_DIR"]).glob("*.mlir")]
    products = [t for t in texts if "stablehlo.dot_general" in t or "stablehlo.convolution" in t]
    assert products and all("precision HIGHEST" in t for t in products), products
    assert any("stablehlo.multiply" in t and "xi64" in t for t in texts)


EMULATED = """
import torch, torch_tpu
x = torch.linspace(0, 1, 7, dtype=torch.float64)
y = x.to("tpu")
torch.testing.assert_close((y.sin() @ y).cpu(), x.sin() @ x)
torch.testing.assert_close((y + 0.1).cpu(), x + 0.1, rtol=0, atol=0)
try:
    torch.fft.fft(y)
except NotImplementedError as error:
    assert "transforms" in str(error), error
else:
    raise AssertionError("a double transform")
print("emulated")
"""


def test_float64_where_emulation_is_allowed(recorder):
    assert "emulated" in run(EMULATED, {**recorder, "TORCH_TPU_EMULATE_FLOAT64": "1"})


FLOAT32_ONLY = """
import torch, torch_tpu
F = torch.nn.functional
x = torch.rand(1, 2, 5, 6)
cases = {
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
    "bicubic": lambda x: F.interpolate(x, size=(7, 4), mode="bicubic", antialias=True),
    "nearest": lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 4)), "average": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "numbers": lambda x: torch.clamp(x * 2.5 + 0.1, max=1.7).pow(2.3),
}
for name, call in cases.items():
    for form in (call, torch.compile(call, backend="tpu")):
        a, b = x.clone().requires_grad_(), x.to("tpu").requires_grad_()
        want, got = call(a), form(b)
        want.square().sum().backward()
        got.square().sum().backward()
        torch.testing.assert_close(got.detach().cpu(), want.detach())
        torch.testing.assert_close(b.grad.cpu(), a.grad)
print("same")
"""


def test_lowerings_of_float32_hold_no_float64(recorder):
    """Tables of weights and Python numbers are float32 constants: a TPU has no float64."""
    assert "same" in run(FLOAT32_ONLY, recorder)


TRAINING = """
import torch, torch_tpu
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
other = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
other.load_state_dict(model.state_dict())
model.to("tpu")
x = torch.rand(4, 5)
torch.compile(model, backend="tpu")(x.to("tpu")).sum().backward()
other(x).sum().backward()
for a, b in zip(model.parameters(), other.parameters()):
    torch.testing.assert_close(a.grad.cpu(), b.grad)
print("same")
"""


def test_a_training_step_compiles_two_graphs(recorder, tmp_path):
    """Views among the inputs of the backward graph are in its only program: none is compiled for dense inputs."""
    assert "same" in run(TRAINING, {**recorder, "TT_RECORDER_DIR": str(tmp_path)})
    texts = [p.read_text() for p in tmp_path.glob("*.mlir")]
    assert sum("stablehlo.dot_general" in t for t in texts) == 2
