"""A comparison as one picture."""

import xml.etree.ElementTree as ET

import pytest

from reprokit.core.comparing.difference import Divergence
from reprokit.core.report_parts import DrawnCurve
from reprokit.reports.charts.diff_to_svg import diff_to_svg

SVG = "{http://www.w3.org/2000/svg}"


def series(*values, steps=None):
    return [
        DrawnCurve(label=label, steps=list(steps or range(len(one))), values=list(one))
        for label, one in zip(("expected", "actual"), values, strict=False)
    ]


def at(metric, step):
    return Divergence(record=0, step=step, metric=metric, expected=0.0, actual=1.0)


def drawn(found, divergence=None, title="DIFFERS"):
    return ET.fromstring(diff_to_svg(found, divergence, title=title))  # noqa: S314  written by the code under test


def test_both_sides_are_drawn_and_told_apart_by_colour_and_dash():
    root = drawn({"loss": series([1.0, 0.5], [1.0, 0.7])})
    classes = [line.get("class") for line in root.iter(f"{SVG}polyline")]
    assert set(classes) == {"run-0", "run-1"}
    assert {"expected", "actual"} <= set(root.itertext())
    assert "stroke-dasharray" in diff_to_svg({}, None, title="x")


def test_the_divergence_is_marked_and_its_metric_comes_first():
    root = drawn({"a": series([1.0, 2.0]), "b": series([1.0, 2.0])}, at("b", 1))
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    assert names == ["b", "a"]
    assert "".join(root.itertext()).count("first divergence: step 1") == 1


def test_a_record_that_is_missing_is_marked_in_every_curve():
    root = drawn({"a": series([1.0, 2.0]), "b": series([1.0, 2.0])}, at(None, 1))
    assert "".join(root.itertext()).count("first divergence: step 1") == 2


def test_there_is_no_half_step():
    root = drawn({"a": series([1.0, 2.0, 3.0])})
    ticks = [text.text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert ticks == ["0", "1", "2"]


@pytest.mark.parametrize("values", [[], [float("nan")], [float("inf")]])
def test_without_a_number_it_says_so(values):
    assert "There is no number to draw." in "".join(drawn({"loss": series(values)}).itertext())


def test_more_metrics_than_fit_are_counted():
    root = drawn({f"m{at}": series([1.0, 2.0]) for at in range(20)})
    assert "and 8 more metrics" in "".join(root.itertext())


def test_hostile_names_are_text():
    name = "</text><script>alert(1)</script>\x1b[31m\ud800"
    root = drawn({name: series([1.0, 2.0])}, at(name, "<b>"), title=name)
    assert not list(root.iter(f"{SVG}script"))
    assert any("<script>" in text for text in root.itertext())


def test_the_same_comparison_gives_the_same_bytes_and_needs_nothing_from_elsewhere():
    pictures = [diff_to_svg({"loss": series([1.0, 2.0])}, None, title="x") for _ in range(2)]
    assert pictures[0] == pictures[1]
    assert "href" not in pictures[0]
    assert "url(" not in pictures[0]
