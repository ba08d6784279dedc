"""What is kept of findings for recipes: by environment, joined with what was found earlier, readable."""

import json
import os

import pytest

from reprokit.errors import ReportError, WorkspaceError
from reprokit.probes import known_claims
from support.claim_findings import DIFFERS, SAME, findings, row

LIAR = row("liar", deterministic=DIFFERS)
HEALED = row("liar", deterministic=SAME)
SOURCE = [("train.py", b"liar(x)\n")]


def told(cache):
    return list(known_claims.calls_of_false_claims(SOURCE, "cpu-x86_64", cache=cache))


def kept(cache):
    return sorted((cache / "numerics-claims").iterdir())


@pytest.mark.parametrize(
    "other", [{"threads": 8}, {"build": "0"}, {"cuda": "13.0"}, {"cudnn": 91002}, {"driver": "580.1"}]
)
def test_what_was_found_false_in_one_environment_stays_known_after_another_was_measured(tmp_path, other):
    known_claims.keep(findings(LIAR), cache=tmp_path)
    known_claims.keep(findings(HEALED, **other), cache=tmp_path)
    assert len(kept(tmp_path)) == 2
    (sentence,) = told(tmp_path)
    assert sentence.startswith(
        "train.py:1 calls liar, whose determinism PyTorch claims; that is false on a CPU"
    )


def test_devices_whose_names_differ_in_punctuation_are_kept_apart(tmp_path):
    known_claims.keep(findings(LIAR, device="a CPU"), cache=tmp_path)
    known_claims.keep(findings(HEALED, device="a-CPU"), cache=tmp_path)
    assert len(told(tmp_path)) == 1


def test_one_environment_has_one_file_in_which_differences_stay(tmp_path):
    for found in (LIAR, HEALED):
        known_claims.keep(findings(found), cache=tmp_path)
    (place,) = kept(tmp_path)
    assert json.loads(place.read_bytes())["rows"][0]["deterministic"]["earlier"] is True
    assert len(told(tmp_path)) == 1


def test_the_same_sentence_is_told_once_for_all_environments(tmp_path):
    for threads in (1, 2, 8):
        known_claims.keep(findings(LIAR, threads=threads), cache=tmp_path)
    assert len(told(tmp_path)) == 1


def test_a_file_that_was_kept_under_the_name_without_environment_is_told_too(tmp_path):
    known_claims.keep(findings(HEALED), cache=tmp_path)
    place = tmp_path / "numerics-claims" / known_claims.file_name(findings())
    place.write_text(json.dumps(findings(LIAR)))
    assert len(told(tmp_path)) == 1


UNKNOWN = row("liar", default={"outcome": "unavailable"}, deterministic=None, warn_only=None)


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(findings(UNKNOWN)),
        json.dumps(findings(LIAR, threads=10**4000)),
        json.dumps(findings(LIAR, schema=True)),
        json.dumps(findings(LIAR))[:-1] + ', "threads": 4}',
        json.dumps(findings(LIAR)) + " " * (16 << 20),
        "[" * 100_000,
        "{",
    ],
    ids=["null", "huge number", "true", "key twice", "large", "deep", "torn"],
)
def test_a_kept_file_that_is_not_as_it_was_measured_is_as_none(tmp_path, content):
    known_claims.keep(findings(row()), cache=tmp_path)
    (place,) = kept(tmp_path)
    place.write_text(content)
    assert told(tmp_path) == []
    known_claims.keep(findings(LIAR), cache=tmp_path)
    assert json.loads(place.read_bytes()) == findings(LIAR)


def test_a_pipe_among_the_kept_files_is_not_waited_for(tmp_path):
    known_claims.keep(findings(LIAR), cache=tmp_path)
    os.mkfifo(tmp_path / "numerics-claims" / "cpu-x86_64_pipe_torch-2.13.0.json")
    assert len(told(tmp_path)) == 1


def test_what_could_not_be_read_again_is_not_kept(tmp_path):
    with pytest.raises(ReportError, match=r"cannot be kept: rows\.0: deterministic is null"):
        known_claims.keep(findings(UNKNOWN), cache=tmp_path)
    assert kept(tmp_path) == []


def test_more_rows_together_than_can_be_read_again_leave_what_is_kept(tmp_path):
    known_claims.keep(findings(LIAR, *(row(f"a{number}") for number in range(10_000))), cache=tmp_path)
    more = findings(*(row(f"b{number}") for number in range(10_000)))
    with pytest.raises(ReportError, match="together with those that are there cannot be kept: rows: "):
        known_claims.keep(more, cache=tmp_path)
    assert len(told(tmp_path)) == 1


def test_the_longest_names_make_a_name_that_a_file_may_have(tmp_path):
    longest = {"platform": "cuda-" + "a" * 64, "device": "b" * 120, "torch": "2" * 64}
    known_claims.keep(findings(LIAR, **longest), cache=tmp_path)
    assert len(kept(tmp_path)) == 1


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "numerics-claims").touch()
    with pytest.raises(WorkspaceError, match="numerics-claims"):
        known_claims.keep(findings(LIAR), cache=tmp_path)
    assert not known_claims.is_any_known(cache=tmp_path)
