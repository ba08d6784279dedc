"""The answers of verbs other than ``reproduce``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from reprokit.api.reports import Report
from reprokit.api.tables import Tabular
from reprokit.core.comparing.difference import Divergence
from reprokit.diagnosis import Cause

if TYPE_CHECKING:
    from reprokit.harness import diagnosing

_TONES = {0: "good", 1: "bad"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEntry:
    """What the gate learned of one recipe and seed: a report, or an error, or why none is needed.

    Attributes:
        recipe: Its name.
        exit_code: That of the report or error.
        report: None where there is an error, or the recipe was left out.
        error: In one sentence, or "".
        left_out: Why the recipe was not judged, or "".

    >>> GateEntry(recipe="train", exit_code=0, left_out="no file that it depends on changed").report is None
    True
    """

    recipe: str
    exit_code: int
    report: Report | None = None
    error: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Tabular):
    """The answer of ``verify``. Its table has one line an entry.

    Attributes:
        exit_code: The gravest of the entries; 4 where nothing was judged.
        entries: One for each recipe and seed.

    >>> gate = Gate(exit_code=3, entries=(GateEntry(recipe="train", exit_code=3, error="no data"),))
    >>> gate.passed, gate.rows_of_table()[0]["recipe"]
    (False, 'train')
    """

    exit_code: int
    entries: tuple[GateEntry, ...]

    @property
    def passed(self) -> bool:
        """Whether the gate is green."""
        return self.exit_code == 0

    def rows_of_table(self) -> list[dict[str, Any]]:
        """``recipe``, ``seed``, ``verdict``, ``exit_code``, ``sentence`` of each entry."""
        return [
            {
                "recipe": entry.recipe,
                "seed": entry.report.seed if entry.report else None,
                "verdict": entry.report.verdict.value if entry.report else None,
                "exit_code": entry.exit_code,
                "sentence": entry.report.sentence if entry.report else entry.error or entry.left_out,
            }
            for entry in self.entries
        ]

    def headline(self) -> tuple[str, str, str]:
        """Whether the gate is green."""
        word = "green" if self.passed else f"exit code {self.exit_code}"
        return word, _TONES.get(self.exit_code, "odd"), f"{len(self.entries)} judged or left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison.

    Attributes:
        what: In one line: the commit, what was set, or the command.
        runs: Its run folders; none where its inputs decided.
        environment: Python, CPU, lock and so on.

    >>> from pathlib import Path
    >>> Side(what="commit 1cd340b", runs=(Path("runs/a"),), environment={}).what
    'commit 1cd340b'
    """

    what: str
    runs: tuple[Path, ...]
    environment: Mapping[str, Any] = field(repr=False)


