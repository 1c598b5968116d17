"""docs/tpu_legality.md: its cells, reading, writing, and what a run lost against it."""

import collections
import pathlib
import re
import typing

from samples import NO_PROGRAM

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/tpu_legality.md"
# generation -> topology of one chip. All get the same programs (src/ir/call_test.c holds their tables equal).
GENERATIONS = {"v5e": "v5e:1x1", "v5p": "v5p:1x1x1", "v6e": "v6e:1x1", "tpu7x": "tpu7x:1x1x1"}
SHORT = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "bool": "i1",
    "int32": "i32",
    "int64": "i64",
    "complex64": "c64",
    "float64": "f64",
    "complex128": "c128",
}
FIGURES = ("arguments", "outputs", "alias_bytes", "temporaries", "code")
# Rows that are no entries of the table of ATen ops.
WHOLE = ("model ", "optimizer ")
GROWING = "growing "
ALONE = "## Reached by the long run alone"


class Cell(typing.NamedTuple):
    """One entry on one generation."""

    compiles: list  # dtypes
    refused: dict  # dtype -> reason, by us
    faults: list = []  # (dtype, libtpu's reason)
    unanswered: dict = {}  # dtype -> how libtpu ended, or the limit that it passed


NOTHING = Cell([], {})


def plain(reason):
    """Without the names of graphs and of the generation: equal reasons get one number."""
    reason = re.sub(r"(graph '[^']*'(, input \d+)?|function @\w+): ", "", reason)
    return re.sub(r"(, not)? on (TPU v5 lite|v5e)$", "", reason.removeprefix("tpu: "))


def cell_of(records, reports):
    """The cell of one entry."""
    compiles, refused, faults, unanswered = cell = Cell([], {}, [], {})
    by_dtype = collections.defaultdict(list)
    for record in records:
        by_dtype[record["dtype"]].append(record)
    for dtype in SHORT:
        if dtype not in by_dtype:
            continue
        programs = [p for r in by_dtype[dtype] for p in r["programs"]]
        bad = [reports[p] for p in programs if reports[p]["status"] != "compiles"]
        wrong = [b for b in bad if b["status"] != "died"]
        if wrong:
            faults.append((dtype, wrong[0]["reason"]))
        elif bad:
            unanswered[dtype] = f"libtpu: {bad[0]['reason']}"
        elif programs:
            compiles.append(dtype)
        else:
            refused[dtype] = plain(next(r["refused"] for r in by_dtype[dtype] if r["refused"]))
    return cell


def cell_text(cell, notes):
    parts = [" ".join(SHORT[d] for d in cell.compiles)] if cell.compiles else []
    for word, reasons in (("refused", cell.refused), ("no answer", cell.unanswered)):
        for reason in dict.fromkeys(reasons.values()):
            number = notes.setdefault(reason, len(notes) + 1)
            dtypes = " ".join(SHORT[d] for d, r in reasons.items() if r == reason)
            parts.append(f"{word}: {dtypes} [{number}]")
    parts += [f"**libtpu refuses {SHORT[d]}**" for d, _ in cell.faults]
    return "; ".join(parts)


def dtypes_of(text):
    """The dtypes that compile, of one cell."""
    first = text.split(";")[0]
    return set() if ":" in first or "**" in first else set(first.split())


def kept():
    """What the checked-in document says: {(entry, generation): cell}, {reason: number}, {figure: line}."""
    cells, notes, figures, columns, is_figure = {}, {}, {}, [], False
    for line in DOCUMENT.read_text().splitlines() if DOCUMENT.exists() else []:
        parts = [c.strip() for c in line.strip("|").split("|")]
        note = re.fullmatch(r"(\d+)\. (.*)", line)
        if note:
            notes[note[2]] = int(note[1])
        elif line.startswith("| entry |"):
            columns = parts[1:]
        elif line.startswith("| `") and columns:
            cells.update({(parts[0].strip("`"), g): text for g, text in zip(columns, parts[1:])})
        elif line.startswith("| what |"):
            is_figure = True
        elif line.startswith("| ") and is_figure:
            figures[parts[0]] = line
        elif not line.startswith("|"):
            columns, is_figure = [], False
    return cells, notes, figures


def read():
    """(entry, generation) -> dtypes that compile, from the checked-in table."""
    return {at: dtypes_of(text) for at, text in kept()[0].items()}


def read_unanswered():
    """(entry, generation) -> dtypes to which libtpu has no answer, from the checked-in table."""
    found = {}
    for at, text in kept()[0].items():
        found[at] = {d for part in re.findall(r"no answer: ([^;\[]*)", text) for d in part.split()}
    return found


def read_alone():
    """entry -> dtypes that only samples of the long run reach, from the checked-in list."""
    text = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    section = text.partition(f"\n{ALONE}\n")[2].partition("\n## ")[0]
    return {name: set(dtypes.split()) for name, dtypes in re.findall(r"^- `(.*)`: (.*)$", section, re.M)}


