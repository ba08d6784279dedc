"""Names of folders by the time at which they were made."""

from __future__ import annotations

import re

from reprokit.harness.running.clock import stamp


def test_folders_of_one_second_sort_as_they_were_made_and_none_has_the_name_of_another():
    made = [stamp() for _ in range(500)]
    assert made == sorted(set(made))
    assert all(re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", name) for name in made)