class SideOptions(TypedDict, total=False):
    """What is asked of one side of a recipe; the working tree as it is where nothing is.

    Attributes:
        revision: A commit, branch or tag.
        overrides: ``path=value`` settings.
        arguments: Words that are added to the command of the recipe.
        variant: Another environment, by its name.
        lock: A file of pinned packages in place of the environment's.
        packages: Requirements that its packages are solved with, such as ``jax==0.5.3``.
        python: Another version of Python, such as ``3.13``.
        threads: How many threads the numeric libraries use.
        cpu: The CPU that is emulated.

    >>> SideOptions(revision="main", threads=1)["revision"]
    'main'
    """

    revision: str | None
    overrides: Sequence[str]
    arguments: str | None
    variant: str | None
    lock: str | None
    packages: Sequence[str]
    python: str | None
    threads: int | None
    cpu: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareAnswer(Tabular):
    """The answer of ``compare``. Its table has one line a metric.

    Attributes:
        answer: ``equal``, ``rounding``, ``different`` or ``unjudged``; None where a side did not run.
        exit_code: That of the command line.
        sentence: The answer in one sentence.
        hint: What to do next, or "".
        sides: ``a`` and ``b``.
        first: Where they first differ: ``expected`` is a's value, ``actual`` b's.
        what_differs: What is not the same on the two sides, ``kind`` and ``what``.
        metrics: Metric → how far it is off.
        notes: What else a reader should know.
        rounding: Whether the difference is what rounding does; None where no one asked.
        folder: Where its report is; None where nothing had to run.
        data: The whole answer, as ``--json`` has it.

    >>> sides = (["python", "train.py", seed, "{run_dir}"] for seed in "12")
    >>> answer = compare_commands(*sides)
    >>> answer.answer, answer.first["metric"]
    ('different', 'loss')
    """

    answer: str | None
    exit_code: int
    sentence: str
    hint: str
    sides: Mapping[str, Side]
    first: Mapping[str, Any] | None
    what_differs: tuple[Mapping[str, str], ...]
    metrics: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...]
    rounding: Mapping[str, Any] | None
    folder: Path | None
    data: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: Mapping[str, Any], *, folder: Path | None) -> CompareAnswer:
        """The record of an answer, as ``compare.json`` or ``--json`` has it."""
        return cls(
            answer=data["answer"],
            exit_code=data["exit_code"],
            sentence=data["sentence"],
            hint=data["hint"],
            sides={
                name: Side(
                    what=side["what"], runs=tuple(map(Path, side["runs"])), environment=side["environment"]
                )
                for name, side in data["sides"].items()
            },
            first=data["first"],
            what_differs=tuple(data["what_differs"]),
            metrics=data["metrics"],
            notes=tuple(data["notes"]),
            rounding=data.get("rounding"),
            folder=folder,
            data=data,
        )

    def rows_of_table(self) -> list[dict[str, Any]]:
        """``metric``, and how far it is off, of each metric."""
        return [{"metric": name, **summary} for name, summary in self.metrics.items()]

    def headline(self) -> tuple[str, str, str]:
        """The answer and its sentence."""
        return self.answer or "not run", _TONES.get(self.exit_code, "odd"), self.sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Tabular):
    """The answer of ``diagnose``. Its table has one line a cause.

    Attributes:
        verdict: ``NONDETERMINISTIC``, ``REPEATABLE``, or ``UNJUDGED``: nothing differs, but a variation that
            was asked for was not made.
        exit_code: That of the command line.
        cause: The first of the causes; None where none is known or nothing differs.
        causes: What makes the runs differ.
        divergence: The first record that differs.
        runs: How many were made.
        folder: Where the runs, traces and the page are.
        data: The whole answer, as ``--json`` has it.

    >>> found = diagnose(["python", "train.py", "{seed}", "{run_dir}"], budget=4)
    >>> found.verdict, found.cause
    ('REPEATABLE', None)
    """

    verdict: str
    exit_code: int
    cause: Cause | None
    causes: tuple[Cause, ...]
    divergence: Divergence | None
    runs: int
    folder: Path
    data: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, found: diagnosing.Diagnosis) -> Diagnosis:
        """The record of a diagnosis."""
        return cls(
            verdict=found.verdict,
            exit_code={"NONDETERMINISTIC": 1, "UNJUDGED": 4}.get(found.verdict, 0),
            cause=found.cause,
            causes=found.causes,
            divergence=found.divergence,
            runs=found.runs,
            folder=found.folder,
            data=found.as_data(),
        )

    def rows_of_table(self) -> list[dict[str, Any]]:
        """``category``, ``file``, ``line``, ``what``, ``fix``, ``confidence`` of each cause."""
        names = ("category", "file", "line", "what", "fix", "confidence")
        return [{name: getattr(cause, name) for name in names} for cause in self.causes]

    def headline(self) -> tuple[str, str, str]:
        """The verdict and the first cause."""
        told = self.cause.what if self.cause else ""
        return self.verdict, _TONES.get(self.exit_code, "odd"), told


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCheck:
    """What came of judging a report's runs again.

    Attributes:
        follows: The verdict follows from the evidence, and no file was touched.
        findings: One sentence for each thing that is not as the report says.
        not_checked: What another version of the tool said or drew differently.
        made_by: That version; "" where this one made the report.
        exit_code: 0 it stands; 1 it does not; 4 the evidence is gone.

    >>> found = check_report(list_reports()[0])
    >>> isinstance(found.follows, bool), isinstance(found.findings, tuple)
    (True, True)
    """

    follows: bool
    findings: tuple[str, ...]
    not_checked: tuple[str, ...]
    made_by: str
    exit_code: int
