"""Seconds and days are finite numbers: what is none is wrong usage, before anything is run or removed."""

from __future__ import annotations

import pytest

from reprokit.cli import main


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as raised:
            main(list(words))
        return int(raised.value.code or 0), capsys.readouterr().err

    return run


@pytest.mark.parametrize("number", ["nan", "inf", "1e400"])
@pytest.mark.parametrize(
    "words",
    [
        ["reproduce", "--timeout", "{}", "--", "python", "train.py"],
        ["runs", "prune", "--older-than", "{}"],
        ["image", "prune", "--older-than", "{}"],
    ],
    ids=" ".join,
)
def test_a_number_that_is_not_finite_is_refused(ended, words, number):
    code, told = ended(*(word.format(number) if word == "{}" else word for word in words))
    assert code == 2
    assert "is not a finite number" in told


def test_more_days_than_there_are_dates_are_refused(ended):
    code, told = ended("runs", "prune", "--older-than", "1e9")
    assert code == 2
    assert "is not in the range" in told
