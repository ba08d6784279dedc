"""What the parts hand to each other: digests, and how a run ended."""

import math

import pytest

from reprokit.core.records import (
    Outcome,
    Realisation,
    RunResult,
    canonical_json,
    digest,
    digest_bytes,
)

OF_NOTHING = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
OF_EMPTY_OBJECT = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_one_value_has_one_spelling():
    assert canonical_json({"b": [1, 0.1], "a": "ü"}) == '{"a":"ü","b":[1,0.1]}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_does_not_have_is_refused(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"loss": number})


def test_a_digest_says_its_kind_and_is_that_of_the_canonical_spelling():
    assert digest_bytes(b"") == OF_NOTHING
    assert digest({}) == digest_bytes(b"{}") == OF_EMPTY_OBJECT
    assert digest("ü") == digest_bytes('"ü"'.encode())


@pytest.mark.parametrize(
    ("outcome", "exit_code", "completed"),
    [
        (Outcome.COMPLETED, 0, True),
        (Outcome.COMPLETED, 85, False),
        (Outcome.COMPLETED, None, False),
        (Outcome.CRASHED, 0, False),
        (Outcome.CRASHED, 1, False),
    ],
)
def test_a_run_completed_only_if_it_says_so_and_returned_0(outcome, exit_code, completed):
    result = RunResult(outcome=outcome, exit_code=exit_code, started_at="", ended_at="", duration_s=1.0)
    assert result.completed is completed


def test_an_environment_that_was_not_built_here_has_no_base():
    made = Realisation(variant="cpu", kind="venv", reference="/e", digest="d", python="/p", lock_digest="l")
    assert made.base is None


def test_the_words_for_endings_are_those_that_files_hold():
    assert {str(outcome) for outcome in Outcome} == {
        "completed",
        "crashed",
        "signalled",
        "out_of_memory",
        "timed_out",
        "command_missing",
        "image_missing",
        "image_build_failed",
        "engine_missing",
        "engine_lost",
        "start_refused",
        "disk_full",
        "run_folder_not_writable",
        "workspace_busy",
        "mounts_changed",
        "data_unavailable",
        "interrupted",
        "upload_failed",
        "stopped_at_golden",
        "pruned",
        "scheduler_unavailable",
        "machine_lost",
        "attempts_differ",
    }
