"""How long machines are waited for that were asked what they would run, by a clock that the test has."""

from pathlib import Path

import pytest

from reprokit.features.machines import machines
from reprokit.features.machines.place import TaskState, TaskStatus

NEVER = float("inf")


@pytest.fixture
def asked(monkeypatch):
    """Which of some machines have answered, and when all was over; each begins and answers at its time."""

    def asked(**times):
        clock = [0.0]
        monkeypatch.setattr(machines.time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(
            machines, "read_answer", lambda path: object() if clock[0] >= times[path.name][1] else None
        )

        class Place:
            def standing(self, handles):
                begun = (clock[0] >= times[one][0] for one in handles)
                return [TaskStatus(going=TaskState.RUNNING if one else TaskState.QUEUED) for one in begun]

        def sleep(seconds):
            clock[0] += seconds

        files = {name: (Path(name), Path("log")) for name in times}
        found = machines._answers(files, list(times), place=Place(), sleep=sleep)
        return sorted(found), clock[0]

    return asked


def test_where_all_are_slow_to_begin_none_is_taken_for_busy(asked):
    """On a machine with much else to do a worker takes 25 s to start; it said so once and was left out."""
    found, after_s = asked(one=(15.0, 20.0), two=(25.0, 30.0))
    assert found == ["one", "two"]
    assert after_s == pytest.approx(30.0, abs=1.0)


def test_a_machine_that_does_not_begin_is_left_out_after_ten_seconds(asked):
    found, after_s = asked(one=(1.0, 2.0), two=(NEVER, NEVER))
    assert found == ["one"]
    assert after_s == pytest.approx(10.0, abs=1.0)


def test_a_machine_that_does_not_begin_is_waited_for_twice_as_long_as_the_quickest_took(asked):
    found, after_s = asked(one=(1.0, 2.0), two=(20.0, 21.0), three=(20.0, 30.0), four=(NEVER, NEVER))
    assert found == ["one"]
    found, after_s = asked(one=(10.0, 15.0), two=(20.0, 21.0), three=(NEVER, NEVER))
    assert found == ["one", "two"]
    assert after_s == pytest.approx(30.0, abs=1.0)
