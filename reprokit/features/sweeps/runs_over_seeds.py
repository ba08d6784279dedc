"""Which runs of a recipe belong together over seeds, and which are left out.

Runs are together only where they stand on the same inputs. Two runs of one seed count once; if their metrics
differ, the program does not repeat, and nothing can be estimated.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import adapters, recipes, runs
from reprokit.core.inputs import INPUTS
from reprokit.core.verdicts import comparability
from reprokit.errors import CannotJudgeError, MetricsError, UsageError
from reprokit.harness.judging.compared_with.reference_run import platform_of
from reprokit.harness.running.resuming.joined_run import as_whole
from reprokit.harness.running.run_inputs import whole_run
from reprokit.layout import CONFIG, MARKER, METRICS, read_json
from reprokit.records import environment_json
from reprokit.runs.sweeps import short_kind

_UNLIKE_WHOLE = {
    "resumed_from": "it was resumed, so it holds the later steps only",
    "stopped_by": "it was stopped early",
    "varied": "its conditions were varied",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRun:
    """A finished run: its seed and its folder."""

    seed: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A run that does not count, and why."""

    folder: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedGroup:
    """Runs of several seeds that stand on the same inputs.

    Attributes:
        name: The recipe, with its overrides.
        members: One a seed, by seed.
        again: More runs of the same seeds, with equal metrics; they do not count.
        left_out: Runs that were looked at and do not belong to it.
        digests: Of the inputs, as ``run.json`` has them.
        kind: Of a sweep over machines of several kinds: what can change numbers on those of this group.
        is_mixed: Whether its runs were made on machines of several kinds.
        label: What it is called alongside others, by what differs; "" for its name.
        inputs: Of a recipe's runs: which inputs they stand on, with their commit and settings.
    """

    name: str
    members: tuple[SeedRun, ...]
    again: tuple[LeftOut, ...]
    left_out: tuple[LeftOut, ...]
    digests: Mapping[str, Any]
    kind: str = ""
    is_mixed: bool = False
    label: str = ""
    inputs: str = ""

    @property
    def called(self) -> str:
        """What a person calls it."""
        return self.label or self.name


def group_of(
    folders: Sequence[Path], *, name: str, like: Path | None = None, mixed: bool = False
) -> SeedGroup:
    """Those of some run folders that stand on the same inputs, one a seed.

    Runs of sweeps over machines of several kinds are together only with runs of the same kind.

    Args:
        folders: Run folders, oldest first.
        name: What the group is called.
        like: The run whose inputs count; without one, the newest finished run without overrides, or the
            newest finished run.
        mixed: Take runs of all kinds of machines, and say so.

    Raises:
        CannotJudgeError: None is finished, or two runs of one seed differ.
    """
    left_out: list[LeftOut] = []
    whole = []
    for folder in folders:
        one = runs.read(folder)
        reason = _why_not_whole(one)
        if reason:
            left_out.append(LeftOut(folder=folder, reason=reason))
        else:
            whole.append(one)
    if not whole:
        raise CannotJudgeError(
            "there is no finished run",
            where=name,
            actual=f"{len(left_out)} that are not finished" if left_out else None,
            fix=f"`reprokit run {name.split(maxsplit=1)[0]} --seed N` for each seed",
        )
    configs: dict[bytes, Any] = {}
    chosen = _reference(whole, like)
    reference = _identity(chosen, configs)
    kinds = {} if mixed else _kinds(whole)
    platform = platform_of(chosen)
    same = []
    for one in whole:
        if not mixed and platform_of(one) != platform:
            what = f"it was made on {platform_of(one)}, and the others on {platform}"
            left_out.append(LeftOut(folder=one.path, reason=what))
            continue
        if kinds and kinds[one.path] != kinds[chosen.path]:
            what = f"it was made on different {short_kind(kinds[one.path]) or 'machines'}"
            left_out.append(LeftOut(folder=one.path, reason=what))
            continue
        objection = comparability.why_not_comparable(
            reference, _identity(one, configs), question=comparability.ACROSS_SEEDS
        )
        if objection is None:
            same.append(one)
        else:
            left_out.append(LeftOut(folder=one.path, reason=_in_short(objection.reason, chosen, one)))
    members, again = _one_a_seed(same)
    return SeedGroup(
        name=name,
        members=tuple(members),
        again=tuple(again),
        left_out=tuple(left_out),
        digests=chosen.record.digests,
        kind=kinds.get(chosen.path, ""),
        is_mixed=mixed,
    )


def _kinds(whole: Sequence[runs.StoredRun]) -> dict[Path, str]:
    """What of its machine can change numbers, of every run; empty where none was made on a mixed set."""
    if not any(one.record.machine.set for one in whole):
        return {}
    found = {one.path: whole_run(one.path) for one in whole}
    return {path: one.inputs.surroundings if one else "" for path, one in found.items()}


