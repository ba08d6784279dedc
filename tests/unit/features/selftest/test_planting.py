"""Copies to plant faults in: originals stay as they are, and so do copies once a fault is taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit import runs
from reprokit.errors import CannotJudgeError
from reprokit.features.selftest.planting import Samples, Stage
from reprokit.golden import Promotion
from reprokit.harness.curation import promote
from reprokit.workspace import sha256_of_tree


@pytest.fixture
def samples(make, here, programs):
    folders = make.of_recipe(programs["training"](), programs["training"]())
    golden = promote(
        folders,
        project=here,
        promotion=Promotion(reason="r", created_at="2026-11-20T10:15:00+00:00", allow_failed=True),
    )
    return Samples(recipe="cartpole_baseline", runs=folders, golden=golden.path)


def tree(stage: Stage) -> str:
    return sha256_of_tree(stage.project.root)


def test_copies_are_equal_to_their_originals_and_gone_afterwards(samples):
    with Stage.of(samples) as stage:
        for copy, original in zip((*stage.runs, stage.golden), (*samples.runs, samples.golden), strict=True):
            assert sha256_of_tree(copy) == sha256_of_tree(original)
            assert not copy.is_relative_to(samples.runs[0].parents[2])
        root = stage.project.root
    assert not root.exists()


def test_whatever_is_planted_is_taken_out_again(samples):
    with Stage.of(samples) as stage:
        before = tree(stage)
        first, second = stage.runs
        stage.write(first / "metrics.jsonl", b"")
        stage.write(first / "new" / "file.txt", b"x")
        stage.remove(second / "checkpoints" / "final_model.pt")
        stage.write(second / "metrics.jsonl", b"1")
        stage.write(second / "metrics.jsonl", b"2")
        stage.seal(first)
        assert tree(stage) != before
        stage.restore()
        assert tree(stage) == before


def test_originals_are_never_touched(samples):
    before = [sha256_of_tree(folder) for folder in (*samples.runs, samples.golden)]
    with Stage.of(samples) as stage:
        stage.copied_afresh()
        stage.write_all(stage.runs, "metrics.jsonl", b"{}")
        stage.write(stage.golden / "metrics.jsonl", b"{}")
        for folder in (*stage.runs, stage.golden):
            stage.seal(folder)
    assert [sha256_of_tree(folder) for folder in (*samples.runs, samples.golden)] == before


def test_a_sealed_forgery_is_whole_and_an_unsealed_one_is_not(samples):
    with Stage.of(samples) as stage:
        stage.write(stage.runs[0] / "metrics.jsonl", b'{"step": 1, "x": 2.0}\n')
        assert "metrics.jsonl was changed" in runs.read(stage.runs[0]).incomplete_because
        stage.seal(stage.runs[0])
        assert runs.read(stage.runs[0]).complete


def test_a_golden_is_sealed_in_its_provenance(samples):
    with Stage.of(samples) as stage:
        stage.write(stage.golden / "metrics.jsonl", b"{}\n")
        stage.seal(stage.golden)
        told = json.loads((stage.golden / "provenance.json").read_bytes())
        original = json.loads((samples.golden / "provenance.json").read_bytes())
        assert told["digests"]["metrics"] != original["digests"]["metrics"]
        assert told["digests"]["trace"] == original["digests"]["trace"]


def test_a_run_without_a_marker_is_not_given_one(samples):
    with Stage.of(samples) as stage:
        stage.remove(stage.runs[0] / "COMPLETE")
        stage.seal(stage.runs[0])
        assert not (stage.runs[0] / "COMPLETE").exists()


def test_what_is_kept_is_the_new_untouched_state(samples):
    with Stage.of(samples) as stage:
        stage.write(stage.runs[0] / "metrics.jsonl", b"kept")
        stage.keep()
        stage.write(stage.runs[0] / "metrics.jsonl", b"planted")
        stage.restore()
        assert (stage.runs[0] / "metrics.jsonl").read_bytes() == b"kept"


def test_without_a_golden_none_can_be_spoilt(samples):
    bare = Samples(recipe=samples.recipe, runs=samples.runs, golden=None)
    with Stage.of(bare) as stage, pytest.raises(CannotJudgeError, match="no golden"):
        _ = stage.golden


def test_a_fresh_copy_is_made_of_other_files(samples):
    with Stage.of(samples) as stage:
        before, path = tree(stage), Path(stage.runs[0] / "run.json")
        stage.copied_afresh()
        stage.write(path, b"{}")
        stage.restore()
        assert tree(stage) == before
