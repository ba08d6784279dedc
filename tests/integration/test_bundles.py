"""A bundle made in one project and reproduced in an empty folder, by the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.study_project import Study, with_golden

pytestmark = [pytest.mark.timeout(1800)]
GOLDEN = "golden/cartpole_baseline/cpu-x86_64"


def bundled(study: Study, *options: str) -> tuple[Path, str]:
    done = study.reprokit("bundle", GOLDEN, "--output", "made.tar.gz", "--json", *options)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert not [name for name in told["files"] if ".env" in name]
    return study.root / "made.tar.gz", told["sha256"]


def moved(study: Study, file: Path, tmp_path: Path) -> Path:
    """The archive alone: the project that it was made in is out of the way."""
    alone = file.rename(tmp_path / "sent.tar.gz")
    study.root.rename(tmp_path / "elsewhere")
    return alone


@pytest.fixture
def reviewer(tmp_path: Path) -> Study:
    (tmp_path / "reviewer").mkdir()
    return Study(root=tmp_path / "reviewer")


@pytest.mark.slow
def test_a_bundle_is_reproduced_in_an_empty_folder(tmp_path, reviewer):
    study = with_golden(tmp_path / "theirs", backend="local")
    file, digest = bundled(study)
    again, _ = bundled(study)
    assert again.read_bytes() == file.read_bytes()
    file = moved(study, file, tmp_path)

    wrong = reviewer.reprokit("reproduce", str(file), "--sha256", "0" * 64, "--backend", "local")
    assert (wrong.code, "this is another bundle" in wrong.err) == (2, True), wrong.err
    done = reviewer.reprokit("reproduce", str(file), "--sha256", digest, "--backend", "local", "--json")
    assert (done.code, done.report["verdict"]) == (0, "REPRODUCED"), done.err
    commit = done.report["bundle"]["commit"]
    assert done.report["bundle"] == {"file": "sent.tar.gz", "sha256": digest, "commit": commit}
    assert "with your rights and no container" in done.err
    assert sorted(path.name for path in reviewer.root.iterdir()) == ["reports", "runs"]

    folder = next((reviewer.root / "reports" / "cartpole_baseline").iterdir())
    statement = reviewer.reprokit("report", "export", str(folder), "--format", "latex")
    told = statement.out.replace("\\allowbreak{}", "")
    assert (statement.code, digest in told) == (0, True), statement.err

    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    broken = reviewer.reprokit("reproduce", str(file), "--backend", "local")
    assert (broken.code, "damaged or was altered" in broken.err) == (2, True), broken.err


def test_options_that_say_otherwise_than_a_bundle_are_refused(tmp_path, reviewer):
    (tmp_path / "some.tar.gz").write_bytes(b"x")
    file = str(tmp_path / "some.tar.gz")
    for words in (["--seed", "1"], ["--set", "a=1"], ["--resume"], ["--vary"], ["--golden", str(tmp_path)]):
        done = reviewer.reprokit("reproduce", file, *words)
        assert (done.code, "does not go with a bundle" in done.err) == (2, True), done.err
    done = reviewer.reprokit("reproduce", "cartpole_baseline", "--sha256", "0" * 64)
    assert (done.code, "goes with a bundle" in done.err) == (2, True), done.err
    done = reviewer.reprokit("reproduce", file, "--sha256", "0" * 12)
    assert (done.code, "64 hexadecimal digits" in " ".join(done.err.split())) == (2, True), done.err
    done = reviewer.reprokit("reproduce", "gone.tar.gz")
    assert (done.code, "there is no file" in done.err) == (2, True), done.err
    assert list(reviewer.root.iterdir()) == []


@pytest.mark.engine
@pytest.mark.slow
def test_a_vendored_bundle_is_reproduced_in_a_container_without_network(tmp_path, reviewer, engine):
    study = with_golden(tmp_path / "theirs", backend="docker")
    file, digest = bundled(study, "--vendor")
    file = moved(study, file, tmp_path)
    done = reviewer.reprokit("reproduce", str(file), "--sha256", digest, "--json", timeout=1500)
    assert (done.code, done.report["verdict"]) == (0, "REPRODUCED"), done.err
    isolation = json.loads(reviewer.runs[0].read_text())["isolation"]
    assert (isolation["backend"], isolation["network"]) == ("docker", "none")
    assert isolation["writable"] == ["/run_dir"]
    assert isolation["capabilities"]["dropped"] == ["ALL"]


@pytest.mark.slow
def test_a_vendored_bundle_needs_no_network_and_no_earlier_cache(tmp_path, reviewer):
    study = with_golden(tmp_path / "theirs", backend="local")
    file, digest = bundled(study, "--vendor")
    file = moved(study, file, tmp_path)
    alone = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a network namespace of their own")
    done = reviewer.reprokit(
        *("reproduce", str(file), "--sha256", digest, "--backend", "local", "--json"),
        before=alone,
        env={"REPROKIT_CACHE": str(tmp_path / "cache")},
        timeout=1500,
    )
    assert (done.code, done.report["verdict"]) == (0, "REPRODUCED"), done.err
