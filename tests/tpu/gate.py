"""The TPU gate: every program that we emit compiles with libtpu, or our own error refuses it before.

    python tests/tpu/gate.py [--long] [--write] [--fresh] [--add] [--ops NAME,NAME] [--jobs 2]

Collects the programs of all table entries and of the models (collect.py), compiles each once per generation
(libtpu ahead of time, no TPU), and compares with docs/tpu_legality.md: an entry that compiled there and
does not now is a drop. Normal: v5e, one sample an entry and dtype, inference. --long: three samples, all
generations, training graphs too. --add compiles only what the document has no row of. Verdicts are kept by
program text in build/legality and used again unless --fresh. --write renews the document; columns and rows
that a run did not compile stay as they are. Ends with 1 on a drop, on a program that libtpu refuses, on a
donated parameter that is not aliased, on an in-place call that reads its base without donating it, and on an
entry with neither a program nor a reason for having none.
"""

import argparse
import collections
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
from samples import NO_PROGRAM  # noqa: E402

DOCUMENT = ROOT / "docs/tpu_legality.md"
WORK = ROOT / "build/legality"
# generation -> topology of one chip. All get the same programs (src/ir/call_test.c holds their tables equal):
# those are collected once, for KIND.
GENERATIONS = {"v5e": "v5e:1x1", "v5p": "v5p:1x1x1", "v6e": "v6e:1x1", "tpu7x": "tpu7x:1x1x1"}
KIND = "TPU v5 lite"
SHORT = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "int32": "i32",
    "int64": "i64",
    "complex64": "c64",
    "float64": "f64",
    "complex128": "c128",
}
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


FIGURES = ("arguments", "outputs", "alias_bytes", "temporaries", "code")


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
    return WORK / f"collected{'_some' if options.ops else ''}_{part}.json"


def collect(options):
    """Runs the collectors: `jobs` child processes."""
    recorder, children = build_recorder(), []
    for part in range(options.jobs):
        collected(options, part).unlink(missing_ok=True)
        what = "ops" if options.ops else "ops,own,models" + (",training" if options.long else "")
        command = [sys.executable, HERE / "collect.py", collected(options, part), "--kind", KIND]
        command += ["--programs", WORK / "programs", "--recorder", recorder, "--ops", options.ops]
        command += [
            "--what",
            what,
            "--samples",
            "3" if options.long else "1",
            "--part",
            f"{part}/{options.jobs}",
        ]
        children.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        )
    for child in children:
        errors = child.communicate()[1]
        if child.returncode:
            sys.exit(f"collecting failed with status {child.returncode}:\n{errors[-2000:]}")


def read_collected(options):
    """The table's entries, and the records of all children."""
    entries, records = [], []
    for part in range(options.jobs):
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
            answer = json.loads(line)
            known[answer["program"]] = answer
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


# ---- the document ------------------------------------------------------------------------------
def plain(reason):
    """Without the names of graphs and of the generation: equal reasons get one number."""
    reason = re.sub(r"(graph '[^']*'(, input \d+)?|function @\w+): ", "", reason)
    return re.sub(r"(, not)? on (TPU v5 lite|v5e)$", "", reason.removeprefix("tpu: "))


def cell_of(records, reports):
    """(compiling dtypes, {dtype: reason of our refusal}, faults) of one entry."""
    compiles, refused, faults = [], {}, []
    by_dtype = collections.defaultdict(list)
    for record in records:
        by_dtype[record["dtype"]].append(record)
    for dtype in SHORT:
        if dtype not in by_dtype:
            continue
        programs = [p for r in by_dtype[dtype] for p in r["programs"]]
        bad = [reports[p] for p in programs if reports[p]["status"] != "compiles"]
        if bad:
            faults.append((dtype, bad[0]["reason"]))
        elif programs:
            compiles.append(dtype)
        else:
            refused[dtype] = plain(next(r["refused"] for r in by_dtype[dtype] if r["refused"]))
    return compiles, refused, faults


def cell_text(compiles, refused, faults, notes):
    parts = [" ".join(SHORT[d] for d in compiles)] if compiles else []
    for reason in dict.fromkeys(refused.values()):
        number = notes.setdefault(reason, len(notes) + 1)
        parts.append(
            "refused: " + " ".join(SHORT[d] for d, r in refused.items() if r == reason) + f" [{number}]"
        )
    parts += [f"**libtpu refuses {SHORT[d]}**" for d, _ in faults]
    return "; ".join(parts)