def _why_not_whole(one: runs.StoredRun) -> str:
    if not one.complete:
        return one.incomplete_because
    if one.record.seed is None:
        return "run.json names no seed"
    record = as_whole(one.record)
    return next((why for key, why in _UNLIKE_WHOLE.items() if getattr(record, key) is not None), "")


def _reference(whole: Sequence[runs.StoredRun], like: Path | None) -> runs.StoredRun:
    if like is not None:
        wanted = like.resolve()
        found = next((one for one in whole if one.path.resolve() == wanted), None)
        if found is None:
            raise UsageError(
                "this is not a finished run of the recipe", where="--same-inputs-as", actual=str(like)
            )
        return found
    plain = [one for one in whole if not one.record.modified]
    return (plain or whole)[-1]


def inputs_of(group: SeedGroup, *, like: Path | None) -> str:
    """Which inputs a recipe's runs stand on: whose they are, their commit and settings."""
    first = group.members[0].folder
    commit = (environment_json.recorded(first).get("source") or {}).get("commit") or ""
    record = runs.read(first, verify=False).record
    settings = ", ".join(map(_setting, record.modified or ()))
    known = (f"commit {commit[:7]}" if commit else "", f"with {settings}" if settings else "")
    which = "the newest inputs" if like is None else f"the inputs of {like.name}"
    return ", ".join(filter(None, (which, *known)))


def _setting(text: str) -> str:
    """An override as it is typed; of a whole command its words."""
    name, _, value = text.partition("=")
    try:
        words = json.loads(value) if name == "command" else None
    except ValueError:
        words = None
    return f"`{' '.join(map(str, words))}`" if isinstance(words, list) else text


_DIGESTS = re.compile(r" \((?:(?:'sha256:[^']*'|absent)(?:, )?)+\)")


_OF_INPUTS = {
    f"runs are not comparable: digests differ in {name}": f"it differs in {text.partition(' (')[0]}"
    for name, text in INPUTS.items()
}


def _in_short(reason: str, chosen: runs.StoredRun, other: runs.StoredRun) -> str:
    """Why a run is not comparable, without what both command lines have and without digests."""
    expected, actual = (list(one.record.command or ()) for one in (chosen, other))
    if (short := _DIGESTS.sub("", reason)) in _OF_INPUTS:
        return _OF_INPUTS[short]
    if not (reason.startswith("runs are not comparable: command lines differ") and expected and actual):
        return short
    without, words = _apart(expected, actual)
    if not without:
        return f"it was run with --args {shlex.quote(words)}"
    if not words:
        return f"it was run without --args {shlex.quote(without)}"
    return f"its command has {words!r} in place of {without!r}"


def _apart(expected: list[str], actual: list[str]) -> tuple[str, str]:
    """The words of both command lines between the first and the last that differ, with an option's name."""
    shorter = min(len(expected), len(actual))
    start = next((at for at in range(shorter) if expected[at] != actual[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if expected[-1 - at] != actual[-1 - at]), rest)
    if 0 < start < shorter and expected[start - 1].startswith("-"):
        start -= 1
    first, second = (shlex.join(words[start : len(words) - end]) for words in (expected, actual))
    return first, second


def _identity(one: runs.StoredRun, configs: dict[bytes, Any]) -> comparability.Identity:
    """The identity of a run; equal ``config.yaml`` are parsed once."""
    path = one.path / CONFIG
    content = path.read_bytes() if path.is_file() else b""
    if content not in configs:
        configs[content] = recipes.read_mapping(path) if content else None
    return comparability.identity(as_whole(one.record), config=configs[content])


def _one_a_seed(same: Sequence[runs.StoredRun]) -> tuple[list[SeedRun], list[LeftOut]]:
    first: dict[int, Path] = {}
    again = []
    for one in same:
        seed = one.record.seed or 0  # those without are left out by now
        if seed not in first:
            first[seed] = one.path
            continue
        if not _equal_metrics(first[seed], one.path):
            raise CannotJudgeError(
                f"two runs of seed {seed} and one set of inputs differ: the program does not repeat",
                where=f"{first[seed]} and {one.path}",
                fix=f"`reprokit runs compare {first[seed]} {one.path}`",
            )
        again.append(LeftOut(folder=one.path, reason=f"seed {seed} again, equal to {first[seed].name}"))
    return [SeedRun(seed=seed, folder=first[seed]) for seed in sorted(first)], again


def _equal_metrics(first: Path, other: Path) -> bool:
    digests = [(read_json(folder / MARKER).get("files") or {}).get(METRICS) for folder in (first, other)]
    if digests[0] is not None and digests[0] == digests[1]:
        return True
    try:
        return adapters.compare_paths(first, other)[0].within_tolerance
    except MetricsError:
        return False
