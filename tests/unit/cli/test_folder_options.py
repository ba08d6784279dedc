"""A folder with an empty name, as of a variable that is not set: it would be the working folder."""

from __future__ import annotations

import pytest

from reprokit.cli import main


@pytest.mark.parametrize(
    "words",
    [["verify", "--golden", ""], ["runs", "list", "--runs-dir", ""], ["reproduce", "r", "--reports-dir", ""]],
    ids=lambda words: words[-2],
)
def test_an_empty_name_is_refused(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"Invalid value for '{words[-2]}': the name of the folder is empty" in capsys.readouterr().err
