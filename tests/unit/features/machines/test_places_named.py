"""Every engine is named where someone has to choose one."""

from __future__ import annotations

import pytest

from reprokit.cli import main
from reprokit.features.machines import options, place


@pytest.fixture
def another(monkeypatch):
    """An engine besides Ray and Slurm."""
    monkeypatch.setattr(place, "ELSEWHERE", ("ray", "slurm", "moon"))


def test_who_does_not_say_which_cluster_is_told_of_all(another, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["golden", "record", "pg", "--reason", "new"])
    assert ended.value.code == 2
    assert "--on ray or --on slurm or --on moon" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("default", "places"), [(None, "ray or slurm or moon"), ("local", "local or ray or slurm or moon")]
)
def test_the_help_of_on_names_all(another, default, places):
    (where,) = options.place_options(default=default)

    @where
    def command() -> None: ...

    (on,) = [parameter for parameter in command.__click_params__ if parameter.name == "on"]
    assert places in on.help
