"""The TPU gate: every program that we emit compiles with libtpu, or our own error refuses it before.

    python tests/tpu/gate.py [--long] [--write] [--fresh] [--add] [--ops NAME,NAME] [--jobs 2]

Collects the programs of all table entries and of the models (collect.py), compiles each once per generation
(libtpu ahead of time, no TPU), and compares with docs/tpu_legality.md: an entry that compiled there and
does not now is a drop. Normal: v5e, one sample an entry and dtype, inference, a growing case for each rule.
--long: three samples, all generations, training graphs, all growing cases; of the generations after the first
only one sample an entry, dtype and variant, unless --every. --add compiles only what the document has no row of.

A run that is stopped, or has used its --minutes, goes on where it was: verdicts are kept in build/legality by
program text, generation and version of libtpu, the collectors' work by what it depends on (the libraries, the
Python around them, the tests, the settings); --fresh does all anew, --last takes the last collection whatever
changed since.

--write renews the document; cells that a run did not compile stay as they are. Ends with 1 on a drop, on a
program that libtpu refuses, on a donated parameter that is not aliased, on an in-place call that reads its base
without donating it, on a growing call that was not rounded up, and on an entry with neither a program nor a
reason for having none; else with 2 where programs are left without a verdict.
"""

import argparse
import collections
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import aot  # noqa: E402
import compilers  # noqa: E402
import document  # noqa: E402
from document import FIGURES, GENERATIONS, GROWING, WHOLE  # noqa: E402
from samples import GROWING_DECODES, GROWING_SHORT, NO_PROGRAM  # noqa: E402

WORK = ROOT / "build/legality"
KIND = "TPU v5 lite"  # all generations get its programs
PARTS = 2  # collectors; a constant, as it decides which samples are the first of an entry
BYTES = {
    "i1": 1,
    "i8": 1,
    "ui8": 1,
    "i16": 2,
    "ui16": 2,
    "f16": 2,
    "bf16": 2,
    "i32": 4,
    "ui32": 4,
    "f32": 4,
    "i64": 8,
    "ui64": 8,
    "f64": 8,
    "complex<f32>": 8,
    "complex<f64>": 16,
}


def pinned_version():
    return re.search(r"^libtpu==(\S+)", (ROOT / "constraints.txt").read_text(), re.M).group(1)


def require_libtpu():
    """The installed version; ends the program with one line where it is missing or another."""
    want = pinned_version()
    try:
        have = importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError:
        have = None
    if have != want or not aot.libtpu_path():
        sys.exit(
            f"libtpu {want} is not installed (found: {have or 'none'}): run `tools/environment.sh tpu .venv`"
        )
    return have


# ---- collecting --------------------------------------------------------------------------------
def build_recorder():
    target = WORK / "recorder.so"
    WORK.mkdir(parents=True, exist_ok=True)
    part = WORK / f"recorder.{os.getpid()}.so"
    subprocess.run(
        [
            os.environ.get("CC", "cc"),
            "-shared",
            "-fPIC",
            "-O1",
            f"-I{ROOT / 'src'}",
            "-o",
            part,
            HERE / "recorder.c",
            "-ldl",
        ],
        check=True,
    )
    part.rename(target)
    return target


def collected(options, part):
    kind = "some" if options.ops else "long" if options.long else "short"
    return WORK / f"collected_{kind}_{part}.json"


def dependencies(arguments):
    """A hash of what the collectors' programs depend on."""
    import torch
    from torch_tpu_c import _core

    files = [_core.path(f"lib{name}.so") for name in ("torch_tpu_core", "torch_tpu_shim", "vtpu")]
    files += sorted(pathlib.Path(_core.__file__).parent.rglob("*.py"))
    files += [HERE / name for name in ("collect.py", "samples.py", "recorder.c")]
    files += [HERE.parent / name for name in ("coverage.py", "growing.py", "models.py")]
    key = hashlib.sha256()
    for file in files:
        key.update(pathlib.Path(file).read_bytes())
    settings = {k: v for k, v in os.environ.items() if k.startswith(("TORCH_TPU_", "TT_"))}
    key.update(json.dumps([torch.__version__, settings, [str(a) for a in arguments]], sort_keys=True).encode())
    return key.hexdigest()[:16]


