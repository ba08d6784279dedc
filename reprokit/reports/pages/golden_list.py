"""The goldens of a project as lines, and what `reprokit golden lint` finds wrong with them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reprokit.core.statistics.foreseen import smallest_drops
from reprokit.core.statistics.gate_plan import Metric, PlanOfLooks
from reprokit.core.verdicts.rows import counted
from reprokit.layout import ENSEMBLE
from reprokit.reports.escaping import one_line

if TYPE_CHECKING:
    from reprokit.golden import Ensemble, Golden, GoldenRow
    from reprokit.golden.lint import GoldenFinding

_KEYS = ("recipe", "platform", "seed", "created_at", "reason", "runs_agreed", "previous", "fingerprint")


def golden_line(row: GoldenRow) -> str:
    """One golden: what it is of, and why it was promoted, or what is wrong with it."""
    made = "a foreign log" if row.foreign else f"{row.runs_agreed} runs agreed"
    made = counted(row.num_seeds, "seed") if row.num_seeds else made
    tail = row.problem or f"{row.created_at}  {made}  {row.reason}"
    which = ENSEMBLE if row.path.name == ENSEMBLE else f"seed {row.seed}"
    return one_line(f"{row.recipe}  {row.platform}  {which}  {tail}")


def ensemble_lines(ensemble: Ensemble) -> Iterator[str]:
    """What an ensemble is, what it was blessed with, and the numbers of its seeds."""
    told = ensemble.provenance
    yield one_line(f"{ensemble.path}: {counted(len(ensemble.members), 'seed')}")
    for key in ("created_at", "reason", "previous", "fingerprint"):
        yield _line(key, getattr(told, key), what=ENSEMBLE)
    for label, one in zip(ensemble.labels, told.statistical, strict=True):
        values = [member.values[label] for member in ensemble.members]
        mean = math.fsum(values) / len(values)
        spread = f"mean {mean:.6g}, {min(values):.6g} to {max(values):.6g}"
        window = f"{one.window}, {one.direction} is better, margin {one.margin:.6g}"
        yield one_line(f"{one.metric}: {window}; {spread}")
        if len(set(values)) == 1:
            yield one_line(
                f"{label}: all seeds are equal, so only a worsening that all seeds share would be seen"
            )
    if left_out := told.left_out:
        seeds = ", ".join(map(str, left_out[:20]))
        yield one_line(
            f"left out: {counted(len(left_out), 'finished seed')}, which every answer says: {seeds}"
        )
    yield from _visible(ensemble)
    for half in told.halves:
        yield one_line(f"halves {half.order}, {half.metric}: p = {half.p_value:.3g}")


def _visible(ensemble: Ensemble) -> Iterator[str]:
    """Which drop the last look of a gate would show, and whether that is enough for the margin."""
    plan, blessed = PlanOfLooks(), ensemble.provenance.statistical
    metrics = [
        Metric(name=label, margin=one.margin, higher_is_better=one.direction == "higher")
        for label, one in zip(ensemble.labels, blessed, strict=True)
    ]
    reference = {label: [member.values[label] for member in ensemble.members] for label in ensemble.labels}
    for metric, drop in zip(metrics, smallest_drops(reference, metrics, plan=plan), strict=True):
        asked = f"with {100 * plan.power:.0f} % power, {plan.looks[-1]} new seeds"
        if drop is None:
            yield one_line(f"{metric.name}: {asked} show no worsening")
        else:
            less = drop <= metric.margin
            than = (
                "" if less else f": more than the margin {metric.margin:.6g}, so the answer is often UNJUDGED"
            )
            yield one_line(f"{metric.name}: {asked} show a worsening of {drop:.3g} or more{than}")


def provenance_lines(golden: Golden) -> Iterator[str]:
    """The lines of ``provenance.json`` that people ask for."""
    told = golden.provenance
    for key in _KEYS:
        yield _line(key, getattr(told, key), what="golden")
    for name, value in (told.foreign._asdict() if told.foreign else {}).items():
        yield f"  {one_line('foreign ' + name):<16} {one_line(value)}"
    for name, value in told.digests.items():
        yield f"  {one_line(name):<10} {one_line(value)}"
    for name, value in told.image.items():
        yield f"  {one_line('image ' + name):<12} {one_line(value)}"
    if isinstance(rounding := golden.document.get("rounding"), Mapping):
        yield f"{'rounding':<12} {one_line(rounding.get('sentence'), limit=1000)}"


def _line(key: str, value: object, *, what: str) -> str:
    """A line of a provenance; of a digest also what it is the digest of."""
    if value is None:
        return f"{key:<12} none: the first {what}"
    of = {"previous": f" (the {what} before)", "fingerprint": " (the environment)"}.get(key, "")
    return f"{key:<12} {one_line(value)}{of if str(value).startswith('sha256:') else ''}"


def finding_line(found: GoldenFinding, *, root: Path) -> str:
    """One problem: its file relative to a folder, the rule, what is wrong, and a hint."""
    where = found.where.removeprefix(f"{root}/")
    return one_line(f"{where}: {found.rule}: {found.what}. Hint: {found.remedy}", limit=2000)


def count_line(*, goldens: int, findings: int) -> str:
    """How many goldens were checked, and how many problems there are."""
    return f"{counted(goldens, 'golden')}, {counted(findings, 'finding')}"


def size_lines(golden: Golden, *, limit_mb: float) -> Iterator[str]:
    """What a golden weighs that was compressed, and a warning where that is over the limit all the same."""
    if not golden.provenance.sizes:
        return
    plain = sum(golden.provenance.sizes.values()) / 1e6
    packed = sum(file.stat().st_size for file in golden.path.glob("*.gz")) / 1e6
    yield f"It is over golden_limit_mb, so its files are compressed: {plain:.2f} MB to {packed:.2f} MB."
    if packed > limit_mb:
        yield (
            f"Warning: {golden.path}: {packed:.2f} MB compressed, over golden_limit_mb = {limit_mb:g} still. "
            "Every record is kept, and git keeps each golden of its history: have the program log less "
            "often, "
            "or raise golden_limit_mb under [tool.reprokit] if that size is meant."
        )
