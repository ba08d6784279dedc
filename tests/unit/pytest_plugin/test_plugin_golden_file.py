"""A test's golden on disk: its name, and what follows from it."""

from __future__ import annotations

import json

import pytest

from reprokit.core.tolerance import Tolerance, Tolerances
from reprokit.pytest_plugin import GoldenFixture
from reprokit.pytest_plugin.golden_file import judge, stem_of


@pytest.fixture
def asked(tmp_path):
    def ask(metrics, **words):
        return judge(
            metrics, folder=tmp_path, stem="test", **{"tolerances": Tolerances(), "update": False, **words}
        )

    return ask


def test_tests_whose_names_differ_have_goldens_of_their_own():
    names = ["test_a[1/2]", "test_a[1_2]", "test_a[1:2]", "test_a[1 2]", "test_a[ä]", "test_a[ö]"]
    assert len({stem_of(name, suffix="") for name in names}) == len(names)


def test_a_plain_name_stays_as_it_is():
    assert stem_of("test_loss[seed-7]", suffix="") == "test_loss[seed-7]"


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "a/b", "x" * 500])
def test_no_name_leads_out_of_the_folder_or_is_too_long(name):
    stem = stem_of(name, suffix="")
    assert "/" not in stem
    assert not stem.startswith(".")
    assert len(stem) < 150


def test_a_tolerance_is_the_gates(asked):
    asked([{"loss": 1.0}])
    assert asked([{"loss": 1.001}]).startswith("REGRESSION")
    assert asked([{"loss": 1.001}], tolerances=Tolerances(default=Tolerance(rtol=0.01))) == ""


GOOD = [{"step": 0, "loss": 0.1}, {"step": 1, "loss": 0.30000000000000004}]
PLANTED = {
    "one unit in the last place": [GOOD[0], {"step": 1, "loss": 0.30000000000000010}],
    "the sign of zero": [{"step": 0, "loss": -0.1}, GOOD[1]],
    "a record less": GOOD[:1],
    "a record more": [*GOOD, {"step": 2, "loss": 0.5}],
    "swapped records": [{"step": 0, "loss": 0.30000000000000004}, {"step": 1, "loss": 0.1}],
    "a renamed metric": [{"step": 0, "Loss": 0.1}, {"step": 1, "Loss": 0.30000000000000004}],
    "a metric more": [{**record, "entropy": 0.0} for record in GOOD],
    "another step": [{"step": 0, "loss": 0.1}, {"step": 2, "loss": 0.30000000000000004}],
    "NaN": [GOOD[0], {"step": 1, "loss": float("nan")}],
    "text for a number": [{"step": 0, "loss": "0.1"}, GOOD[1]],
    "true for a number": [{"step": 0, "loss": True}, GOOD[1]],
}


@pytest.mark.parametrize("fault", PLANTED)
def test_every_planted_fault_is_a_regression(asked, tmp_path, fault):
    asked(GOOD)
    assert asked(GOOD) == ""
    assert asked(PLANTED[fault]).startswith("REGRESSION")
    assert len((tmp_path / "test.obtained.jsonl").read_text().splitlines()) == len(PLANTED[fault])


def test_nan_agrees_with_nan_only(asked):
    asked([{"loss": float("nan"), "x": 1.0}])
    assert asked([{"loss": float("nan"), "x": 1.0}]) == ""
    assert asked([{"loss": 1.0, "x": 1.0}]).startswith("REGRESSION")


def test_a_torn_file_is_unjudged_and_not_a_pass(asked, tmp_path):
    file = tmp_path / "given.jsonl"
    file.write_bytes(b'{"step": 0, "loss": 1.0}\n{"step": 1, "lo')
    assert asked(file).startswith("NO_GOLDEN")
    assert asked(file).startswith("UNJUDGED")


