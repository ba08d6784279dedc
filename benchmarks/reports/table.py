"""The page of `docs/evidence/reports.md`, from the answers that `run.py` kept. Misses stand first."""

import json
from collections.abc import Iterator
from typing import Any

import yaml
from cases_read import HERE, Case, all_cases, read_case

RESULTS = HERE / "results"
#: What an adapter says of a program without what it works on, such as PyTorch.
_NO_MATTER = "does not apply"


def page() -> str:
    """The whole page in Markdown."""
    chosen = yaml.safe_load((HERE / "addresses.yaml").read_text())
    cases = [read_case(name) for name in all_cases()]
    place = {entry["address"]: entry["number"] for entry in chosen["sixty"] + chosen["reserve"]}
    cases.sort(key=lambda case: int(place[case.address]))
    return (
        "\n".join(
            [*_top(cases, chosen), *_looks(cases), *_how(), *_list(cases, place), *_missing(cases, chosen)]
        )
        + "\n"
    )


def answers(look: str) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """Of each tool, what it said of each program."""
    found: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for path in sorted((RESULTS / look).glob("*.jsonl")):
        rows = map(json.loads, path.read_text().splitlines())
        found[path.stem] = {(row["case"], row["program"]): row for row in rows}
    return found


def judged(case: Case, row: dict[str, Any]) -> dict[str, bool]:
    """Was the verdict right, the line, the category? Of a silent error a tool that compares runs sees nothing."""
    return {
        "verdict": row["verdict"] == "differs",
        "line": row.get("line") in case.lines,
        "cause": row.get("line") in case.lines and row.get("category") in case.categories,
    }


def _top(cases: list[Case], chosen: dict[str, Any]) -> Iterator[str]:
    yield "# Public reports, rebuilt, and what tools say of them"
    yield ""
    first = answers("first").get("reprokit", {})
    missed = [
        case
        for case in cases
        if (row := first.get((case.name, "program.py"))) and not judged(case, row)["cause"]
    ]
    looked = sum((case.name, "program.py") in first for case in cases)
    if looked:
        yield f"Missed by `reprokit diagnose` at first sight, {len(missed)} of {looked} looked at: {_names(missed)}."
        asked = answers("today").get("reprokit", {})
        again = [case for case in cases if not case.held and (case.name, "program.py") in asked]
        found = [case for case in again if judged(case, asked[case.name, "program.py"])["cause"]]
        if again:
            yield f"Of {len(again)} open ones that were asked again today, found: {_names(found)}."
            yield _now(cases, {**first, **asked})
        unseen = [case for case in cases if (case.name, "program.py") not in first]
        if unseen:
            yield f"Not looked at yet: {_names(unseen)}."
    else:
        yield "`reprokit diagnose` has not looked at them yet."
    yield ""
    held = sum(case.held for case in cases)
    yield (
        f"Rebuilt so far: {len(cases)} of {len(chosen['sixty'])}, {held} of them held. Each is a small program in our own "
        "words that shows"
    )
    yield "for real what a public report describes, with its repair and a correct twin; `check.py` proves that without any tool."
    yield "Which reports, was decided by [a rule](../../benchmarks/reports/RULE.md) before a tool saw one."
    yield ""


def _now(cases: list[Case], answers: dict[tuple[str, str], dict[str, Any]]) -> str:
    """What is right by the last answer of each: today's, or where it was not asked again the first look's."""
    right = {
        held: sum(
            judged(case, answers[case.name, "program.py"])["cause"]
            for case in cases
            if case.held == held and (case.name, "program.py") in answers
        )
        for held in (False, True)
    }
    missed = [
        case
        for case in cases
        if not case.held
        and (case.name, "program.py") in answers
        and not judged(case, answers[case.name, "program.py"])["cause"]
    ]
    alarms = [name for (name, program), row in answers.items() if _is_alarm(program, row)]
    broken = sum(program == "twin.py" and row["verdict"] == "crash" for (_, program), row in answers.items())
    refused = f"{broken} of them was" if broken == 1 else f"{broken} of them were"
    open_ones = sum(not case.held for case in cases)
    return (
        f"By the last answer of each (the first look's where none is newer; held ones were not asked again): cause and line "
        f"of **{right[False]} of {open_ones}** open and {right[True]} of {len(cases) - open_ones} held ones, "
        f"{len(alarms)} false alarm{'' if len(alarms) == 1 else 's'} on {len(cases)} twins "
        f"({refused} refused). Open ones missed still: {_names(missed)}."
    )


def _is_alarm(program: str, row: dict[str, Any]) -> bool:
    return program == "twin.py" and row["verdict"] == "differs"


def _names(cases: list[Case]) -> str:
    return ", ".join(f"`{case.name}`" for case in cases) or "none"


def _looks(cases: list[Case]) -> Iterator[str]:
    for look, title in (("first", "First look"), ("today", "Today")):
        tools = answers(look)
        if not tools:
            continue
        yield f"## {title}"
        yield ""
        machine = RESULTS / look / "machine.txt"
        yield "Each cell: of open cases, then of held ones." + (
            " " + machine.read_text().strip() if machine.exists() else ""
        )
        yield ""
        yield "| tool | programs | says that they differ | line | cause and line | false alarms on twins | crash, time limit | minutes |"
        yield "|---|---|---|---|---|---|---|---|"
        for tool, rows in tools.items():
            yield _row(tool, rows, cases)
        yield ""
        yield from _each(tools, cases)


