"""Two halves compared with a whole, on folders written by hand: every byte counts, and whose it is."""

import hashlib
import json
import pickle
import shutil
import zipfile

import pytest

from reprokit import checks
from reprokit.core.evidence import Evidence
from reprokit.core.verdicts.comparability import KEYS, RESUMED
from reprokit.core.verdicts.rows import Status
from reprokit.errors import CannotJudgeError
from reprokit.harness.judging.compared_with.reference_run import read_reference_run
from reprokit.harness.judging.resumed.resume_evidence import resume_evidence

ROW = next(check for check in checks.discover() if check.ID == "resume_equal")
SHARED = {
    "recipe": "r",
    "seed": 42,
    "device": "cpu",
    "numerics": "portable",
    "modified": [],
    "digests": {"trainer": "a"},
}


def sha256(path):
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def write_run(root, name, steps, *, saved, final=True, complete=True, **record):
    folder = root / "r" / name
    (folder / "checkpoints").mkdir(parents=True)
    for file in ("metrics.jsonl", "trace.jsonl"):
        lines = [json.dumps({"step": step, "loss/a": 1 / step}) + "\n" for step in steps]
        (folder / file).write_text("".join(lines))
    (folder / "timing.jsonl").write_text(json.dumps({"elapsed_s": 1.5}) + "\n")
    files = {f"checkpoint_{step}.pt": step for step in saved} | ({"final_model.pt": None} if final else {})
    listed = {}
    for file, step in files.items():
        with zipfile.ZipFile(folder / "checkpoints" / file, "w") as archive:
            member = zipfile.ZipInfo("archive/data.pkl")  # its time is fixed: equal bytes in every run
            archive.writestr(member, pickle.dumps({"step": step, "w": 0.5}, protocol=2))
        listed[file] = {"step": step, "sha256": sha256(folder / "checkpoints" / file)}
    (folder / "checkpoints" / "MANIFEST.json").write_text(json.dumps({"files": listed}))
    (folder / "run.json").write_text(json.dumps({**SHARED, **record}))
    if complete:
        close(folder)
    return folder


def close(folder):
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "outcome": "completed", "exit_code": 0}))
    (folder / "COMPLETE").unlink(missing_ok=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    marked = {str(path.relative_to(folder)): {"sha256": sha256(path)} for path in files}
    (folder / "COMPLETE").write_text(json.dumps({"files": marked}))


@pytest.fixture
def three(tmp_path):
    whole = write_run(tmp_path, "whole", range(10, 70, 10), saved=[20, 40, 60])
    stopped = write_run(
        tmp_path,
        "stopped",
        range(10, 60, 10),
        saved=[20, 40],
        final=False,
        complete=False,
        outcome="signalled",
        signal="SIGKILL",
    )
    point = {
        "run": "r/stopped",
        "checkpoint": "checkpoint_40.pt",
        "step": 40,
        "sha256": sha256(stopped / "checkpoints" / "checkpoint_40.pt"),
    }
    resumed = write_run(tmp_path, "resumed", [50, 60], saved=[60], resumed_from=point)
    return whole, stopped, resumed


def judged(three):
    seen = resume_evidence(three[0], three[1:])
    return seen, ROW.check(Evidence(recipe={}, platform="cpu-x86_64", runs=(), resume=seen))


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_halves_that_make_the_whole_pass(three):
    seen, finding = judged(three)
    assert finding.status is Status.PASSED, finding.reason
    assert (seen.records, seen.updates, seen.checkpoints) == (6, 6, ("checkpoint_60.pt", "final_model.pt"))
    assert (seen.step, seen.stopped_at, seen.first_resumed, seen.last_resumed) == (40, 50, 50, 60)


def test_a_torn_last_line_of_the_stopped_run_is_of_no_account(three):
    with (three[1] / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 6')
    assert judged(three)[1].status is Status.PASSED


@pytest.mark.parametrize("file", ["metrics.jsonl", "trace.jsonl"])
@pytest.mark.parametrize(("half", "place"), [(1, '"step": 30'), (2, '"step": 60')])
def test_a_changed_byte_of_either_half_is_named(three, file, half, place):
    change(three[half] / file, f'{place}, "loss/a": 0', f'{place}, "loss/a": 1')
    if half == 2:
        close(three[2])
    seen, finding = judged(three)
    assert finding.status is Status.FAILED
    assert seen.first["where"] == f"{file} (the {'stopped' if half == 1 else 'resumed'} run)"
    assert seen.first["what"] == f"loss/a at step {place.split()[1]}"


def test_equal_values_in_other_bytes_are_a_difference(three):
    change(three[2] / "metrics.jsonl", ": 0.02", ": 0.020")
    close(three[2])
    assert judged(three)[1].status is Status.FAILED


@pytest.mark.parametrize("lines", [slice(0, 1), slice(1, 2), slice(0, 0)])
def test_missing_records_are_a_difference(three, lines):
    path = three[2] / "metrics.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[lines]))
    close(three[2])
    assert judged(three)[1].status is Status.FAILED


def test_a_run_that_began_anew_does_not_pass(three):
    shutil.copy(three[0] / "metrics.jsonl", three[2] / "metrics.jsonl")
    close(three[2])
    assert judged(three)[1].status is Status.FAILED


@pytest.mark.parametrize("name", ["checkpoint_60.pt", "final_model.pt"])
def test_another_value_in_a_later_checkpoint_is_named(three, name):
    path = three[2] / "checkpoints" / name
    step = None if name == "final_model.pt" else 60
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"step": step, "w": 0.25}, protocol=2))
    close(three[2])
    seen, finding = judged(three)
    assert finding.status is Status.FAILED
    assert (seen.first["where"], seen.first["what"]) == (name, "w")