def alone(before, records, is_long):
    """The list anew, after a run with these records: what the run cannot tell of stays as it is `before`."""
    every, first = collections.defaultdict(set), collections.defaultdict(set)
    for record in records:
        if record["programs"]:
            every[record["entry"]].add(SHORT[record["dtype"]])
            if record["first"]:
                first[record["entry"]].add(SHORT[record["dtype"]])
    found = {
        name: (every[name] if name in every and is_long else before.get(name, set())) - first[name]
        for name in {*before, *every}
    }
    return {name: dtypes for name, dtypes in found.items() if dtypes}


def drops(before, generation, results, tried=lambda name: True, spared=None):
    """What compiled by the checked-in table and does not now; `tried` tells which rows the run would make, `spared`
    which dtypes of an entry it need not reach (the normal run: read_alone)."""
    lost = []
    for (name, where), dtypes in before.items():
        now = {SHORT[d] for d in results.get(name, NOTHING).compiles}
        gone = dtypes - now - (spared or {}).get(name, set())
        if where == generation and gone and tried(name):
            lost.append(f"{generation}: {name} compiled for {' '.join(sorted(gone))} and does not now")
    return lost


def with_alone(cell, text, dtypes):
    """The cell with those of `dtypes` that compile by the document's `text` and that the run did not reach."""
    stay = {d for d in SHORT if SHORT[d] in dtypes & dtypes_of(text)}
    stay -= {*(d for d, _ in cell.faults), *cell.unanswered}
    return cell._replace(
        compiles=[d for d in SHORT if d in stay | set(cell.compiles)],
        refused={d: reason for d, reason in cell.refused.items() if d not in stay},
    )


def write(
    version,
    results,
    figures,
    unreached,
    unread,
    names=None,
    adding=False,
    tried=lambda name, generation: True,
    only_long=None,
):
    """`names`: of the table's entries (None: all); `adding`: cells of the document stay, as do those that the run
    does not make (`tried`), and dtypes that only the long run reaches (`only_long`, see alone)."""
    only_long = read_alone() if only_long is None else only_long
    cells, notes, figure_lines = kept()
    known = {g for _, g in cells}
    generations = [g for g in GENERATIONS if g in results or g in known]
    every = set().union(*results.values()) | {n for n, _ in cells}
    if not adding and all(g in results and tried(n, g) for g in generations for n in every):
        notes = {}  # every cell is new

    def row(name):
        texts = []
        for g in generations:
            stays = (adding and (name, g) in cells) or g not in results or not tried(name, g)
            text = cells.get((name, g), "")
            if not stays:
                cell = with_alone(results[g].get(name, NOTHING), text, only_long.get(name, set()))
                text = cell_text(cell, notes)
            texts.append(text)
        return f"| `{name}` | " + " | ".join(texts) + " |" if any(texts) else None

    def table(chosen):
        yield "| entry | " + " | ".join(generations) + " |"
        yield "|---|" + "---|" * len(generations)
        yield from filter(None, map(row, sorted(chosen)))

    lines = [
        "# What a TPU compiler takes",
        "",
        f"Written by `python tests/tpu/gate.py --write` with libtpu {version}, ahead of time, without a TPU:",
        "compilation only, no numbers ran on a chip. One row an entry of `src/lower/aten*.def`. A dtype in",
        "a cell: every program that eager or a whole graph makes for the samples of that dtype compiles on",
        "that generation. `refused`: our own error, raised before the compiler sees the program, with its",
        "reason below; `no answer`: libtpu ended, or passed the gate's limit of time. float64 and complex128",
        "are refused on every generation by the dtype table of `src/ir/target.c` unless",
        "`TORCH_TPU_EMULATE_FLOAT64=1`. A dtype that is absent has no sample.",
        "",
        *table(
            n for n in every if not n.startswith((*WHOLE, GROWING)) and (names is None or n in names)
        ),
        "",
        "## Models and optimizer steps",
        "",
        "Models of `tests/models.py`, as whole graphs, and the second step of each optimizer.",
        "",
        *table(n for n in every if n.startswith(WHOLE)),
        "",
        "## Growing dimensions",
        "",
        "Programs at rounded sizes (`src/ir/pad.h`), with the sizes as run-time numbers: the cases of",
        "`tests/growing.py`, which have each rule of `src/ir/padding.def`, and steps of decoding.",
        "",
        *table(n for n in every if n.startswith(GROWING)),
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
        ALONE,
        "",
        "Dtypes of entries that no first sample reaches; the normal run does not miss them.",
        "",
        *(f"- `{n}`: {' '.join(d for d in SHORT.values() if d in only_long[n])}" for n in sorted(only_long)),
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
        f"On {next(iter(GENERATIONS))}; bytes as libtpu plans them, FLOP as it counts them, summed over the",
        "programs. Aliased: bytes of donated parameters that results take over.",
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
