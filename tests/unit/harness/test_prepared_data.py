"""A step makes files of other files: twice, to the byte, in the pinned environment, or it is not believed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from reprokit import images
from reprokit.core.records import Realisation, digest_bytes
from reprokit.harness import preparing
from support.command_line import reprokit
from support.command_recipe import RECIPE

RAW = b"a,b\n1,2\n3,4\n"
GOOD = """\
import random
from pathlib import Path

def halve(inputs, output, *, seed, keep):
    lines = inputs["raw.csv"].read_bytes().splitlines(keepends=True)
    (output / "small.csv").write_bytes(b"".join(lines[:keep]) + str(random.random()).encode())
"""
ZEROS = "0" * 64


@pytest.fixture
def prepares(repository, tmp_path, monkeypatch):
    """A recipe with one step, whose environment is this Python's; its digest is not declared yet."""
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(repository.root)
    realisation = Realisation(
        variant="cpu", kind="venv", reference="/", digest="sha256:1", python=sys.executable, lock_digest="l"
    )
    monkeypatch.setattr(images, "resolve", lambda *_, **__: realisation)
    monkeypatch.setattr(preparing, "_APART_S", 0.0)
    (repository.root / "raw").mkdir()
    (repository.root / "raw" / "raw.csv").write_bytes(RAW)
    write(repository, GOOD)
    reprokit("data", "fetch", "train")
    return repository


def write(
    repository, code: str, *, sha256: str = ZEROS, size: int = 0, step: str = "function: clean:halve"
) -> None:
    recipe = RECIPE.replace("variant: none", "variant: cpu") + (
        "data:\n"
        f"  raw.csv: {{path: raw/raw.csv, sha256: '{digest_bytes(RAW)}', size: {len(RAW)}}}\n"
        f"  small.csv: {{prepared: halve, sha256: 'sha256:{sha256}', size: {size}}}\n"
        f"prepare:\n  halve: {{{step}, inputs: [raw.csv], settings: {{keep: 2}}, seed: 5}}\n"
    )
    repository.write(recipes__train__recipe_yaml=recipe, recipes__train__clean_py=code)


def prepare(*words: str) -> int:
    return reprokit("data", "prepare", "train", "--backend", "local", *words)


def accept(repository, said: str, code: str = GOOD, **step: str) -> None:
    """Declare what a preparation made."""
    found = re.search(r"sha256: sha256:([0-9a-f]{64}), size: (\d+)", said)
    write(repository, code, sha256=found[1], size=int(found[2]), **step)


def test_what_was_made_is_told_accepted_kept_and_not_made_again(prepares, capsys, tmp_path):
    assert prepare() == 1
    accept(prepares, capsys.readouterr().out)
    assert prepare() == 0
    assert "prepared before, twice, equal to the byte" in capsys.readouterr().out
    assert reprokit("data", "verify", "train") == 0
    (record,) = (tmp_path / "cache" / "prepared").glob("*.json")
    said = json.loads(record.read_text())
    assert (said["preparations"], said["differing"], said["inputs"]["inputs"]) == (
        2,
        "",
        {"raw.csv": digest_bytes(RAW)},
    )
    assert not list((tmp_path / "cache" / "prepared").glob("*.work"))


def test_a_script_is_given_its_folders_seed_and_settings(prepares, capsys):
    code = (
        "import argparse, json, pathlib\nparser = argparse.ArgumentParser()\n"
        "for name in ('inputs', 'output', 'seed', 'settings'):\n    parser.add_argument('--' + name)\n"
        "said = parser.parse_args()\n"
        "raw = pathlib.Path(said.inputs, 'raw.csv').read_bytes()\n"
        "keep = json.loads(said.settings)['keep']\n"
        "pathlib.Path(said.output, 'small.csv').write_bytes(raw[:keep] + said.seed.encode())\n"
    )
    write(prepares, code, step="script: clean.py")
    assert prepare() == 1
    said = capsys.readouterr().out
    assert digest_bytes(b"a,5") in said


