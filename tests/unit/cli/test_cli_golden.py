"""``reprokit golden lint``, ``diff`` and ``promote --from``, on the project's own golden."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprokit import cli

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = "golden/cartpole_tuned/cpu-x86_64/seed-42"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The project's recipe and golden, in a repository of their own."""
    for name in ("recipes", "golden/cartpole_tuned", "images"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for words in (
        ["init", "-q"],
        ["config", "user.email", "a@example.org"],
        ["config", "user.name", "A"],
        ["add", "-A"],
        ["commit", "-qm", "first"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    with_provenance(tmp_path)
    return tmp_path


def with_provenance(root, **words):
    """Write the golden's provenance again, its digests those of what lies there."""
    folder = root / GOLDEN
    told = json.loads((folder / "provenance.json").read_text())
    told.update(words)
    for name in ("metrics", "trace"):
        content = (folder / f"{name}.jsonl").read_bytes()
        told["digests"][name] = f"sha256:{hashlib.sha256(content).hexdigest()}"
    (folder / "provenance.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return told


def with_metric(root, name, change):
    """Change one metric of the golden in every record from the tenth on."""
    before = json.loads((root / GOLDEN / "provenance.json").read_text())["digests"]["metrics"]
    file = root / GOLDEN / "metrics.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records[10:]:
        record[name] = change(record[name])
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    with_provenance(root, previous=before, reason="a better loss | with *signs*")


def run(*words):
    return CliRunner().invoke(cli.root, ["golden", *words], standalone_mode=False)


def code(answer):
    assert answer.exception is None, answer.output
    return answer.return_value


def test_a_golden_as_it_was_blessed_has_no_finding(study):
    answer = run("lint", "--json")
    assert (json.loads(answer.stdout), code(answer)) == ([], 0)


def test_a_golden_of_a_platform_with_settings_of_its_own_is_held_against_these(study):
    for folder in ("recipes", "golden"):
        for name in ("parts", "mnist_cnn"):
            if (ROOT / folder / name).is_dir():
                shutil.copytree(ROOT / folder / name, study / folder / name, dirs_exist_ok=True)
    shutil.copytree(ROOT / "recipes" / "trainers", study / "recipes" / "trainers", dirs_exist_ok=True)
    assert json.loads(run("lint", "mnist_cnn", "--json").stdout) == []
    file = study / "recipes" / "mnist_cnn" / "recipe.yaml"
    before = "  xla-cpu: {variant: tpu, device: tpu, numerics: native}"
    changed = f"{before[:-1]}, settings: {{training.total_timesteps: 64}}}}"
    file.write_text(file.read_text().replace(before, changed))
    (found,) = json.loads(run("lint", "mnist_cnn", "--json").stdout)
    assert (found["rule"], "xla-cpu" in found["where"]) == ("stale", True)
    assert "config changed" in found["what"]
    assert "reprokit reproduce mnist_cnn --platform xla-cpu" in found["remedy"]


def test_no_golden_at_all_is_no_clean_bill(study):
    shutil.rmtree(study / "golden")
    assert code(run("lint")) == 4


@pytest.mark.parametrize(
    ("rule", "plant"),
    [
        ("nonfinite", lambda root: with_metric(root, "loss/policy", lambda _: float("nan"))),
        ("provenance", lambda root: with_provenance(root, config={})),
        ("numerics", lambda root: with_provenance(root, fingerprint_facts={})),
        ("agreement", lambda root: with_provenance(root, runs_agreed=1)),
        ("tolerance", lambda root: with_provenance(root, tolerances={"default": {"rtol": 1e-3}})),
        ("unreadable", lambda root: (root / GOLDEN / "trace.jsonl").write_text("{}\n")),
        ("orphan", lambda root: shutil.rmtree(root / "recipes" / "cartpole_tuned")),
        (
            "orphan",
            lambda root: edit_recipe(root, "platforms: [cpu-x86_64]", "platforms: [cuda-h200]"),
        ),
        ("orphan", lambda root: edit_recipe(root, "seeds: [42]", "seeds: [7]")),
        ("stale", lambda root: edit_recipe(root, "gamma: 0.99", "gamma: 0.98")),
    ],
)
def test_every_planted_fault_is_found_with_its_file_and_what_to_do(study, rule, plant):
    plant(study)
    answer = run("lint", "--json")
    found = json.loads(answer.stdout)
    assert code(answer) == 1
    assert {one["rule"] for one in found} >= {rule}
    assert all("seed-42" in one["where"] and one["remedy"] for one in found)


def edit_recipe(root, old, new):
    file = root / "recipes" / "cartpole_tuned" / "recipe.yaml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_a_golden_and_itself_differ_in_nothing(study):
    answer = run("diff", f"HEAD:{GOLDEN}", GOLDEN)
    assert code(answer) == 0
    assert "no number changed" in answer.stdout


def test_a_moved_metric_is_told_with_place_size_and_reason(study):
    with_metric(study, "loss/policy", lambda value: value * 1.5)
    answer = run("diff", f"HEAD:{GOLDEN}", GOLDEN, "--json")
    found = json.loads(answer.stdout)
    assert code(answer) == 1
    (moved,) = found["moved"]
    records = (study / GOLDEN / "metrics.jsonl").read_text().splitlines()
    assert (moved["metric"], moved["records"]) == ("loss/policy", len(records) - 10)
    assert moved["max_rel_error"] == pytest.approx(0.5)
    assert moved["first_step"] == json.loads(records[10])["step"]
    assert found["follows"] is True
    assert found["comparison"]["divergence"]["metric"] == "loss/policy"


def test_markdown_for_a_pull_request_cannot_be_broken_by_a_reason(study):
    with_metric(study, "loss/policy", lambda value: value * 1.5)
    page = run("diff", f"HEAD:{GOLDEN}", GOLDEN, "--markdown").stdout
    assert page.startswith("### Golden of `cartpole_tuned` on `cpu-x86_64`, seed 42: 1 of ")
    assert "a better loss" in page
    assert "| with" not in page
    assert "*signs*" not in page
    assert "| `loss/policy` |" in page


def test_the_plot_is_drawn(study):
    with_metric(study, "loss/policy", lambda value: value * 1.5)
    code(run("diff", f"HEAD:{GOLDEN}", GOLDEN, "--plot", "moved.svg"))
    assert (study / "moved.svg").read_text().startswith("<svg")


def test_settings_and_environment_that_changed_are_told(study):
    told = json.loads((study / GOLDEN / "provenance.json").read_text())
    told["config"]["training"]["gamma"] = 0.98
    told["environment"]["inside"]["packages"]["numpy"] = "9.9.9"
    with_metric(study, "loss/policy", lambda value: value * 1.5)
    with_provenance(study, config=told["config"], environment=told["environment"])
    page = run("diff", f"HEAD:{GOLDEN}", GOLDEN).stdout
    assert "training.gamma 0.99 → 0.98" in page
    assert "inside.packages.numpy 2.4.6 → 9.9.9 (computes)" in page


def test_goldens_of_two_seeds_are_not_compared(study):
    other = study / GOLDEN.replace("seed-42", "seed-7")
    shutil.copytree(study / GOLDEN, other)
    told = json.loads((other / "provenance.json").read_text())
    (other / "provenance.json").write_text(json.dumps({**told, "seed": 7}))
    answer = run("diff", GOLDEN, str(other.relative_to(study)))
    assert "differ in their seed" in str(answer.exception)


@pytest.mark.parametrize(
    ("old", "why"),
    [
        (f"nowhere:{GOLDEN}", "there is no commit nowhere"),
        ("HEAD:golden/cartpole_tuned/cpu-x86_64/seed-9", "the commit has no"),
        ("HEAD:golden", "not a golden's folder"),
        ("HEAD:../a/b/c", "not a golden's folder"),
    ],
)
def test_what_is_no_golden_is_refused(study, old, why):
    assert why in str(run("diff", old, GOLDEN).exception)


@pytest.mark.parametrize("words", [(), ("cartpole_tuned", "--from", "reports/x")])
def test_promote_takes_a_recipe_or_a_report_not_both_or_neither(study, words):
    answer = run("promote", *words, "--reason", "r")
    assert "name a recipe, run folders, or a report" in str(answer.exception)


@pytest.mark.parametrize("words", [("--from", "reports/x"), ("one", "other"), ("--stale",)])
def test_a_platform_is_named_for_a_recipe_and_never_passed_over(study, words):
    answer = run("promote", *words, "--platform", "xla-cpu", "--reason", "r")
    assert "--platform goes with RECIPE" in str(answer.exception) or "--stale takes" in str(answer.exception)


@pytest.mark.parametrize("folder", [GOLDEN, "golden/cartpole_tuned", "golden"])
def test_the_only_golden_below_a_folder_is_shown(study, folder):
    answer = run("show", folder)
    assert answer.exception is None
    assert "cpu-x86_64" in answer.stdout


def test_of_several_goldens_below_a_folder_one_must_be_named(study):
    shutil.copytree(study / GOLDEN, (study / GOLDEN).with_name("seed-43"))
    told = str(run("show", "golden/cartpole_tuned").exception)
    assert (
        "there is more than one golden here. Hint: name one of golden/cartpole_tuned/cpu-x86_64/seed-42, "
        in told
    )


def test_of_a_digest_is_said_what_it_is_the_digest_of(study):
    with_provenance(study, previous=None)
    lines = run("show", GOLDEN).stdout.splitlines()
    assert next(line for line in lines if line.startswith("fingerprint")).endswith(" (the environment)")
    assert "previous     none: the first golden" in lines
    with_provenance(study, previous=f"sha256:{'0' * 64}")
    before = next(line for line in run("show", GOLDEN).stdout.splitlines() if line.startswith("previous"))
    assert before.endswith(" (the golden before)")