def read_document():
    """(entry, generation) -> dtypes that compile, from the checked-in table."""
    found, columns = {}, []
    if not DOCUMENT.exists():
        return found
    for line in DOCUMENT.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| entry |"):
            columns = cells[1:]
        elif line.startswith("| `") and columns:
            for generation, text in zip(columns, cells[1:]):
                found[cells[0].strip("`"), generation] = (
                    set(text.split(";")[0].split()) if text and not text.startswith("refused") else set()
                )
        elif not line.startswith("|"):
            columns = []
    return found


def drops(before, generation, results):
    """What compiled by the checked-in table and does not now."""
    lost = []
    for (name, where), dtypes in before.items():
        now = {SHORT[d] for d in results.get(name, ([], {}, []))[0]}
        if where == generation and dtypes - now:
            lost.append(
                f"{generation}: {name} compiled for {' '.join(sorted(dtypes - now))} and does not now"
            )
    return lost


def kept_document():
    """What the checked-in document says: {(entry, generation): cell}, {reason: number}, {figure: line}."""
    cells, notes, figures, columns = {}, {}, {}, []
    for line in DOCUMENT.read_text().splitlines() if DOCUMENT.exists() else []:
        parts = [c.strip() for c in line.strip("|").split("|")]
        note = re.fullmatch(r"(\d+)\. (.*)", line)
        if note:
            notes[note[2]] = int(note[1])
        elif line.startswith("| entry |"):
            columns = parts[1:]
        elif line.startswith("| `") and columns:
            cells.update({(parts[0].strip("`"), g): text for g, text in zip(columns, parts[1:])})
        elif line.startswith(("| model ", "| optimizer ")):
            figures[parts[0]] = line
    return cells, notes, figures


