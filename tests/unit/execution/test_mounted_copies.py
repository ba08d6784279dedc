"""A program gets a copy of the pinned source files, and nothing compiled that lies next to them."""

from __future__ import annotations

import errno
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.records import Mount, Outcome, RunResult, RunSpec
from reprokit.execution import mounted_copies
from reprokit.execution.mounted_copies import SharedCopies
from reprokit.execution.outcome import Explanation, Stopwatch
from reprokit.execution.source_files import digest_of, source_files

COMPLETED = Explanation(outcome=Outcome.COMPLETED)
PLANTED = [
    "__pycache__/one.cpython-311.pyc",
    "below/__pycache__/two.cpython-311.pyc",
    "one.cpython-311-x86_64-linux-gnu.so",
    "below/two.abi3.so",
    "three.pyc",
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "below").mkdir(parents=True)
    for name in ("one.py", "below/two.py", "below/style.css"):
        (folder / name).write_text(f"{name}\n")
    return folder


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "run" / "output").mkdir(parents=True)
    return tmp_path / "run"


def spec_of(package: Path, *, digest: str | None = None) -> RunSpec:
    pinned = Mount(name="reprokit", path=str(package), digest=digest or digest_of(package))
    beside = Mount(name="recipes", path="/somewhere")
    return RunSpec(
        recipe="r", run_id="run", seed=0, device="cpu", command=("python",), mounts=(pinned, beside)
    )


def run(
    spec: RunSpec, run_dir: Path, program=lambda mounted: None, *, shared: SharedCopies | None = None
) -> RunResult:
    with mounted_copies.mounted_copies(spec, run_dir, shared=shared) as copies:
        if copies.problem is not None:
            return Stopwatch().result(copies.problem)
        program(Path(copies.spec.mounts[0].path))
        return copies.unless_changed(replace(Stopwatch().result(COMPLETED), exit_code=0))


def test_the_program_gets_every_source_file_and_nothing_compiled(package: Path, run_dir: Path):
    for name in PLANTED:
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_bytes(b"planted")
    seen: dict[str, str] = {}

    def look(mounted: Path) -> None:
        assert mounted != package
        seen.update({str(p.relative_to(mounted)): p.read_text() for p in mounted.rglob("*") if p.is_file()})

    assert run(spec_of(package), run_dir, look).completed
    assert seen == {name: f"{name}\n" for name in ("one.py", "below/two.py", "below/style.css")}
    assert sorted(path.name for path in run_dir.iterdir()) == ["output"]


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_compiled_is_in_no_digest(package: Path, name: str):
    before = digest_of(package)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_bytes(b"planted")
    assert digest_of(package) == before


def test_a_linked_folder_is_not_entered(package: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "planted.py").write_text("")
    (package / "linked").symlink_to(tmp_path / "elsewhere")
    assert [path.name for path in source_files(package)] == ["style.css", "two.py", "one.py"]


def test_a_package_that_changed_since_it_was_planned_is_not_run(package: Path, run_dir: Path):
    spec = spec_of(package)
    (package / "one.py").write_text("other\n")
    result = run(spec, run_dir, lambda _: pytest.fail("it was run"))
    assert (result.outcome, result.exit_code) == (Outcome.MOUNTS_CHANGED, None)
    assert "reprokit changed before the run began" in result.message