def test_several_questions_of_one_test_have_goldens_of_their_own(tmp_path):
    def fixture():
        return GoldenFixture(folder=tmp_path, test="test_two", update=False)

    first = fixture()
    for loss in (1.0, 2.0):
        with pytest.raises(pytest.fail.Exception, match="NO_GOLDEN"):
            first.check([{"loss": loss}])
    again = fixture()
    again.check([{"loss": 1.0}])
    again.check([{"loss": 2.0}])
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["test_two-2.jsonl", "test_two.jsonl"]


def test_a_tolerance_for_one_metric_is_for_that_one_only(tmp_path):
    golden = GoldenFixture(folder=tmp_path, test="test", update=False)
    with pytest.raises(pytest.fail.Exception):
        golden.check([{"loss": 1.0, "reward": 1.0}])
    near = [{"loss": 1.001, "reward": 1.0}]
    GoldenFixture(folder=tmp_path, test="test", update=False).check(near, tolerances={"loss": {"rtol": 0.1}})
    with pytest.raises(pytest.fail.Exception, match="REGRESSION"):
        GoldenFixture(folder=tmp_path, test="test", update=False).check(
            near, tolerances={"reward": {"rtol": 0.1}}
        )


@pytest.fixture
def elsewhere(asked, tmp_path):
    """A golden that was written with another numpy."""
    asked(GOOD)
    path = tmp_path / "test.provenance.json"
    told = json.loads(path.read_text())
    told["environment"]["inside"]["packages"]["numpy"] = "1.0.0"
    path.write_text(json.dumps(told))


def test_other_numbers_in_another_environment_are_a_stale_golden_that_names_the_package(asked, elsewhere):
    told = asked([{"step": 0, "loss": 0.5}, GOOD[1]])
    assert told.startswith("STALE_GOLDEN")
    assert "package numpy 1.0.0 → " in told.splitlines()[0]


def test_equal_numbers_in_another_environment_pass(asked, elsewhere):
    assert asked(GOOD) == ""


@pytest.mark.parametrize("name", ["test.jsonl", "test.provenance.json"])
def test_an_edited_golden_is_not_taken_for_one(asked, tmp_path, name):
    asked(GOOD)
    path = tmp_path / name
    path.write_text(path.read_text().replace("0.1", "0.2").replace('"sha256"', '"md5"'))
    assert asked([{"step": 0, "loss": 0.2}, GOOD[1]]).startswith("The golden is not the one")


@pytest.mark.parametrize("content", ["", "[]", "{", "null"])
def test_a_golden_without_provenance_is_not_taken_for_one(asked, tmp_path, content):
    asked(GOOD)
    (tmp_path / "test.provenance.json").write_text(content)
    assert asked(GOOD).startswith("The golden is not the one")


def test_the_flag_leaves_an_equal_golden_alone_and_replaces_another(asked, tmp_path):
    asked(GOOD)
    before = (tmp_path / "test.provenance.json").stat().st_mtime_ns
    assert asked(GOOD, update=True) == ""
    assert (tmp_path / "test.provenance.json").stat().st_mtime_ns == before
    assert asked(GOOD[:1], update=True).startswith("The golden was written again")
    assert asked(GOOD[:1]) == ""


def test_the_obtained_file_goes_when_the_numbers_come_back(asked, tmp_path):
    asked(GOOD)
    asked(GOOD[:1])
    assert (tmp_path / "test.obtained.jsonl").is_file()
    asked(GOOD)
    assert not (tmp_path / "test.obtained.jsonl").exists()


@pytest.mark.parametrize("content", ["{}", "not json"])
def test_the_flag_mends_a_golden_whose_provenance_was_edited(asked, tmp_path, content):
    asked(GOOD)
    (tmp_path / "test.provenance.json").write_text(content)
    assert "written again" in asked(GOOD, update=True)
    assert asked(GOOD) == ""


def test_a_golden_of_nothing_but_nan_is_unjudged_and_not_a_pass(asked):
    nothing = [{"loss": float("nan")}, {"loss": float("nan")}]
    assert "NO_GOLDEN" in asked(nothing)
    assert "UNJUDGED" in asked(nothing)
