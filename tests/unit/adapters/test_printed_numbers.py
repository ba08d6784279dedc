"""Numbers in what a program printed: as they were printed, or an error, and never for hours."""

import math

import pytest

from reprokit.adapters.printed import printed_numbers
from reprokit.errors import MetricsError

STEP_AND_LOSS = r"step (?P<step>\d+) loss (?P<loss>\S+)"


def read(tmp_path, text, *patterns):
    log = tmp_path / "stdout.log"
    log.write_bytes(text if isinstance(text, bytes) else text.encode())
    return printed_numbers.read(log, patterns or [STEP_AND_LOSS])


def test_each_line_that_a_pattern_fits_is_a_record(tmp_path):
    found = read(tmp_path, "begin\nstep 1 loss 0.25\rstep 2 loss nan\nstep 3 loss small\n")
    assert [one.record for one in found[:1]] == [{"step": 1, "loss": 0.25}]
    assert math.isnan(found[1].record["loss"])
    assert found[2].record["loss"] == "small"
    assert [one.line for one in found] == [2, 3, 4]


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("1,024", 1024),
        ("1,024.5", 1024.5),
        ("0.25,", 0.25),
        ("1_000", 1000),
        ("-.5", -0.5),
        ("0,5", "0,5"),  # a decimal comma: not 5
        ("1,5", "1,5"),
        ("1.5.2", "1.5.2"),
        ("٣", "٣"),
    ],
)
def test_a_number_is_read_only_where_nothing_else_can_be_meant(tmp_path, printed, meant):
    value = read(tmp_path, f"step 1 loss {printed}\n")[0].record["loss"]
    assert (value, type(value)) == (meant, type(meant))


@pytest.mark.parametrize("printed", ["-0", "-0.0"])
def test_zero_keeps_its_sign(tmp_path, printed):
    assert repr(read(tmp_path, f"step 1 loss {printed}\n")[0].record["loss"]) == "-0.0"


@pytest.mark.parametrize(
    ("printed", "word"), [("1e999", "number_overflow"), ("9" * 5000, "integer_too_long")]
)
def test_a_number_that_no_float_holds_is_an_error(tmp_path, printed, word):
    (found,) = read(tmp_path, f"step 1 loss {printed}\n")
    assert [kind for kind, _ in found.notes] == [word]


def test_nothing_of_a_long_line_is_cut_off_in_silence(tmp_path):
    (found,) = read(tmp_path, "x" * 70_000 + " step 1 loss 0.25")
    assert found.record == {"step": 1, "loss": 0.25}
    (found,) = read(tmp_path, "x" * (4 << 20) + " step 1 loss 0.25")
    assert (found.record, found.notes) == (None, (("line_too_long", ""),))


@pytest.mark.parametrize("pattern", ["(?P<x>(a+)+)$", r"(?P<x>a.*a.*a.*a.*a.*a.*!)"])
def test_a_pattern_that_would_take_hours_ends_as_an_error(tmp_path, monkeypatch, pattern):
    monkeypatch.setattr(printed_numbers, "_SECONDS", 0.3)
    told = r"not searched to the end: more than 0\.3 s of processor time, or 0\.9 s by the clock, in line 2"
    with pytest.raises(MetricsError, match=told):
        read(tmp_path, "first\n" + "a" * 400 + "?\n", pattern)


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("loss 8.1e-05", r"loss (?P<loss>[\d.]+)"),
        ("loss 3e4", r"loss (?P<loss>\d+)"),
        ("loss 5.123", r"loss (?P<loss>\d+)"),
        ("step 2 loss 5.123", r"step (?P<step>\d+) loss (?P<loss>\d+)"),
    ],
)
def test_a_pattern_that_ends_inside_a_number_is_an_error(tmp_path, line, pattern):
    with pytest.raises(MetricsError, match="for loss ends inside a number"):
        read(tmp_path, line, pattern)


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("acc 0.5, loss 93.41", r"loss.*(?P<loss>\d+\.\d+)"),  # what is greedy leaves one digit
        ("loss 0.25", r"loss.*(?P<loss>\d+)"),
        ("loss 0.5", r"loss.*(?P<loss>\d+)"),
        ("loss: -21.5", r"loss\D+(?P<loss>[\d.]+)"),
        ("loss=-3", r"loss\W*(?P<loss>\d+)"),
        ("loss (-3)", r"loss[^\d]+(?P<loss>\d+)"),
    ],
)
def test_a_pattern_that_begins_inside_a_number_is_an_error(tmp_path, line, pattern):
    with pytest.raises(MetricsError, match="for loss begins inside a number"):
        read(tmp_path, line, pattern)


@pytest.mark.parametrize(
    ("line", "pattern", "meant"),
    [
        ("loss 0.25", r"loss 0\.(?P<loss>\d+)", 25),
        ("loss -21.5", r"loss -(?P<loss>[\d.]+)", 21.5),
        ("loss -21.5", r"loss [-+]?(?P<loss>[\d.]+)", 21.5),
        ("model-3", r"model\W(?P<loss>\d+)", 3),
        ("1e-05", r"1e\D(?P<loss>\d+)", 5),
        ("loss - 3", r"loss\D+(?P<loss>\d+)", 3),
        ("at 1234", r"at \d\d(?P<loss>\d+)", 34),
        ("at 1234", r"at (?P<loss>\d\d)(?:\d+)", 12),
    ],
)
def test_a_pattern_that_names_what_stands_before_its_number_is_none(tmp_path, line, pattern, meant):
    assert read(tmp_path, line, pattern)[0].record == {"loss": meant}


@pytest.mark.parametrize(
    ("line", "pattern", "meant"),
    [
        ("loss 5.", r"loss (?P<loss>\d+)", 5),
        ("loss 5.123", r"loss (?P<loss>\d+\.\d\d)", 5.12),  # so many digits are wanted
        ("loss 5.123", r"loss (?P<loss>\d+)\.", 5),
        ("loss 5 epoch", r"loss (?P<loss>\d+)", 5),
        ("loss 5%, 7.5", r"loss (?P<loss>\d+)", 5),
    ],
)
def test_a_pattern_that_ends_beside_a_number_is_none(tmp_path, line, pattern, meant):
    assert read(tmp_path, line, pattern)[0].record == {"loss": meant}
