"""``init`` asks before it writes; where no answer comes, it says so on a line of its own."""

from __future__ import annotations

import io

import pytest

from reprokit import cli
from reprokit.errors import UsageError
from reprokit.features.init import write_recipe
from reprokit.features.init.as_typed import with_placeholders_typed, without_placeholders
from reprokit.features.init.find_command import given_command
from reprokit.features.init.proposal import Proposal


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_end_of_the_input_is_said_on_its_own_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    proposal = Proposal(name="train", files={"recipes/train/recipe.yaml": b"schema: 1\n"})
    monkeypatch.setattr(write_recipe, "propose", lambda *words, **asked: proposal)
    monkeypatch.setattr("sys.stdin", _Terminal(""))
    with pytest.raises(SystemExit) as ended:
        cli.main(["init", "--", "python", "train.py"])
    told = capsys.readouterr()
    assert ended.value.code == 130
    assert (told.out + told.err).endswith("Nothing was written.\n")
    assert "stopped" not in told.err
    assert not (tmp_path / "recipes").exists()


@pytest.mark.parametrize("problem", ["", "two runs with one seed differ from step 0 on, loss"])
def test_who_declines_is_given_the_command_that_writes_before_what_follows_it(
    tmp_path, monkeypatch, capsys, problem
):
    monkeypatch.chdir(tmp_path)
    files = {"recipes/small/recipe.yaml": b"schema: 1\n"}
    proposal = Proposal(
        name="small", files=files, problem=problem, next_commands=("reprokit diagnose small",)
    )
    monkeypatch.setattr(write_recipe, "propose", lambda *words, **asked: proposal)
    monkeypatch.setattr("sys.stdin", _Terminal("n\n"))
    with pytest.raises(SystemExit) as ended:
        cli.main(["init", "--name", "small", "--", "python", "train.py"])
    told = capsys.readouterr()
    assert ended.value.code == bool(problem)
    assert "Nothing was written.\n" in told.err
    lines = [line.removeprefix("Next: ").strip() for line in (told.out + told.err).splitlines()]
    first = lines.index("reprokit init --yes --name small -- python train.py")
    assert lines.index("reprokit diagnose small") == first + 1
    assert not (tmp_path / "recipes").exists()


def test_a_pattern_of_printed_lines_can_be_copied_from_a_narrow_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pattern = (
        "printed: ['epoch (?P<step>[0-9]+) of [0-9]+, loss (?P<loss>[-+.0-9]+), more (?P<more>[-+.0-9]+)']"
    )
    proposal = Proposal(name="train", files={"recipes/train/recipe.yaml": pattern.encode()})
    monkeypatch.setattr(write_recipe, "propose", lambda *words, **asked: proposal)
    monkeypatch.setattr("reprokit.reports.tables.room", lambda: 60)
    with pytest.raises(SystemExit):
        cli.main(["init", "--dry-run", "--", "python", "train.py"])
    assert pattern in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_command_without_a_place_for_the_seed_is_asked_about_before_anything_is_built(
    tmp_path, monkeypatch, capsys, answer
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import sys\nseed, folder = sys.argv[1:]\n")

    def built(*_words, **_asked):
        raise UsageError("the environment is built")

    monkeypatch.setattr(write_recipe, "trial_of", built)
    monkeypatch.setattr("sys.stdin", _Terminal(f"{answer}\n"))
    with pytest.raises(SystemExit) as ended:
        cli.main(["init", "--", "python", "train.py"])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "no option for a seed or an output folder was found" in told
    assert "reprokit init -- python train.py {seed} {run_dir}" in " ".join(told.split())
    assert ("the environment is built" in told) == (answer == "y")


def test_what_is_found_or_typed_is_not_asked_about(tmp_path):
    typed = given_command(["python", "train.py", "{seed}", "{run_dir}"], tmp_path)
    assert without_placeholders(typed) == ""
    one = given_command(["python", "train.py", "{run_dir}"], tmp_path)
    assert without_placeholders(one).startswith("no option for a seed was found")
    assert with_placeholders_typed(one) == "reprokit init -- python train.py {run_dir} {seed}"
