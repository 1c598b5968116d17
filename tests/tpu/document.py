"""docs/tpu_legality.md: its cells, reading, writing, and what a run lost against it."""

import collections
import pathlib
import re

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


def dtypes_of(text):
    """The dtypes that compile, of one cell."""
    return set(text.split(";")[0].split()) if text and not text.startswith(("refused", "**")) else set()


def kept():
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
        elif line.startswith(tuple(f"| {kind}" for kind in WHOLE)):
            figures[parts[0]] = line
        elif not line.startswith("|"):
            columns = []
    return cells, notes, figures


def read():
    """(entry, generation) -> dtypes that compile, from the checked-in table."""
    return {at: dtypes_of(text) for at, text in kept()[0].items()}


def drops(before, generation, results, tried=lambda name: True):
    """What compiled by the checked-in table and does not now; `tried` tells which rows the run would make."""
    lost = []
    for (name, where), dtypes in before.items():
        now = {SHORT[d] for d in results.get(name, ([], {}, []))[0]}
        if where == generation and dtypes - now and tried(name):
            lost.append(
                f"{generation}: {name} compiled for {' '.join(sorted(dtypes - now))} and does not now"
            )
    return lost


def write(
    version, results, figures, unreached, unread, names=None, adding=False, tried=lambda name, generation: True
):
    """`names`: of the table's entries (None: all); `adding`: cells of the document stay, as do those that the run
    does not make (`tried`)."""
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
            texts.append(
                cells.get((name, g), "") if stays else cell_text(*results[g].get(name, ([], {}, [])), notes)
            )
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
        "reason below. float64 and complex128 are refused on every generation by the dtype table of",
        "`src/ir/target.c` unless `TORCH_TPU_EMULATE_FLOAT64=1`. A dtype that is absent has no sample.",
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
