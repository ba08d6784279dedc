from __future__ import annotations

import io
import re
import threading
from collections.abc import Mapping

import pytest

from reprokit.reports.progress import ProgressDisplay


class _Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _make(
    *, is_terminal: bool, environ: Mapping[str, str] | None = None
) -> tuple[ProgressDisplay, _Stream, _Clock]:
    stream, clock = _Stream(is_terminal=is_terminal), _Clock()
    environ = {"TERM": "xterm", "COLUMNS": "80", **(environ or {})}
    return ProgressDisplay(stream=stream, environ=environ, clock=clock), stream, clock


def _update(
    progress: ProgressDisplay, step: int, *, label: str = "run 1", total: int | None = 100_000
) -> None:
    progress.update(label, step, total, steps_per_s=10_000.0, eta_s=None)


def test_off_a_terminal_there_are_plain_lines_only() -> None:
    progress, stream, _ = _make(is_terminal=False)

    with progress:
        progress.phase("train")
        _update(progress, 2048)
        progress.note("cartpole does not declare cuda")

    assert stream.getvalue().splitlines() == [
        "phase: train",
        "run 1: step 2,048 of 100,000, 2%, 10,000 steps/s, 10 s left",
        "note: cartpole does not declare cuda",
    ]


def test_off_a_terminal_a_line_comes_every_tenth_of_the_way_and_at_the_end() -> None:
    progress, stream, clock = _make(is_terminal=False)

    for step in range(0, 100_001, 1000):
        clock.now = step / 1000
        _update(progress, step)

    assert len(stream.getvalue().splitlines()) == 11
    assert "step 100,000 of 100,000, 100%" in stream.getvalue()


def test_off_a_terminal_a_short_run_has_two_lines() -> None:
    progress, stream, clock = _make(is_terminal=False)

    for step in range(0, 100_001, 1000):
        clock.now = step / 20_000
        _update(progress, step)

    lines = stream.getvalue().splitlines()
    assert [line.partition(" of")[0] for line in lines] == ["run 1: step 0", "run 1: step 100,000"]


def test_off_a_terminal_a_run_that_says_nothing_new_is_heard_of_every_five_minutes() -> None:
    progress, stream, clock = _make(is_terminal=False)

    for second in range(601):
        clock.now = second * 1.0
        progress.alive("run 1", "running")

    assert stream.getvalue().splitlines() == ["run 1: 5 min 00 s, running", "run 1: 10 min 00 s, running"]


def test_off_a_terminal_what_a_run_wrote_is_said_once_a_minute() -> None:
    progress, stream, clock = _make(is_terminal=False)

    for second in range(181):
        clock.now = second * 1.0
        progress.alive("run 1", f"{second} kB written")

    assert [line.split(", ")[1] for line in stream.getvalue().splitlines()] == [
        "60 kB written",
        "120 kB written",
        "180 kB written",
    ]


def test_without_a_total_nothing_is_said_of_the_way() -> None:
    progress, stream, _ = _make(is_terminal=False)

    progress.update("run 1", 5000, None, steps_per_s=None, eta_s=None)

    assert stream.getvalue() == "run 1: step 5,000\n"


@pytest.mark.parametrize(
    ("eta_s", "text"),
    [
        (0.4, "0 s left"),
        (59.4, "59 s left"),
        (61.0, "1 min 01 s left"),
        (3700.0, "1 h 01 min left"),
        (float("inf"), "over 100 h left"),
        (float("nan"), None),
        (-1.0, None),
    ],
)
def test_the_time_left_reads_like_time(eta_s: float, text: str | None) -> None:
    progress, stream, _ = _make(is_terminal=False)

    progress.update("run 1", 1, 10, steps_per_s=None, eta_s=eta_s)

    assert (text in stream.getvalue()) if text else ("left" not in stream.getvalue())


def test_on_a_terminal_each_run_has_a_bar_in_a_fixed_order() -> None:
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1", "COLUMNS": "100"})

    with progress:
        progress.phase("train")
        clock.now = 1.0
        _update(progress, 60_000, label="run 10")
        clock.now = 2.0
        _update(progress, 50_000, label="run 2")

    drawn = re.split(r"(?:\x1b\[1A)*\r\x1b\[J", stream.getvalue())
    first = "run 10  ########------  step 60,000 of 100,000, 60%, 10,000 steps/s, 4 s left"
    second = "run 2   #######-------  step 50,000 of 100,000, 50%, 10,000 steps/s, 5 s left"
    assert drawn == ["train", f"train\n{first}", f"train\n{second}\n{first}", ""]
    assert stream.getvalue().endswith("\x1b[1A\x1b[1A\r\x1b[J")


