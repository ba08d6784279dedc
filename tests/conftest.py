"""What all tests share: the engine rule, the pinned environment made real once, and a small one.

A test that needs a container engine carries the marker ``engine``, one that needs the CPU emulator
``emulator``. Without it the test is skipped, with the reason; with ``REPROKIT_REQUIRE_ENGINE=1``,
which CI sets, any skip of such a test fails. Properties have no time limit for one example: that
would be a timed test, and fail on a loaded machine.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import hypothesis
import pytest

from reprokit import images
from reprokit.core.records import Realisation
from reprokit.errors import EngineError
from reprokit.harness.running.varying.emulation import EMULATOR
from reprokit.images import cache
from reprokit.images.building import bases, image_store
from reprokit.images.locks import read_lock

PROJECT = Path(__file__).resolve().parent.parent
collect_ignore = ["sample_extension"]  # a package of its own: unit/extensions/test_sample_extension.py

pytest.register_assert_rewrite("support")
hypothesis.settings.register_profile("reprokit", deadline=None)
hypothesis.settings.load_profile("reprokit")
for _name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"):
    os.environ.pop(_name, None)  # of a hook, or of `git bisect run`: tests would commit to this repository
if "shims" in Path(shutil.which("python") or "").parts:  # pyenv's takes longer than the Python that it starts
    os.environ["PATH"] = f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"


@functools.cache
def why_no_engine() -> str:
    """Why no engine answers, in one line; "" when one does."""
    try:
        with image_store.connected(timeout_s=5):
            return ""
    except EngineError as error:
        return str(error)


def engine_is_required() -> bool:
    return os.environ.get("REPROKIT_REQUIRE_ENGINE") == "1"


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Iterator[None]:
    """No test turns off the power: none waits for the disk. What is no open file fails as it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: os.fstat(file) and None)
        yield


