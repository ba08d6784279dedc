"""Two runs from two machines: what differs, where they part, and what is refused."""

import hashlib
import json

import pytest

from reprokit.core.verdicts.comparability import ACROSS_MACHINES, KEYS
from reprokit.errors import ReportError, UsageError
from reprokit.harness.diagnosing.across_machines import across


def at_machine(folder, **facts):
    """Change what the run's environment record says, as if it came from elsewhere, and seal it again."""
    path = folder / "environment.json"
    record = json.loads(path.read_text())
    for name, value in facts.items():
        record["inside"][name] = value
    path.write_text(json.dumps(record))
    seal(folder, "environment.json")
    return folder


def seal(folder, name):
    marker = json.loads((folder / "COMPLETE").read_text())
    data = (folder / name).read_bytes()
    marker["files"][name] = {"sha256": f"sha256:{hashlib.sha256(data).hexdigest()}", "bytes": len(data)}
    (folder / "COMPLETE").write_text(json.dumps(marker))


OTHER = {"packages": {"torch": "2.12.0+cpu", "numpy": "2.4.6"}}


@pytest.fixture
def pair(make, programs):
    def made(later=None):
        one, other = programs["training"](), programs["training"](**({"loss": later} if later else {}))
        return make.of_recipe(one, other)

    return made


def test_equal_runs_are_told_with_what_differs_all_the_same(pair):
    one, other = pair()
    found = across(one, at_machine(other, **OTHER))
    assert (found.verdict, found.update, found.comparison.identical) == ("REPEATABLE", None, True)
    assert [entry["field"] for entry in found.environment] == ["inside.packages.torch"]
    assert found.says[0] == "the numbers and traces are equal, bit for bit"


def test_the_first_update_that_differs_is_named_and_no_cause_is(pair):
    one, other = pair(lambda step: 1 / step if step < 12_000 else 2 / step)
    found = across(one, at_machine(other, **OTHER))
    assert found.verdict == "NONDETERMINISTIC"
    assert found.update == {
        "update": 3,
        "step": 12_288,
        "what": "parameters",
        "groups": ["parameters"],
        "equal_before": 2,
    }
    assert found.says[0].startswith("the first 2 updates")
    assert found.as_data()["cause"] is None
    assert "none of them is shown to be the cause" in found.says[-1]


def test_where_nothing_that_counts_differs_it_says_to_look_on_one_machine(pair):
    one, other = pair(lambda step: 2 / step)
    assert "on one of them, with reprokit diagnose" in across(one, other).says[-1]


def test_one_run_given_twice_is_refused(pair):
    one, _ = pair()
    with pytest.raises(UsageError, match="same run"):
        across(one, one)


def test_runs_of_another_seed_are_refused(make, programs):
    (one,) = make.of_recipe(programs["training"]())
    (other,) = make.of_recipe(programs["training"](), seed=43)
    with pytest.raises(UsageError, match=r"runs are not comparable: seeds differ \(42, 43\)"):
        across(one, other)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_runs_that_are_not_comparable_are_refused(pair, plant, key):
    one, other = pair()
    plant(other, key.path)
    if key.path in ACROSS_MACHINES.may_differ:
        assert across(one, other).verdict == "REPEATABLE"
        return
    with pytest.raises(UsageError, match="runs are not comparable: ") as refused:
        across(one, other)
    assert f"{key.plural} differ" in str(refused.value)


@pytest.mark.parametrize("name", ["lock", "runtime"])
def test_the_environments_of_two_machines_may_differ(pair, plant, name):
    one, other = pair()
    plant(other, f"digests.{name}")
    assert across(one, other).verdict == "REPEATABLE"


def test_a_run_that_did_not_finish_is_refused(pair):
    one, other = pair()
    (other / "COMPLETE").unlink()
    with pytest.raises(ReportError, match="the run is incomplete"):
        across(one, other)


def test_a_folder_that_is_no_run_is_refused(pair, tmp_path):
    one, _ = pair()
    with pytest.raises(ReportError, match="not a run folder"):
        across(one, tmp_path)


def test_plain_commands_are_held_against_each_other_too(make, programs):
    one, other = make.of_command(programs["logging"](), programs["logging"](loss=lambda step: step))
    assert across(one, other).comparison.divergence.metric == "loss"
