"""A feature is whole in its folder: without it the rest works, and only its verbs and options are gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import reprokit
from reprokit import cli, feature
from reprokit.cli import extensions, verb_map
from reprokit.feature import FEATURES, Feature, Heading, Verb, features

PACKAGE = Path(reprokit.__file__).parent
LOAD_ALL = """
import importlib, json, pathlib, sys, click, reprokit.cli
from reprokit import feature
folder = pathlib.Path(reprokit.cli.__file__).parent
for path in sorted(folder.rglob("*.py")):
    importlib.import_module(".".join(path.relative_to(folder.parents[1]).with_suffix("").parts))
for found in feature.features():
    places = [verb.command for verb in found.verbs.values()]
    places += [*found.extends.values(), *found.offers.values()]
    for place in places + [place for group in found.subverbs.values() for place in group.values()]:
        feature.load(place)
words = {}
for verb in sys.argv[1:]:
    command = reprokit.cli.root
    for name in verb.split():
        command = command and command.get_command(click.Context(command), name)
    if command is None:
        continue  # of the feature that is gone
    words[verb] = sorted(name for option in command.params for name in option.opts)
    if hasattr(command, "list_commands"):
        words[verb] += command.list_commands(click.Context(command))
print(json.dumps({"verbs": sorted(reprokit.cli.verbs()), "words": words}))
"""


def tool(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the package that lies in this folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_folder_below_features_is_in_the_list():
    folders = {path.parent.name for path in (PACKAGE / "features").glob("*/__init__.py")}
    assert folders == set(FEATURES) == {found.name for found in features()}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", FEATURES)
def test_without_a_feature_the_rest_works_and_only_its_words_are_gone(name, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "reprokit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "reprokit" / "features" / name)
    (gone,) = [found for found in features() if found.name == name]

    extended = sorted({verb for found in features() for verb in (*found.extends, *found.subverbs)})
    ended = tool(tmp_path, "-c", LOAD_ALL, *extended)
    assert ended.returncode == 0, ended.stderr
    left = json.loads(ended.stdout)

    assert set(left["verbs"]) == set(cli.verbs()) - set(gone.verbs)
    for verb, place in gone.extends.items():
        added = {word for option in params_of(place) for word in option.opts}
        answers_by_file = feature.load(place).answers is not None  # it needs no word of its own
        assert added or answers_by_file, "an extension that does nothing"
        assert added.isdisjoint(left["words"][verb])
    for group, verbs in gone.subverbs.items():
        assert set(verbs).isdisjoint(left["words"][group])


def test_an_option_of_a_missing_feature_is_refused_and_never_ignored(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "reprokit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "reprokit" / "features" / "selftest")
    ended = tool(tmp_path, "-m", "reprokit", "verify", "--selftest")
    assert (ended.returncode, "No such option" in ended.stderr) == (2, True)


def test_byte_code_that_a_checkout_left_in_a_folder_is_no_feature(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "reprokit", ignore=shutil.ignore_patterns("__pycache__"))
    left = tmp_path / "reprokit" / "features" / "tune"
    shutil.rmtree(left)
    (left / "__pycache__").mkdir(parents=True)
    (left / "__pycache__" / "tune.cpython-311.pyc").write_bytes(b"left")
    ended = tool(tmp_path, "-m", "reprokit", "--help")
    assert (ended.returncode, "  tune  " in ended.stdout, "  diff  " in ended.stdout) == (0, False, True)


def test_a_feature_that_cannot_be_imported_is_no_missing_feature(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "reprokit", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "reprokit" / "features" / "tune" / "declaration.py").write_text("import no_such_module\n")
    ended = tool(tmp_path, "-m", "reprokit", "--help")
    assert (ended.returncode, "no_such_module" in ended.stderr) == (3, True)


def test_what_a_feature_offers_to_others_is_there_only_with_it(monkeypatch):
    assert callable(feature.offered("lock_from"))
    monkeypatch.setattr(feature, "FEATURES", [name for name in FEATURES if name != "locking"])
    assert feature.offered("lock_from") is None


def params_of(place: str) -> list[click.Parameter]:
    def function() -> None:
        """Takes the options."""

    for option in feature.load(place).options:
        function = option(function)
    return list(getattr(function, "__click_params__", ()))


# Clashes


@pytest.fixture
def one_more(monkeypatch):
    """Installs one more feature."""

    def install(**brings):
        found = Feature(name="further", **brings)
        for module in (verb_map, extensions):
            monkeypatch.setattr(module, "features", lambda: [*features(), found])

    return install


def test_two_verbs_of_one_name_are_an_error(one_more):
    one_more(verbs={"run": Verb(command="a:b", help="Again.", heading=Heading.START)})
    with pytest.raises(ValueError, match=r"two verbs are called run; one of them is of the feature further"):
        cli.verbs()


def test_two_options_of_one_name_are_an_error():
    @click.command("made")
    @click.option("--json", "as_json")
    @click.option("--json", "again")
    def made() -> None:
        """A verb."""

    with pytest.raises(ValueError, match=r"two options of `reprokit made` are called --json"):
        extensions.must_differ(made)


def test_two_subverbs_of_one_name_are_an_error(one_more):
    one_more(subverbs={"report": {"show": "reprokit.cli.commands.report:command"}})
    group = cli.root.get_command(click.Context(cli.root), "report")
    with pytest.raises(ValueError, match="two verbs are called report show"):
        group.get_command(click.Context(group), "show")
