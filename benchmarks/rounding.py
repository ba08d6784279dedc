"""Error rates of ``compare --rounding``: harmless and real changes of small trainings, judged by its rule.

    python benchmarks/rounding.py --seeds 1 2 --out rounding.jsonl
    python benchmarks/rounding.py --table rounding.jsonl

Every run is a process of its own, forked from one that has imported PyTorch; twins are made by the hook that
``compare`` loads, and judged by the same rule, with the same number of twins and the same anchors.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import rounding_programs as programs
import torch

from reprokit.features.compare.rounding.rule import FACTOR, Finding, Judged, judged
from reprokit.features.compare.rounding.twin_runs import CONTROL_RATE
from reprokit.instrumentation.reprokit_hook import rounding as hook

_TWINS = 8
Metrics = dict[str, list[float]]


def _child(pipe: Any, name: str, what: Mapping[str, Any], seed: int, order: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    watch = SimpleNamespace(facts={}, process="0")
    if order:
        hook.watch(watch, order)
    programs.Linear.what = what
    metrics = programs.PROGRAMS[name](what, seed)
    pipe.send((metrics, watch.facts.get(f"{hook.FACT}0") or {}))


def run(name: str, what: Mapping[str, Any], seed: int, order: str = "") -> tuple[Metrics, dict[str, Any]]:
    """One training in a process of its own: its metrics, and what the hook says of a twin."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(there, name, what, seed, order))
    child.start()
    there.close()
    try:
        found: tuple[Metrics, dict[str, Any]] = here.recv()
    finally:
        child.join()
    return found


class Side:
    """Side a of one program and seed, and its twins by where they begin."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed = name, seed
        self.metrics, _ = run(name, {}, seed)
        if run(name, {}, seed)[0] != self.metrics:
            raise SystemExit(f"{name} does not repeat")
        _, facts = run(name, {}, seed, _order(1, 0))
        self.updates = int(facts["updates"])
        self._twins: dict[int, tuple[list[Metrics], Metrics, float]] = {}

    def twins(self, start: int) -> tuple[list[Metrics], Metrics, float]:
        """Those that begin there, the control, and ε."""
        if start not in self._twins:
            made = [run(self.name, {}, self.seed, _order(number, start)) for number in range(1, _TWINS + 1)]
            control, _ = run(
                self.name, {}, self.seed, f"{hook.CONTROL}:seed=0:start={start}:rate={CONTROL_RATE}"
            )
            epsilon = max(float(facts["epsilon"]) for _, facts in made)
            self._twins[start] = [metrics for metrics, _ in made], control, epsilon
        return self._twins[start]


def _order(number: int, start: int) -> str:
    kind = hook.UPDATES if number % 2 else hook.MODULES
    return f"{kind}:seed={number}:start={start}:rate=1"


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
    record, records = min(places, key=lambda place: place[0] / place[1])
    start = max(0, (record - 1) * side.updates // records)
    twins, control, epsilon = side.twins(start)
    found = judged(side.metrics, b, twins, epsilon=epsilon)
    answer, resolution = str(found.finding), None
    if found.finding is Finding.ROUNDING:
        seen = judged(side.metrics, control, twins, epsilon=epsilon)
        resolution = (CONTROL_RATE - 1) * FACTOR / seen.ratio if seen.finding is Finding.DIFFERENT else None
        answer = answer if resolution else "unjudged"
    return {
        "answer": answer,
        "ratio": min(found.ratio, 1e300),
        "at": found.first[1] if found.first else None,
        "until": _until(found),
        "start": start,
        "resolution": resolution,
    }


def _until(found: Judged) -> int:
    return found.until


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
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


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
    for line in lines:
        wrong = {"harmless": ("different",), "real": ("rounding",)}[line["kind"]]
        if line["answer"] in wrong:
            what = f"{line['kind']} {line['change']}: {line['answer']}, R {line['ratio']:.3g}"
            yield f"- {line['program']} {line['seed']}: {what}"


def main() -> None:
    """Measure, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", nargs="+", default=list(programs.PROGRAMS), choices=programs.PROGRAMS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--out", type=Path, default=Path("rounding.jsonl"))
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    if given.table:
        sys.stdout.writelines(line + "\n" for line in table(given.table))
    else:
        measure(given.programs, given.seeds, given.out)


if __name__ == "__main__":
    main()