def _row(tool: str, rows: dict[tuple[str, str], dict[str, Any]], cases: list[Case]) -> str:
    cells: list[list[str]] = [[] for _ in range(7)]
    for held in (False, True):
        asked = [
            case
            for case in cases
            if case.held == held
            and (row := rows.get((case.name, "program.py")))
            and row["verdict"] != _NO_MATTER
        ]
        right = [judged(case, rows[case.name, "program.py"]) for case in asked]
        twins = [rows[case.name, "twin.py"] for case in asked if (case.name, "twin.py") in rows]
        both = [rows[case.name, "program.py"] for case in asked] + twins
        cells[0].append(str(len(asked)))
        for number, key in ((1, "verdict"), (2, "line"), (3, "cause")):
            cells[number].append(str(sum(one[key] for one in right)))
        cells[4].append(f"{sum(row['verdict'] == 'differs' for row in twins)} of {len(twins)}")
        cells[5].append(str(sum(row["verdict"] in {"crash", "time limit"} for row in both)))
        cells[6].append(f"{sum(row['minutes'] for row in both):.0f}")
    return f"| `{tool}` | " + " | ".join("; ".join(cell) for cell in cells) + " |"


def _each(tools: dict[str, dict[tuple[str, str], dict[str, Any]]], cases: list[Case]) -> Iterator[str]:
    yield "| case | condition | " + " | ".join(f"`{tool}`" for tool in tools) + " |"
    yield "|---|---|" + "---|" * len(tools)
    for case in cases:
        said = [_said(case, rows) for rows in tools.values()]
        if any(said):
            yield f"| `{case.name}` | {case.condition} | " + " | ".join(said) + " |"
    yield ""


def _said(case: Case, rows: dict[tuple[str, str], dict[str, Any]]) -> str:
    program, twin = rows.get((case.name, "program.py")), rows.get((case.name, "twin.py"))
    if program is None:
        return ""
    text = str(program["verdict"])
    if program.get("line"):
        right = judged(case, program)
        called = "cause and line" if right["cause"] else "line only" if right["line"] else "another line"
        text += f", {called}: {program['line']}, {program['category']}, `{program.get('confidence')}`"
    if twin and twin["verdict"] not in {"equal", _NO_MATTER}:
        text += f"; **twin: {twin['verdict']}**"
    return text + f" ({program['minutes'] + (twin or {'minutes': 0})['minutes']:.1f} min)"


def _how() -> Iterator[str]:
    yield "## By hand"
    yield ""
    yield "    python benchmarks/reports/check.py NAME                      # is the case what it says?"
    yield "    python benchmarks/reports/run.py --tool reprokit --look today   # or run_twice, torch_flags, a command of yours"
    yield "    python benchmarks/reports/run.py --table > docs/evidence/reports.md"
    yield ""
    yield "`run_twice` runs a program twice and compares; where a report is about threads, a CPU or compiling, it is given both"
    yield "settings, where it is about resuming, both ways. `torch_flags` does the same with PyTorch's deterministic flags and the"
    yield "three global seeds set from outside: what still differs is what flags do not mend; where no PyTorch is installed, it does"
    yield "not apply, and the program is not among those counted. `reprokit` is told of resuming, and is"
    yield "not told of a second setting: it has to find what to vary. A *silent* error repeats, so that no comparison of runs"
    yield "finds it: it stands in the table because people report it. Line 18 of `workers_of_one_seed`, which makes the workers, was"
    yield "added after the first look, as the like line of `crops_of_every_worker` counts. `second_resume` has three parts; tools"
    yield "are told of the first and the last. `vectors_without_locks` was equal in all three runs when it was first asked again, on a"
    yield "machine with load 35; since then quick programs with compiled code of others are run twice more, and the answer here is of that."
    yield ""


def _list(cases: list[Case], place: dict[str, int]) -> Iterator[str]:
    yield "## The cases"
    yield ""
    yield "| number | case | report | libraries | condition | pairs that differ | lines |"
    yield "|---|---|---|---|---|---|---|"
    for case in cases:
        held = ", held" if case.held else ""
        libraries = ", ".join(f"{name} {version}" for name, version in case.libraries.items())
        lines = ", ".join(map(str, case.lines))
        report = f"[{case.says}]({case.address})"
        yield (
            f"| {place[case.address]}{held} | `{case.name}` | {report} | {libraries} | {case.condition} | "
            f"{case.differ} of {case.pairs} | {lines} |"
        )
    yield ""


def _missing(cases: list[Case], chosen: dict[str, Any]) -> Iterator[str]:
    built = {case.address for case in cases}
    reasons = [entry for entry in chosen["sixty"] + chosen["reserve"] if entry.get("not_rebuilt")]
    if reasons:
        yield "## Not rebuilt, and why"
        yield ""
        for entry in reasons:
            yield f"- {entry['number']}, <{entry['address']}>: {entry['not_rebuilt']}"
        yield ""
    left = [
        entry for entry in chosen["sixty"] if entry["address"] not in built and not entry.get("not_rebuilt")
    ]
    yield f"Still to be rebuilt: {', '.join(str(entry['number']) for entry in left) or 'none'}."
