"""A bundle of someone's program: written in one project, reproduced from the archive alone."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from reprokit import cli
from reprokit.errors import BundleError, EngineError, UsageError
from reprokit.features.bundles.bundle import bundle, reproduce_bundle
from reprokit.features.bundles.reading import unpack
from reprokit.features.bundles.writing import Packed, write
from reprokit.harness import Request, audit, judge_again
from reprokit.project import Project
from reprokit.session import Session
from support.recorded_progress import RecordedProgress


@pytest.fixture
def golden(repository):
    repository.promote(repository.reproduce())
    return repository.root / "golden" / "train" / "cpu-x86_64" / "seed-3"


@pytest.fixture
def made(repository, tmp_path):
    def make(path, name="theirs.tar.gz", *, vendor=False):
        project = Project.around(repository.root)
        return bundle(
            path,
            tmp_path / name,
            session=Session(project=project, progress=RecordedProgress()),
            vendor=vendor,
        )

    return make


@pytest.fixture
def reviewer(tmp_path):
    """An empty folder of someone else's, where nothing of the project is."""
    home = tmp_path / "reviewer"
    home.mkdir()

    def reproduce(file, told=None, *, sha256=None, keep=None, backend="local"):
        request = Request(backend=backend, side_by_side=False)
        progress = told or RecordedProgress()
        return reproduce_bundle(
            file, request, sha256=sha256, keep=keep, home=Project.around(home), progress=progress
        )

    return reproduce


def test_a_golden_is_reproduced_from_its_bundle_alone(golden, made, reviewer, repository, tmp_path):
    written = made(golden)
    repository.root.rename(tmp_path / "gone")
    report, folder = reviewer(written.path, sha256=written.sha256)
    assert (report.verdict, report.exit_code) == ("REPRODUCED", 0), report.sentence
    commit = report.bundle["commit"]
    digests = {"sha256": written.sha256, "sha256_asked": written.sha256}
    assert report.bundle == {"file": "theirs.tar.gz", **digests, "commit": commit}
    assert "no --sha256" not in report.sentence
    (row,) = [row for row in report.checks if row.id == "source_clean"]
    assert (row.status, row.reason) == (
        "SKIPPED",
        f"the files are those of a bundle; its author names commit {commit}, which was not checked",
    )
    assert written.sha256 in report.sentence
    assert written.sha256 in (folder / "report.md").read_text()
    assert report.rerun.startswith(
        f"reprokit reproduce {written.path} --sha256 {written.sha256} --backend local"
    )
    assert str(written.path) in (folder / "report.md").read_text()


def test_a_report_of_a_bundle_is_judged_again_from_its_runs(golden, made, reviewer, tmp_path):
    written = made(golden)
    report, _ = reviewer(written.path, keep=tmp_path / "kept")
    folders = [Path(run) for run in report.runs]
    home = Project.around(tmp_path / "reviewer", golden_dir=tmp_path / "kept" / "golden")
    again = judge_again(folders, Request(), project=home)
    assert (again.verdict, again.bundle, again.sentence) == (report.verdict, report.bundle, report.sentence)


@pytest.mark.slow
def test_a_report_of_a_bundle_that_was_not_kept_says_how_to_keep_it(golden, made, reviewer, tmp_path):
    written = made(golden)
    _, folder = reviewer(written.path)
    found = audit(folder / "report.json", project=Project.around(tmp_path / "reviewer"))
    assert (found.follows, found.exit_code) == (False, 4)
    assert [finding for finding in found.findings if "reprokit-bundle-" in finding] == []
    assert "`reprokit reproduce theirs.tar.gz --keep FOLDER`" in found.findings[0]


@pytest.mark.slow
def test_the_page_of_a_bundle_says_how_an_unreleased_version_is_installed(golden, made, tmp_path, reviewer):
    reviewer(made(golden).path, keep=tmp_path / "kept")
    page = (tmp_path / "kept" / "README.md").read_text()
    assert "its repository" in page
    assert "the archive itself" in page


