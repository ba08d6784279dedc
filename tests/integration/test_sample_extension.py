"""The sample extension as a wheel beside that of reprokit in an empty environment: it works, and is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.wheel_environments import UV, answer, environment_with

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SAMPLE = Path(__file__).parents[1] / "sample_extension"
PROGRAM = """\
import random, sys
random.seed(int(sys.argv[1]))
with open(sys.argv[2] + "/train.lab", "w") as log:
    for step in range(5):
        log.write(f"@step {step} loss={5 - step + random.random()!r}\\n")
"""
RECIPE = """\
schema: 1
name: train
title: Five random numbers
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [1]
platforms: [cpu-x86_64, cpu-aarch64]
"""
NAMED = '[tool.reprokit]\nextensions = ["labkit-ext==1.1"]\n'
TOLD = "Loaded from outside reprokit: labkit-ext 1.1 (its log format lab read train.lab"


@dataclass
class Place:
    """An environment with both wheels, and a project that names the extension."""

    environment: Path
    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.environment / 'bin'}:{SAMPLE / 'tests' / 'fake_pbs'}:{os.environ['PATH']}"
        return subprocess.run(
            [self.environment / "bin" / "reprokit", *words],
            cwd=self.root,
            env={**os.environ, **self.variables, "PATH": path, "FAKE_PBS": str(self.jobs)},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def jobs(self) -> Path:
        return self.root.parent / "jobs"

    def named(self, text: str) -> None:
        (self.root / "pyproject.toml").write_text(text)

    def newest_report(self) -> Path:
        return max((self.root / "reports" / "train").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)

    def report(self) -> dict:
        return json.loads((self.newest_report() / "report.json").read_text())

    def site_packages(self) -> Path:
        (found,) = self.environment.glob("lib/python3.*/site-packages")
        return found


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture(scope="module")
def made(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("extension")
    shutil.copytree(
        SAMPLE, folder / "sample", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    )
    environment = environment_with("", wheel=wheel, folder=folder)
    python = environment / "bin" / "python"
    build = [UV, "build", "--quiet", "--no-config", "--wheel", "--out-dir", folder / "wheels"]
    answer(*build, folder / "sample", folder=folder)
    (built,) = (folder / "wheels").glob("*.whl")
    answer(UV, "pip", "install", "--quiet", "--no-config", f"--python={python}", built, folder=folder)
    root = folder / "project"
    (root / "recipes" / "train").mkdir(parents=True)
    (root / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    (root / "train.py").write_text(PROGRAM)
    (root / "pyproject.toml").write_text(NAMED)
    (root / ".gitignore").write_text("runs/\nreports/\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    place = Place(environment=environment, root=root)
    assert place.run("reproduce", "train").returncode == 4
    promoted = place.run("golden", "promote", "train", "--reason", "first")
    assert promoted.returncode == 0, promoted.stderr
    git(root, "add", ".")
    git(root, "commit", "-qm", "golden")
    return place


@pytest.fixture
def place(made: Place) -> Place:
    made.named(NAMED)
    made.variables.clear()
    return made


def test_its_log_is_read_and_every_record_names_it(place):
    assert place.run("reproduce", "train").returncode == 0
    report = place.report()
    assert report["verdict"] == "REPRODUCED"
    assert TOLD in report["sentence"]
    (one,) = report["extensions"]
    assert (one["name"], one["version"]) == ("labkit-ext", "1.1")
    (provenance,) = place.root.glob("golden/train/*/seed-1/provenance.json")
    (run,) = {Path(folder) for folder in report["runs"][:1]}
    for file in (provenance, place.root / run / "run.json"):
        (told,) = json.loads(file.read_text())["extensions"]
        assert (told["name"], told["version"], told["digest"]) == ("labkit-ext", "1.1", one["digest"])
    row = next(row for row in report["checks"] if row["id"] == "extension/labkit-ext/loss_falls")
    assert (row["status"], row["required"]) == ("PASSED", False)


def test_its_section_stands_in_every_format_below_its_name(place):
    assert place.run("reproduce", "train").returncode == 0
    assert "its section last_records was added" in place.report()["sentence"]
    (section,) = place.report()["sections"]
    assert section["paragraphs"] == ["Where each of the 2 runs ended."]
    assert [row[1] for row in section["tables"][0]["rows"]] == ["4", "4"]
    page = (place.newest_report() / "report.md").read_text()  # the HTML needs an extra
    assert "Extension labkit-ext 1.1: Last records" in page
    shown = place.run("report", "show", str(place.newest_report()), "-v").stdout
    assert "section: Extension labkit-ext 1.1: Last records" in shown


def test_its_cause_is_proposed_beside_that_of_diagnose_and_changes_no_exit_code(place):
    text = PROGRAM.replace("random.random()", "time.time()").replace("import random", "import random, time")
    (place.root / "timed.py").write_text(text)
    words = ("diagnose", "--json", "--", "python", "timed.py", "{seed}", "{run_dir}")
    told = place.run(*words)
    assert told.returncode == 1, told.stderr
    found = json.loads(told.stdout)
    (proposal,) = found["proposals"]
    assert [one["name"] for one in found["extensions"]] == ["labkit-ext"]
    assert found["cause"]["category"] == "clock"
    assert (proposal["extension"], proposal["category"]) == ("labkit-ext", "old_template")
    assert (proposal["confidence"], proposal["held_by"]) == (found["cause"]["confidence"], "clock")
    assert "proposed by labkit-ext 1.1: old_template at" in place.run(*words[:1], *words[2:]).stdout
    place.named("[tool.reprokit]\n")
    assert place.run(*words).returncode == 2  # without it no one reads the log


def test_its_verb_is_listed_and_answers(place):
    assert "lab-last  Print the last record of a run." in " ".join(place.run("--help").stdout.split("  "))
    run = max((place.root / "runs" / "train").glob("*-seed1-*"))
    assert place.run("lab-last", str(run)).stdout.startswith("@step 4 loss=1.")


def test_runs_are_made_at_its_place_and_the_verdict_says_so(place):
    swept = place.run("sweep", "train", "--seeds", "7,8", "--on", "pbs", "--place", "queue=work", "--json")
    assert swept.returncode == 0, swept.stderr
    made = [
        json.loads(file.read_text()) for file in (place.root / "runs" / "train").glob("*-seed[78]-*/run.json")
    ]
    assert {run["where"] for run in made} == {"pbs"}
    assert {file.read_text() for file in place.jobs.glob("*/queue")} == {"work\n"}
    assert place.run("sweep", "train", "--on", "slurm", "--place", "queue=work").returncode == 2
    assert place.run("sweep", "train", "--on", "nowhere").returncode == 2


def test_its_variation_is_made_where_a_recipe_names_it(place):
    file = place.root / "recipes" / "train" / "recipe.yaml"
    file.write_text(f"{RECIPE}immune_to: [lab_site]\nextensions: [labkit-ext==1.1]\n")
    try:
        assert place.run("reproduce", "train", "--vary").returncode == 0
        assert "its variation lab_site was made" in place.report()["sentence"]
        place.named("[tool.reprokit]\n")
        told = place.run("reproduce", "train")
        assert told.returncode == 4
        assert "the extension labkit-ext 1.1 is not named in [tool.reprokit] extensions" in told.stderr
    finally:
        file.write_text(RECIPE)


def test_without_it_the_golden_that_names_it_is_not_judged_nor_is_its_report(place):
    assert place.run("reproduce", "train").returncode == 0
    report = str(place.newest_report())
    assert place.run("report", "verify", report).returncode == 0
    place.named("[tool.reprokit]\n")
    assert place.run("report", "verify", report).returncode == 4
    assert place.run("reproduce", "train").returncode == 4
    told = place.report()
    assert told["verdict"] == "UNJUDGED"
    assert (
        "the golden was promoted with it, and the extension labkit-ext 1.1 is not named" in told["sentence"]
    )


def test_a_gate_takes_the_list_of_the_base(place):
    place.named('[tool.reprokit]\nextensions = ["worse==6.6.6"]\n')
    assert place.run("verify").returncode == 2
    assert place.run("verify", "--extensions-from", "HEAD").returncode == 0
    assert TOLD in place.report()["sentence"]


def test_a_file_that_was_changed_after_the_installation_is_refused_with_a_warning(place):
    file = place.site_packages() / "labkit_ext" / "row.py"
    content = file.read_bytes()
    try:
        file.write_bytes(content + b"\nraise SystemExit('imported')\n")
        told = place.run("reproduce", "train")
    finally:
        file.write_bytes(content)
    assert told.returncode == 4
    assert "labkit-ext 1.1 was not loaded: labkit_ext/row.py is not what its RECORD says" in told.stderr
    assert "imported" not in told.stderr


@pytest.mark.parametrize("where", ["the repository", "PYTHONPATH", "the program's environment"])
def test_one_that_is_planted_elsewhere_is_never_imported(place, tmp_path, where):
    planted = {"the repository": place.root, "PYTHONPATH": tmp_path / "path"}.get(where, tmp_path / "env")
    about = planted / "planted-1.0.dist-info"
    package = planted / "planted"
    for folder in (about, package):
        folder.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[reprokit.extensions]\nplanted = planted:EXTENSION\n")
    (about / "RECORD").write_text("")
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    if where != "the repository":
        place.variables["PYTHONPATH"] = str(planted)
    if where == "the program's environment":
        place.variables["VIRTUAL_ENV"] = str(planted)
    try:
        assert place.run("reproduce", "train").returncode == 0  # installed, and not named
        place.named('[tool.reprokit]\nextensions = ["planted==1.0"]\n')
        told = place.run("reproduce", "train")
    finally:
        for folder in (about, package):
            shutil.rmtree(folder)
    assert told.returncode == 2
    assert "the extension planted is not installed in this version" in told.stderr
    assert "imported" not in told.stderr


def test_runs_on_its_place_are_judged_without_the_package_that_draws_pages(place):
    told = place.run("verify", "train", "--on", "pbs", "--json")
    answer = json.loads(told.stdout)
    assert (told.returncode, answer["exit_code"], answer["page"]) == (0, 0, None), told.stderr
    assert [row["verdict"] for row in answer["rows"]] == ["REPRODUCED"]
    assert "its place pbs ran them" in answer["rows"][0]["sentence"]
    assert "Warning: the page machines.html was left out" in told.stderr


def test_what_explains_another_version_can_be_read_and_nothing_is_judged_with_it(place):
    place.named('[tool.reprokit]\nextensions = ["labkit-ext==1.0"]\n')
    assert place.run("reproduce", "train").returncode == 2
    for words in (["--version"], ["verify", "--help"], ["help", "extensions"], ["doctor"]):
        told = place.run(*words)
        assert told.returncode in ({0, 3} if words == ["doctor"] else {0})
        assert "Warning: no extension is loaded: " in told.stderr
    place.named("[tool.reprokit]\n")
    for words in (["lab-last"], ["sweep", "train", "--on", "pbs"]):
        told = place.run(*words)
        assert told.returncode == 2
        assert "labkit-ext==1.1" in told.stderr
