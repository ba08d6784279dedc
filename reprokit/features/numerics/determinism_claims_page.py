"""What was found of PyTorch's determinism claims, as a page of tables and as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from reprokit.core import determinism_claims as claims
from reprokit.core.determinism_claims import DIFFERS, FALSE, HOLDS, MODES, NOT_REFUTED, NOT_RUN
from reprokit.reports.escaping import markdown, markdown_code, one_line
from reprokit.reports.tables import shown, table

Findings = Mapping[str, Any]

_INTRODUCTION = """\
# What PyTorch's determinism claims are worth

`torch.use_deterministic_algorithms(True)` promises that an operation gives the same result for the same
input on the same machine, or raises. The documentation lists operations that it makes deterministic and
operations that raise. This page compares each of these claims with repeats, platform by platform. It is
drawn from the JSON files in `numerics-claims/`; measure this machine and draw it again with

    reprokit env numerics claims --table numerics-claims.md

On a machine with a GPU, add `--device cuda`. Where only PyTorch and numpy are at hand, the first of these
measures there, and the second takes the file in:

    python -m reprokit.features.numerics.inside.determinism_claims --device cuda --output FILE
    reprokit env numerics claims --findings FILE --table numerics-claims.md

## How to read it

- Each operation runs on fixed inputs, with nothing set (`default`), with
  `use_deterministic_algorithms(True)` (`deterministic`) and with `warn_only=True` (`warn_only`); the last
  two with `CUBLAS_WORKSPACE_CONFIG=:4096:8`. Outputs (`forward`) and gradients (`backward`) are compared
  bit by bit with those of the first repeat. The last repeat under `default` and `deterministic` runs in
  another process.
- `same` means: no difference was found. It is not "deterministic". No difference in 30 repeats bounds the
  chance that a repeat differs from the first at 9.8 %, with 95 % confidence: 29 comparisons,
  `1 - 0.05**(1/29)`. The bound assumes repeats that do not depend on each other; those
  of one process may: on the CPU below `index_copy` differed in 21 of 29 repeats in one measurement (of 40,960
  numbers), and in none in the next (of 65,536).
- So a difference that an earlier measurement of the same PyTorch on the same device found stays in the table
  (`earlier`), however many repeats found none since.
- `differs 12/29`: 12 of 29 repeats had different bits from the first. `raises`: it ran with nothing set and
  refused in this mode. `warned`: it said that it is not deterministic.
- The claim is read from the documentation of the measured PyTorch itself: `deterministic` and `raises` are
  its two lists; `unlisted` operations fall under the general promise.
- A claim is `false` where the result differs and nothing is raised (or, with `warn_only`, nothing warns),
  where an operation listed as raising raises nothing, or one listed as deterministic raises. `holds`: it
  raises as claimed. `not refuted`: no repeat spoke against it.
- `cost`: the time with `use_deterministic_algorithms(True)` over that with nothing set, forward or backward
  alone: the median of 31 pairs that were timed in turn in one process, and its quartiles. Where these lie on
  both sides of 1, no cost was measured. A ratio below 1: the kernel that repeats is the faster one. Part of a
  cost is that PyTorch fills new memory with a fixed value then.
- On a CPU differences come from threads that run side by side: a busy machine shows fewer of them. Waiting
  threads sleep (`OMP_WAIT_POLICY=PASSIVE`); their number is PyTorch's own.