def test_an_unpacked_bundle_is_refused_with_the_way_to_its_archive(
    golden, made, reviewer, tmp_path, capsys, monkeypatch
):
    reviewer(made(golden).path, keep=tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    for typed in ("kept", "./kept"):
        with pytest.raises(SystemExit) as ended:
            cli.main(["reproduce", typed])
        assert (ended.value.code, "the archive itself" in " ".join(capsys.readouterr().err.split())) == (
            2,
            True,
        )


def test_two_bundles_of_one_golden_are_the_same_bytes(golden, made):
    first, second = made(golden), made(golden, "again.tar.gz")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.sha256 == second.sha256


def test_a_run_and_a_report_are_bundled_with_their_records(golden, made, reviewer, repository):
    report, folder = repository.reproduced()
    run = Path(report.runs[0])
    of_run, of_report = made(run, "run.tar.gz"), made(folder, "report.tar.gz")
    assert f"runs/train/{run.name}/metrics.jsonl" in of_run.files
    assert f"reports/train/{folder.name}/report.json" in of_report.files
    assert reviewer(of_run.path)[0].verdict == "REPRODUCED"
    assert reviewer(of_report.path)[0].verdict == "REPRODUCED"


EDITS = {
    "another verdict": ("reports/train/*/report.json", b'"REPRODUCED"', b'"REGRESSION"'),
    "another sentence": ("reports/train/*/report.json", b"2 runs agree", b"9 runs agree"),
    "another number of the second run": ("runs/train/*-2/metrics.jsonl", b"0", b"1"),
    "another seal": ("runs/train/*-1/COMPLETE", b'"schema"', b' "schema"'),
    "another number of the golden": ("golden/*/*/*/metrics.jsonl", b"0", b"1"),
    "other notes of the golden": ("golden/*/*/*/provenance.json", b"{", b"{ "),
}


@pytest.fixture
def edited(golden, made, repository, tmp_path):
    """A report's bundle in which someone edits a file, and writes the manifest and the digests again."""

    def edit(pattern, old, new):
        _, report = repository.reproduced()
        folder = tmp_path / "edited"
        folder.mkdir()
        manifest = unpack(made(report, "report.tar.gz").path, folder).manifest
        (folder / "bundle.json").unlink()
        (file,) = folder.glob(pattern)
        assert old in file.read_bytes()
        file.write_bytes(file.read_bytes().replace(old, new, 1))
        paths = [path for path in folder.rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): Packed(content=path) for path in paths}
        write(tmp_path / "edited.tar.gz", files, manifest=manifest)
        return tmp_path / "edited.tar.gz", file.relative_to(folder).as_posix()

    return edit


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_that_the_others_contradict_is_refused_by_name(edited, reviewer, edit):
    file, name = edited(*EDITS[edit])
    with pytest.raises(BundleError) as refused:
        reviewer(file)
    told = f"{refused.value.where} {refused.value.what}"
    assert name in told or Path(name).parent.as_posix() in told, told
    assert str(refused.value.where).startswith("edited.tar.gz")
    assert "reprokit-bundle-" not in str(refused.value)  # a folder that is gone
    assert "git" not in str(refused.value.fix).split()  # nor can a reviewer promote
    assert "promote" not in str(refused.value.fix)


def test_a_golden_with_all_its_digests_written_again_differs_and_the_reviewer_is_told_whom_to_ask(
    golden, made, reviewer, repository, tmp_path
):
    log = golden / "metrics.jsonl"
    text = log.read_text()
    changed = re.sub(r"(: \d+\.)(\d)", lambda found: f"{found[1]}{(int(found[2]) + 1) % 10}", text, count=1)
    assert changed != text
    log.write_text(changed)
    record = golden / "provenance.json"
    digests = [f"sha256:{hashlib.sha256(one.encode()).hexdigest()}" for one in (text, changed)]
    record.write_text(record.read_text().replace(*digests))
    repository.commit()
    report, _ = reviewer(made(golden).path)
    assert report.verdict == "REGRESSION", report.sentence
    assert report.next_command == (
        "if the archive has the digest that its author published, send the author this report"
    )
    assert "no --sha256 said which digest" in report.sentence


def test_another_verdict_is_refused_in_the_report_of_another_version_too(edited, reviewer, monkeypatch):
    monkeypatch.setattr("reprokit.features.bundles.bundled_records.this_tool", dict)
    file, name = edited("reports/train/*/report.json", b'"REPRODUCED"', b'"REPEATABLE"')
    with pytest.raises(BundleError, match=r"another verdict") as refused:
        reviewer(file)
    assert refused.value.where == f"edited.tar.gz: {name}"


def test_records_that_were_written_again_as_they_are_stand(edited, reviewer):
    file, _ = edited("reports/train/*/report.json", b"{", b"{")
    assert reviewer(file)[0].verdict == "REPRODUCED"


def test_a_run_without_a_golden_can_only_be_repeated(made, reviewer, repository):
    written = made(Path(repository.reproduce().runs[0]))
    assert any(sentence.startswith("a golden") for sentence in written.left_out)
    assert reviewer(written.path)[0].verdict == "NO_GOLDEN"


