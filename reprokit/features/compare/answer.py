"""The answer of ``compare``, and its file ``compare.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from reprokit import workspace
from reprokit.errors import ReportError
from reprokit.layout import COMPARISON
from reprokit.recipes import StatisticalMetric
from reprokit.records.newer import refuse_newer_schema

FILE = COMPARISON
SCHEMA = 1
#: The sides, in the order in which they are told and run.
SIDES = ("a", "b")


class Word(StrEnum):
    """The answer in one word."""

    EQUAL = "equal"
    ROUNDING = "rounding"
    DIFFERENT = "different"
    UNJUDGED = "unjudged"


NOT_RUN = 3
EXIT_CODES = {Word.EQUAL: 0, Word.ROUNDING: 1, Word.DIFFERENT: 1, Word.UNJUDGED: 4, None: NOT_RUN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: what it is, its runs, and its environment, as far as its runs say.

    Attributes:
        what: In one line: the commit, what was set, or the command.
        runs: The run folders, in the order in which they were made; none where inputs decided.
        environment: Python, CPU, lock and so on.
    """

    what: str
    runs: tuple[str, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of comparing two sides, in plain types that JSON has.

    Attributes:
        answer: None where a side did not run.
        sentence: The answer in one sentence.
        hint: What to do next, or "".
        sides: ``a`` and ``b``.
        first: Where they first differ, as in ``diff --json``: ``expected`` is a's value, ``actual`` b's.
        trace: The first update and tensor that differ, where the runs have traces; None where none does.
        what_differs: What is not the same on the two sides, ``kind`` and ``what``.
        metrics: Metric → how far it is off.
        records_compared: Of the first runs of the sides.
        notes: What else a reader should know, a sentence each.
        statistical: What the gate says of results over seeds; None where bits were compared.
        rounding: Whether the difference is what rounding does, with its evidence; None where no one asked.
    """

    answer: Word | None
    sentence: str
    hint: str = ""
    sides: Mapping[str, Side]
    first: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    what_differs: tuple[Mapping[str, str], ...] = ()
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    records_compared: int = 0
    notes: tuple[str, ...] = ()
    statistical: Mapping[str, Any] | None = None
    rounding: Mapping[str, Any] | None = None

    @property
    def exit_code(self) -> int:
        """That of the command line."""
        if self.answer is Word.ROUNDING and self.rounding and self.rounding["allowed"]:
            return 0
        return EXIT_CODES[self.answer]

    def as_data(self) -> dict[str, Any]:
        """For ``--json`` and the file."""
        told = asdict(self)
        return {"answer": told.pop("answer"), "exit_code": self.exit_code, **told}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for and runs do not say, or earlier ones of the same inputs say otherwise.

    Attributes:
        commits: Side → its commit, in words; where one is absent, that of its first run.
        working_tree: Where the working tree is, whose code no run may use; "" where no side is a commit.
        touched: What a later program did to a run that had ended; "" for nothing.
        lacked: Side that did not run → the file of the working tree that its clean tree lacks.
        recipes: Side → its recipe as data, where that of its first run says something else.
        statistical: What the recipe of side a says is compared over seeds; None for what its runs say.
        options: Those of two plain commands, as they are typed for the same comparison.
    """

    commits: Mapping[str, str] = field(default_factory=dict)
    working_tree: str = ""
    touched: str = ""
    lacked: Mapping[str, str] = field(default_factory=dict)
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    statistical: tuple[StatisticalMetric, ...] | None = None
    options: tuple[str, ...] = ()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Asked:
        """As the file has it."""
        said = data.get("statistical")
        told = {name: data[name] for name in _AS_IT_IS if name in data}
        told["options"] = tuple(data.get("options", ()))
        if said is None:
            return cls(**told)
        metrics = (StatisticalMetric(**{**one, "platforms": tuple(one["platforms"])}) for one in said)
        return cls(**told, statistical=tuple(metrics))


#: What of it the file has as it is.
_AS_IT_IS = ("commits", "working_tree", "touched", "lacked", "recipes")
#: What its runs say, of a comparison without anything else.
AS_RUNS_SAY = Asked()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """``compare.json``: an answer, how it was asked for, and the evidence that it follows from.

    Attributes:
        name: The recipe, or what the runs of the first command are filed under.
        command: The command line.
        created_at: ISO 8601, UTC.
        ignore: Patterns of metrics that were left out.
        only: The metrics that were asked for; None for all.
        over_seeds: Whether results over seeds were compared, not bits.
        evidence: File of the run folders → SHA-256.
        answer: The answer as plain data.
        asked: What was asked for, where earlier runs may say otherwise; reports of older versions have none.
        tool: Which tool judged, as in a report; those of older versions do not say it.
    """

    name: str
    command: str
    created_at: str
    ignore: tuple[str, ...]
    only: tuple[str, ...] | None
    over_seeds: bool
    evidence: Mapping[str, str]
    answer: Mapping[str, Any]
    asked: Asked = AS_RUNS_SAY
    tool: Mapping[str, str] | None = None

    def write(self, folder: Path) -> None:
        """Write it into the folder of a report."""
        workspace.write_json(folder / FILE, {"schema": SCHEMA, **asdict(self)})


def load(path: Path) -> StoredAnswer:
    """Read ``compare.json``.

    Raises:
        ReportError: It is none, or of another form.
    """
    try:
        data = json.loads(path.read_bytes())
        refuse_newer_schema(data.get("schema"), name=path.name, where=str(path), error=ReportError)
        if data.pop("schema") != SCHEMA:
            raise ReportError("the comparison was written by another version", where=str(path))
        only, asked = data.pop("only"), Asked.from_data(data.pop("asked", {}))
        stored = StoredAnswer(
            **{**data, "ignore": tuple(data["ignore"])},
            only=None if only is None else tuple(only),
            asked=asked,
        )
        for name in SIDES:
            [Path(run) for run in stored.answer["sides"][name]["runs"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ReportError("this is not a comparison that compare wrote", where=str(path)) from error
    return stored
