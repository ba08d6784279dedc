"""Runs that are disturbed on purpose (`--stress`), so that a difference that is rare shows sooner.

What is done may happen to any run: other work on the machine, threads and processes that begin or go on
later, other contents of fresh memory, another layout of addresses. A program that repeats does not notice.
"""

from reprokit.harness.diagnosing.stressing.disturb import Stress, disturbing

__all__ = ["Stress", "disturbing"]