def write_document(version, results, figures, unreached, unread, names=None, adding=False):
    """`names`: of the table's entries (None: all); `adding`: cells of the document stay."""
    cells, notes, figure_lines = kept_document()
    known = {g for _, g in cells}
    generations = [g for g in GENERATIONS if g in results or g in known]
    if set(generations) <= set(results) and not adding:
        notes = {}  # every cell is new
    rows, every = [], set().union(*results.values()) | {n for n, _ in cells}
    for name in sorted(every):
        if name.startswith(("model ", "optimizer ")) or (names is not None and name not in names):
            continue
        texts = []
        for g in generations:
            stays = (adding and (name, g) in cells) or g not in results
            texts.append(
                cells.get((name, g), "") if stays else cell_text(*results[g].get(name, ([], {}, [])), notes)
            )
        rows.append(f"| `{name}` | " + " | ".join(texts) + " |")
    lines = [
        "# What a TPU compiler takes",
        "",
        f"Written by `python tests/tpu/gate.py --write` with libtpu {version}, ahead of time, without a TPU:",
        "compilation only, no numbers ran on a chip. One row an entry of `src/lower/aten*.def`. A dtype in",
        "a cell: every program that eager or a whole graph makes for the samples of that dtype compiles on",
        "that generation. `refused`: our own error, raised before the compiler sees the program, with its",
        "reason below. float64 and complex128 are refused on every generation by the dtype table of",
        "`src/ir/target.c` unless `TORCH_TPU_EMULATE_FLOAT64=1`. A dtype that is absent has no sample.",
        "",
        "| entry | " + " | ".join(generations) + " |",
        "|---|" + "---|" * len(generations),
        *rows,
        "",
        "## Reasons of refusals",
        "",
    ]
    lines += [f"{number}. {reason}" for reason, number in sorted(notes.items(), key=lambda item: item[1])]
    lines += [
        "",
        "## Entries without a program",
        "",
        *(f"- `{n}`: {NO_PROGRAM.get(n, 'no sample')}" for n in unreached),
        "",
        "## In place",
        "",
        "Every in-place form and optimizer step donates what it updates: each donated parameter stands in",
        "the compiler's table of aliases, with at least its bytes. These in-place forms do not read what",
        "they overwrite, so that their programs have no parameter to donate: "
        + (", ".join(f"`{n}`" for n in unread) or "none")
        + ".",
        "",
        "## Figures of the compiler",
        "",
        f"Models of `tests/models.py` and optimizer steps on {next(iter(GENERATIONS))}; bytes as libtpu",
        "plans them, FLOP as it counts them, summed over the programs. Aliased: bytes of donated parameters",
        "that results take over.",
        "",
        "| what | programs | arguments | outputs | aliased | temporaries | code | FLOP |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, f in figures.items():
        figure_lines[name] = (
            f"| {name} | " + " | ".join(str(f[k]) for k in ("programs", *FIGURES)) + f" | {f['flops']:.4g} |"
        )
    lines += [line for _, line in sorted(figure_lines.items())]
    DOCUMENT.write_text("\n".join(lines) + "\n")


def figures_of(records, reports):
    found = {}
    for record in records:
        if not record["entry"].startswith(("model ", "optimizer ")):
            continue
        total = found.setdefault(record["entry"], collections.Counter(programs=0, flops=0.0))
        for program in record["programs"]:
            total["programs"] += 1
            for key in (*FIGURES, "flops"):
                total[key] += reports[program].get(key) or 0
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--last", action="store_true", help="the programs of the last collection")
    parser.add_argument("--add", action="store_true", help="only entries that the document has no row of")
    parser.add_argument("--generations", default="")
    parser.add_argument("--ops", default="", help="OpInfo names; then nothing is compared or written")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument(
        "--compilers", type=int, default=0, help="processes of libtpu; default --jobs, more on a busy machine"
    )
    options = parser.parse_args()
    version = require_libtpu()
    began, problems, results, figures = time.monotonic(), [], {}, {}
    chosen = [g for g in options.generations.split(",") if g] or (
        list(GENERATIONS) if options.long else ["v5e"]
    )
    before = read_document()
    if not options.last:
        collect(options)
    entries, records = read_collected(options)
    programs = {p for r in records for p in r["programs"]}
    in_place = [r for r in records if r["programs"] and (r["variant"] == "inplace" or r["written_bytes"])]
    for record in in_place:
        fault = in_place_fault(record, program_text)
        if fault:
            problems.append(f"{record['entry']} of {record['dtype']} ({record['where']}): {fault}")
    unread = sorted(
        {r["entry"] for r in in_place if r["reads_base"] is False and not donated_bytes(r, program_text)}
    )
    print(f"{len(records)} calls, {len(programs)} programs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(in_place)} in-place calls and steps; the base is not read by {', '.join(unread) or 'none'}")
    listed = {name for name, _ in before}
    if options.add:
        listed |= set(kept_document()[2])
        records = [r for r in records if r["entry"] not in listed]
        programs = {p for r in records for p in r["programs"]}
        count = len({r["entry"] for r in records})
        print(f"to be added: {count} entries, {len(programs)} programs", flush=True)
    for generation in chosen:
        reports = verdicts(generation, programs, version, options)
        by_entry = collections.defaultdict(list)
        for record in records:
            by_entry[record["entry"]].append(record)
        results[generation] = {name: cell_of(found, reports) for name, found in by_entry.items()}
        for name, (_, _, faults) in results[generation].items():
            problems += [
                f"{generation}: libtpu refuses {name} of {dtype}: {reason[:300]}" for dtype, reason in faults
            ]
        checked = 0
        for record in records:
            for program in record["programs"]:
                if reports[program]["status"] != "compiles" or "aliased" not in reports[program]:
                    continue
                checked += 1
                fault = donation_fault(program, reports[program])
                if fault:
                    problems.append(
                        f"{generation}: {record['entry']} of {record['dtype']} ({program}): {fault}"
                    )
        if generation == next(iter(GENERATIONS)):
            figures = figures_of(records, reports)
        reached = set(by_entry) | (listed if options.add else set())
        unreached = sorted(e["name"] for e in entries if e["name"] not in reached)
        if not options.ops:
            problems += [
                f"{n} has no sample and no reason in samples.NO_PROGRAM"
                for n in unreached
                if n not in NO_PROGRAM
            ]
            problems += [f"{n} has a program, against samples.NO_PROGRAM" for n in NO_PROGRAM if n in reached]
        print(
            f"{generation}: {len(entries) - len(unreached)} of {len(entries)} entries, "
            f"{checked} programs with donated parameters, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        if not options.ops and not options.add:
            problems += drops(before, generation, results[generation])
    for problem in sorted(set(problems)):
        print(problem)
    if options.write and not options.ops:
        names = {e["name"] for e in entries}
        write_document(version, results, figures, unreached, unread, names, options.add)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(
        f"{len(set(problems))} problems, {time.monotonic() - began:.0f} s, {cpu:.0f} s of CPU in children"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