CLOCKS = {
    "seconds": "import time\ndef stamp(): return str(time.time())\n",
    "the date": "import datetime\ndef stamp(): return str(datetime.date.today())\n",
    "the date, by name": "from datetime import datetime\ndef stamp(): return f'{datetime.now():%Y%m%d}'\n",
    "a gzip header": "import gzip\ndef stamp(): return repr(gzip.compress(b'x' * 10))\n",
    "a generator of its own": "import os\ndef stamp(): return os.urandom(8).hex()\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("source", CLOCKS)
def test_a_step_that_does_not_repeat_is_found_and_nothing_of_it_is_kept(prepares, capsys, tmp_path, source):
    code = CLOCKS[source] + (
        "def halve(inputs, output, *, seed, keep):\n    (output / 'small.csv').write_text('a\\n' + stamp())\n"
    )
    write(prepares, code)
    assert prepare() == 1
    said = capsys.readouterr().out
    assert "two preparations differ: small.csv differs from byte" in said
    assert [path.name for path in (tmp_path / "cache" / "data").glob("[0-9a-f]*")] == [
        digest_bytes(RAW).removeprefix("sha256:")
    ]


REFUSED = {
    "a file beside the declared one": (
        "(output / 'b.csv').write_text('')",
        "are not those that the recipe declares",
    ),
    "no file": ("(output / 'small.csv').unlink()", "are not those that the recipe declares"),
    "a link": (
        "(output / 'small.csv').unlink(); (output / 'small.csv').symlink_to('/etc/passwd')",
        "not a plain file",
    ),
    "a write to its inputs": (
        "import os; os.chmod(inputs['raw.csv'], 0o644); inputs['raw.csv'].write_text('x')",
        "the step halve wrote to raw.csv",
    ),
    "a write beside its code": ("(Path(__file__).parent / 'x.txt').write_text('x')", "wrote to its own code"),
    "a failure": ("raise ValueError('row 7 has no label')", "ValueError: row 7 has no label"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", REFUSED)
def test_a_step_that_does_more_or_less_than_it_may_is_refused(prepares, capsys, tmp_path, fault):
    statement, told = REFUSED[fault]
    write(prepares, GOOD + f"    {statement}\n")
    assert prepare() == 3
    assert told in capsys.readouterr().err
    assert not list((tmp_path / "cache" / "prepared").glob("*.json"))


@pytest.mark.slow
def test_other_code_settings_seed_or_inputs_are_prepared_anew(prepares, capsys):
    prepare()
    accept(prepares, capsys.readouterr().out)
    recipe = prepares.root / "recipes" / "train" / "recipe.yaml"
    good = recipe.read_text()
    for change in (("keep: 2", "keep: 1"), ("seed: 5", "seed: 6")):
        recipe.write_text(good.replace(*change))
        assert prepare() == 1, change
        assert "prepared before" not in capsys.readouterr().out
    recipe.write_text(good)
    (recipe.parent / "clean.py").write_text(GOOD + "# another comment\n")
    assert prepare() == 0
    assert "prepared before" not in capsys.readouterr().out


def test_a_prepared_file_that_was_edited_in_the_cache_is_found_and_made_again(prepares, capsys, tmp_path):
    prepare()
    accept(prepares, capsys.readouterr().out)
    assert prepare() == 0
    (name,) = re.findall(r"sha256:([0-9a-f]{64})", capsys.readouterr().out)
    file = tmp_path / "cache" / "data" / name
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert reprokit("data", "verify", "train") == 1
    assert prepare() == 0
    assert reprokit("data", "verify", "train") == 0


def test_what_it_reads_must_be_there_as_declared(prepares, capsys, tmp_path):
    (tmp_path / "cache" / "data" / digest_bytes(RAW).removeprefix("sha256:")).unlink()
    assert prepare() == 3
    assert "reprokit data fetch train" in capsys.readouterr().err


def test_nothing_is_prepared_on_a_python_that_nothing_pins(prepares, capsys):
    recipe = prepares.root / "recipes" / "train" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("variant: cpu", "variant: none"))
    assert prepare() == 2
    assert "data is prepared in a pinned environment" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_in_the_middle_nothing_is_left_that_counts(prepares, capsys, tmp_path):
    slow = GOOD.replace("import random", "import random, time") + "    time.sleep(60 * (seed == 5))\n"
    write(prepares, slow)
    program = (
        "import sys\nfrom reprokit import images\nfrom reprokit.cli import main\n"
        "from reprokit.core.records import Realisation\n"
        "images.resolve = lambda *_, **__: Realisation(variant='cpu', kind='venv', reference='/',"
        " digest='sha256:1', python=sys.executable, lock_digest='l')\n"
        "main(['data', 'prepare', 'train', '--backend', 'local'])\n"
    )
    tool = subprocess.Popen([sys.executable, "-c", program], cwd=prepares.root, env={**os.environ})
    place, until = tmp_path / "cache" / "prepared", time.monotonic() + 60
    while not list(place.glob("*.work/1/output/small.csv")) and time.monotonic() < until:
        time.sleep(0.05)
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    assert list(place.glob("*.work"))
    assert not list(place.glob("*.json"))
    recipe = prepares.root / "recipes" / "train" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("seed: 5", "seed: 6"))
    assert prepare() == 1
    assert "not the declared file" in capsys.readouterr().out


MISTAKES = {
    "a step that no one has": ("prepared: halve", "prepared: other", "which `prepare` does not have"),
    "an input that no one has": ("inputs: [raw.csv]", "inputs: [x.csv]", "neither data nor made by a step"),
    "its own file as input": ("inputs: [raw.csv]", "inputs: [small.csv]", "neither data nor made by a step"),
    "no code": ("function: clean:halve, ", "", "either a script or a function"),
    "a function without a module": ("clean:halve", "halve", "module:function"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_steps_is_told(prepares, capsys, mistake):
    before, after, told = MISTAKES[mistake]
    recipe = prepares.root / "recipes" / "train" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace(before, after))
    assert prepare() == 2
    assert told in capsys.readouterr().err
