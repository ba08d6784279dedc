"""Running the checklist: order, relaxations, requirements, strictness, and checks that break."""

import importlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from reprokit import checks
from reprokit.core.verdicts.rows import Finding, Status, failed, not_applicable, passed, skipped
from reprokit.errors import CannotJudgeError
from support import planted


@dataclass
class FakeCheck:
    """A row that finds what it is told to find."""

    finding: object
    ID: str = "fake"
    TITLE: str = "A fake"
    ORDER: int = 10
    ADVISORY: bool = False
    NEEDS_RECIPE: bool = False

    def check(self, evidence):
        if isinstance(self.finding, BaseException):
            raise self.finding
        return self.finding


GOOD = passed("all is well", seen=1)
BAD = failed("it broke", "mend it")


def judged(finding, evidence=None, **about):
    found = checks.run_all(
        planted.clean() if evidence is None else evidence, checks=[FakeCheck(finding, **about)]
    )
    return found[0]


def relaxing(*entries, require=()):
    return planted.in_recipe("checks", {"relax": list(entries), "require": list(require)})(planted.clean())


def test_a_row_carries_what_its_check_found():
    row = judged(GOOD)
    assert (row.id, row.title, row.status, row.reason) == ("fake", "A fake", Status.PASSED, "all is well")
    assert (row.remedy, row.evidence, row.required) == ("", {"seen": 1}, True)
    assert judged(BAD).remedy == "mend it"


def test_every_file_of_the_folder_is_a_row_in_the_declared_order():
    rows = checks.run_all(planted.clean())
    assert [row.id for row in rows] == list(checks.registry())
    files = {path.stem for path in Path(checks.__file__).parent.glob("*.py")} - {"__init__"}
    assert {row.id for row in rows} == files


@pytest.mark.parametrize(
    "error", [ValueError("no such key"), KeyError("seed"), RecursionError(), SystemExit(0)]
)
def test_a_check_that_breaks_is_an_error_with_its_text(error):
    row = judged(error)
    assert row.status is Status.ERROR
    assert row.reason == f"the check is faulty: {type(error).__name__}: {error}"
    assert row.remedy
    assert row.required


def test_an_interruption_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        judged(KeyboardInterrupt())


@pytest.mark.parametrize(
    ("finding", "fault"),
    [
        (True, "it returned no finding"),
        (None, "it returned no finding"),
        (Finding(status="PASSED", reason="text is no status"), "it returned no finding"),
        (passed(""), "it gave no reason"),
        (Finding(status=Status.PASSED, reason="fine", remedy="but mend it"), "a remedy belongs to"),
        (failed("broken", ""), "a remedy belongs to"),
        (skipped("not today", ""), "a remedy belongs to"),
        (Finding(status=Status.PASSED, reason="fine", applies=False), "a row that does not apply is SKIPPED"),
        (Finding(status=Status.FAILED, reason="no", remedy="x", applies=False), "a row that does not apply"),
        (passed("fine", loss=float("nan")), "ValueError"),
        (passed("fine", path=Path("x")), "TypeError"),
    ],
)
def test_a_finding_that_contradicts_itself_is_an_error(finding, fault):
    row = judged(finding)
    assert row.status is Status.ERROR
    assert row.reason.startswith("the check is faulty: ")
    assert fault in row.reason
    assert row.remedy


def test_an_advisory_row_is_required_only_under_strict():
    assert not judged(BAD, ADVISORY=True).required
    assert judged(BAD, planted.clean(strict=True), ADVISORY=True).required


def test_a_row_that_does_not_apply_is_never_required_not_even_under_strict():
    nothing = not_applicable("no data", "nothing to do")
    assert not judged(nothing).required
    assert not judged(nothing, planted.clean(strict=True)).required


def test_a_recipe_can_require_an_advisory_row():
    assert judged(BAD, relaxing(require=["fake"]), ADVISORY=True).required


def test_a_recipe_can_require_a_row_that_would_not_apply():
    row = judged(not_applicable("no trace", "write one"), relaxing(require=["fake"]))
    assert (row.status, row.required) == (Status.SKIPPED, True)


@pytest.mark.parametrize("strict", [False, True])
def test_a_relaxed_row_stays_visible_and_says_why(strict):
    evidence = planted.with_(strict=strict)(relaxing({"check": "fake", "because": "no engine here"}))
    row = judged(BAD, evidence)
    assert row.status is Status.FAILED
    assert row.reason == "relaxed by the recipe (no engine here): it broke"
    assert row.remedy == "mend it"
    assert not row.required


