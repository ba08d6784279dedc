"""Entropy that Python draws is the same in each run where it is held, and another one with another key."""

import subprocess
import sys

from reprokit import instrumentation

DRAWS = """
import sys
sys.path.insert(0, sys.argv[1])
from reprokit_hook.calls import held_entropy
held_entropy.begin(sys.argv[2], sys.argv[3])
import os, random, secrets, uuid
print(os.urandom(5).hex(), os.urandom(0), uuid.uuid4(), uuid.uuid1(), secrets.token_hex(4))
print(random.random(), random.Random().random())
print(random.Random(3).random(), random.SystemRandom().random())
"""


def drawn(key, process="0"):
    folder = instrumentation.__path__[0]
    done = subprocess.run(
        [sys.executable, "-c", DRAWS, folder, key, process], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_draw_is_the_same_in_two_runs():
    assert drawn("aa") == drawn("aa")


def test_another_key_and_another_process_draw_something_else():
    assert len({drawn("aa"), drawn("bb"), drawn("aa", process="0.r1")}) == 3


def test_a_generator_with_a_seed_is_left_alone():
    held, free = (text.splitlines()[2].split()[0] for text in (drawn("aa"), drawn("bb")))
    assert held == free
