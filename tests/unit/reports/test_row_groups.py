"""What a terminal gathers: rows skipped for one reason, harmless differences; and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.reports.formats.report_content import Outline, outline
from reprokit.reports.terminal.row_groups import gathered, harmless, that_apply, that_matter
from reprokit.reports.terminal.to_terminal import Style, to_terminal

Sample = Callable[[Verdict], Report]

NO_RECIPE = "a plain command has no recipe to judge"


def row(name: str, *, status: Status = Status.SKIPPED, reason: str = NO_RECIPE, required: bool = False):
    return CheckResult(
        id=name, title=name.title(), status=status, reason=reason, remedy="x", evidence={}, required=required
    )


@pytest.fixture
def outlined(sample_report: Sample) -> Callable[..., Outline]:
    def draw(*rows: CheckResult, verdict: Verdict = Verdict.REPEATABLE) -> Outline:
        return outline(dataclasses.replace(sample_report(verdict), checks=rows))

    return draw


def ids(rows) -> list[str]:
    return [one.id for one in rows]


def test_three_advisory_rows_skipped_for_one_reason_stand_in_one_line(outlined):
    shown, together = that_apply(outlined(row("a"), row("b"), row("c")))
    assert ids(shown) == []
    assert together == {NO_RECIPE: ["a", "b", "c"]}


def test_two_rows_are_not_worth_gathering(outlined):
    shown, together = that_apply(outlined(row("a"), row("b")))
    assert (ids(shown), together) == (["a", "b"], {})


def test_rows_are_gathered_by_reason_and_the_others_keep_their_order(outlined):
    rows = [row("p", status=Status.PASSED), row("a"), row("x", reason="other"), row("b"), row("c")]
    shown, together = that_apply(outlined(*rows))
    assert ids(shown) == ["p", "x"]
    assert list(together.values()) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    "other",
    [
        row("must", required=True),
        row("bad", status=Status.FAILED),
        row("odd", status=Status.ERROR),
        row("good", status=Status.PASSED),
    ],
    ids=lambda one: one.id,
)
def test_a_required_row_and_one_that_was_judged_are_never_gathered(outlined, other):
    shown, together = that_apply(outlined(row("a"), row("b"), row("c"), other))
    assert ids(shown) == [other.id]
    assert other.id not in together[NO_RECIPE]


def test_where_a_run_did_not_finish_no_row_says_more_than_that(outlined):
    found = outlined(
        row("p", status=Status.PASSED),
        row("f", status=Status.ERROR, required=True),
        row("a"),
        verdict=Verdict.NOT_RUN,
    )
    shown, together = that_apply(found)
    assert shown == []
    [(reason, names)] = together.items()
    assert gathered(reason, names) == "2 checks were not made: a run did not finish"


def test_a_gathered_line_names_every_row_and_its_reason():
    assert gathered(NO_RECIPE, ["a", "b", "c"]) == f"SKIPPED 3 rows: {NO_RECIPE}: a, b, c"


@pytest.mark.parametrize("style", [Style(width=80), Style(width=200), Style(is_terminal=False)])
def test_every_gathered_row_is_still_named_on_the_page(sample_report: Sample, style: Style):
    rows = tuple(row(f"name_{letter}") for letter in "abcdef")
    report = dataclasses.replace(sample_report(Verdict.REPEATABLE), checks=rows)
    page = to_terminal(report, style=style, verbose=True)
    assert all(one.id in page for one in rows)
    assert "6 skipped" in page


def difference(number: int, effect: str) -> dict[str, object]:
    return {"field": f"f{number}", "expected": 1, "actual": 2, "can_change_numbers": effect, "why": ""}


def differing(report: Report, **counts: int) -> Outline:
    rows = [difference(number, effect) for effect, count in counts.items() for number in range(count)]
    return outline(dataclasses.replace(report, environment_diff=rows))


def test_what_can_and_what_may_change_numbers_is_shown_and_the_rest_counted(sample_report: Sample):
    mattering, num_cut, num_harmless = that_matter(
        differing(sample_report(Verdict.STALE_GOLDEN), yes=2, maybe=1, no=30)
    )
    assert [one.effect for one in mattering] == ["yes", "yes", "maybe"]
    assert (num_cut, num_harmless) == (0, 30)
    assert harmless(30).startswith("30 other fields differ")


def test_a_difference_that_was_cut_is_called_harmless_only_where_all_others_are_shown(sample_report: Sample):
    report = sample_report(Verdict.STALE_GOLDEN)
    mattering, num_cut, num_harmless = that_matter(differing(report, yes=5, no=5000))
    assert (len(mattering), num_cut, num_harmless) == (5, 0, 5000)
    mattering, num_cut, num_harmless = that_matter(differing(report, yes=5000, no=7))
    assert (len(mattering) + num_cut, num_harmless) == (5007, 0)


def test_a_page_with_harmless_differences_only_says_so_in_one_line(sample_report: Sample):
    rows = [difference(number, "no") for number in range(4)]
    report = dataclasses.replace(sample_report(Verdict.REPRODUCED), environment_diff=rows)
    for style in (Style(width=80), Style(is_terminal=False)):
        page = to_terminal(report, style=style, verbose=True)
        assert harmless(4) in page
        assert "f0" not in page
