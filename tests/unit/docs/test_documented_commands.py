"""How a page is followed: its blocks, its changes, and what it says that commands print."""

import pytest

from support import documented_commands as documented

PAGE = """
```python train.py
rate = 1
```

```diff train.py
-rate = 1
+rate = 2
```

```sh
cat train.py
(exit 3)    # exit code 3
```

```text
rate = …
```

```
not looked at
```
"""


def page(folder, text):
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_files_are_written_changed_and_commands_typed(tmp_path):
    assert documented.follow(page(tmp_path, PAGE), tmp_path) == 2
    assert (tmp_path / "train.py").read_text() == "rate = 2\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("rate = …", "rate = 1"),
        ("# exit code 3", "# exit code 0"),
        ("-rate = 1\n", "-rate = 7\n"),
        ("cat train.py", "cat nothing.py"),
    ],
)
def test_a_page_that_says_otherwise_is_refused_by_its_line(tmp_path, right, wrong):
    with pytest.raises(AssertionError, match=r"^page\.md:\d+: "):
        documented.follow(page(tmp_path, PAGE.replace(right, wrong)), tmp_path)


@pytest.mark.parametrize(
    ("expected", "printed", "alike"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("…\nc\n", "a\nb\nc\n", True),
        ("a …\n", "a 1.5\n", True),
        ("a …\n", "b 1.5\n", False),
        ("(a)*\n", "(a)*\n", True),
    ],
)
def test_an_ellipsis_is_anything_and_all_else_itself(expected, printed, alike):
    assert documented.fits(expected, printed) is alike


def test_runs_and_reports_that_a_command_names_are_the_newest_ones_made_together(tmp_path):
    names = (
        "20260101T000000Z-aaaa-seed1-1",
        "20260101T000000Z-aaaa-seed1-2",
        "20260102T000000Z-bbbb-seed2-1",
    )
    for name in names:
        (tmp_path / "runs/train" / name).mkdir(parents=True)
        (tmp_path / "runs/train" / name / "COMPLETE").touch()
    (tmp_path / "reports/train/20260103T000000Z-cccc").mkdir(parents=True)
    real = [
        documented.with_real_names(typed, tmp_path)
        for typed in ("compare RUN RUN", "show 20261120T101500Z-3fa9-seed42-1", "report/x")
    ]
    assert real == [
        f"compare runs/train/{names[0]} runs/train/{names[1]}",
        f"show runs/train/{names[2]}",
        "report/x",
    ]
    typed = "golden promote --report reports/train/20261121T033827Z-293b"
    assert documented.with_real_names(typed, tmp_path).endswith(" reports/train/20260103T000000Z-cccc")