def collect(options):
    """Runs the collectors, `jobs` at a time."""
    recorder, children, waiting = build_recorder(), [], list(range(PARTS))
    what = "ops" if options.ops else "ops,own,models,growing" + (",training" if options.long else "")
    arguments = ["--kind", KIND, "--ops", options.ops, "--what", what, "--samples", "3" if options.long else "1"]
    key = dependencies(arguments)
    while waiting or children:
        while waiting and len(children) < options.jobs:
            part = waiting.pop(0)
            target, log = collected(options, part), WORK / f"collect_{part}.log"
            if options.fresh:
                target.unlink(missing_ok=True)
                target.with_suffix(".begun").unlink(missing_ok=True)
            command = [sys.executable, HERE / "collect.py", target, "--part", f"{part}/{PARTS}", "--key", key]
            command += ["--programs", WORK / "programs", "--recorder", recorder, *arguments]
            with open(log, "w") as file:
                children.append((subprocess.Popen(command, stdout=file, stderr=file), log))
        child, log = children.pop(0)
        if child.wait():
            for other, _ in children:
                other.terminate()
            sys.exit(f"collecting failed with status {child.returncode}:\n{log.read_text()[-2000:]}")


def read_collected(options):
    """The table's entries, and the records of all parts."""
    entries, records = [], []
    for part in range(PARTS):
        found = json.loads(collected(options, part).read_text())
        entries, records = found["entries"], records + found["records"]
    return entries, records


# ---- compiling ---------------------------------------------------------------------------------
def verdicts(generation, hashes, version, options):
    """hash -> report of libtpu."""
    store = WORK / f"verdicts_{generation}_{version}.jsonl"
    known = {}
    if store.exists() and not options.fresh:
        for line in store.read_text().splitlines():
            try:
                answer = json.loads(line)
            except ValueError:
                continue  # the run that wrote it was stopped there
            known[answer["program"]] = answer
        if not store.read_bytes().endswith(b"\n"):
            with open(store, "a") as file:
                file.write("\n")
    missing = sorted(h for h in hashes if h not in known)
    done, began = [0], time.monotonic()
    with open(store, "w" if options.fresh else "a", buffering=1) as file:

        def keep(path, answer):
            answer["program"] = pathlib.Path(path).stem
            answer.pop("path", None)
            if answer["status"] == "compiles" or answer["status"] == "refused":
                file.write(
                    json.dumps(answer) + "\n"
                )  # deaths may be the machine's fault: they are tried anew
            known[answer["program"]] = answer
            done[0] += 1
            if done[0] % 200 == 0:
                print(
                    f"  {generation}: {done[0]} of {len(missing)} programs, {time.monotonic() - began:.0f} s",
                    flush=True,
                )

        compilers.compile_all(
            [WORK / "programs" / f"{h}.mlir" for h in missing],
            GENERATIONS[generation],
            options.compilers or options.jobs,
            keep,
            options.until,
        )
    return known


# ---- donation ----------------------------------------------------------------------------------
def donated(text):
    """Parameter number -> logical bytes of each parameter marked tf.aliasing_output."""
    head = re.search(r"func\.func public @main\((.*?)\) -> ", text, re.S).group(1)
    found = {}
    for number, (shape, attributes) in enumerate(
        re.findall(r"%\d+: tensor<([^{]*?)>(?= \{|, %|$)( \{[^}]*\})?", head)
    ):
        if "tf.aliasing_output" in attributes:
            *dims, dtype = re.fullmatch(r"((?:\d+x)*)(.*)", shape).groups()
            size = BYTES[dtype]
            for n in re.findall(r"\d+", dims[0]):
                size *= int(n)
            found[number] = size
    return found


def donation_fault(program, report):
    """What is wrong with the aliases of a compiled program, or None."""
    want = donated(program_text(program))
    missing = sorted(set(want) - set(report.get("aliased", [])))
    if missing:
        return f"donated parameters {missing} are not in the compiler's alias table"
    if report["alias_bytes"] < sum(want.values()):
        return f"{report['alias_bytes']} bytes are aliased, the donated parameters have {sum(want.values())}"
    return None


