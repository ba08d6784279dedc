"""Each way to fail has a word of its own, and each sentence says why."""

import errno
from datetime import UTC, datetime

import pytest

from reprokit.core.records import Outcome
from reprokit.execution.outcome import (
    ProgramEnd,
    Stopwatch,
    cannot_write,
    explain,
    last_words,
    signal_name,
    signal_of,
    start_refused,
    timed_out,
)

TRACEBACK = """\
Traceback (most recent call last):
  File "/code/train.py", line 12, in <module>
    main()
  File "/code/ppo.py", line 80, in main
    raise ValueError("bad\\nshape")
ValueError: bad
shape
"""
MANY_BYTES = 1 << 40


def crash(stderr: str, *, free_bytes: int = MANY_BYTES) -> ProgramEnd:
    return ProgramEnd(exit_code=1, stderr_tail=stderr, output="/run_dir", free_bytes=free_bytes)


def test_exit_code_zero_is_completed_and_says_nothing():
    why = explain(ProgramEnd(exit_code=0, stderr_tail=TRACEBACK, free_bytes=0))
    assert (why.outcome, why.message, why.remedy) == (Outcome.COMPLETED, "", "")


def test_a_child_killed_for_memory_counts_more_than_exit_code_zero():
    why = explain(ProgramEnd(exit_code=0, out_of_memory="evidence"))
    assert why.outcome is Outcome.OUT_OF_MEMORY
    assert why.message == "out of memory: evidence, though the program ended with exit code 0"


def test_a_crash_names_the_exception_and_where_it_was_raised():
    why = explain(crash(TRACEBACK))
    assert why.outcome is Outcome.CRASHED
    assert why.message == "the program ended with exit code 1: ValueError: bad (/code/ppo.py:80)"


def test_a_crash_without_a_traceback_names_the_last_line():
    assert explain(crash("usage: train.py\n\n  error: no such option \n\n")).message.endswith(
        "exit code 1: error: no such option"
    )


def test_a_silent_crash_names_the_exit_code():
    assert explain(crash("")).message == "the program ended with exit code 1"


def test_of_chained_exceptions_the_last_one_counts():
    first = "Traceback (most recent call last):\n  File \"a\", line 1, in x\nKeyError: 'a'\n"
    second = "During handling of the above exception, another exception occurred:\n\n"
    assert last_words(first + "\n" + second + TRACEBACK).startswith("ValueError: bad")


@pytest.mark.parametrize(
    "heading", ["Exception ignored in: <function f at 0x7>", "Exception in thread Thread-1 (f):"]
)
def test_tracebacks_that_did_not_end_the_program_are_passed_over(heading: str):
    traceback = 'Traceback (most recent call last):\n  File "b", line 2, in y\nTypeError: beside the point\n'
    other = f"{heading}\n{traceback}"
    assert last_words(TRACEBACK + other).startswith("ValueError: bad")
    assert last_words(other) == "TypeError: beside the point (b:2)"


def test_lines_printed_after_the_traceback_are_passed_over():
    assert last_words(TRACEBACK + "wandb: run finished\n").startswith("ValueError: bad")


def test_a_torn_traceback_falls_back_to_its_last_line():
    assert (
        last_words('Traceback (most recent call last):\n  File "a", line 1, in x\n')
        == 'File "a", line 1, in x'
    )


def test_a_syntax_error_has_no_traceback_heading_and_is_still_named():
    assert last_words('  File "a.py", line 1\n    x y\n      ^\nSyntaxError: invalid syntax\n') == (
        "SyntaxError: invalid syntax"
    )


def test_a_long_message_is_cut():
    message = explain(crash("ValueError: " + "x" * 10_000)).message
    assert len(message) == 300
    assert message.endswith("…")


@pytest.mark.parametrize(
    ("number", "name", "remedy"),
    [
        (9, "SIGKILL", "dmesg"),
        (15, "SIGTERM", "asked it to stop"),
        (2, "SIGINT", "run it again"),
        (11, "SIGSEGV", "PYTHONFAULTHANDLER=1"),
        (6, "SIGABRT", "PYTHONFAULTHANDLER=1"),
        (4, "SIGILL", "processor"),
        (7, "SIGBUS", "/dev/shm"),
    ],
)
def test_a_signal_is_named_with_what_usually_sends_it(number: int, name: str, remedy: str):
    why = explain(ProgramEnd(signal=number))
    assert why.outcome is Outcome.SIGNALLED
    assert why.message == f"the program was ended by {name}"
    assert remedy in why.remedy


def test_evidence_of_memory_outranks_the_signal_and_the_exit_code():
    for seen in (
        ProgramEnd(signal=9, out_of_memory="limit reached"),
        ProgramEnd(exit_code=1, out_of_memory="limit reached"),
    ):
        why = explain(seen)
        assert (why.outcome, why.message) == (Outcome.OUT_OF_MEMORY, "out of memory: limit reached")


def test_a_kill_without_evidence_of_memory_is_no_more_than_a_signal():
    assert explain(ProgramEnd(signal=9)).outcome is Outcome.SIGNALLED


