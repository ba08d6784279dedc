"""Whether two runs may be compared at all: one list of what they must share, with the reasons.

Repeating, resuming, varying and running on another machine all use this list. What one of them
lets differ is named in its ``Question``, so a key that is added here counts for all four.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reprokit.core.run_record import RecordedVariations, RunImage, RunRecord

#: Path of each key of ``KEYS`` → its value.
Identity = Mapping[str, object]

_ABSENT = object()
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Objection:
    """Why something is not proven. A function that returns ``Objection | None`` has proven it with None."""

    reason: str

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError("an objection needs a reason")

    def about(self, path: object) -> Objection:
        return Objection(f"{path}: {self.reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Something that two runs must share: its path in ``identity``, its plural, and why it counts."""

    path: str
    plural: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What runs are compared for; ``may_differ``: dotted path → why that may differ and an answer remains."""

    name: str
    may_differ: Mapping[str, str] = field(default_factory=dict)


#: A key that neither run has is no difference: a plain command has no numerics profile and no lock.
KEYS = (
    Key(path="recipe", plural="recipes", why="another training computes different numbers"),
    Key(path="plain_command", plural="plain commands", why="another program computes different numbers"),
    Key(path="seed", plural="seeds", why="other random draws give different numbers"),
    Key(path="device", plural="devices", why="another device rounds differently"),
    Key(
        path="command",
        plural="command lines",
        why="different options; recorded with its placeholders, so folders do not matter",
    ),
    Key(path="numerics", plural="numerics profiles", why="another profile may round differently"),
    Key(path="modified", plural="overrides (--set)", why="an override is another setting"),
    Key(path="config", plural="configurations", why="config.yaml holds the settings as they were used"),
    Key(
        path="digests", plural="digests", why="recipe, trainer, parts, runtime, configuration or lock changed"
    ),
    Key(path="image.variant", plural="environments", why="another variant has other packages"),
    Key(path="image.lock_digest", plural="package locks", why="another lock has other packages"),
    Key(path="backend", plural="backends", why="a container isolates, a virtual environment does not"),
    Key(path="resumed_from.step", plural="first steps", why="a resumed run holds the later steps only"),
    Key(path="varied.names", plural="variations", why="a variation may change the numbers on purpose"),
    Key(path="stressed", plural="conditions (--stress)", why="runs are disturbed together, or not at all"),
)

_ONE_LOCK = "a container and a virtual environment of one lock must compute the same numbers"
_ENVIRONMENTS = "how the two environments differ is what is being asked"

REPEATED = Question(name="do the runs repeat?", may_differ={"backend": _ONE_LOCK})
RESUMED = Question(
    name="does a resumed run continue the interrupted one exactly?",
    may_differ={
        "backend": _ONE_LOCK,
        "command": "it names the step to stop at, or the checkpoint to resume from",
        "resumed_from.step": "one run starts at the first step, the other at the checkpoint",
    },
)
VARIED = Question(
    name="is the result the same under different conditions?",
    may_differ={
        "command": "it starts with the program that sets up the variation",
        "varied.names": "only one of the two runs was varied",
    },
)
WITH_OTHER_SEED = Question(
    name="do the seeds of a program's generators follow from the run's?",
    may_differ={"seed": "whether another seed leads to other generators is what is being asked"},
)
ACROSS_SEEDS = Question(
    name="how do results vary with the seed?",
    may_differ={"backend": _ONE_LOCK, "seed": "how results vary with it is what is being asked"},
)
ACROSS_MACHINES = Question(
    name="where do runs on two machines first differ?",
    may_differ={
        "backend": _ENVIRONMENTS,
        "command": "the options of the launcher belong to its version; plain commands are compared apart",
        "digests.lock": _ENVIRONMENTS,
        "digests.runtime": "another version of reprokit is part of the environment",
        "image.lock_digest": _ENVIRONMENTS,
    },
)


def identity(record: RunRecord, *, config: Mapping[str, Any] | None) -> Identity:
    """What says which training a run was: of ``run.json``, and ``config.yaml`` under ``config``."""
    image, varied = record.image or RunImage(), record.varied or RecordedVariations()
    return {
        "recipe": record.recipe,
        "plain_command": record.plain_command,
        "seed": record.seed,
        "device": record.device,
        "command": record.command,
        "numerics": record.numerics,
        "modified": record.modified,
        "config": config,
        "digests": record.digests or None,
        "image.variant": image.variant,
        "image.lock_digest": image.lock_digest,
        "backend": record.backend,
        "resumed_from.step": record.resumed_from.step if record.resumed_from else None,
        "varied.names": varied.names,
        "stressed": "disturbed" if record.stressed is not None else None,
    }


def why_not_comparable(first: Identity, other: Identity, *, question: Question) -> Objection | None:
    """The first key in which two runs differ although they must share it; None when there is none.

    Values of different types differ: True is not 1, and 42.0 is not 42.
    """
    for key in KEYS:
        for path, expected, actual in _differences(first[key.path], other[key.path], at=key.path):
            if path not in question.may_differ:
                part = path.removeprefix(key.path).removeprefix(".")
                where = f" in {part}" if part else ""
                values = _shown(expected, actual)
                return Objection(f"runs are not comparable: {key.plural} differ{where}{values}")
    return None


def why_not_its_own(record: RunRecord) -> Objection | None:
    """That a run opened files of other runs or goldens, so that its numbers may be theirs; None for none."""
    files = record.files_of_others
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    return Objection(f"it opened files of another run or of a golden: {files[0]}{more}") if files else None


def why_not_alone(record: RunRecord) -> Objection | None:
    """That a run read what an earlier one left outside its folder, or inherited; None where none is known."""
    read = (*record.shared.get("files", ()), *record.shared.get("kept", ()))
    inherited = record.shared.get("inherited", ())
    if read:
        return Objection(f"it read what an earlier run wrote: {read[0]}")
    return Objection(f"it inherits what an earlier run changed: {inherited[0]}") if inherited else None


def _differences(expected: Any, actual: Any, *, at: str) -> Iterator[tuple[str, Any, Any]]:
    """Every place in which two values differ, as far down as both are mappings."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name in dict.fromkeys((*expected, *actual)):
            values = (expected.get(name, _ABSENT), actual.get(name, _ABSENT))
            yield from _differences(*values, at=f"{at}.{name}")
    elif not _equal(expected, actual):
        yield at, expected, actual


def _equal(expected: Any, actual: Any) -> bool:
    if isinstance(expected, list | tuple) and type(expected) is type(actual):
        return len(expected) == len(actual) and all(map(_equal, expected, actual))
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return not any(_differences(expected, actual, at=""))
    return type(expected) is type(actual) and bool(expected == actual)


def _shown(expected: Any, actual: Any) -> str:
    """Both values, to follow "differ"; nothing where one is too long to read."""
    values = [list(value) if isinstance(value, tuple) else value for value in (expected, actual)]
    words = ["absent" if value is None or value is _ABSENT else repr(value) for value in values]
    return f" ({', '.join(words)})" if max(map(len, words)) <= _LONGEST else ""
