"""The records of ranks that trained one model: equal where they must be, different where they must be."""

from __future__ import annotations

import json

import pytest

from reprokit.errors import CannotRunError
from reprokit.layout import METRICS, RUNTIME, TRACE, rank_trace
from reprokit.runtime.rank_records import facts_of_ranks
from reprokit.runtime.rank_settings import RankSettings

TWO = RankSettings(world_size=2)


def update(number: int, ids: str, **more: object) -> dict:
    samples = {"count": len(ids.split(",")), "digest": f"of {ids}", "ids": ids, "contents": f"in {ids}"}
    collectives = [{"name": "gradients", "operation": "all_reduce"}]
    return {"update": number, "step": number, "samples": samples, "collectives": collectives, **more}


@pytest.fixture
def place(tmp_path):
    """The run's folder and that of rank 1, with two updates of each."""
    (tmp_path / "rank1").mkdir()
    for folder in (tmp_path, tmp_path / "rank1"):
        (folder / METRICS).write_text('{"step": 1}\n{"step": 2}\n')
        (folder / RUNTIME).write_text(
            json.dumps({"numerics": {"profile": "portable"}, "seeding": {"seed": 7}})
        )
    traced(tmp_path, 0, update(1, "1,2"), update(2, "5,6"))
    traced(tmp_path, 1, update(1, "3,4"), update(2, "7,8"))
    return tmp_path


def traced(place, rank, *records):
    name = rank_trace(rank) if rank else TRACE
    (place / name).write_text("".join(json.dumps(one) + "\n" for one in records))


def facts(place):
    return facts_of_ranks(TWO, run_dir=place, folders=[place / "rank1"])


def test_ranks_with_samples_of_their_own_are_not_alike(place):
    found = facts(place)
    assert (found["world_size"], found["samples"], found["alike"]) == (2, True, [])
    assert found["seeding"]["1"]["seed"] == 7


def test_ranks_that_share_the_samples_of_one_update_are_alike(place):
    traced(place, 1, update(1, "3,4"), update(2, "5,6"))
    assert facts(place)["alike"] == [[0, 1, 2]]


def test_one_sample_in_two_batches_is_chance(place):
    traced(place, 0, update(1, "1"), update(2, "5,6"))
    traced(place, 1, update(1, "1"), update(2, "7,8"))
    assert facts(place)["alike"] == []


def test_samples_without_contents_are_not_known(place):
    unknown = update(2, "7,8")
    del unknown["samples"]["contents"]
    traced(place, 1, update(1, "3,4"), unknown)
    assert facts(place)["samples"] is False


def test_other_metrics_are_another_model(place):
    (place / "rank1" / METRICS).write_text('{"step": 1}\n{"step": 3}\n')
    with pytest.raises(CannotRunError, match=r"ranks 0 and 1 do not hold one model.*from record 2 on"):
        facts(place)


def test_other_settings_of_the_numerics_are_refused(place):
    (place / "rank1" / RUNTIME).write_text(json.dumps({"numerics": {"profile": "native"}}))
    with pytest.raises(CannotRunError, match="other numerics"):
        facts(place)


@pytest.mark.parametrize(
    "records", [[update(1, "3,4")], [update(1, "3,4"), update(2, "7,8", collectives=[])]]
)
def test_other_collectives_or_updates_are_refused(place, records):
    traced(place, 1, *records)
    with pytest.raises(CannotRunError, match="other collectives in update 2"):
        facts(place)


def test_other_parameters_are_another_model_though_the_metrics_are_equal(place):
    for rank, ids in enumerate((("1,2", "5,6"), ("3,4", "7,8"))):
        second = {"weight": "a", "bias": "c" if rank else "b"}
        traced(
            place, rank, update(1, ids[0], parameters={"weight": "a"}), update(2, ids[1], parameters=second)
        )
    with pytest.raises(CannotRunError, match="do not hold one model: update 2: parameter bias"):
        facts(place)


@pytest.mark.parametrize("models", [{"final_model.pt": "b"}, {}, None])
def test_another_final_model_is_refused_though_no_update_shows_it(place, models):
    for folder, held in ((place, {"final_model.pt": "a"}), (place / "rank1", models)):
        runtime = json.loads((folder / RUNTIME).read_text())
        (folder / RUNTIME).write_text(json.dumps({**runtime, "models": held}))
    with pytest.raises(CannotRunError, match=r"do not hold one model: checkpoint final_model\.pt"):
        facts(place)


@pytest.mark.parametrize("parameters", [[1], "x", {"weight": None}])
def test_parameters_of_another_form_are_another_model(place, parameters):
    traced(place, 0, update(1, "1,2", parameters={"bias": "b"}))
    traced(place, 1, update(1, "3,4", parameters=parameters))
    with pytest.raises(CannotRunError, match="do not hold one model: update 1: parameter"):
        facts(place)


def test_metrics_that_end_otherwise_or_early_are_told_as_such(place):
    (place / "rank1" / METRICS).write_text('{"step": 1}\n{"step": 2}')
    with pytest.raises(CannotRunError, match="their metrics differ from record 2 on"):
        facts(place)
    (place / "rank1" / METRICS).write_text('{"step": 1}\n')
    with pytest.raises(CannotRunError, match="got no record"):
        facts(place)


@pytest.mark.parametrize("name", ["rank1/metrics.jsonl", "trace.rank1.jsonl"])
def test_a_rank_without_its_records_is_named(place, name):
    (place / name).unlink()
    with pytest.raises(CannotRunError, match="rank 1 left no "):
        facts(place)
