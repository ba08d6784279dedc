"""What is the clock's is known by numbers and names together; neither is enough alone."""

from __future__ import annotations

import pytest

from reprokit.core.comparing.clock_metrics import (
    _RATES,
    _TIMES,
    UNITS_S,
    MetricCurve,
    kind_by_name,
    kind_of,
    options,
    patterns_for,
)
from reprokit.core.comparing.clock_texts import kind_of_texts

STEPS = (100.0, 200.0, 300.0, 400.0)
SPANS = ((1_000_000.0, 1_000_010.0), (2_000_000.0, 2_000_012.0))


def curve(*values, steps=STEPS):
    return MetricCurve(steps=steps, values=values)


def kind(name, first, other, **more):
    return kind_of(name, curve(*first), curve(*other), spans=SPANS, **more)


RISING = (2.1, 4.3, 6.2, 8.9), (2.4, 5.0, 7.7, 10.9)
LEFT = (9.1, 6.3, 3.2, 0.4), (11.4, 7.0, 4.7, 0.9)
FPS = tuple(tuple(step / took for step, took in zip(STEPS, one, strict=True)) for one in RISING)


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("time/time_elapsed", RISING, "duration"),
        ("time/time_elapsed", ((2, 4, 6, 9), (2, 5, 8, 10)), "duration"),
        ("monitor.csv:t", RISING, "duration"),
        ("epoch_seconds", ((2.0, 1.9, 2.2, 1.7), (2.2, 2.4, 2.1, 2.9)), "duration"),
        ("step_ms", ((2000.0, 1900.0, 2200.0, 1700.0), (2200.0, 2400.0, 2100.0, 2900.0)), "duration"),
        ("eta_seconds", LEFT, "time left"),
        ("charts/SPS", FPS, "rate"),
        ("time/fps", tuple(tuple(map(int, one)) for one in FPS), "rate"),
        ("written_time", tuple((at + 1, at + 2, at + 3, at + 9) for at in (1e6, 2e6)), "time stamp"),
    ],
)
def test_rates_durations_and_time_stamps_are_known(name, numbers, expected):
    assert kind(name, *numbers) == expected


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("loss", RISING),  # fits by chance
        ("losses/value", FPS),
        ("x_t", RISING),
        ("t", ((0.5, 0.4, 0.3, 0.2), (0.6, 0.5, 0.2, 0.3))),  # no time since the beginning
        ("time/loss", ((0.5, 0.4, 0.3, 0.2), (0.5, 0.4, 0.3, 0.21))),  # differs only at the end
        ("time/fps", ((900.0, 10.0, 800.0, 4.0), (900.0, 11.0, 800.0, 4.0))),
        ("time_to_goal", ((200.0, 180.0, 150.0, 149.0), (200.0, 180.0, 151.0, 148.0))),
        ("elapsed", ((float("nan"),) * 4, (1.0,) * 4)),
        ("elapsed", ((-1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0))),
    ],
)
def test_neither_a_name_nor_numbers_are_enough_alone(name, numbers):
    assert kind(name, *numbers) == ""


def test_times_since_a_moment_that_runs_share_are_time_stamps():
    first, other = (
        tuple(7_000.0 + begun - SPANS[0][0] + after for after in (2.1, 4.3, 6.2, 8.9)) for begun, _ in SPANS
    )
    assert kind("elapsed", first, other) == "time stamp"
    assert kind("elapsed", first, tuple(value + 20 for value in other)) == ""
    assert kind("elapsed", first, other[::-1]) == ""
    assert kind("loss", first, other) == ""
    beside = (SPANS[0], SPANS[0])  # of runs side by side, it may be a result that rises
    assert kind_of("elapsed", curve(*first), curve(7_002.2, 7_004, 7_006, 7_009), spans=beside) == ""


def test_a_rate_of_one_record_is_known_by_the_duration_beside_it():
    took = curve(4.0, steps=(10.0,)), curve(5.0, steps=(10.0,))
    rates = curve(25.0, steps=(10.0,)), curve(20.0, steps=(10.0,))
    assert kind_of("train_samples_per_second", *rates, spans=SPANS) == ""
    assert kind_of("train_samples_per_second", *rates, spans=SPANS, durations=[took]) == "rate"


def test_a_group_is_left_out_only_where_its_name_speaks_of_time():
    assert patterns_for(["time/fps", "time/time_elapsed"]) == ("time/*",)
    assert options(["charts/SPS", "charts/t"]) == "--ignore-metric charts/SPS --ignore-metric charts/t"


@pytest.mark.parametrize("word", sorted(_RATES - {"per"}))
def test_every_word_for_a_rate_is_one(word):
    assert kind(f"train/{word}", *FPS) == "rate"


@pytest.mark.parametrize("word", sorted(_TIMES - set(UNITS_S)))
def test_every_word_for_a_time_is_one(word):
    assert kind(f"train_{word}", *RISING) == "duration"


