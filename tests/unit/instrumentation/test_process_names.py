"""A process has the same name in every run, whichever began first."""

import pytest

from reprokit.instrumentation.reprokit_hook.process_names import claim


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"LOCAL_RANK": "3"}, "0.r3"),
        ({"RANK": "5", "LOCAL_RANK": "1"}, "0.r5"),
        ({"RANK": "5", "REPROKIT_HOOK_RANK": "5"}, "0.s0"),
        ({"RANK": "no number"}, "0.s0"),
        ({}, "0.s0"),
    ],
)
def test_a_rank_is_its_own_and_not_its_parents(tmp_path, environment, name):
    assert claim(str(tmp_path), {"REPROKIT_HOOK_PROCESS": "0", **environment}) == name


def test_two_of_one_name_are_told_apart(tmp_path):
    rank = {"REPROKIT_HOOK_PROCESS": "0", "RANK": "1"}
    assert [claim(str(tmp_path), rank) for _ in range(3)] == ["0.r1", "0.r1.0", "0.r1.1"]
