"""Where the list of extensions is read: the project's own file, or that of the commit that a gate names."""

import subprocess
from pathlib import Path

import pytest

from reprokit import api, extension_list, extensions
from reprokit.errors import UsageError
from support.command_line import reprokit
from support.installed_extension import install

NAMES_ONE = '[tool.reprokit]\nextensions = ["planted-one==1.0"]\n'


@pytest.fixture(autouse=True)
def _nothing_loaded():
    extensions.unload()
    yield
    extensions.unload()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository, and a site-packages with one extension that it does not name yet."""
    site, folder = tmp_path / "site", tmp_path / "project"
    install(site)
    folder.mkdir()
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(site) if name == "purelib" else "")
    monkeypatch.chdir(folder)
    git("init", "-q")
    commit("[tool.reprokit]\n")
    return folder


def git(*words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout


def commit(text):
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "one")


def loaded(project, *, at=""):
    extension_list.load_named(project, commit=at, warn=pytest.fail)
    return [one.label for one in extensions.loaded()]


def test_without_a_commit_the_list_of_the_working_tree_counts(project):
    (project / "pyproject.toml").write_text(NAMES_ONE)
    assert loaded(project) == ["planted-one 1.0"]
    assert extensions.listed_by() == ""


def test_what_a_change_names_is_not_loaded_where_the_base_did_not_name_it(project):
    commit(NAMES_ONE)
    assert loaded(project, at="HEAD~1") == []


def test_what_a_change_no_longer_names_is_loaded_where_the_base_did(project):
    commit(NAMES_ONE)
    (project / "pyproject.toml").write_text('[tool.reprokit]\nextensions = ["worse==6.6.6"]\n')
    assert loaded(project, at="HEAD") == ["planted-one 1.0"]
    assert extensions.listed_by() == "HEAD"


def test_a_base_without_the_file_names_none(project):
    git("rm", "-q", "pyproject.toml")
    (project / "recipes").mkdir()
    (project / "recipes" / "x").write_text("")
    git("add", ".")
    git("commit", "-qm", "two")
    (project / "pyproject.toml").write_text(NAMES_ONE)
    assert loaded(project, at="HEAD") == []


def test_a_commit_that_is_not_there_loads_nothing_and_is_wrong_usage_where_the_tree_names_one(project):
    assert loaded(project, at="nowhere") == []
    (project / "pyproject.toml").write_text(NAMES_ONE)
    with pytest.raises(UsageError, match="there is no commit nowhere"):
        extension_list.load_named(project, commit="nowhere", warn=print)


@pytest.mark.parametrize("words", [["--extensions-from", "HEAD"], ["--extensions-from=HEAD"]])
def test_verify_reads_the_list_of_the_commit_before_anything_else(project, words, capsys):
    (project / "pyproject.toml").write_text('[tool.reprokit]\nextensions = ["worse==6.6.6"]\n')
    assert reprokit("verify") == 2
    assert extensions.listed_by() == ""
    assert "the extension worse is not installed" in capsys.readouterr().err
    assert reprokit("verify", *words) == 2
    assert "there is no folder of recipes" in capsys.readouterr().err
    assert extensions.listed_by() == "HEAD"


def test_the_variable_is_the_same_for_every_verb(project, monkeypatch):
    (project / "pyproject.toml").write_text('[tool.reprokit]\nextensions = ["worse==6.6.6"]\n')
    monkeypatch.setenv("REPROKIT_EXTENSIONS_FROM", "HEAD")
    assert reprokit("recipe", "schema") == 0


def test_a_list_that_was_not_read_from_the_commit_is_refused(project, monkeypatch, capsys):
    monkeypatch.setattr("reprokit.cli.named_extensions._commit_in", lambda arguments: "")
    assert reprokit("verify", "--extensions-from", "HEAD") == 2
    assert "are not those of the commit" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        NAMES_ONE,
        '[tool]\nreprokit.extensions = ["planted-one==1.0"]\n',
        '[tool]\nreprokit = {"extensions" = ["planted-one==1.0"]}\n',
        "tool.reprokit.extensions=['planted-one==1.0']\n",
    ],
)
def test_the_command_line_sees_a_list_however_it_is_written(project, text):
    (project / "pyproject.toml").write_text(text)
    assert reprokit("recipe", "schema") == 0
    assert [one.label for one in extensions.loaded()] == ["planted-one 1.0"]


def test_a_verb_that_is_built_in_is_wrong_usage(project, tmp_path, capsys):
    code = (
        "from reprokit.api.extensions import Extension, Verb\n"
        "EXTENSION = Extension(verbs={'verify': Verb(command='planted_one:x', help='')})\n"
    )
    install(tmp_path / "site", {"__init__.py": code})
    (project / "pyproject.toml").write_text(NAMES_ONE)
    assert reprokit("recipe", "schema") == 2
    assert "brings a verb called 'verify', which is built in" in capsys.readouterr().err
    assert reprokit("--help") == 0
    assert "Warning: no extension is loaded" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["verify", "-h"], ["golden", "promote", "--help"], ["help"]]
)
def test_what_explains_a_list_that_is_not_met_can_be_read(project, words, capsys):
    (project / "pyproject.toml").write_text('[tool.reprokit]\nextensions = ["planted-one==2.0"]\n')
    assert reprokit(*words) == 0
    told = capsys.readouterr()
    assert "Warning: no extension is loaded: " in told.err
    assert "the extension planted-one is not installed in this version" in told.err
    assert extensions.loaded() == ()


@pytest.mark.parametrize(
    "words",
    [
        ["recipe", "schema"],
        ["reproduce", "x", "--python", "--help"],
        ["reproduce", "--", "python", "x.py", "--help"],
        ["reproduce", "x", "--help", "y"],
    ],
)
def test_nothing_is_run_where_the_list_is_not_met(project, words, capsys):
    (project / "pyproject.toml").write_text('[tool.reprokit]\nextensions = ["planted-one==2.0"]\n')
    assert reprokit(*words) == 2
    assert "Error: " in capsys.readouterr().err


def test_a_verb_that_there_is_not_names_the_extensions_that_may_have_it(project, capsys):
    assert reprokit("frobnicate") == 2
    assert 'name that one in [tool.reprokit] extensions: "planted-one==1.0"' in capsys.readouterr().err
    (project / "pyproject.toml").write_text(NAMES_ONE)
    assert reprokit("frobnicate") == 2
    assert "planted-one" not in capsys.readouterr().err


@pytest.mark.parametrize("value", ["7", '"planted-one==1.0"', "[1]", "{a = 1}"])
def test_a_list_that_is_none_is_wrong_usage(project, value, capsys):
    (project / "pyproject.toml").write_text(f"[tool.reprokit]\nextensions = {value}\n")
    assert reprokit("recipe", "schema") == 2
    assert "not a list of" in capsys.readouterr().err


def test_the_api_loads_what_its_project_names_and_refuses_a_second_list(project, tmp_path):
    (project / "pyproject.toml").write_text(NAMES_ONE)
    assert api.list_runs(project=project) == []
    assert [one.label for one in extensions.loaded()] == ["planted-one 1.0"]
    other = tmp_path / "other"
    (other / "recipes").mkdir(parents=True)
    with pytest.raises(UsageError, match="this process has loaded other extensions"):
        api.list_runs(project=other)


def test_the_api_called_by_an_extension_in_a_gate_keeps_the_list_of_the_gate(project):
    commit(NAMES_ONE)
    (project / "pyproject.toml").write_text("[tool.reprokit]\n")
    assert loaded(project, at="HEAD") == ["planted-one 1.0"]
    assert api.list_runs(project=project) == []
    assert [one.label for one in extensions.loaded()] == ["planted-one 1.0"]


def test_the_api_warns_of_one_that_was_left_out(project, tmp_path):
    (tmp_path / "site" / "planted_one" / "__init__.py").write_text("changed = 1\n")
    (project / "pyproject.toml").write_text(NAMES_ONE)
    with pytest.warns(UserWarning, match=r"planted-one 1\.0 was not loaded: .* was changed"):
        api.list_runs(project=project)
