"""Which runs become a golden, and what is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.errors import GoldenError, WorkspaceError
from reprokit.golden.promotion import thinned
from reprokit.records.provenance_json import was_edited
from reprokit.workspace import sha256_of


def files_under(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_golden_holds_the_metrics_as_they_are_and_its_whole_provenance(bless, candidate, tmp_path):
    first, second = candidate(), candidate()
    golden = bless(first, second)
    assert files_under(tmp_path / "golden") == [
        f"cartpole/cpu-x86_64/seed-42/{name}" for name in ("metrics.jsonl", "provenance.json", "trace.jsonl")
    ]
    assert golden.metrics.read_bytes() == first.metrics.read_bytes()
    assert not was_edited(golden.document)
    assert was_edited({**golden.document, "runs_agreed": 3})
    assert {name: value for name, value in golden.document.items() if name != "seal"} == {
        "schema": 1,
        "recipe": "cartpole",
        "platform": "cpu-x86_64",
        "seed": 42,
        "reason": "first golden",
        "created_at": "2026-11-20T10:15:00+00:00",
        "runs_agreed": 2,
        "previous": None,
        "digests": {**first.digests, "metrics": sha256_of(golden.metrics), "trace": sha256_of(golden.trace)},
        "image": first.image,
        "fingerprint": first.fingerprint,
        "fingerprint_facts": first.fingerprint_facts,
        "environment": first.environment,
        "config": {"training": {"gamma": 0.99}},
        "tolerances": {"default": {"rtol": 0.0, "atol": 0.0}},
        "tool": {"name": "reprokit", "version": "0.1.0"},
    }


def test_the_trace_is_thinned_to_exact_records(bless, candidate):
    run = candidate()
    golden = bless(run, candidate())
    whole = run.trace.read_text().splitlines()
    assert golden.trace.read_text().splitlines() == [whole[i] for i in (*range(8), 8, 16, 24, 29)]


@pytest.mark.parametrize(
    ("count", "kept"),
    [
        (0, []),
        (1, [0]),
        (8, [*range(8)]),
        (9, [*range(9)]),
        (10, [*range(10)]),
        (17, [*range(9), 16]),
        (18, [*range(9), 16, 17]),
    ],
)
def test_thinning_keeps_the_first_eight_every_eighth_and_the_last(count, kept):
    assert [int(line) for line in thinned(b"%d" % i for i in range(count))] == kept


def test_three_runs_that_agree_are_counted(bless, candidate):
    assert bless(candidate(), candidate(), candidate()).provenance.runs_agreed == 3


def test_a_new_golden_replaces_the_old_and_names_it(bless, candidate, tmp_path):
    old = bless()
    old_metrics = sha256_of(old.metrics)
    new = bless(
        candidate(metrics='{"step": 0}\n'), candidate(metrics='{"step": 0}\n'), reason="a new optimiser"
    )
    assert (new.path, new.provenance.previous) == (old.path, old_metrics)
    assert new.metrics.read_text() == '{"step": 0}\n'
    assert len(files_under(tmp_path / "golden")) == 3
    assert [path.name for path in new.path.parent.iterdir()] == ["seed-42"]


def test_a_broken_golden_can_be_replaced(bless):
    old = bless()
    (old.path / "provenance.json").write_text("torn")
    assert bless().provenance.reason == "first golden"


def test_an_odd_reason_is_kept_readable(bless):
    golden = bless(reason=' "quoted"\nénd \udce9 ')
    assert golden.provenance.reason == '"quoted"\nénd \udce9'
    assert not was_edited(golden.document)


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_a_golden_without_a_reason_is_refused(bless, reason):
    with pytest.raises(GoldenError, match="needs a reason"):
        bless(reason=reason)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"complete": False}, "the run is incomplete"),
        ({"modified": ("training.gamma=0.9",)}, r"the run was modified: training\.gamma=0\.9"),
        ({"dirty": True}, "the source tree had uncommitted changes"),
        ({"dirty": None}, "the source is not under git"),
        ({"digests": {}}, "no digest of recipe, trainer, runtime, config, lock"),
        ({"seed": 43}, "the runs differ in their seed. expected 42. got 43"),
        ({"recipe": "other"}, "the runs differ in their recipe"),
        ({"platform": "xla-cpu"}, "the runs differ in their platform"),
        ({"fingerprint": "sha256:" + "0" * 64}, "the runs differ in their fingerprint"),
        ({"metrics": '{"step": 0, "train/loss": 0.5}\n'}, r"metrics\.jsonl:1: the runs differ"),
        ({"trace": '{"step": 0}\n'}, r"trace\.jsonl:1: the runs differ"),
    ],
)
def test_an_unworthy_run_is_refused_wherever_it_stands(bless, candidate, tmp_path, fields, told):
    for runs in ((candidate(), candidate(**fields)), (candidate(), candidate(), candidate(**fields))):
        with pytest.raises(GoldenError, match=told):
            bless(*runs)
    assert not (tmp_path / "golden").exists()


def test_one_different_byte_in_the_last_line_is_found(bless, candidate):
    good = candidate()
    text = good.metrics.read_text()
    other = candidate(metrics=text[:-3] + ("1" if text[-3] != "1" else "2") + text[-2:])
    with pytest.raises(GoldenError, match=r"metrics\.jsonl:30: the runs differ"):
        bless(good, other)


def test_a_run_that_stopped_a_record_early_differs(bless, candidate):
    good = candidate()
    shorter = candidate(metrics="".join(good.metrics.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(GoldenError, match=r"metrics\.jsonl:30: the runs differ"):
        bless(good, shorter)


def test_one_run_given_twice_is_one_run(bless, candidate):
    run = candidate()
    same = replace(run, path=run.path.parent / "x" / ".." / run.path.name)
    (run.path.parent / "x").mkdir()
    for runs in ((run,), (run, run), (run, same)):
        with pytest.raises(GoldenError, match="needs two runs that agree"):
            bless(*runs)


def test_no_run_at_all_is_refused(tmp_path, bless):
    with pytest.raises(GoldenError, match="needs two runs that agree"):
        bless(runs=())


def test_a_dirty_tree_is_taken_when_that_is_said(bless, candidate):
    assert bless(candidate(dirty=True), candidate(dirty=None), allow_dirty=True).path.is_dir()


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_values_that_are_not_finite_are_refused_unless_allowed(bless, candidate, value):
    text = f'{{"step": 0, "train/loss": 1.0}}\n{{"step": 1, "train/loss": {value}}}\n'
    runs = (candidate(metrics=text), candidate(metrics=text))
    with pytest.raises(GoldenError, match=r"metrics\.jsonl:2: train/loss is"):
        bless(*runs)
    assert bless(*runs, allow_nonfinite=True).metrics.read_text() == text


@pytest.mark.parametrize("name", ["metrics", "trace"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "jsonl: the file is empty"),
        ('{"step": 0}\n{"st', "jsonl:2: not a line of JSON"),
        ('{"step": 0}', "jsonl:1: not a whole record"),
        ("[1]\n", "jsonl:1: not a whole record"),
        ('{"step": 0}\n\n{"step": 1}\n', "jsonl:2: not a line of JSON"),
    ],
)
def test_files_that_are_torn_or_no_records_are_refused(bless, candidate, name, text, told):
    runs = (candidate(**{name: text}), candidate(**{name: text}))
    with pytest.raises(GoldenError, match=told):
        bless(*runs)


def test_a_missing_trace_is_told(bless, candidate):
    runs = (candidate(), candidate())
    runs[1].trace.unlink()
    with pytest.raises(GoldenError, match=r"trace\.jsonl: cannot read"):
        bless(*runs)


def test_a_record_that_is_no_json_leaves_the_old_golden(bless, candidate):
    old = bless()
    runs = [candidate(environment={"load": float("nan")}) for _ in range(2)]
    with pytest.raises(GoldenError, match="not JSON"):
        bless(*runs)
    assert json.loads((old.path / "provenance.json").read_text()) == old.document
    assert [path.name for path in old.path.parent.iterdir()] == ["seed-42"]


def test_a_failed_rename_leaves_the_old_golden_and_no_litter(bless, monkeypatch):
    old = bless()
    rename = Path.rename

    def fails_into_place(self: Path, target: Path) -> Path:
        if target == old.path and not self.name.endswith(".before"):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_into_place)
    with pytest.raises(WorkspaceError, match="no space left"):
        bless(reason="another")
    assert json.loads((old.path / "provenance.json").read_text())["reason"] == "first golden"
    assert [path.name for path in old.path.parent.iterdir()] == ["seed-42"]


def test_a_folder_that_cannot_be_made_is_a_workspace_error(bless, tmp_path):
    (tmp_path / "golden").write_text("a file")
    with pytest.raises(WorkspaceError, match="cannot write"):
        bless()


@pytest.mark.parametrize("name", ["eval/token=hunter2-S3cr3t", "https://ada:hunter2-S3cr3t@example.org/x"])
def test_a_metric_whose_name_holds_a_secret_is_refused_without_repeating_it(bless, candidate, name):
    text = f'{{"step": 0, "train/loss": 1.0, "{name}": 2.0}}\n'
    with pytest.raises(GoldenError, match=r"metrics\.jsonl:1: .* looks like a secret") as caught:
        bless(candidate(metrics=text), candidate(metrics=text))
    assert "hunter2" not in str(caught.value)


def test_a_secret_in_the_reason_is_taken_out(bless):
    assert bless(reason="new weights, token=hunter2").provenance.reason == "new weights, token=<redacted>"