@pytest.mark.slow
def test_a_run_with_the_settings_of_a_platform_is_bundled_and_run_again_with_them(
    made, reviewer, repository, tmp_path
):
    recipe = (repository.root / "recipes" / "train" / "recipe.yaml").read_text()
    there = "platform_settings:\n  cpu-x86_64: {numerics: native}\n"
    repository.write(recipes__train__recipe_yaml=recipe + there)
    repository.promote(repository.reproduce(overrides=("platform=cpu-x86_64",)))
    report, folder = repository.reproduced(overrides=("platform=cpu-x86_64",))
    golden = repository.root / "golden" / "train" / "cpu-x86_64" / "seed-3"
    bundles = [made(one, f"{one.name}.tar.gz") for one in (Path(report.runs[0]), folder, golden)]
    repository.root.rename(tmp_path / "gone")
    for written in bundles:
        again, _ = reviewer(written.path)
        record = json.loads((Path(again.runs[0]) / "run.json").read_text())
        assert (record["platform_asked"], record["modified"]) == ("cpu-x86_64", [])
        assert again.verdict == "REPRODUCED", again.sentence


def test_changed_code_is_refused_by_name_and_taken_again_once_it_is_restored(golden, made, repository):
    repository.write(settings_py="RATE = 0.2\n")
    with pytest.raises(
        BundleError, match=r"other files than those here: the program .*settings\.py.*git worktree"
    ):
        made(golden)
    (repository.root / "settings.py").write_text("RATE = 0.1\n")  # not committed, but what was digested
    assert "source/program/settings.py" in made(golden).files


def test_the_report_in_an_unpacked_bundle_says_that_it_is_judged_again_only_where_it_was_made(
    golden, made, reviewer, repository, tmp_path
):
    _, report = repository.reproduced()
    made(report, "report.tar.gz")
    (tmp_path / "opened").mkdir()
    unpack(tmp_path / "report.tar.gz", tmp_path / "opened")
    repository.root.rename(tmp_path / "gone")
    home = Project.around(tmp_path / "opened")
    found = audit(tmp_path / "opened" / "reports" / "train" / report.name / "report.json", project=home)
    assert (found.follows, found.exit_code, len(found.findings)) == (False, 4, 1)
    assert "only where it was made" in found.findings[0]
    assert "`reprokit reproduce FILE.tar.gz`" in found.findings[0]


def test_a_report_that_was_edited_is_not_bundled(golden, made, repository):
    _, folder = repository.reproduced()
    text = (folder / "report.json").read_text()
    (folder / "report.json").write_text(text.replace('"sentence": "2 runs', '"sentence": "9 runs'))
    with pytest.raises(BundleError, match="the report does not stand"):
        made(folder)


