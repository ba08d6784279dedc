"""Error rates and cost of ``compare --rounding``: harmless and real changes of small trainings, judged by it.

    python benchmarks/rounding.py --seeds 1 2 --out rounding.jsonl
    python benchmarks/rounding.py --table rounding.jsonl
    python benchmarks/rounding.py --first --seeds 7 8 --out rounding_first.jsonl
    python benchmarks/rounding.py --table-of-first rounding_first.jsonl

Every run is a process of its own, forked from one that has imported PyTorch; twins are made by the hook that
``compare`` loads, as many as it would make, and judged by the same rule with the same anchors. A twin that is
ended early is the beginning of the whole one. With ``--first`` runs are ended after their first update, and
that alone is judged.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gzip
import json
import math
import multiprocessing
import statistics
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import rounding_programs as programs
import torch
import torch._dynamo  # optimizers import it, which takes each forked run a second

from reprokit.features.compare.rounding.first_update import Moved, judged_first
from reprokit.features.compare.rounding.rule import (
    ENOUGH,
    FACTOR,
    SINGLE_EPSILON,
    Finding,
    Judged,
    judged,
)
from reprokit.features.compare.rounding.twin_runs import ALL, CONTROL_RATE, TwinRuns, make_twins
from reprokit.instrumentation.reprokit_hook import rounding as hook

Metrics = dict[str, list[float]]


def _child(pipe: Any, name: str, what: Mapping[str, Any], seed: int, order: str, out: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    watch = SimpleNamespace(facts={}, process="0", out=out)
    if order:
        hook.watch(watch, order)
    programs.Linear.what = what
    metrics: Metrics = {}
    with contextlib.suppress(SystemExit):  # ended after the first update
        metrics = programs.PROGRAMS[name](what, seed)
    pipe.send((metrics, watch.facts.get(f"{hook.FACT}0") or {}))


def run(
    name: str, what: Mapping[str, Any], seed: int, order: str = "", out: str = "/nowhere"
) -> tuple[Metrics, dict[str, Any]]:
    """One training in a process of its own: its metrics, and what the hook says of a twin.

    The first update is recorded where ``out`` is a folder.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(there, name, what, seed, order, out))
    child.start()
    there.close()
    try:
        found: tuple[Metrics, dict[str, Any]] = here.recv()
    finally:
        child.join()
    return found


