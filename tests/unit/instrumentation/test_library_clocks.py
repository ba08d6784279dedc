"""Clocks that a library reads: each goes on as the clock that it is, whatever the earlier run read there."""

import json

import pytest

from support.hooked_program import run_hooked

LIBRARY = """
import time
def ask(dates):
    read = [time.time() for _ in range(dates)]
    return read, [time.monotonic() for _ in range(4)]
"""
PROGRAM = """
import json
import clocked
print(json.dumps(clocked.ask({dates})))
"""


@pytest.fixture
def read(tmp_path):
    packages = tmp_path / "packages" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "clocked.py").write_text(LIBRARY)

    def reading(dates, *, label="first", **orders):
        """What the library read: dates, then a clock that begins anywhere."""
        source = PROGRAM.format(dates=dates)
        done = run_hooked(tmp_path, source, out=tmp_path / label, packages=packages, **orders)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return reading


def held(tmp_path):
    """Orders for a run that is to have all that the first one had."""
    return {"label": "held", "key": "b", "pins": ["*"], "replay": str(tmp_path / "first"), "replay_key": "a"}


def test_a_library_reads_what_it_read_in_the_run_that_is_replayed(read, tmp_path):
    assert read(2) == read(2, **held(tmp_path))


@pytest.mark.parametrize("dates", [1, 5])
def test_a_library_that_reads_one_clock_more_or_less_often_never_gets_the_time_of_another(
    read, tmp_path, dates
):
    first, _ = read(3)
    again, steady = read(dates, **held(tmp_path))
    number = min(3, dates)
    assert again[:number] == first[:number]
    assert max(again) - min(again) < 60  # a date, and not how long the machine has been running
    assert max(steady) - min(steady) < 60
    assert [again, steady] == [sorted(again), sorted(steady)]