def test_ignored_files_stay_behind_and_a_tracked_secret_is_refused(golden, made, repository):
    (repository.root / ".env").write_text("HF_TOKEN=hf_0123456789abcdefghij\n")
    (repository.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    names = made(golden).files
    assert not any(name.endswith(".env") for name in names)
    repository.git("add", "--force", ".env")
    with pytest.raises(BundleError, match="made from other files"):  # it is seen from now on, so it counts
        made(golden)
    repository.promote(repository.reproduce())
    with pytest.raises(
        BundleError, match=r"secret is in these files: \.env \(.*`reprokit reproduce train`, and promote"
    ) as refused:
        made(golden)
    assert "hf_0123" not in str(refused.value)


def test_a_secret_is_named_by_its_file_in_the_project_and_its_line(golden, made, repository):
    repository.write(conf__a_yaml="a: 1\nb: 2\npassword: hunter2\n")
    repository.promote(repository.reproduce())
    with pytest.raises(BundleError, match=r"in these files: conf/a\.yaml:3 \(it holds what looks like"):
        made(golden)


def test_the_golden_of_a_newer_run_is_named_as_the_older_one(golden, made, repository):
    repository.write(settings_py="RATE = 0.2\n")
    report, folder = repository.reproduced()
    for path, then in ((Path(report.runs[0]), "then bundle the golden"), (folder, "bundle its report")):
        with pytest.raises(BundleError, match=r"the golden was made from other files") as refused:
            made(path)
        assert "its golden is older: `reprokit golden promote train" in refused.value.fix
        assert then in refused.value.fix


def typed(capfd, *words):
    """Exit code of a command line, and what it printed, in one line each."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    said = capfd.readouterr()
    return ended.value.code, " ".join(said.out.split()), " ".join(said.err.split())


def test_an_archive_is_checked_and_nothing_of_it_is_run(
    golden, made, repository, tmp_path, capfd, monkeypatch
):
    written = made(golden)
    repository.root.rename(tmp_path / "gone")
    monkeypatch.chdir(tmp_path)
    code, out, _ = typed(capfd, "bundle", "--check", "theirs.tar.gz")
    assert (code, out.startswith("Agrees with itself: theirs.tar.gz")) == (0, True), out
    code, out, _ = typed(capfd, "bundle", "--check", "theirs.tar.gz", "--sha256", written.sha256)
    assert (code, out.startswith("Unaltered: theirs.tar.gz")) == (0, True), out
    code, _, err = typed(capfd, "bundle", "--check", "theirs.tar.gz", "--sha256", "0" * 64)
    assert (code, "this is another bundle" in err) == (2, True), err
    assert not (tmp_path / "runs").exists()


def test_a_check_refuses_an_archive_whose_records_contradict_each_other(edited, capfd):
    file, name = edited(*EDITS["another number of the second run"])
    code, _, err = typed(capfd, "bundle", "--check", str(file))
    assert (code, name in err) == (2, True), err


def test_a_check_writes_nothing_and_an_archive_needs_a_name(golden, made, capfd, tmp_path):
    file = str(made(golden).path)
    assert typed(capfd, "bundle", "--check", file, "-o", str(tmp_path / "b.tar.gz"))[0] == 2
    assert typed(capfd, "bundle", file)[0] == 2
    code, _, err = typed(capfd, "report", "verify", file)
    assert (code, f"reprokit bundle --check {file}" in err) == (2, True), err


def test_an_archive_in_the_project_is_said_to_count_as_a_changed_file(golden, repository, capfd, monkeypatch):
    monkeypatch.chdir(repository.root)
    code, _, err = typed(capfd, "bundle", str(golden), "-o", "train.tar.gz")
    assert (code, "git does not ignore it" in err) == (0, True), err
    code, _, err = typed(capfd, "bundle", str(golden), "-o", "../train.tar.gz")
    assert (code, "git does not ignore it" in err) == (0, False), err


def test_a_container_is_the_only_way_unless_local_is_typed(golden, made, reviewer):
    written = made(golden)
    for backend in ("auto", "docker"):
        with pytest.raises(EngineError, match=r"no environment that a container is made of.*--backend local"):
            reviewer(written.path, backend=backend)
    told = RecordedProgress()
    reviewer(written.path, told)
    assert any("with your rights and no container" in note for note in told.notes)


def test_what_cannot_be_vendored_is_said(golden, made):
    with pytest.raises(Exception, match="the recipe's variant is none"):
        made(golden, vendor=True)


def test_what_is_no_result_is_refused(made, tmp_path):
    (tmp_path / "nothing").mkdir()
    with pytest.raises(BundleError, match="not a run, a golden or a report"):
        made(tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot be written there"):
        made(tmp_path / "nothing", "bundle.zip")


@pytest.mark.slow
def test_the_unpacked_folder_is_removed_unless_it_is_kept(golden, made, reviewer, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    written = made(golden)
    reviewer(written.path)
    assert [path for path in (tmp_path / "temporary").iterdir() if "bundle" in path.name] == []
    reviewer(written.path, keep=tmp_path / "kept")
    assert json.loads((tmp_path / "kept" / "bundle.json").read_text())["recipe"] == "train"
    with pytest.raises(UsageError, match="already there"):
        reviewer(written.path, keep=tmp_path / "kept")
    with pytest.raises(BundleError, match="another bundle"):
        reviewer(written.path, sha256=f"sha256:{'0' * 64}", keep=tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


@pytest.mark.slow
def test_a_file_that_can_be_executed_still_can_be(golden, made, reviewer, repository):
    (repository.root / "tool.sh").write_text("#!/bin/sh\n")
    (repository.root / "tool.sh").chmod(0o755)
    repository.commit()
    repository.promote(repository.reproduce())
    written = made(golden)
    report, _ = reviewer(written.path)
    assert report.verdict == "REPRODUCED"
    assert os.access(Path(report.runs[0]) / "source" / "program" / "tool.sh", os.X_OK)


def test_a_report_that_claims_or_hides_its_bundle_does_not_stand(
    golden, made, reviewer, tmp_path, repository
):
    written, home = (
        made(golden),
        Project.around(tmp_path / "reviewer", golden_dir=tmp_path / "kept" / "golden"),
    )
    _, folder = reviewer(written.path, keep=tmp_path / "kept")
    assert audit(folder / "report.json", project=home).findings == ()
    text = (folder / "report.json").read_text()
    (folder / "report.json").write_text(text.replace(written.sha256, f"sha256:{'0' * 64}"))
    assert any("bundle" in finding for finding in audit(folder / "report.json", project=home).findings)
    _, folder = repository.reproduced()
    told = json.loads((folder / "report.json").read_text())
    told["bundle"] = {"file": "x.tar.gz", "sha256": written.sha256}
    (folder / "report.json").write_text(json.dumps(told))
    findings = audit(folder / "report.json", project=Project.around(repository.root)).findings
    assert any("bundle" in finding for finding in findings)
