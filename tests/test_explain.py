"""torch.tpu.explain: what a call did, against counts that are known beforehand."""

import pytest
import torch


def fresh():
    torch.tpu._clear_cache()
    return torch.arange(12.0).reshape(3, 4).tpu()


def test_programs_hits_and_reasons():
    x, wide = fresh(), torch.ones(3, 7).tpu()

    def work():
        a = x + x
        b = a + x
        c = wide + wide
        return (b * 2).cpu(), c

    report = torch.tpu.explain(work)
    data = report.as_dict()
    programs = {program["name"]: program for program in data["programs"]}
    add = programs["aten::add.Tensor"]
    assert (add["runs"], add["misses"], add["hits"]) == (3, 3, 0) or (add["runs"], add["misses"]) == (3, 2)
    assert add["reasons"][0] == "first use" and any("[3, 4] -> [3, 7]" in reason or "7" in reason for reason in add["reasons"][1:])
    assert programs["aten::mul.Tensor"]["runs"] == 1
    assert data["bytes_to_host"] == 48 and data["copies_to_host"] == 1 and data["bytes_to_device"] == 0
    assert data["misses"] == sum(program["misses"] for program in data["programs"])
    assert data["hits"] + data["misses"] == sum(program["runs"] for program in data["programs"])
    assert min(data["build_ns"], data["compile_ns"], data["execute_ns"]) > 0
    assert data["build_ns"] + data["compile_ns"] + data["execute_ns"] < data["wall_ns"]
    assert report.result[0].equal((x.cpu() * 3) * 2)
    again = torch.tpu.explain(work)
    assert again["misses"] == 0 and again["hits"] == 4 and again["compile_ns"] == again["build_ns"] == 0


def test_table():
    x = fresh()
    report = torch.tpu.explain(lambda: torch.relu(x).sum().item())
    text = str(report)
    for part in ("program", "aten::relu", "aten::sum", "first use", "hits", "to the host 4 bytes in 1", "build", "execute"):
        assert part in text, text


def test_compiled_graph():
    x = fresh()
    f = torch.compile(lambda v: torch.softmax(v * 2, -1) + v, backend="tpu")
    report = torch.tpu.explain(f, x)
    graph = [program for program in report["programs"] if program["name"].startswith("graph")]
    assert len(graph) == 1 and graph[0]["runs"] == 1
    torch.testing.assert_close(report.result.cpu(), torch.softmax(x.cpu() * 2, -1) + x.cpu())


def test_unsupported_ops_are_listed_without_compiling():
    x = torch.ones(3, 3).tpu()
    library = torch.library.Library("tt_explain", "DEF")
    for name in ("one", "two"):   # kernels for the CPU alone
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda v: v * 2, "CPU")
        library.impl(name, lambda v: torch.empty_like(v), "Meta")
    ops = torch.ops.tt_explain

    def work(v):
        return ops.two(torch.relu(ops.one(v + 1)))

    report = torch.tpu.explain(work, x)
    assert report["error"].startswith("NotImplementedError") and report.result is None
    assert report["unsupported"] == ["tt_explain.one.default", "tt_explain.two.default"]
    assert "not supported: tt_explain.one.default" in str(report)
    assert [program["name"] for program in report["programs"]] == ["aten::add.Tensor"]
    before = torch.tpu.compile_stats()
    from torch_tpu_c.tpu.explain import unsupported

    assert unsupported(lambda v: torch.softmax(v @ v, 0).sum(), x) == []
    assert torch.tpu.compile_stats() == before


def test_errors_of_the_program_are_raised():
    with pytest.raises(ValueError, match="mine"):
        torch.tpu.explain(lambda: (_ for _ in ()).throw(ValueError("mine")))
    x = fresh()
    assert torch.tpu.explain(lambda: x + 1)["misses"] == 1   # tracing is off and on again


def test_profiler_and_explain_exclude_each_other():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]), pytest.raises(RuntimeError, match="profiler"):
        torch.tpu.explain(lambda: None)