@pytest.mark.parametrize(("unit", "scale"), [("ms", 1e3), ("minutes", 1 / 60), ("hours", 1 / 3600)])
def test_units_are_counted_in(unit, scale):
    scaled = tuple(tuple(scale * value for value in one) for one in RISING)
    assert kind(f"step_{unit}", *scaled) == "duration"


@pytest.mark.parametrize(("share", "expected"), [(1.04, "duration"), (1.06, "")])
def test_a_duration_that_no_run_had_time_for_is_none(share, expected):
    lasted = [end - begun for begun, end in SPANS]
    values = tuple((*(share * most * part for part in (0.1, 0.2, 0.3)), share * most) for most in lasted)
    assert kind("elapsed", *values) == expected


@pytest.mark.parametrize(("share", "expected"), [(1.04, "rate"), (1.2, "")])
def test_a_rate_that_no_run_had_time_for_is_none(share, expected):
    lasted = [end - begun for begun, end in SPANS]
    rates = tuple(tuple(step / (share * most * step / STEPS[-1]) for step in STEPS) for most in lasted)
    assert kind("charts/SPS", *rates) == expected


def test_two_records_are_enough_for_a_rate():
    short = [curve(*one[:2], steps=STEPS[2:]) for one in ((35.0, 41.0), (30.0, 35.0))]
    assert kind_of("fps", *short, spans=SPANS) == "rate"


def test_one_metric_of_a_group_is_named_alone():
    assert patterns_for(["time/fps"]) == ("time/fps",)


def test_a_rate_that_is_rounded_may_seem_to_go_back_in_time_by_its_rounding_only():
    """0.4 steps a second may be printed as 0.3 or 0.5, not as 0.1 and then 0.9."""
    slow = (1.0, 2.0, 3.0, 4.0)
    jumping = curve(0.1, 0.9, 0.4, 0.4, steps=slow), curve(0.1, 0.8, 0.4, 0.3, steps=slow)
    assert kind_of("fps", *jumping, spans=SPANS) == ""


@pytest.mark.parametrize(("took", "expected"), [(0.11, "rate"), (0.09, "")])
def test_a_training_may_take_a_moment_of_a_run_that_imports_for_long(took, expected):
    """CleanRL's DQN over 700 steps: 0.3 s of a run of 18 s."""
    rates = (curve(*(400.0 / (took * more) for _ in STEPS)) for more in (1.0, 1.07))
    assert kind_of("charts/SPS", *rates, spans=SPANS) == expected


@pytest.mark.parametrize(
    ("name", "texts", "expected"),
    [
        ("elapsed_time", (["0:00:02", "0:00:09"], ["0:00:03", "0:00:12"]), "duration"),
        ("epoch_time", (["0:00:05", "0:00:04"], ["0:00:06", "0:00:05"]), "duration"),
        ("total", (["46ms", "1.5s"], ["47ms", "1.6s"]), "duration"),
        ("speed", (["910us/step"], ["1ms/step"]), "duration"),
        ("speed", (["1.2it/s"], ["1.1it/s"]), "rate"),
        ("remaining_time", (["0:00:30", "0:00:01"], ["0:00:25", "0:00:02"]), "time left"),
        ("now", (["1970-01-12 13:46:41.5"], ["1970-01-24 03:33:22"]), "time stamp"),
        ("now", (["1970-01-12 15:46:41.5"], ["1970-01-24 05:33:22"]), "time stamp"),
        ("now", (["1970-01-12 15:48:41.5"], ["1970-01-24 05:33:22"]), ""),
        ("now", (["1971-01-12 13:46:41"], ["1970-01-24 03:33:22"]), ""),
        ("elapsed_time", (["0:02:02"], ["0:00:03"]), ""),
        ("time", (["13:46:41", "13:46:44"], ["3:33:22", "3:33:22"]), "time stamp"),
        ("time", (["15:46:41.5"], ["05:33:22.1"]), "time stamp"),
        ("time", (["13:48:41"], ["03:33:22"]), ""),
        ("note", (["good"], ["bad"]), ""),
        ("note", (["0:00:02", "good"], ["0:00:03", "good"]), ""),
    ],
)
def test_texts_are_the_clocks_by_their_form_and_the_runs_times(name, texts, expected):
    assert kind_of_texts(name, *texts, spans=SPANS) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("data/timing_s/gen", "duration"),
        ("perf/throughput", "rate"),
        ("train_samples_per_second", "rate"),
        ("eta_seconds", "time left"),
        ("peak_worker_0_memory_MB", "memory"),
        ("learning_rate", ""),
        ("loss_per_token", ""),
        ("time/total_timesteps", ""),
        ("success_rate", ""),
        ("train/loss", ""),
        ("beta", ""),
    ],
)
def test_a_name_alone_tells_enough_for_an_advice(name, expected):
    assert kind_by_name(name) == expected