def test_a_relaxed_row_that_passes_still_says_that_it_is_relaxed():
    row = judged(GOOD, relaxing({"check": "fake", "because": "no engine here"}))
    assert (row.status, row.required) == (Status.PASSED, False)
    assert row.reason.startswith("relaxed by the recipe")


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (
            {"relax": [{"check": "no_such_row", "because": "x"}]},
            "checks.relax names an unknown row: 'no_such_row'",
        ),
        ({"require": ["no_such_row"]}, "checks.require names an unknown row: 'no_such_row'"),
        ({"require": [["fake"]]}, "checks.require names an unknown row: ['fake']"),
        ({"require": [{"check": "fake"}]}, "checks.require names an unknown row: {'check': 'fake'}"),
        ({"relax": ["fake"]}, "fake is relaxed without a reason (because)"),
        ({"relax": [{"because": "x"}]}, "checks.relax names an unknown row: None"),
        ({"relax": [{"check": "fake"}]}, "fake is relaxed without a reason (because)"),
        ({"relax": [{"check": "fake", "because": " "}]}, "fake is relaxed without a reason (because)"),
        ({"relax": [{"check": "fake", "because": 1}]}, "fake is relaxed without a reason (because)"),
        ({"relax": "fake"}, "checks.relax is 'fake', not a list"),
        ({"require": "fake"}, "checks.require is 'fake', not a list"),
        ({"skip": ["fake"]}, "checks has no key 'skip'"),
        (["fake"], "checks is ['fake'], not a mapping with relax and require"),
        (
            {"relax": [{"check": "fake", "because": "x"}], "require": ["fake"]},
            "fake is both relaxed and required",
        ),
    ],
)
def test_a_relaxation_that_means_nothing_is_an_error_row(section, problem):
    evidence = planted.in_recipe("checks", section)(planted.clean())
    *_, row = checks.run_all(evidence, checks=[FakeCheck(GOOD)])
    assert row.id == "recipe_checks"
    assert (row.status, row.required) == (Status.ERROR, True)
    assert row.reason == problem
    assert row.evidence == {"problems": [problem]}
    assert row.remedy


def test_all_problems_of_the_section_are_told_at_once():
    evidence = relaxing({"check": "x", "because": "y"}, require=["z"])
    *_, row = checks.run_all(evidence, checks=[FakeCheck(GOOD)])
    assert row.reason == "checks.relax names an unknown row: 'x'; checks.require names an unknown row: 'z'"


@pytest.mark.parametrize("name", ["repeatable", "equals_golden", "unmodified"])
def test_what_the_verdict_means_cannot_be_relaxed(name):
    rows = {row.id: row for row in checks.run_all(relaxing({"check": name, "because": "x"}))}
    assert rows[name].required
    assert not rows[name].reason.startswith("relaxed")
    assert rows["recipe_checks"].reason == f"{name} cannot be relaxed: it is what the verdict means"


@pytest.mark.parametrize(
    "section", [None, {}, {"relax": None, "require": None}, {"relax": (), "require": ()}]
)
def test_a_recipe_that_changes_nothing_adds_no_row(section):
    evidence = planted.in_recipe("checks", section)(planted.clean())
    assert len(checks.run_all(evidence, checks=[FakeCheck(GOOD)])) == 1


def test_requiring_rows_that_exist_adds_no_row():
    found = checks.run_all(relaxing(require=["repeatable", "hardened"]))
    assert "recipe_checks" not in {row.id for row in found}
    assert next(row for row in found if row.id == "hardened").required


def test_relaxing_one_row_and_requiring_another_adds_no_row():
    found = checks.run_all(relaxing({"check": "hardened", "because": "x"}, require=["source_clean"]))
    assert "recipe_checks" not in {row.id for row in found}


def test_a_plain_command_has_nothing_for_rows_that_need_a_recipe():
    row = judged(ValueError("never called"), planted.plain(strict=True), NEEDS_RECIPE=True)
    assert (row.status, row.required) == (Status.SKIPPED, False)
    assert row.remedy
    assert judged(GOOD, planted.plain(), NEEDS_RECIPE=False).status is Status.PASSED


def test_a_recipe_is_judged_by_rows_that_need_one():
    assert judged(GOOD, NEEDS_RECIPE=True).status is Status.PASSED


def test_every_ignored_metric_is_a_row():
    evidence = planted.plain(ignored_metrics={"perf/fps": "perf/*", "charts/SPS": "*SPS"})
    rows = checks.run_all(evidence, checks=[FakeCheck(GOOD)])[1:]
    assert [row.id for row in rows] == ["ignored_metric/charts/SPS", "ignored_metric/perf/fps"]
    assert all((row.status, row.required) == (Status.SKIPPED, False) for row in rows)
    assert "'*SPS'" in rows[0].reason
    assert rows[0].title == "Metric charts/SPS was left out"
    assert rows[0].evidence == {"metric": "charts/SPS", "pattern": "*SPS"}
    assert rows[0].remedy


def test_a_pattern_that_leaves_nothing_out_is_a_row_with_its_near_miss():
    evidence = planted.plain(ignored_metrics={"perf/fps": "perf/*"}, ignore=("perf/*", "losses/polcy"))
    rows = checks.run_all(evidence, checks=[FakeCheck(GOOD)])[1:]
    assert [row.id for row in rows] == ["ignored_metric/perf/fps", "ignored_metric/losses/polcy"]
    assert rows[1].reason == "--ignore-metric 'losses/polcy' left nothing out: no metric matches it"
    assert rows[1].remedy == "did you mean 'losses/policy'?"
    assert rows[1].evidence == {"metric": None, "pattern": "losses/polcy"}


