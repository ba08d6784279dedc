"""Every kind of call site that the hook knows has a category, a sentence and a fix."""

import re
from pathlib import Path

import pytest

from reprokit import runtime
from reprokit.diagnosis import Site, category_of, cause_of

CATEGORIES = {
    "unseeded_rng", "hash_order", "file_order", "clock", "process_identity", "concurrency",
    "uninitialised_memory", "environment", "resume_state", "leftover_state", "nondeterministic_kernel",
    "simulator", "nonportable_numerics", "unknown",
}  # fmt: skip
HOOK = Path(runtime.__file__).parent / "hook" / "reprokit_hook"
KINDS = sorted(
    {
        kind
        for path in HOOK.glob("*.py")
        for kind in re.findall(r'site_of\(\w+, "(\w+)"\)|\(\("(\w+)", \*(?:place|site)', path.read_text())
        for kind in kind
        if kind
    }
)


def test_the_hook_has_many_kinds_of_site():
    assert len(KINDS) > 12


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_the_hook_has_a_category_and_a_fix(kind):
    site = Site(kind=kind, file="train.py", line=3, function="main", what="", count=1, digest="", first=1)
    cause = cause_of(site, confidence="high")
    assert category_of(kind) in CATEGORIES - {"unknown"}
    assert cause.what
    assert cause.fix