"""

_NO_GPU = """\
No CUDA device has been measured yet: the tables of the H100 and the H200, and whether results travel within
one GPU generation, are open until someone runs the command above on them.
"""


def page(found: Sequence[Findings]) -> str:
    """The page in Markdown, of the findings of any number of platforms."""
    ordered = sorted(found, key=lambda one: (one["platform"], str(one["device"]), one["torch"]))
    lines = [_INTRODUCTION]
    if not any(one["platform"].startswith("cuda") for one in ordered):
        lines.append(_NO_GPU)
    for one in ordered:
        lines.extend(_platform(one))
    lines.extend(_travel(ordered))
    return "\n".join(lines).rstrip() + "\n"


def page_lines(found: Findings) -> Iterator[str]:
    """For a terminal: what differs or is false, then the counts."""
    rows = [
        {
            "operation": row["operation"],
            "dtype": row["dtype"],
            "phase": _phase(row),
            "claim": row["claim"],
            **{mode: _cell(row.get(mode), found["repeats"]) for mode in MODES},
            "verdict": _verdict(row),
        }
        for row in found["rows"]
        if row[claims.DEFAULT]["outcome"] == DIFFERS or claims.judge(row["claim"], row).verdict == FALSE
    ]
    yield from table(rows)
    yield shown(_heading(found))
    yield _summary(found)
    for mode, batches in found["batches"].items():
        names = sorted({f"{batch['operation']} {batch['dtype']}" for batch in batches if _depends(batch)})
        if names:
            yield shown(f"{mode}: rows depend on their batch in {', '.join(names)}", limit=2000)


def _platform(found: Findings) -> Iterator[str]:
    yield f"## {markdown(one_line(_heading(found)))}\n"
    about = (("threads", "threads"), ("capability", "CPU capability"), ("cuda", "CUDA"), ("cudnn", "cuDNN"))
    told = [f"{label} {found[name]}" for name, label in (*about, ("driver", "driver")) if found.get(name)]
    yield f"{'; '.join(told)}; {found['repeats']} repeats. {_summary(found)}\n"
    false = [row for row in found["rows"] if claims.judge(row["claim"], row).verdict == FALSE]
    yield "### Claims that are false here\n"
    yield from _table(false, found) if false else ["None was found.\n"]
    yield "### Operations that differ from repeat to repeat with nothing set\n"
    differing = [row for row in found["rows"] if row[claims.DEFAULT]["outcome"] == DIFFERS]
    yield from _table(differing, found) if differing else ["None was found.\n"]
    yield "### Does a row's result depend on its batch?\n"
    yield from _batches(found)
    yield "### Every operation\n"
    yield from _table(found["rows"], found)


def _heading(found: Findings) -> str:
    return f"{found['platform']}: {found['device']}, torch {found['torch']}"


def _summary(found: Findings) -> str:
    verdicts = Counter(claims.judge(row["claim"], row).verdict for row in found["rows"])
    counts = ", ".join(f"{verdicts[name]} {name}" for name in (HOLDS, NOT_REFUTED, FALSE, NOT_RUN))
    bound = claims.chance_bound(found["repeats"])
    return f"Claims: {counts}. `same` bounds the chance of another result at {bound:.1%} per repeat."


def _table(rows: Sequence[Mapping[str, Any]], found: Findings) -> Iterator[str]:
    """Rows that say the same of several dtypes are one row."""
    timed = any("cost" in row for row in found["rows"])
    columns = ["operation", "", "dtypes", "claim", *MODES, "verdict", *(["cost"] if timed else [])]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    grouped: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        cells = [_cell(row.get(mode), found["repeats"]) for mode in MODES]
        key = (row["operation"], _phase(row), row["claim"], *cells, _verdict(row))
        grouped.setdefault(key, []).append(row)
    for (name, phase, *rest), members in grouped.items():
        dtypes = ", ".join(row["dtype"] for row in members)
        told = [phase, dtypes, *rest, *([_costs(members)] if timed else [])]
        cells = [markdown_code(one_line(name)), *(markdown(one_line(one)) for one in told)]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _phase(row: Mapping[str, Any]) -> str:
    return f"{row['phase']}{', compiled' if row['compiled'] else ''}"


def _verdict(row: Mapping[str, Any]) -> str:
    judged = claims.judge(row["claim"], row)
    return f"{judged.verdict}: {judged.why}" if judged.why else judged.verdict


def _cell(finding: Mapping[str, Any] | None, repeats: int) -> str:
    if not finding:
        return "–"
    said = str(finding["outcome"])
    if said == DIFFERS:
        compared = finding.get("compared", repeats - 1)
        said += f" {finding['differing']}/{compared}{' (earlier)' if finding.get('earlier') else ''}"
    if finding.get("message") and said == claims.UNAVAILABLE:
        said += f" ({finding['message'][:60]})"
    return said + (", warned" if finding.get("warned") else "")


def _costs(members: Sequence[Mapping[str, Any]]) -> str:
    """The time with determinism over that without, in the order of the dtypes."""
    told = [_cost(row["cost"]) for row in members if "cost" in row]
    return ", ".join(dict.fromkeys(told)) or "–"


def _cost(found: Mapping[str, float]) -> str:
    if found["low"] <= 1 <= found["high"]:
        return "none measured"
    return f"× {found['ratio']:.2f} ({found['low']:.2f}–{found['high']:.2f})"


def _batches(found: Findings) -> Iterator[str]:
    grouped: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for mode, batches in found["batches"].items():
        for batch in batches:
            sizes = ", ".join(map(str, batch.get("sizes", ()))) or "none"
            others = "yes" if batch.get("others") else "no"
            cells = (sizes, others) if "sizes" in batch else ("could not be computed", "–")
            grouped.setdefault((batch["operation"], *cells), {}).setdefault(batch["dtype"], []).append(mode)
    yield (
        "The first rows of a batch of 64, computed in batches of 1, 2, 3, 7, 8, 16 and 33 rows too: batch "
        "sizes in which they get different bits; and whether the first row changes when only the others do. "
        "`default` and `deterministic` agree where no mode is named.\n"
    )
    yield "| operation | dtypes | sizes with different bits | changes with other rows |"
    yield "|---|---|---|---|"
    for (name, sizes, others), by_dtype in grouped.items():
        where = [dtype if len(modes) > 1 else f"{dtype} ({modes[0]})" for dtype, modes in by_dtype.items()]
        yield f"| `{name}` | {', '.join(where)} | {sizes} | {others} |"
    yield ""


def _depends(one: Mapping[str, Any]) -> bool:
    return bool(one.get("sizes") or one.get("others"))


def _travel(found: Sequence[Findings]) -> Iterator[str]:
    """Pairs of devices of one kind and one version of PyTorch: which operations give both the same bits."""
    yield "## Do results travel between devices?\n"
    pairs = [pair for pair in combinations(found, 2) if _kind(pair[0]) == _kind(pair[1])]
    if not pairs:
        yield "Not answered yet: that takes two devices measured with the same PyTorch.\n"
    for left, right in pairs:
        told = claims.same_bits(left["rows"], right["rows"])
        counts = f"equal bits in {len(told['equal'])}, different bits in {len(told['differ'])}"
        unstable = f"{len(told['unstable'])} did not repeat on one of them"
        devices = " and ".join(f"{one['platform']} ({one['device']})" for one in (left, right))
        yield f"{devices}, torch {left['torch']}: {counts}; {unstable}.\n"
        by_operation: dict[str, list[str]] = {}
        for name in told["differ"]:
            operation, _, mode = name.rpartition(" ")
            by_operation.setdefault(operation, []).append(mode)
        for operation, modes in by_operation.items():
            yield f"- {operation}" if len(modes) > 1 else f"- {operation} ({modes[0]})"
        yield ""


def _kind(found: Findings) -> tuple[str, str]:
    return found["platform"].partition("-")[0], found["torch"]