@pytest.mark.parametrize(
    ("names", "remedy"),
    [
        ((), "leave it out"),
        (("b", "a"), "name one of a, b"),
        (tuple("jihgfedcba"), "name one of a, b, c, d, e, f, g, h"),
    ],
)
def test_where_no_metric_is_near_the_first_names_are_offered(names, remedy):
    runs = tuple(replace(run, metric_names=frozenset(names)) for run in planted.clean().runs)
    rows = checks.run_all(replace(planted.clean(), runs=runs, ignore=("time/*",)))
    (row,) = (row for row in rows if row.id == "ignored_metric/time/*")
    assert row.remedy == remedy


def test_a_pattern_whose_metrics_an_earlier_one_left_out_is_not_in_vain():
    evidence = planted.plain(ignored_metrics={"perf/fps": "perf/*"}, ignore=("perf/*", "*fps"))
    assert len(checks.run_all(evidence, checks=[FakeCheck(GOOD)])) == 2


def test_a_remedy_names_the_recipe_that_it_is_about():
    found = judged(failed("broken", "run `reprokit reproduce RECIPE`"))
    assert found.remedy == "run `reprokit reproduce cartpole`"


def test_a_row_that_does_not_apply_needs_no_remedy():
    assert judged(not_applicable("no data", "")).remedy == ""


# Files of the folder that are no checks.

WHOLE = (
    "ID = 'mine'\nTITLE = 'Mine'\nORDER = 10\nADVISORY = False\nNEEDS_RECIPE = False\n"
    "def check(evidence):\n    return None\n"
)


@pytest.fixture
def discovered(tmp_path, monkeypatch):
    """Write files into a package of their own and discover them."""
    monkeypatch.syspath_prepend(tmp_path)
    packages = []

    def discover(**files):
        name = f"folder_{tmp_path.name}_{len(packages)}".replace("-", "_")
        folder = tmp_path / name
        folder.mkdir()
        packages.append(folder)
        (folder / "__init__.py").write_text("")
        for stem, text in files.items():
            (folder / f"{stem}.py").write_text(text)
        importlib.invalidate_caches()
        return checks.discover([str(folder)], package=name)

    return discover


def test_adding_a_file_adds_a_row(discovered):
    second = WHOLE.replace("mine", "other").replace("10", "5")
    assert [check.ID for check in discovered(mine=WHOLE, other=second)] == ["other", "mine"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (WHOLE.replace("'mine'", "'yours'"), "expected 'mine', the name of its file. got ID = 'yours'"),
        (WHOLE.replace("'Mine'", "''"), "expected TITLE of type str, not empty"),
        (WHOLE.replace("def check", "def judge"), "it has no function check. expected check(evidence)"),
        (WHOLE.replace("(evidence)", "()"), "its function check takes other arguments"),
        (WHOLE.replace("10", "'10'"), "expected ORDER of type int"),
        (WHOLE.replace("10", "True"), "expected ORDER of type int"),
        (WHOLE.replace("ADVISORY = False", "ADVISORY = 0"), "expected ADVISORY of type bool"),
        (WHOLE.replace("NEEDS_RECIPE = False\n", ""), "it has no NEEDS_RECIPE"),
        (WHOLE.replace("TITLE = 'Mine'\n", ""), "it has no TITLE"),
        (WHOLE.replace("ID = 'mine'\n", ""), "it has no ID"),
        ("1 / 0\n", "it cannot be imported: ZeroDivisionError: division by zero"),
        ("def\n", "it cannot be imported: "),
    ],
)
def test_a_file_that_is_no_check_is_named_and_nothing_is_judged(discovered, text, why):
    with pytest.raises(CannotJudgeError) as caught:
        discovered(mine=text)
    assert why in str(caught.value)
    assert re.fullmatch(r"folder_\w+/mine\.py", caught.value.where)
    assert caught.value.exit_code == 4


def test_two_rows_cannot_have_one_place(discovered):
    with pytest.raises(CannotJudgeError, match=r"other\.py: .*its ORDER 10 is that of mine\.py"):
        discovered(mine=WHOLE, other=WHOLE.replace("mine", "other"))


def test_strict_requires_no_row_that_nobody_requested():
    rows = checks.run_all(planted.with_(strict=True, sweep=None)(planted.clean()))
    required = {row.id for row in rows if row.required}
    assert {"several_seeds", "statistics"}.isdisjoint(required)
    assert {"source_clean", "pinned_image", "hardened"} <= required


def test_runs_of_nothing_but_nan_are_no_evidence():
    evidence = planted.clean()
    only_nan = replace(
        evidence.repeats[0], problems=(planted.odd("only_nan", "every number is NaN", severity="warning"),)
    )
    rows = checks.run_all(replace(evidence, repeats=(only_nan, *evidence.repeats[1:])))
    repeatable = next(row for row in rows if row.id == "repeatable")
    assert (repeatable.status, "NaN" in repeatable.reason) == (Status.ERROR, True)