@pytest.mark.parametrize(
    "last_line",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for an array",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory: ",
        "OSError: [Errno 12] Cannot allocate memory",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: DataLoader worker (pid 5) is killed by signal: Killed.",
        "RuntimeError: DataLoader worker (pid 5) is killed by signal: Bus error. It is possible that",
    ],
)
def test_a_program_that_says_it_ran_out_of_memory_is_believed(last_line: str):
    assert (
        explain(crash(f"Traceback (most recent call last):\n{last_line}\n")).outcome is Outcome.OUT_OF_MEMORY
    )


def test_a_full_gpu_has_another_remedy_than_a_full_memory():
    assert "nvidia-smi" in explain(crash("torch.OutOfMemoryError: CUDA out of memory")).remedy


@pytest.mark.parametrize(
    "last_line",
    ["OSError: [Errno 28] No space left on device: '/run_dir/x'", "OSError: [Errno 122] Disk quota exceeded"],
)
def test_a_program_that_says_the_disk_is_full_is_believed(last_line: str):
    assert explain(crash(last_line)).outcome is Outcome.DISK_FULL


def test_a_crash_on_a_full_disk_is_the_disks_fault_whatever_the_program_says():
    torch_says = "RuntimeError: PytorchStreamWriter failed writing file data/0: file write failed"
    assert explain(crash(torch_says, free_bytes=0)).outcome is Outcome.DISK_FULL
    assert explain(crash(torch_says)).outcome is Outcome.CRASHED
    assert (
        explain(ProgramEnd(exit_code=1, stderr_tail=torch_says, free_bytes=None)).outcome is Outcome.CRASHED
    )


@pytest.mark.parametrize("number", [13, 30, 1])
def test_a_run_folder_that_refuses_the_program_is_told_from_other_refusals(number: int):
    inside = explain(crash(f"OSError: [Errno {number}] no: '/run_dir/metrics.jsonl'"))
    elsewhere = explain(crash(f"OSError: [Errno {number}] no: '/etc/passwd'"))
    assert inside.outcome is Outcome.RUN_FOLDER_NOT_WRITABLE
    assert elsewhere.outcome is Outcome.CRASHED


def test_the_remedy_for_writing_elsewhere_names_where_to_write():
    assert "{run_dir}" in explain(crash("OSError: [Errno 30] Read-only file system: '/x'")).remedy


def test_the_remedy_for_wanting_the_network_says_that_there_is_none():
    failed = "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"
    assert "no network" in explain(crash(failed)).remedy


@pytest.mark.parametrize("exit_code", [126, 127])
def test_a_command_that_was_not_found_says_so_in_the_containers_own_words(exit_code: int):
    stderr = "[FATAL tini (7)] exec nope failed: No such file or directory\n"
    why = explain(ProgramEnd(exit_code=exit_code, stderr_tail=stderr, program="nope"))
    assert why.outcome is Outcome.COMMAND_MISSING
    assert why.message == "the command 'nope' could not be started: No such file or directory"


def test_a_command_that_was_not_found_needs_no_words():
    why = explain(ProgramEnd(exit_code=127, program="nope"))
    assert why.message == "the command 'nope' could not be started: exit code 127"


def test_every_failure_has_a_message_and_a_remedy():
    failures = [
        explain(ProgramEnd(exit_code=1)),
        explain(ProgramEnd(exit_code=127)),
        explain(ProgramEnd(signal=9)),
        explain(ProgramEnd(signal=40)),
        timed_out(3.5),
        start_refused("no"),
        cannot_write("/x", OSError(errno.ENOSPC, "full")),
        cannot_write("/x", OSError(errno.EACCES, "denied")),
    ]
    assert all(why.message and why.remedy for why in failures)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (errno.ENOSPC, Outcome.DISK_FULL),
        (errno.EDQUOT, Outcome.DISK_FULL),
        (errno.EACCES, Outcome.RUN_FOLDER_NOT_WRITABLE),
        (errno.EROFS, Outcome.RUN_FOLDER_NOT_WRITABLE),
        (errno.ENOENT, Outcome.RUN_FOLDER_NOT_WRITABLE),
    ],
)
def test_a_full_disk_is_told_from_a_folder_that_cannot_be_written(number: int, outcome: Outcome):
    assert cannot_write("/x", OSError(number, "reason")).outcome is outcome


@pytest.mark.parametrize(
    ("exit_code", "number"),
    [(0, None), (1, None), (128, None), (137, 9), (159, 31), (160, None), (255, None)],
)
def test_exit_codes_above_128_stand_for_classic_signals_only(exit_code: int, number: int | None):
    assert signal_of(exit_code) == number


def test_signals_without_a_name_are_numbered():
    assert (signal_name(9), signal_name(50)) == ("SIGKILL", "SIG50")


def test_a_result_carries_times_code_and_signal():
    watch = Stopwatch(started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    seen = ProgramEnd(signal=9)
    result = watch.result(explain(seen), seen=seen, isolation={"backend": "x"})
    assert (result.exit_code, result.signal, result.isolation) == (None, "SIGKILL", {"backend": "x"})
    assert result.started_at == "2026-01-02T03:04:05.000+00:00"
    assert result.duration_s >= 0
    assert not result.completed
