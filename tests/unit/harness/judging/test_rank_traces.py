"""Traces of several ranks: the first rank, update and collective that differ."""

from __future__ import annotations

import copy
import json

import pytest

from reprokit.errors import ReportError
from reprokit.harness.judging import compare_ranks
from reprokit.layout import RECORD, TRACE, rank_trace
from reprokit.records import run_json


def update(number: int, rank: int) -> dict:
    collectives = [
        {
            "name": name,
            "operation": "all_reduce",
            "sent": f"{name}{number}.{rank}",
            "received": f"{name}{number}",
        }
        for name in ("gradients", "measures")
    ]
    samples = {"count": 1, "digest": f"{number}.{rank}", "ids": f"{number + 10 * rank}"}
    return {
        "update": number,
        "step": number * 8,
        "samples": samples,
        "collectives": collectives,
        "parameters": {"weight": f"w{number}"},
    }


RUN = [[update(number, rank) for number in (1, 2, 3)] for rank in (0, 1, 2)]


@pytest.fixture
def compared(tmp_path):
    """Compares a good run of three ranks with a changed copy of it."""

    def compare(change, **options):
        other = copy.deepcopy(RUN)
        change(other)
        for name, ranks in (("one", RUN), ("other", other)):
            (tmp_path / name).mkdir()
            for rank, records in enumerate(ranks):
                place = tmp_path / name / (rank_trace(rank) if rank else TRACE)
                place.write_text("".join(json.dumps(one) + "\n" for one in records))
        return compare_ranks(tmp_path / "one", tmp_path / "other", **options)

    return compare


def test_equal_runs_are_equal(compared):
    found = compared(lambda ranks: None)
    assert (found.equal, found.records_compared, found.first) == (True, 3, None)


def test_what_one_rank_gives_comes_before_what_all_get(compared):
    def change(ranks):
        ranks[1][1]["collectives"][0]["sent"] = "other"
        for rank in ranks:
            rank[1]["collectives"][0]["received"] = "other"
            rank[1]["parameters"]["weight"] = "other"

    first = compared(change).first
    assert (first["rank"], first["step"]) == (1, 16)
    assert first["place"] == "rank 1, update 2: what it gives to the collective gradients"


def test_the_samples_of_a_rank_come_before_its_collectives(compared):
    def change(ranks):
        ranks[2][1]["samples"]["digest"] = "other"
        ranks[1][1]["collectives"][0]["sent"] = "other"

    assert compared(change).first["place"] == "rank 2, update 2: samples.digest"


def test_an_earlier_update_comes_before_all(compared):
    def change(ranks):
        ranks[0][2]["samples"]["digest"] = "other"
        ranks[2][1]["parameters"]["weight"] = "other"

    assert compared(change).first["place"] == "rank 2, update 2: parameters.weight"


def test_an_earlier_collective_comes_before_a_later_one(compared):
    def change(ranks):
        ranks[0][1]["collectives"][1]["sent"] = "other"
        ranks[2][1]["collectives"][0]["received"] = "other"

    assert compared(change).first["place"] == "rank 2, update 2: what it gets from the collective gradients"


def test_collectives_in_another_order_are_told_by_name(compared):
    def change(ranks):
        for rank in ranks:
            rank[2]["collectives"].reverse()

    assert (
        compared(change).first["place"] == "rank 0, update 3: its collective 1 is 'gradients' and 'measures'"
    )


def test_a_rank_without_a_trace_is_a_difference(compared):
    found = compared(lambda ranks: ranks.pop())
    assert not found.equal
    assert found.records_compared > 0
    assert "rank 2 of" in found.first["place"]


def test_a_rank_that_both_runs_lack_is_a_difference_where_the_recipe_asks_for_it(compared, tmp_path):
    compared(lambda ranks: None)
    for name in ("one", "other"):
        (tmp_path / name / RECORD).write_text(json.dumps({"recipe_data": {"ranks": {"world_size": 4}}}))
    found = compare_ranks(tmp_path / "one", tmp_path / "other")
    assert not found.equal
    assert "rank 3 of" in found.first["place"]


@pytest.mark.parametrize("number", ["abc", [2], 100_000_000, 65, 0, -5, 2.0, True, None])
def test_a_number_of_ranks_that_no_recipe_can_have_is_an_error(compared, tmp_path, number):
    compared(lambda ranks: None)
    record = tmp_path / "other" / RECORD
    record.write_text(json.dumps({"recipe_data": {"ranks": {"world_size": number}}}))
    with pytest.raises(ReportError) as caught:
        compare_ranks(tmp_path / "one", tmp_path / "other")
    shown = {"[2]": "a list", "None": "null"}.get(repr(number), repr(number))
    assert caught.value.told() == (
        f"{record}: run.json is damaged: 'recipe_data.ranks.world_size' has a value of the wrong type or size"
        f". expected a whole number from 1 to 64. got {shown}"
    )


@pytest.mark.parametrize("recipe", ["abc", [], 0, {"ranks": 2}, {"ranks": []}])
def test_a_recipe_in_another_form_is_an_error_and_no_recipe_of_one_process(compared, tmp_path, recipe):
    compared(lambda ranks: None)
    (tmp_path / "one" / RECORD).write_text(json.dumps({"recipe_data": recipe}))
    with pytest.raises(ReportError, match=r"run\.json is damaged: 'recipe_data"):
        compare_ranks(tmp_path / "one", tmp_path / "other")


@pytest.mark.parametrize("record", [{}, {"recipe_data": None}, {"recipe_data": {"ranks": None}}])
def test_a_run_whose_recipe_names_no_ranks_has_one_process(record):
    assert run_json.of(record, where="run.json").world_size == 1


def test_a_rank_with_fewer_updates_than_the_first_is_a_difference(compared, tmp_path):
    compared(lambda ranks: None)
    for name in ("one", "other"):
        place = tmp_path / name / rank_trace(1)
        place.write_text("".join(place.read_text().splitlines(keepends=True)[:-1]))
    found = compare_ranks(tmp_path / "one", tmp_path / "other")
    assert "rank 1 of" in found.first["place"]
    assert not found.equal


def test_of_one_process_it_is_what_comparing_one_trace_gives(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / TRACE).write_text(json.dumps({"step": 1, "parameters": name}) + "\n")
    first = compare_ranks(tmp_path / "one", tmp_path / "other").first
    assert first == {"step": 1, "what": "parameters", "expected": "one", "actual": "other"}
