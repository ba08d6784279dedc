"""Of several processes, the one that failed first is named, with what it said."""

from __future__ import annotations

from reprokit.execution.outcome import last_words

CHILD = """\
Traceback (most recent call last):
  File "/x/train.py", line 5, in <module>
    raise ValueError("enough")
ValueError: enough
"""
LAUNCHER = """\
W1122 13:24:26.249000 1 torch/distributed/api.py:1028] Sending process 26976 closing signal SIGTERM
Traceback (most recent call last):
  File "/x/bin/torchrun", line 6, in <module>
    sys.exit(main())
  File "/x/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 26976)  (SIGTERM)
  traceback : Signal 15 (SIGTERM) received by PID 26976
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 26977)
  traceback : To enable traceback see the documentation
============================================================
"""
KILLED = LAUNCHER.replace("exitcode  : 1 (pid: 26977)", "exitcode  : -9 (pid: 26977)  (SIGKILL)")


def marked(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


def test_the_traceback_of_the_process_is_the_reason_not_the_launchers():
    assert last_words(CHILD + LAUNCHER) == "rank 1: ValueError: enough (/x/train.py:5)"


def test_of_several_tracebacks_that_of_the_process_that_failed_first():
    other = CHILD.replace("enough", "the other one went away")
    both = marked(1, CHILD) + marked(0, other)
    assert last_words(both + LAUNCHER) == "rank 1: ValueError: enough (/x/train.py:5)"


def test_a_process_that_a_signal_ended_said_nothing():
    assert last_words(KILLED) == "rank 1: ended by SIGKILL"
    assert last_words(CHILD + KILLED) == "rank 1: ended by SIGKILL"


def test_a_process_that_said_nothing_is_named_by_its_exit_code():
    assert last_words(LAUNCHER) == "rank 1: exit code 1"


def test_a_launcher_that_only_says_that_a_command_failed():
    accelerate = CHILD.replace("ValueError: enough", "subprocess.CalledProcessError: Command 'x' returned 1")
    assert last_words(CHILD + accelerate) == "ValueError: enough (/x/train.py:5)"
    assert last_words(accelerate).startswith("subprocess.CalledProcessError: Command 'x' returned 1")


def test_a_launchers_error_that_was_cut_off_names_the_process_too():
    assert last_words(LAUNCHER[LAUNCHER.index("torch.distributed.elastic") :]) == "rank 1: exit code 1"


OURS = "error: rank 1 ended with exit code 1 after measures of update 2\n"


def test_of_our_own_ranks_the_one_that_failed_is_named_with_what_it_said():
    other = CHILD.replace("enough", "the other one went away")
    said = last_words(marked(1, CHILD) + marked(0, other) + OURS)
    expected = "rank 1 ended with exit code 1 after measures of update 2: ValueError: enough (/x/train.py:5)"
    assert said == expected


def test_of_our_own_ranks_one_that_hangs_said_nothing():
    hangs = "rank 0 hangs after start (stopped by a signal): rank 1 waited 40 s at gradients of update 1"
    assert last_words(marked(1, CHILD) + f"error: {hangs}\n") == hangs