def test_a_terminal_that_can_show_it_gets_a_line_as_bar() -> None:
    stream = _Stream(is_terminal=True)
    stream.__class__ = type("Utf8", (_Stream,), {"encoding": "utf-8"})
    progress = ProgressDisplay(stream=stream, environ={"TERM": "xterm", "COLUMNS": "80"}, clock=_Clock())

    _update(progress, 50_000)

    assert "━" * 7 + "─" * 7 in stream.getvalue()


def test_more_runs_than_fit_are_counted() -> None:
    progress, stream, clock = _make(is_terminal=True)

    for number in range(12):
        clock.now += 1.0
        _update(progress, number, label=f"run {number}")

    assert stream.getvalue().endswith("\nand 4 more")


def test_the_live_line_never_reaches_the_last_column() -> None:
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1", "COLUMNS": "30"})

    progress.phase("a phase with quite a long name indeed")
    clock.now = 1.0
    _update(progress, 50_000)

    drawn = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", stream.getvalue())
    assert all(len(line) <= 29 for line in re.split(r"[\r\n]", drawn))


def test_the_live_line_is_not_drawn_more_often_than_five_times_a_second() -> None:
    progress, stream, clock = _make(is_terminal=True)

    progress.phase("train")
    for step in range(1000):
        clock.now = step / 1000
        _update(progress, step)

    assert 4 <= stream.getvalue().count("\x1b[J") <= 6


def test_a_note_stays_above_the_live_line() -> None:
    progress, stream, _ = _make(is_terminal=True, environ={"NO_COLOR": "1"})

    progress.phase("train")
    progress.note("run 1 was killed")

    assert stream.getvalue() == "train\r\x1b[Jnote: run 1 was killed\ntrain"


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"GITHUB_ACTIONS": "true"}])
def test_a_dumb_terminal_and_githubs_runner_get_plain_lines(environ: Mapping[str, str]) -> None:
    progress, stream, _ = _make(is_terminal=True, environ=environ)

    progress.phase("train")

    assert stream.getvalue() == "phase: train\n"


def test_no_color_leaves_no_colour() -> None:
    progress, stream, _ = _make(is_terminal=True, environ={"NO_COLOR": "1"})
    coloured, coloured_stream, _ = _make(is_terminal=True)

    progress.phase("train")
    coloured.phase("train")

    assert "\x1b[1m" not in stream.getvalue()
    assert "\x1b[1m" in coloured_stream.getvalue()


def test_hostile_labels_and_notes_stay_text(hostile_text: str) -> None:
    progress, stream, _ = _make(is_terminal=False)

    progress.phase(hostile_text)
    progress.update(hostile_text, 1, 2, steps_per_s=1.0, eta_s=1.0)
    progress.note(hostile_text)

    lines = stream.getvalue().split("\n")
    assert len(lines) == 4
    assert all(line.isprintable() and not line.lstrip().startswith("::") for line in lines)


def test_several_threads_do_not_mix_their_lines() -> None:
    progress, stream, _ = _make(is_terminal=False)

    def tell(label: str) -> None:
        for number in range(11):  # each run is heard of at once
            _update(progress, 10, label=f"{label}.{number}", total=100)

    threads = [threading.Thread(target=tell, args=(f"run {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = stream.getvalue().splitlines()
    assert len(lines) == 44
    assert all(line.startswith("run ") and line.endswith(" left") for line in lines)


def test_a_reader_that_went_away_does_not_end_the_run() -> None:
    class Closed(_Stream):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    progress = ProgressDisplay(stream=Closed(is_terminal=True), environ={"TERM": "xterm"}, clock=_Clock())

    with progress:
        progress.phase("train")
        _update(progress, 1)
        progress.note("still here")

    assert progress._stream.getvalue() == ""


def test_a_new_phase_forgets_the_runs_of_the_last() -> None:
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})

    progress.phase("train")
    clock.now = 1.0
    _update(progress, 50_000)
    progress.phase("judge")

    assert stream.getvalue().endswith("\x1b[1A\r\x1b[Jjudge")


def test_a_run_that_tells_no_steps_shows_how_long_it_goes_on_and_what_it_left() -> None:
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})

    progress.phase("train")
    progress.alive("run 1", "0.0 kB written")
    clock.now = 65.0
    progress.alive("run 1", "2.5 kB written")

    assert stream.getvalue().endswith("\x1b[Jtrain\nrun 1  1 min 05 s, 2.5 kB written")


def test_each_run_and_each_phase_has_a_time_of_its_own() -> None:
    progress, stream, clock = _make(is_terminal=False)

    for start, label in ((0.0, "run 1"), (1000.0, "run 2")):
        for second in (0.0, 302.0):
            clock.now = start + second
            progress.alive(label, "x")
    progress.phase("again")
    for clock.now in (2000.0, 2303.0):
        progress.alive("run 1", "x")

    assert stream.getvalue().splitlines() == [
        "run 1: 5 min 02 s, x",
        "run 2: 5 min 02 s, x",
        "phase: again",
        "run 1: 5 min 03 s, x",
    ]


