"""Which wheels fit a Python and a machine."""

from __future__ import annotations

import pytest

from reprokit.features.locking.solve_target import tags_of
from reprokit.images.packages import Target


@pytest.mark.parametrize(
    ("python", "fitting", "unfitting"),
    [
        ("3.13", {"cp313-cp313", "cp38-abi3", "py3-none"}, {"cp313-cp313t"}),
        ("3.13t", {"cp313-cp313t", "py3-none"}, {"cp313-cp313", "cp38-abi3"}),
        ("3.8", {"cp38-cp38", "py3-none"}, {"cp39-cp39"}),
    ],
)
def test_wheels_of_builds_with_and_without_the_gil_are_told_apart(python, fitting, unfitting):
    found = {
        f"{tag.interpreter}-{tag.abi}"
        for tag in tags_of(Target(machine="x86_64", python=python), glibc="2.28")
    }
    assert fitting <= found
    assert not unfitting & found