def test_a_file_that_goes_away_while_it_is_copied_is_told_by_the_digest(
    package: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    spec = spec_of(package)
    listed = [*source_files(package), package / "gone.py"]
    (package / "one.py").unlink()
    monkeypatch.setattr(
        mounted_copies, "source_files", lambda folder: listed if folder == package else source_files(folder)
    )
    assert run(spec, run_dir).outcome is Outcome.MOUNTS_CHANGED


def written_and_put_back(mounted: Path) -> None:
    before = (mounted / "one.py").stat()
    (mounted / "one.py").write_text("other\n")
    (mounted / "one.py").write_text("one.py\n")
    os.utime(mounted / "one.py", ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [
    lambda mounted: (mounted / "one.py").write_text("other\n"),
    lambda mounted: (mounted / "one.py").unlink(),
    written_and_put_back,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_that_changed_during_the_run_makes_no_completed_one(package: Path, run_dir: Path, change):
    result = run(spec_of(package), run_dir, change)
    assert (result.outcome, result.exit_code) == (Outcome.MOUNTS_CHANGED, 0)
    assert "while the run was under way" in result.message


def test_what_a_killed_run_left_is_not_mounted_again(package: Path, run_dir: Path):
    (run_dir / ".mounted" / "reprokit").mkdir(parents=True)
    (run_dir / ".mounted" / "reprokit" / "planted.py").write_text("")
    seen: list[str] = []
    assert run(
        spec_of(package), run_dir, lambda mounted: seen.extend(path.name for path in mounted.iterdir())
    ).completed
    assert sorted(seen) == ["below", "one.py"]


def test_any_user_may_read_the_copy_whatever_the_mask(package: Path, run_dir: Path):
    modes: set[int] = set()

    def look(mounted: Path) -> None:
        modes.update(path.stat().st_mode & 0o777 for path in (mounted, *mounted.rglob("*")))

    before = os.umask(0o077)
    try:
        assert run(spec_of(package), run_dir, look).completed
    finally:
        os.umask(before)
    assert modes == {0o755, 0o644}


def test_a_run_folder_that_is_not_there_is_told(package: Path, tmp_path: Path):
    result = run(spec_of(package), tmp_path / "missing")
    assert result.outcome is Outcome.RUN_FOLDER_NOT_WRITABLE


def test_without_a_pinned_mount_nothing_is_copied(run_dir: Path, package: Path):
    spec = spec_of(package)
    unpinned = replace(spec, mounts=tuple(replace(one, digest="") for one in spec.mounts))
    assert run(
        unpinned, run_dir, lambda mounted: pytest.fail("a copy") if mounted != package else None
    ).completed


def planted_byte_code(mounted: Path) -> None:
    (mounted / "__pycache__").mkdir()
    (mounted / "__pycache__" / "one.cpython-311.pyc").write_bytes(b"planted")


@pytest.fixture
def shared(tmp_path: Path) -> SharedCopies:
    return SharedCopies(tmp_path)


def listing(mounted: Path) -> dict[str, str]:
    return {str(path.relative_to(mounted)): path.read_text() for path in mounted.rglob("*") if path.is_file()}


SOURCES = {name: f"{name}\n" for name in ("one.py", "below/two.py", "below/style.css")}


def test_runs_of_a_backend_read_one_copy_that_goes_with_it(package: Path, run_dir: Path, tmp_path: Path):
    shared, places = SharedCopies(tmp_path), []
    for _ in range(2):
        assert run(spec_of(package), run_dir, places.append, shared=shared).completed
    assert places[0] == places[1]
    assert listing(places[0]) == SOURCES
    del shared
    assert sorted(path.name for path in tmp_path.iterdir()) == ["package", "run"]


@pytest.mark.parametrize("change", [*CHANGES, planted_byte_code])
def test_what_a_program_writes_into_a_shared_copy_makes_no_completed_run_and_no_other_reads_it(
    package: Path, run_dir: Path, shared: SharedCopies, change
):
    seen: list[dict[str, str]] = []
    result = run(spec_of(package), run_dir, change, shared=shared)
    assert (result.outcome, result.exit_code) == (Outcome.MOUNTS_CHANGED, 0)
    assert run(
        spec_of(package), run_dir, lambda mounted: seen.append(listing(mounted)), shared=shared
    ).completed
    assert seen == [SOURCES]


def test_a_run_that_read_a_shared_copy_while_another_changed_it_is_not_complete(
    package: Path, run_dir: Path, shared: SharedCopies
):
    def beside(_mounted: Path) -> None:
        assert run(spec_of(package), run_dir, CHANGES[0], shared=shared).outcome is Outcome.MOUNTS_CHANGED

    assert run(spec_of(package), run_dir, beside, shared=shared).outcome is Outcome.MOUNTS_CHANGED


def test_a_package_that_changed_since_it_was_shared_is_not_run(
    package: Path, run_dir: Path, shared: SharedCopies
):
    spec = spec_of(package)
    assert run(spec, run_dir, shared=shared).completed
    (package / "one.py").write_text("ONE.py\n")
    result = run(spec, run_dir, lambda _: pytest.fail("it was run"), shared=shared)
    assert "reprokit changed before the run began" in result.message


def test_a_run_outside_the_workspace_gets_a_copy_of_its_own(package: Path, run_dir: Path):
    shared = SharedCopies(package.parent / "elsewhere")
    places: list[Path] = []
    assert run(spec_of(package), run_dir, places.append, shared=shared).completed
    assert places[0].is_relative_to(run_dir)


def test_a_shared_copy_that_the_disk_has_no_room_for_leaves_nothing(
    package: Path, run_dir: Path, tmp_path: Path, shared: SharedCopies, monkeypatch: pytest.MonkeyPatch
):
    def full(_source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr(mounted_copies.shutil, "copyfile", full)
    assert run(spec_of(package), run_dir, shared=shared).outcome is Outcome.DISK_FULL
    assert sorted(path.name for path in tmp_path.iterdir()) == ["package", "run"]


def test_what_a_killed_tool_left_is_removed_and_what_another_uses_is_not(
    package: Path, run_dir: Path, tmp_path: Path
):
    one, other = SharedCopies(tmp_path), SharedCopies(tmp_path)
    places: list[Path] = []
    assert run(spec_of(package), run_dir, places.append, shared=one).completed
    used = places[0].parent
    machine, number = used.name.split("-")[1:3]
    left = used.with_name(used.name.replace(f"-{machine}-{number}-", f"-{machine}-{2**22 + 1}-"))
    (left / "reprokit").mkdir(parents=True)
    assert run(spec_of(package), run_dir, places.append, shared=other).completed
    assert (left.exists(), used.exists()) == (False, True)


def test_two_runs_that_begin_at_once_read_the_same_whole_copy(
    package: Path, run_dir: Path, shared: SharedCopies
):
    seen: list[tuple[Path, dict[str, str]]] = []

    def look(mounted: Path) -> None:
        seen.append((mounted, listing(mounted)))

    threads = [
        threading.Thread(target=run, args=(spec_of(package), run_dir, look), kwargs={"shared": shared})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(seen[0][0], SOURCES)] * 4


def test_the_digest_of_a_folder_follows_every_change(package: Path, monkeypatch: pytest.MonkeyPatch):
    later_ns = time.time_ns() + 10**10  # files of this moment are read whatever is known
    monkeypatch.setattr(time, "time_ns", lambda: later_ns)
    old = (package / "one.py").stat().st_mtime_ns
    digests = []
    for text in ("one.py\n", "other\n", "one.py\n"):
        (package / "one.py").write_text(text)
        os.utime(package / "one.py", ns=(old, old))
        digests.append(digest_of(package))
    assert digests[0] == digests[2] != digests[1]
