"""The page of a comparison: both sides next to one another, what is equal folded, what to type next."""

from __future__ import annotations

import re
from pathlib import Path

from support import page_kinds


def test_both_sides_stand_in_one_row_and_what_differs_is_marked(tmp_path: Path) -> None:
    page = page_kinds.compare("", tmp_path)

    table = page[page.index("The two sides") : page.index("</table>")]
    assert re.findall(r'<tr( class="differs")?><th scope="row">(.*?)</th>', table) == [
        (' class="differs"', "what"),
        (' class="differs"', "run 1"),
        ("", "python"),
    ]
    assert '<td data-label="a">commit a</td><td data-label="b">commit b</td>' in table


def test_the_records_that_differ_are_a_command_that_can_be_copied(tmp_path: Path) -> None:
    page = page_kinds.compare("", tmp_path)

    next_part = page[page.index("What to do next") : page.index("The two sides")]
    assert f'<pre class="command">reprokit diff {tmp_path}/a {tmp_path}/b</pre>' in next_part
    assert "git diff" not in next_part  # the commits of this sample are none


def test_a_metric_that_is_equal_is_folded_where_another_differs(tmp_path: Path) -> None:
    page = page_kinds.compare("", tmp_path)

    assert page.count('<details class="equal">') == 1
    assert "<summary>losses/policy <small>equal</small></summary>" in page
    assert "<h2>Curves, those that differ first</h2>" in page
