"""A golden that holds on one kind of CPU alone: where it lies, and which runs are compared with it."""

from __future__ import annotations

import json

import pytest

from reprokit import golden
from reprokit.core import fingerprint
from reprokit.errors import GoldenError


def environment(model: str, *, profile: str = "native", features: tuple[str, ...] = ("avx2", "fma")):
    cpu = {"architecture": "x86_64", "model": model, "vendor": "V", "features": list(features)}
    return {"host": {"cpu": cpu}, "inside": {"numerics": {"profile": profile}, "device": {"kind": "cpu"}}}


def of(model: str, **more) -> str:
    return fingerprint.cpu_that_counts(environment(model, **more))


def test_a_kind_of_cpu_is_its_model_and_all_of_it_that_computes():
    assert of("AMD EPYC 7B13").startswith("amd-epyc-7b13-")
    assert of("AMD EPYC 7B13") == of("AMD EPYC 7B13", features=("fma", "avx2", "rdrand"))
    assert of("AMD EPYC 7B13") != of("AMD EPYC 7B13", features=("avx2", "fma", "avx512f"))
    assert of("AMD EPYC 7B13") != of("AMD EPYC 7B14")


def test_where_no_bit_depends_on_the_cpu_none_counts():
    assert of("AMD EPYC 7B13", profile="portable") == ""
    on_gpu = environment("AMD EPYC 7B13")
    on_gpu["inside"]["device"] = {"kind": "cuda"}
    assert fingerprint.cpu_that_counts(on_gpu) == ""
    assert fingerprint.cpu_that_counts({}) == ""


def test_a_run_is_held_against_the_golden_of_its_cpu_and_else_against_that_of_its_platform(
    bless, candidate, tmp_path
):
    cpu = of("A")
    common = bless()
    own = bless(candidate(cpu=cpu), candidate(cpu=cpu))
    assert own.path == tmp_path / "golden" / "cartpole" / "cpu-x86_64" / f"on-{cpu}" / "seed-42"

    def found(record):
        return golden.locate_for(tmp_path / "golden", recipe="cartpole", environment=record, seed=42)

    assert found(environment("A")) == own.path
    assert found(environment("B")) == common.path
    assert found(environment("A", profile="portable")) == common.path
    assert [(row.recipe, row.platform, row.problem) for row in golden.list_all(tmp_path / "golden")] == [
        ("cartpole", "cpu-x86_64", ""),
        ("cartpole", f"cpu-x86_64/on-{cpu}", ""),
    ]


def test_runs_of_two_kinds_of_cpu_are_no_golden_of_one(bless, candidate):
    with pytest.raises(GoldenError, match="the runs differ in their cpu"):
        bless(candidate(cpu=of("A")), candidate(cpu=of("B")))


def test_a_golden_that_was_moved_to_another_cpu_or_to_the_platform_is_refused(bless, candidate):
    cpu = of("A")
    own = bless(candidate(cpu=cpu), candidate(cpu=cpu))
    for place in (own.path.parents[1] / f"on-{of('B')}" / "seed-42", own.path.parents[1] / "seed-42"):
        place.parent.mkdir(exist_ok=True)
        own.path.rename(place)
        with pytest.raises(GoldenError, match="belongs to another folder"):
            golden.load(place)
        place.rename(own.path)
    assert golden.load(own.path).provenance.cpu == cpu


def test_a_golden_whose_cpu_is_no_text_is_refused(bless):
    made = bless()
    file = made.path / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "cpu": ["a"]}))
    with pytest.raises(GoldenError, match="'cpu' is of the wrong type"):
        golden.load(made.path)


def test_a_kind_of_cpu_that_no_folder_can_be_called_is_refused(tmp_path):
    with pytest.raises(GoldenError, match="cannot be a kind of CPU"):
        golden.locate(tmp_path, recipe="a", platform="b", seed=1, cpu="../up")
