"""The way from a verb to a started run stays short: few calls between modules, few of them back."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.execution.local import LocalBackend
from reprokit.harness import Project, Request, reproduce, run_once
from reprokit.images import venvs
from reprokit.images.installed_files import Installed
from support.fake_backend import REALISATION
from support.recorded_progress import RecordedProgress

ROOT = Path(__file__).resolve().parents[4]


class Started(BaseException):
    """The backend was asked to run the program: the end of the way."""


@pytest.fixture
def way(tmp_path, monkeypatch):
    """The calls of a verb up to ``backend.run``, in order, as (calling module, called module, function).

    A call counts where a function of ``reprokit.harness`` calls one of another module of reprokit, and once
    however often that module makes it. What images, recipes and the others do inside to answer is not
    counted, nor are constructors of dataclasses. The first call is the verb itself, the last the backend's.
    """
    for name in ("recipes", "golden", "images"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))  # without findings of another test
    installed = Installed(num_files=1, whole=True, foreign=())
    monkeypatch.setattr(venvs, "realise", lambda *_, **__: replace(REALISATION, reference=str(tmp_path)))
    monkeypatch.setattr(venvs, "installed", lambda *_, **__: installed)

    def started(*_, **__):
        raise Started

    monkeypatch.setattr(LocalBackend, "run", started)

    def calls_of(verb):
        seen = {}

        def profile(frame, event, _argument):
            caller, called = frame.f_back, frame.f_globals.get("__name__", "")
            # a context manager is entered through contextlib, a thread through concurrent.futures
            while caller and not caller.f_globals.get("__name__", "").startswith(("reprokit", __name__)):
                caller = caller.f_back
            by = caller.f_globals["__name__"] if caller else __name__
            # backend.run is a function of this file
            is_part = called.startswith("reprokit.") or frame.f_code is started.__code__
            is_made = frame.f_code.co_filename.startswith("<")  # what dataclass generates
            if event == "call" and by.startswith(("reprokit.harness", __name__)) and is_part and not is_made:
                seen.setdefault((by, called, frame.f_code.co_qualname), None)

        project = Project.around(tmp_path)
        sys.setprofile(profile)
        try:
            verb(
                "cartpole_baseline",
                Request(backend="local", side_by_side=False),
                project=project,
                progress=RecordedProgress(),
            )
        except Started:
            pass
        finally:
            sys.setprofile(None)
        calls = [(by, called, name) for by, called, name in seen if by != called]
        end = next(at for at, (_, _, name) in enumerate(calls) if name.endswith("started"))
        return calls[: end + 1]  # what is left to do when the start fails is no part of it

    return calls_of


def returns(calls):
    """How many of the calls go into a module that the way had come through before."""
    visited, number = set(), 0
    for _, called, _ in calls:
        number += called in visited
        visited.add(called)
    return number


@pytest.mark.parametrize(("verb", "most_calls", "most_returns"), [(run_once, 27, 4), (reproduce, 32, 7)])
def test_the_way_to_a_run_is_short(way, verb, most_calls, most_returns):
    """One of the calls is for the parts that the trainer imports, two tell what does not repeat here."""
    calls = way(verb)
    assert calls[-1][2].endswith("started")
    told = "\n".join(f"{by} → {called}.{name}" for by, called, name in calls)
    assert len(calls) <= most_calls, told
    assert returns(calls) <= most_returns, told
