"""Recipes of this repository on data of their own: unpacked archives, files that a step prepares."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from reprokit.images.cache import cache_folder

ROOT = Path(__file__).resolve().parents[2]
CLEAN = """\
def drop_header(inputs, output, *, seed, rows):
    lines = (inputs["wines"] / "raw" / "wine.csv").read_text().splitlines(keepends=True)
    (output / "wine.csv").write_text("".join(lines[1 : rows + 1]))
"""


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def table(rows: int, columns: int, classes: int, *, largest: int) -> str:
    """Rows whose first columns say which class they are."""
    chance = random.Random(1)
    values = [
        [*(largest if row % classes == column else chance.randrange(largest) for column in range(columns))]
        for row in range(rows)
    ]
    return "".join(f"{','.join(map(str, one))},{row % classes}\n" for row, one in enumerate(values))


def zipped(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name.replace("__", "/").replace("_csv", ".csv")), text)
    return out.getvalue()


def tarred(**files: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"plays/{name}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


class Study:
    """A project of its own with recipes of this repository, cut to a few updates."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.cache = cache
        self.told = ""

    def recipe(self, name: str) -> Path:
        return self.root / "recipes" / name / "recipe.yaml"

    def write(self, name: str, *, data: str, steps: int, **replaced: str) -> None:
        """A recipe with other data, of so many steps."""
        text = (ROOT / "recipes" / name / "recipe.yaml").read_text(encoding="utf-8")
        text = re.sub(r"^data:\n(?:  .*\n)+", data, text, flags=re.MULTILINE)
        text = re.sub(r"\{value: [\d.]+, atol: [\d.]+\}", "{value: 5, atol: 5}", text)
        text = re.sub(r"total_timesteps: \d+.*", f"total_timesteps: {steps}", text)
        for key, value in replaced.items():
            text, count = re.subn(rf"^  {key}: .*", f"  {key}: {value}", text, flags=re.MULTILINE)
            assert count == 1, key
        self.recipe(name).parent.mkdir(parents=True, exist_ok=True)
        self.recipe(name).write_text(text, encoding="utf-8")

    def put(self, name: str, content: bytes, declared: str = "unpack: zip") -> str:
        """A file below the project; its entry under ``data``."""
        (self.root / name).write_bytes(content)
        return f"{{path: {name}, sha256: '{digest(content)}', size: {len(content)}, {declared}}}"

    def __call__(self, *words: str, code: int = 0, before: tuple[str, ...] = ()) -> str:
        done = subprocess.run(
            [*before, sys.executable, "-m", "reprokit", *words],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT), "REPROKIT_CACHE": str(self.cache)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout[-3000:] + done.stderr
        self.told = done.stderr
        return done.stdout

    def commit(self) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "first")):
            subprocess.run(["git", *identity, *words], cwd=self.root, check=True)

    def reproduced(self, name: str, *words: str) -> dict:
        """A report with the verdict of two equal runs; its rows on data hold."""
        report = json.loads(self("reproduce", name, "--json", *words, code=4))
        assert report["verdict"] == "NO_GOLDEN", report["sentence"]
        (row,) = [one for one in report["checks"] if one["id"] == "data_recorded"]
        assert row["status"] == "PASSED", row
        return report


def make_study(folder: Path) -> Study:
    """A project with the trainers, their parts and the environments; its recipes are yet to be written."""
    for name in ("recipes/trainers", "recipes/parts", "images"):
        shutil.copytree(ROOT / name, folder / "p" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder / "p")
    return Study(folder / "p", empty_cache(folder / "cache"))


def empty_cache(own: Path) -> Path:
    """A cache without data; environments and wheels are those of this machine."""
    usual = cache_folder(None)
    own.mkdir()
    for path in usual.iterdir() if usual.is_dir() else ():
        if path.name not in {"data", "prepared"}:
            (own / path.name).symlink_to(path)
    return own


def write_tabular(study: Study, *, licence: str = "") -> None:
    """`tabular` on a file that a step makes of an unpacked archive; its digest is not declared yet."""
    content = zipped(raw__wine_csv="a header\n" + table(60, 13, 3, largest=9))
    entry = study.put("wine.zip", content, f"unpack: zip{licence}")
    made = f"{{prepared: clean, sha256: 'sha256:{'0' * 64}', size: 0}}"
    step = "prepare:\n  clean: {function: 'clean:drop_header', inputs: [wines], settings: {rows: 45}}\n"
    data = f"data:\n  wines: {entry}\n  wine.csv: {made}\n{step}"
    study.write("tabular", data=data, steps=180, file="wine.csv", header_rows="0", save_interval="60")
    study.recipe("tabular").with_name("clean.py").write_text(CLEAN)


def prepare(study: Study, *, backend: str) -> str:
    """Fetch and prepare the data of `tabular`, and declare what came out; its digest."""
    study("data", "fetch", "tabular")
    said = study("data", "prepare", "tabular", "--backend", backend, code=1)
    found = re.search(r"sha256: (sha256:[0-9a-f]{64}), size: (\d+)", said)
    text = study.recipe("tabular").read_text().replace(f"sha256:{'0' * 64}", found[1])
    study.recipe("tabular").write_text(text.replace("size: 0}", f"size: {found[2]}}}"))
    study("data", "prepare", "tabular", "--backend", backend)
    return found[1]