def donated_bytes(record, texts):
    return sum(sum(donated(texts(p)).values()) for p in record["programs"])


def in_place_fault(record, texts):
    """An in-place call or a step whose programs donate less than they update, or None. A program that does
    not read the base has no parameter of it: nothing is there to be donated."""
    given = donated_bytes(record, texts)
    if record["written_bytes"] > given:
        return f"the step updates {record['written_bytes']} bytes, its programs donate {given}"
    if record["variant"] == "inplace" and record["programs"] and record["reads_base"] and not given:
        return "its result depends on the base, and no program donates it"
    return None


def program_text(program):
    return (WORK / "programs" / f"{program}.mlir").read_text()


# ---- the run ----------------------------------------------------------------------------------
def figures_of(records, reports):
    found = {}
    for record in records:
        if not record["entry"].startswith((*WHOLE, f"{GROWING}decode")):
            continue
        total = found.setdefault(record["entry"], collections.Counter(programs=0, flops=0.0))
        for program in record["programs"]:
            total["programs"] += 1
            for key in (*FIGURES, "flops"):
                total[key] += reports[program].get(key) or 0
    return found


def is_tried(options, name):
    """Whether a run with these options makes the document's row `name`."""
    if options.long:
        return True
    if name.startswith(GROWING):
        return name.removeprefix(GROWING) in GROWING_SHORT | {f"decode, {kind}" for kind in GROWING_DECODES}
    return not (name.startswith(WHOLE) and name.endswith(", training"))


def first_samples(records):
    """One record of each entry, dtype and variant: the first with programs; all of the growing cases."""
    found, rest = {}, []
    for record in records:
        at = record["entry"], record["dtype"], record["variant"]
        if record["entry"].startswith(GROWING):
            rest.append(record)
        elif at not in found or (record["programs"] and not found[at]["programs"]):
            found[at] = record
    return [*found.values(), *rest]


def entry_faults(entries, reached):
    """Entries with neither a program nor a reason, or with both."""
    faults = [
        f"{e['name']} has no sample and no reason in samples.NO_PROGRAM"
        for e in entries
        if e["name"] not in reached and e["name"] not in NO_PROGRAM
    ]
    return faults + [f"{n} has a program, against samples.NO_PROGRAM" for n in NO_PROGRAM if n in reached]


def call_faults(records):
    """What is wrong with the calls, whatever the compiler says."""
    faults = []
    for record in records:
        fault = in_place_fault(record, program_text)
        if record["entry"].startswith(GROWING) and record["programs"] and not record["rounded"]:
            fault = "no program was rounded up"
        if fault:
            faults.append(f"{record['entry']} of {record['dtype']} ({record['where']}): {fault}")
    return faults


def compiler_faults(generation, cells, silent):
    """What libtpu refuses, and what it has no answer to unless that is so in the document (`silent`)."""
    faults = []
    for name, cell in cells.items():
        faults += [
            f"{generation}: libtpu refuses {name} of {dtype}: {why[:300]}" for dtype, why in cell.faults
        ]
        for dtype, why in cell.unanswered.items():
            if document.SHORT[dtype] not in silent.get((name, generation), ()):
                faults.append(f"{generation}: no answer to {name} of {dtype}: {why[:300]}")
    return faults


def alias_faults(records, reports):
    """(compiled programs with donated parameters, what is wrong with them)."""
    checked, faults = 0, []
    for record in records:
        for program in record["programs"]:
            if "aliased" in reports.get(program, ()):
                checked += 1
                fault = donation_fault(program, reports[program])
                if fault:
                    faults.append(f"{record['entry']} of {record['dtype']} ({program}): {fault}")
    return checked, faults