class Side:
    """Side a of one program and seed, and the runs of its twins by their order."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed = name, seed
        self.metrics, _ = run(name, {}, seed)
        if run(name, {}, seed)[0] != self.metrics:
            raise SystemExit(f"{name} does not repeat")
        self._made: dict[str, tuple[Metrics, dict[str, Any]]] = {}

    def made(self, order: str) -> tuple[Metrics, dict[str, Any]]:
        """What a run under an order logs, and what the hook says of it."""
        order, _, stop = order.partition(":stop=")
        if order not in self._made:
            self._made[order] = run(self.name, {}, self.seed, order)
        metrics, facts = self._made[order]
        if not stop:
            return metrics, facts
        share = (int(stop) - 1) / facts["updates"]
        return {name: values[: math.ceil(share * len(values))] for name, values in metrics.items()}, facts


class Search:
    """What ``make_twins`` asks for, of one change."""

    def __init__(self, side: Side, b: Metrics) -> None:
        self.side, self.b = side, b
        self.orders: dict[Path, str] = {}

    def make_run(self, variation: Any, number: int) -> Path:
        """A run, known by its number."""
        folder = Path(str(number))
        self.orders[folder] = variation.environment[hook.TWIN]
        return folder

    def updates_of(self, folder: Path) -> int:
        """How many updates it has made."""
        return int(self.side.made(self.orders[folder])[1]["updates"])

    def judged(self, other: Metrics, runs: TwinRuns) -> Judged:
        """The rule on another side."""
        made = {folder: self.side.made(self.orders[folder]) for folder in runs.every_twin}
        epsilon = max(float(facts["epsilon"]) for _, facts in made.values())
        whole, short = ([made[folder][0] for folder in some] for some in (runs.twins, runs.short))
        return judged(self.side.metrics, other, whole, short=short, epsilon=epsilon)

    def finding_with(self, runs: TwinRuns) -> tuple[Finding, float]:
        """The rule on the changed side."""
        found = self.judged(self.b, runs)
        return found.finding, found.ratio


def compared(side: Side, what: Mapping[str, Any]) -> dict[str, Any]:
    """The answer on one change, as ``compare --rounding`` gives it."""
    b, _ = run(side.name, what, side.seed)
    places = []
    for metric, values in side.metrics.items():
        others = b[metric]
        at = next(
            (at for at, pair in enumerate(zip(values, others, strict=True)) if pair[0] != pair[1]), None
        )
        if at is not None:
            places.append((at, len(values)))
    if not places:
        return {"answer": "equal"}
    place = min(places, key=lambda place: place[0] / place[1])
    search = Search(side, b)
    runs = make_twins(
        search.make_run, place=place, updates_of=search.updates_of, finding_with=search.finding_with
    )
    found = search.judged(b, runs)
    answer, resolution = str(found.finding), None
    if found.finding is Finding.ROUNDING and runs.control is not None:
        seen = search.judged(side.made(search.orders[runs.control])[0], runs)
        if seen.finding is Finding.DIFFERENT:
            resolution = 2 * (CONTROL_RATE - 1) * FACTOR / max(one.steady for one in seen.metrics.values())
        answer = answer if resolution else "unjudged"
    return {
        "answer": answer,
        "ratio": min(found.ratio, 1e300),
        "at": found.first[1] if found.first else None,
        "until": found.until,
        "start": runs.start,
        "resolution": resolution,
        "made": runs.made,
        "short": len(runs.short),
    }


def first_update(name: str, what: Mapping[str, Any], seed: int, order: str) -> tuple[Moved, float]:
    """By how much the first update of a run moves its parameters, and the ε of a twin."""
    with tempfile.TemporaryDirectory() as out:
        facts = run(name, what, seed, order, out)[1]
        told = facts["first_update"]
        data = np.fromfile(Path(out) / told["file"], dtype="<f4").astype(np.float64)
    sizes = [math.prod(shape) for shape in told["shapes"]]
    values = tuple(np.split(data, np.cumsum(sizes)[:-1]))
    shapes = tuple(map(tuple, told["shapes"]))
    return Moved(step=told["step"], shapes=shapes, every=told["every"], values=values), facts["epsilon"]


def measure_first(names: Sequence[str], seeds: Sequence[int], out: Path) -> None:
    """Append a line for each change: what the first update says, with four twins and with eight."""
    as_it_is = f"{hook.FIRST}:seed=0:start={hook.NEVER}:rate=1"
    for name in names:
        for seed in seeds:
            a, _ = first_update(name, {}, seed, as_it_is)
            made = [first_update(name, {}, seed, _twin_of_first(one)) for one in range(1, ALL + 1)]
            few_digits = max(epsilon for _, epsilon in made) > SINGLE_EPSILON
            for kind, changes in (("harmless", programs.harmless(name)), ("real", programs.real(name))):
                for change, what in changes.items():
                    b, _ = first_update(name, what, seed, as_it_is)
                    line: dict[str, Any] = {"program": name, "seed": seed, "kind": kind, "change": change}
                    for twins in (ENOUGH, ALL):
                        found = judged_first(a, b, [one for one, _ in made[:twins]])
                        word = "not_seen" if few_digits or not found.is_seen else str(found.finding)
                        line[f"of_{twins}"] = {**found.as_data(), "finding": word}
                    with out.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")


def _twin_of_first(number: int) -> str:
    kind = hook.UPDATES if number % 2 else hook.MODULES
    return f"{kind}:seed={number}:start=0:rate=1:stop=1"


def table_of_first(path: Path) -> Iterator[str]:
    """Programs × what the first update says, with eight twins; and what it says of small changes."""
    lines = _lines(path)
    words = ("equal", "rounding", "unjudged", "different", "not_seen")
    yield f"| program (seeds) | harmless: {' | '.join(words)} | real: {' | '.join(words)} |"
    yield "|---" * (1 + 2 * len(words)) + "|"
    for name in [*dict.fromkeys(line["program"] for line in lines), "all"]:
        of = [line for line in lines if name in (line["program"], "all")]
        counts = collections.Counter((line["kind"], line[f"of_{ALL}"]["finding"]) for line in of)
        cells = [counts[kind, word] for kind in ("harmless", "real") for word in words]
        yield f"| {name} ({len({line['seed'] for line in of})}) | " + " | ".join(map(str, cells)) + " |"
    yield ""
    for line in lines:
        found = line[f"of_{ALL}"]
        if line["kind"] == "harmless" and found["finding"] in ("different", "unjudged"):
            yield f"- {line['program']} {line['seed']}: harmless {line['change']}: {found}"
    yield from _small_changes(lines)


_SMALL = ("rate_0.0001", "rate_1e-05", "rate_1e-06", "eps_10", "clip_1.01", "norm_eps", "batch_momentum")


def _small_changes(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| change | program, seed | difference | of twins | multiple | answer |"
    yield "|---|---|---|---|---|---|"
    for change in _SMALL:
        for line in lines:
            found = line[f"of_{ALL}"]
            if line["change"] != change or found["finding"] == "not_seen":
                continue
            cells = [found["difference"], found["of_twins"], found["slope"]]
            told = ["" if one is None else f"{one:.2g}" for one in cells]
            yield f"| {change} | {line['program']} {line['seed']} | {' | '.join(told)} | {found['finding']} |"


def measure(names: Sequence[str], seeds: Sequence[int], out: Path) -> None:
    """Append a line for each change; what is there already is not made again."""
    there = {tuple(line[key] for key in ("program", "seed", "kind", "change")) for line in _lines(out)}
    for name in names:
        for seed in seeds:
            side = None
            for kind, changes in (("harmless", programs.harmless(name)), ("real", programs.real(name))):
                for change, what in changes.items():
                    if (name, seed, kind, change) in there:
                        continue
                    side = side or Side(name, seed)
                    line = {
                        "program": name,
                        "seed": seed,
                        "kind": kind,
                        "change": change,
                        **compared(side, what),
                    }
                    with out.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def table(path: Path) -> Iterator[str]:
    """Programs × answers, and every wrong one."""
    lines = _lines(path)
    words = (
        "harmless: equal | rounding | unjudged | different | real: different | unjudged | rounding | equal"
    )
    yield f"| program (seeds) | {words} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in [*dict.fromkeys(line["program"] for line in lines), "all"]:
        of = [line for line in lines if name in (line["program"], "all")]
        counts = collections.Counter((line["kind"], line["answer"]) for line in of)
        seeds = len({line["seed"] for line in of})
        cells = [counts["harmless", word] for word in ("equal", "rounding", "unjudged", "different")]
        cells += [counts["real", word] for word in ("different", "unjudged", "rounding", "equal")]
        yield f"| {name} ({seeds}) | " + " | ".join(map(str, cells)) + " |"
    yield ""
    yield from cost(lines)
    for line in lines:
        wrong = {"harmless": ("different",), "real": ("rounding",)}[line["kind"]]
        if line["answer"] in wrong:
            what = f"{line['kind']} {line['change']}: {line['answer']}, R {line['ratio']:.3g}"
            yield f"- {line['program']} {line['seed']}: {what}"


def cost(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many runs the answers took: all, and those of them that were made to their end."""
    for answer in ("different", "rounding", "unjudged"):
        made = [
            (line["made"], line["made"] - line["short"])
            for line in lines
            if line["answer"] == answer and "made" in line  # the first answers took eight whole twins each
        ]
        if made:
            every, whole = zip(*made, strict=True)
            up_to_8 = sum(one <= 8 for one in every) / len(every)
            yield (
                f"- {answer}: {statistics.median(every):g} runs in the median, {max(every)} at most, "
                f"{up_to_8:.0%} with 8 or fewer; {statistics.median(whole):g} whole ones in the median"
            )
    yield ""


def main() -> None:
    """Measure, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", nargs="+", default=list(programs.PROGRAMS), choices=programs.PROGRAMS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--out", type=Path, default=Path("rounding.jsonl"))
    parser.add_argument("--table", type=Path)
    parser.add_argument("--first", action="store_true", help="judge first updates alone")
    parser.add_argument("--table-of-first", type=Path)
    given = parser.parse_args()
    if given.table_of_first:
        sys.stdout.writelines(line + "\n" for line in table_of_first(given.table_of_first))
    elif given.first:
        measure_first(given.programs, given.seeds, given.out)
    elif given.table:
        sys.stdout.writelines(line + "\n" for line in table(given.table))
    else:
        measure(given.programs, given.seeds, given.out)


if __name__ == "__main__":
    main()