@pytest.fixture(autouse=True)
def printed_json(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test makes a verb print with ``--json`` is what the published schema says."""
    from support import json_schemas  # noqa: PLC0415 - its assertions are rewritten first

    problems: list[str] = []

    def echo(message: object = None, *arguments: object, **options: object) -> None:
        click_echo(message, *arguments, **options)
        context = click.get_current_context(silent=True)
        if context is not None and context.params.get("as_json") and not options.get("err"):
            verb = json_schemas.full_name(context)
            problems.append(json_schemas.printed_problem(verb, json.loads(str(message))))

    click_echo = click.echo
    monkeypatch.setattr(click, "echo", echo)
    yield
    assert not list(filter(None, problems))


@pytest.hookimpl(optionalhook=True)  # there is no pytest-xdist where mutants are tried
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: one of them waits for a container, the disk or a clock."""
    return (os.cpu_count() or 1) + 1


def pytest_sessionstart() -> None:
    """A background job starts with Ctrl-C ignored, and so would every tool that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # nothing of what is imported and collected goes away


def pytest_collection_finish() -> None:
    """No collection of garbage looks through twenty thousand tests again: that takes half a second each."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("engine") and (reason := why_no_engine()):
        pytest.skip(f"needs a container engine. {reason}")
    if item.get_closest_marker("emulator") and shutil.which(EMULATOR) is None:
        pytest.skip(f"needs {EMULATOR}: apt-get install qemu-user, or .ci/bring-up-emulator")


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``sample(n)`` the cases after the n-th are slow."""
    seen: Counter[str] = Counter()
    for item in items:
        if sample := item.get_closest_marker("sample"):
            test = item.nodeid.partition("[")[0]
            seen[test] += 1
            if seen[test] > sample.args[0]:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    skipped = report.skipped and not hasattr(report, "wasxfail")
    real = item.get_closest_marker("engine") or item.get_closest_marker("emulator")
    if skipped and real and engine_is_required():
        report.outcome = "failed"
        report.longrepr = f"REPROKIT_REQUIRE_ENGINE=1, and this was skipped: {call.excinfo}"
    return report


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout that the tests are part of."""
    return PROJECT


@pytest.fixture(scope="session")
def cpu_image() -> Realisation:
    """The ``cpu`` environment as a container image; built if no one has yet."""
    return images.resolve("cpu", project=PROJECT, kind="image", on_progress=print)


@pytest.fixture(scope="session")
def cpu_venv() -> Realisation:
    """The ``cpu`` environment as a virtual environment of this host; made if no one has yet."""
    return images.resolve("cpu", project=PROJECT, kind="venv", on_progress=print)


@pytest.fixture(scope="session")
def base_image() -> str:
    """ID of a small image with ``python3`` and no more, for cheap container tests."""
    lock = read_lock(PROJECT)
    variant = lock.variant("cpu")
    with image_store.connected() as client:
        base = bases.obtain(
            client,
            lock,
            kind=bases.choose(client, lock, variant, wanted=bases.AUTO, on_progress=print),
            machine=image_store.machine(client),
            cache=cache.cache_folder(None),
            on_progress=print,
        )
    return base.id


@pytest.fixture(scope="session")
def know_base(base_image: str) -> Callable[[Path], None]:
    """Gives a cache the record that this host has built the small image, which then is not made again."""

    def know(folder: Path) -> None:
        known = cache.cache_folder(None) / "builds" / f"{base_image.removeprefix('sha256:')}.json"
        if known.is_file():  # none of a registry's
            (folder / "builds").mkdir(parents=True, exist_ok=True)
            shutil.copy(known, folder / "builds")

    return know


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallProject:
    """A project whose one environment holds one package, ``tiny``, and is made in seconds.

    Attributes:
        root: The project; ``images/`` is in it.
        wheels: The only place where pip looks.
        cache: An empty cache.
    """

    root: Path
    wheels: Path
    cache: Path

    @property
    def lock(self) -> Path:
        return self.root / "images" / "cpu" / "requirements.lock"

    def add_wheel(
        self, name: str = "tiny", version: str = "1.0", *, text: str = "", requires: str = ""
    ) -> str:
        """Put a wheel where pip looks, and return the line that locks it."""
        path, info = self.wheels / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}.py", text or f"VERSION = {version!r}\n")
            metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            metadata += f"Requires-Dist: {requires}\n" if requires else ""
            wheel.writestr(f"{info}/METADATA", metadata)
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def small_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallProject:
    """A small project with the real Dockerfile, and a pip that sees nothing but its wheels."""
    return make_small_project(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def shared_small_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallProject]:
    """The same for tests of one module that change nothing in it, or put it back."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield make_small_project(tmp_path_factory.mktemp("small"), monkeypatch)


def make_small_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SmallProject:
    small = SmallProject(root=folder / "project", wheels=folder / "wheels", cache=folder / "cache")
    small.wheels.mkdir()
    small.lock.parent.mkdir(parents=True)
    shutil.copy(PROJECT / "images" / "Dockerfile", small.root / "images")
    shutil.copytree(PROJECT / "images" / "base", small.root / "images" / "base")
    lock = (PROJECT / "images" / "lock.toml").read_text(encoding="utf-8")
    lock = re.sub(r'^python = "3.11"$', f'python = "3.{sys.version_info.minor}"', lock, flags=re.MULTILINE)
    lock = re.sub(r"^indexes = .*$", "indexes = []", lock, flags=re.MULTILINE)
    lock = re.sub(r"^imports = .*$", "imports = []", lock, flags=re.MULTILINE)
    others = r"(?ms)^\[variants\.(?!cpu\]).*?(?=^\[variants\.cpu\]|^\[\[)"
    lock = re.sub(others, "", lock)
    (small.root / "images" / "lock.toml").write_text(lock, encoding="utf-8")
    small.lock.write_text(small.add_wheel(), encoding="utf-8")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(small.wheels))
    return small