def test_steps_replace_the_sign_of_life_once_they_are_told() -> None:
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})

    progress.phase("train")
    clock.now = 1.0
    progress.alive("run 1", "0.0 kB written")
    clock.now = 2.0
    _update(progress, 50_000)

    last = stream.getvalue().rpartition("\x1b[J")[2]
    assert last == "train\nrun 1  #######-------  step 50,000 of 100,000, 50%, 10,000 steps/s, 5 s left"


def test_steps_beyond_those_asked_for_are_not_said_to_be_of_them() -> None:
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})
    progress.phase("train")
    clock.now = 1.0
    _update(progress, 102_400)
    assert "run 1  ##############  step 102,400, all of 100,000" in stream.getvalue()


def test_a_run_whose_length_is_known_from_the_one_before_has_a_bar():
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})

    with progress:
        progress.phase("which line makes them differ?")
        progress.alive("run 4 of about 9", "", expected_s=40.0)
        clock.now = 30.0
        progress.alive("run 4 of about 9", "", expected_s=40.0)
        progress.ended("run 4 of about 9")
        clock.now = 100.0
        progress.alive("run 5 of about 9", "", expected_s=40.0)

    drawn = re.split(r"(?:\x1b\[1A)*\r\x1b\[J", stream.getvalue())
    assert "run 4 of about 9  ##########----  30 s, about 10 s left" in drawn[-3]
    assert (
        drawn[-2] == "which line makes them differ?\nrun 5 of about 9  --------------  0 s, about 40 s left"
    )


def test_a_run_that_takes_longer_than_the_one_before_says_so():
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})
    progress.phase("train")
    progress.alive("run 1", "", expected_s=40.0)
    clock.now = 50.0
    progress.alive("run 1", "", expected_s=40.0)
    assert stream.getvalue().endswith("run 1  ##############  50 s, 40 s were expected")


def test_a_speed_that_no_one_tells_is_measured_and_gives_the_time_left():
    progress, stream, clock = _make(is_terminal=True, environ={"NO_COLOR": "1"})
    progress.phase("train")
    clock.now = 1.0
    progress.update("run 1", 10, 100, steps_per_s=None, eta_s=None)
    clock.now = 11.0
    progress.update("run 1", 40, 100, steps_per_s=None, eta_s=None)
    last = stream.getvalue().rpartition("\x1b[J")[2]
    assert last == "train\nrun 1  #####---------  step 40 of 100, 40%, 3.0 steps/s, 20 s left"


def test_off_a_terminal_many_short_runs_are_no_louder_than_one_long_one():
    progress, stream, clock = _make(is_terminal=False)

    progress.phase("which line makes them differ?")
    for second in range(700):
        clock.now = second * 1.0
        label = f"run {second // 20} of about 40"
        progress.alive(label, "", expected_s=20.0)
        if second % 20 == 19:
            progress.ended(label)

    lines = stream.getvalue().splitlines()
    assert lines[0] == "phase: which line makes them differ?"
    assert [line.partition(":")[0] for line in lines[1:]] == ["run 15 of about 40", "run 30 of about 40"]


def test_on_a_terminal_a_note_is_broken_between_words():
    progress, stream, _ = _make(is_terminal=True, environ={"COLUMNS": "60"})

    progress.note("so far: a/path/to/some/train.py:88 (unseeded_rng) explains it, 6 confirmations to go")

    assert stream.getvalue().splitlines() == [
        "note: so far: a/path/to/some/train.py:88 (unseeded_rng)",
        "      explains it, 6 confirmations to go",
    ]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_runs_with_long_names_are_two_bars_that_keep_what_tells_them_apart(columns: str) -> None:
    display, stream, clock = _make(is_terminal=True, environ={"COLUMNS": columns, "NO_COLOR": "1"})
    display.phase("train")
    for seed in (1, 2):
        clock.now += 1
        display.update(f"train {'a' * 90} seed {seed}", 5, 10, steps_per_s=None, eta_s=None)
    screen = stream.getvalue().split("\x1b[J")[-1].splitlines()
    assert ["seed 1" in screen[1], "seed 2" in screen[2]] == [True, True]
    assert all(len(line) < int(columns) for line in screen)


def test_a_phase_is_called_as_a_person_calls_it() -> None:
    progress, stream, _ = _make(is_terminal=False)

    progress.phase("environment")

    assert stream.getvalue() == "phase: making the environment ready\n"
