"""Where a project's folders are, by default and as ``[tool.reprokit]`` says."""

from __future__ import annotations

import pytest

from reprokit.errors import UsageError
from reprokit.project import Project, project_folder, root_of_recipe, settings_of


def told(root, text: str) -> None:
    (root / "pyproject.toml").write_text(text)


def test_without_a_word_the_folders_have_the_names_of_the_things(tmp_path):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "below").mkdir()
    found = Project.around(tmp_path / "below")
    assert (found.root, found.golden_dir, found.options) == (tmp_path, tmp_path / "golden", ())


def test_pyproject_names_other_folders_and_marks_the_projects_top(tmp_path):
    told(tmp_path, '[tool.reprokit]\nrecipes = "ml/recipes"\ngolden = "ml/baselines/"\nruns = "out/runs"\n')
    (tmp_path / "src" / "deep").mkdir(parents=True)
    found = Project.around(tmp_path / "src" / "deep")
    assert found.root == tmp_path
    assert found.recipes_dir == tmp_path / "ml" / "recipes"
    assert found.golden_dir == tmp_path / "ml" / "baselines"
    assert (found.runs_dir, found.reports_dir) == (tmp_path / "out" / "runs", tmp_path / "reports")
    assert found.options == ()  # a command typed here needs no option
    assert root_of_recipe(tmp_path / "ml" / "recipes" / "train" / "recipe.yaml") == tmp_path


def test_an_option_that_says_otherwise_is_repeated_in_commands(tmp_path):
    told(tmp_path, '[tool.reprokit]\ngolden = "baselines"\n')
    found = Project.around(tmp_path, golden_dir=tmp_path / "golden")
    assert found.options == ("--golden", "golden")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('[project]\nname = "x"\n\n[tool.reprokit]\ngoldens = "a"\n', 5, "'goldens' means nothing here"),
        ("[tool.reprokit]\n# golden\nruns = 3\n", 3, "runs is not a folder below this one: 3"),
        ('[tool.reprokit]\nruns = "../runs"\n', 2, "not a folder below this one"),
        ('[tool.reprokit]\nruns = "/runs"\n', 2, "not a folder below this one"),
        ('[tool.reprokit]\nruns = "."\n', 2, "not a folder below this one"),
        ('[tool.reprokit]\nruns = "golden"\n', 1, "two settings name the same folder golden"),
        ("[tool.reprokit]\ngolden_limit_mb = true\n", 2, "not a number of MB above 0"),
        ("[tool.reprokit]\ngolden_limit_mb = nan\n", 2, "not a number of MB above 0"),
        ("[tool.reprokit]\ngolden_limit_mb = 0\n", 2, "not a number of MB above 0"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path, text, line, problem):
    told(tmp_path, text)
    with pytest.raises(UsageError, match=problem) as raised:
        Project.around(tmp_path)
    assert raised.value.where == f"{tmp_path}/pyproject.toml:{line}"


def test_it_may_be_written_in_any_form_of_toml(tmp_path):
    told(tmp_path, '[tool]\nreprokit = {golden = "baselines"}\n')
    assert settings_of(tmp_path).golden == "baselines"


def test_what_is_no_toml_is_told_where_it_speaks_of_reprokit_only(tmp_path):
    told(tmp_path, "not = = toml\n")
    assert settings_of(tmp_path).golden == "golden"
    told(tmp_path, "[tool.reprokit]\nnot = = toml\n")
    with pytest.raises(UsageError, match="not TOML"):
        project_folder(tmp_path, "golden")