def summary(generation, results, programs, reports, checked, lost, left):
    compiles, refuses, faulty, silent = (sum(bool(cell[i]) for cell in results.values()) for i in range(4))
    status = collections.Counter(reports[p]["status"] for p in programs if p in reports)
    return (
        f"{generation}: {len(results)} rows: {compiles} compile, {refuses} have dtypes that we refuse, "
        f"{faulty} that libtpu refuses, {silent} that it has no answer to, {lost} dropped; "
        f"{status['compiles']} of {len(programs)} programs compile, {checked} uses of programs with donated parameters"
        + (f"; {len(left)} rows are left without a verdict" if left else "")
    )


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--last", action="store_true", help="the programs of the last collection")
    parser.add_argument("--add", action="store_true", help="only entries that the document has no row of")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of compiling; then a later run goes on")
    parser.add_argument("--every", action="store_true", help="every sample on every generation")
    parser.add_argument("--generations", default="")
    parser.add_argument("--ops", default="", help="OpInfo names; then nothing is compared or written")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument(
        "--compilers", type=int, default=0, help="processes of libtpu; default --jobs, more on a busy machine"
    )
    return parser.parse_args()


def main():
    options = parse()
    version = require_libtpu()
    began, results, left, figures, lines = time.monotonic(), {}, {}, {}, []
    chosen = [g for g in options.generations.split(",") if g] or (
        list(GENERATIONS) if options.long else ["v5e"]
    )
    silent = document.read_unanswered()
    before, spared, listed = document.read(), document.read_alone(), set()
    if not options.last:
        collect(options)
    entries, records = read_collected(options)
    problems = call_faults(records)
    in_place = [r for r in records if r["programs"] and (r["variant"] == "inplace" or r["written_bytes"])]
    unread = sorted(
        {r["entry"] for r in in_place if r["reads_base"] is False and not donated_bytes(r, program_text)}
    )
    if options.add:
        listed = {name for name, _ in before}
        records = [r for r in records if r["entry"] not in listed]
    reached = {r["entry"] for r in records}
    print(f"{len(records)} calls, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(in_place)} in-place calls and steps; the base is not read by {', '.join(unread) or 'none'}")
    options.until = time.monotonic() + 60 * options.minutes
    if not options.ops:
        problems += entry_faults(entries, reached | listed)
    for generation in chosen:
        first = generation == next(iter(GENERATIONS))
        calls = records if first or options.every else first_samples(records)
        programs = {p for r in calls for p in r["programs"]}
        reports = verdicts(generation, programs, version, options)
        by_entry = collections.defaultdict(list)
        for record in calls:
            by_entry[record["entry"]].append(record)
        open_programs = {p for p in programs if p not in reports}
        left[generation] = {r["entry"] for r in calls if not open_programs.isdisjoint(r["programs"])}
        results[generation] = {
            name: document.cell_of(found, reports)
            for name, found in by_entry.items()
            if name not in left[generation]
        }

        def tried(name, generation=generation):
            return is_tried(options, name) and name not in left.get(generation, ())

        problems += compiler_faults(generation, results[generation], silent)
        checked, faults = alias_faults(calls, reports)
        problems += [f"{generation}: {fault}" for fault in faults]
        lost = []
        if not options.ops and not options.add:
            lost = document.drops(
                before, generation, results[generation], tried, {} if options.long else spared
            )
        problems += lost
        if first:
            figures = figures_of([r for r in records if r["entry"] not in left[generation]], reports)
        lines.append(
            summary(generation, results[generation], programs, reports, checked, len(lost), left[generation])
        )
        print(f"{lines[-1]}, {time.monotonic() - began:.0f} s", flush=True)
    problems = sorted(set(problems))
    for problem in problems:
        print(problem)
    if options.write and not options.ops:
        names = {e["name"] for e in entries}
        unreached = sorted(names - reached - listed)
        document.write(
            version,
            results,
            figures,
            unreached,
            unread,
            names,
            options.add,
            lambda n, g: is_tried(options, n) and n not in left[g],
            document.alone(spared, records, options.long),
        )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print("", *lines, sep="\n")
    word = "FAILED" if problems else "not finished" if any(left.values()) else "passed"
    print(
        f"TPU gate: {word}, {len(problems)} problems, {time.monotonic() - began:.0f} s, "
        f"{cpu:.0f} s of CPU in children"
    )
    return 1 if problems else 2 if any(left.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