def test_a_later_checkpoint_with_the_same_values_in_other_bytes_is_named(three):
    path = three[2] / "checkpoints" / "final_model.pt"
    with zipfile.ZipFile(path) as archive:
        values = archive.read("archive/data.pkl")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("archive/data.pkl", date_time=(2020, 1, 1, 0, 0, 0)), values)
    close(three[2])
    seen, finding = judged(three)
    assert finding.status is Status.FAILED
    assert (seen.first["where"], seen.first["what"]) == ("final_model.pt", "its SHA-256")


def test_the_checkpoint_that_was_resumed_from_is_compared_too(three):
    with zipfile.ZipFile(three[0] / "checkpoints" / "checkpoint_40.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"step": 40, "w": 0.25}, protocol=2))
    close(three[0])
    seen, finding = judged(three)
    assert finding.status is Status.FAILED
    assert seen.first["where"] == "checkpoint_40.pt (the stopped run)"


@pytest.mark.parametrize("half", [1, 2])
@pytest.mark.parametrize(
    "key", [one for one in KEYS if one.path != "resumed_from.step"], ids=lambda key: key.path
)
def test_halves_that_are_not_comparable_with_the_whole_run_cannot_be_judged(three, plant, half, key):
    plant(three[half], key.path)
    seen, finding = judged(three)
    if key.path in RESUMED.may_differ:
        assert finding.status is Status.PASSED, finding.reason
        return
    assert finding.status is Status.ERROR
    assert f"{three[half]}: runs are not comparable: {key.plural} differ" in seen.problem


def test_a_half_whose_seed_is_of_another_type_cannot_be_judged(three):
    change(three[1] / "run.json", '"seed": 42', '"seed": 42.0')
    assert "run.json is damaged: 'seed'" in judged(three)[0].problem


@pytest.mark.parametrize(
    ("step", "because"),
    [
        (None, "resumed_from of run.json has no step"),
        ("40", "run.json is damaged: 'resumed_from.step'"),
        (40.0, "run.json is damaged: 'resumed_from.step'"),
        (True, "run.json is damaged: 'resumed_from.step'"),
    ],
)
def test_a_resumed_run_without_a_step_to_resume_from_cannot_be_judged(three, step, because):
    change(three[2] / "run.json", '"step": 40', f'"step": {json.dumps(step)}')
    close(three[2])
    assert because in judged(three)[0].problem


def test_a_checkpoint_exchanged_after_the_resume_cannot_be_judged(three):
    shutil.copy(three[1] / "checkpoints" / "checkpoint_20.pt", three[1] / "checkpoints" / "checkpoint_40.pt")
    assert "no longer the file that was resumed from" in judged(three)[0].problem


def test_a_stopped_run_without_a_manifest_cannot_be_judged(three):
    (three[1] / "checkpoints" / "MANIFEST.json").unlink()
    assert judged(three)[1].status is Status.ERROR


def test_a_resumed_run_that_did_not_finish_is_red(three):
    (three[2] / "COMPLETE").unlink()
    seen, finding = judged(three)
    assert finding.status is Status.FAILED
    assert seen.failure.startswith("the resumed run did not finish: ")


def test_a_run_that_nothing_killed_proves_nothing(three):
    change(three[1] / "run.json", '"SIGKILL"', "null")
    assert judged(three)[1].status is Status.ERROR


def test_a_resumed_run_is_no_measure_of_another(three):
    with pytest.raises(CannotJudgeError, match="only the later steps"):
        read_reference_run(three[2])


def kept_only_its_digest(folder, name, *, sha256_of=None):
    """As ``checkpoints.keep`` leaves it: the file gone, its digest in the manifest."""
    path = folder / "checkpoints" / "MANIFEST.json"
    manifest = json.loads(path.read_text())
    entry = manifest["files"].pop(name)
    manifest["removed"] = {name: {**entry, "sha256": sha256_of or entry["sha256"]}}
    path.write_text(json.dumps(manifest))
    (folder / "checkpoints" / name).unlink()
    close(folder)


def test_a_start_that_the_whole_run_did_not_keep_is_held_against_its_digest(three):
    shutil.copy(three[0] / "checkpoints" / "checkpoint_40.pt", three[1] / "checkpoints")
    change_start = sha256(three[1] / "checkpoints" / "checkpoint_40.pt")
    for folder, key in ((three[1] / "checkpoints" / "MANIFEST.json", "files"), (three[2] / "run.json", None)):
        data = json.loads(folder.read_text())
        entry = data[key]["checkpoint_40.pt"] if key else data["resumed_from"]
        entry["sha256"] = change_start
        folder.write_text(json.dumps(data))
    close(three[2])
    kept_only_its_digest(three[0], "checkpoint_40.pt")
    assert judged(three)[1].status is Status.PASSED


def test_a_start_with_another_digest_than_the_one_kept_is_red(three):
    kept_only_its_digest(three[0], "checkpoint_40.pt", sha256_of=f"sha256:{'0' * 64}")
    seen, finding = judged(three)
    assert finding.status is Status.FAILED
    assert seen.first["what"] == "its SHA-256"
