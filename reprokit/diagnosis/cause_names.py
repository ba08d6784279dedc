"""What a suspicion is called once it is a cause: its category, a sentence, and what would mend it.

This module knows words; it refuses to know how a cause was found.

    >>> category_of("unseeded")
    'unseeded_rng'
"""

from __future__ import annotations

from dataclasses import dataclass

from reprokit.diagnosis.operations import Operation
from reprokit.diagnosis.traces import Site

#: Kind → category, what happens there, what would mend it.
_KINDS: dict[str, tuple[str, str, str]] = {
    "unseeded": (
        "unseeded_rng",
        "draws from a generator that was never seeded",
        "seed it from --seed, or pass a generator that is",
    ),
    "torch_unseeded": (
        "unseeded_rng",
        "draws from PyTorch's generator before it was seeded",
        "call torch.manual_seed(seed) first, or pass generator=",
    ),
    "entropy": (
        "unseeded_rng",
        "takes bytes from the system's entropy, which no seed governs",
        "derive the value from the seed",
    ),
    "subprocess": (
        "unseeded_rng",
        "uses the output of another program, which is another every time",
        "seed that program, or do its work here from the seed",
    ),
    "temporary_name": (
        "process_identity",
        "uses the name of a temporary file, which is another every time",
        "let no number depend on the name",
    ),
    "set_order": (
        "hash_order",
        "depends on the order of a set, which hash seed and addresses decide",
        "sort it: sorted(…)",
    ),
    "hash": (
        "hash_order",
        "uses hash(), which is another in every process",
        "use a stable digest, such as zlib.crc32 or hashlib",
    ),
    "address": (
        "process_identity",
        "uses id(), an address, which is another in every process",
        "number the objects yourself",
    ),
    "process_id": (
        "process_identity",
        "uses a number of the process or thread, which is another every time",
        "derive the value from the seed",
    ),
    "clock": ("clock", "lets the clock reach a number", "count steps instead of seconds"),
    "directory_order": (
        "file_order",
        "uses a listing in the order in which the file system gives it",
        "sort it: sorted(…)",
    ),
    "completion_order": (
        "concurrency",
        "takes results in the order in which they complete",
        "take them in the order in which they were asked for",
    ),
    "thread_order": (
        "concurrency",
        "starts threads whose order of finishing reaches a number",
        "join them, and put their results together in a fixed order",
    ),
    "queue_order": (
        "concurrency",
        "takes items from a queue in the order in which they come",
        "number them, and sort by the number",
    ),
    "thread_state": (
        "concurrency",
        "asks how far other threads or tasks are, which time decides",
        "wait for them instead of asking",
    ),
    "time_zone": ("environment", "lets local time reach a number", "name the time zone: tz=UTC"),
    "unwritten": (
        "uninitialised_memory",
        "reads memory that nobody has written",
        "use zeros, or write it before it is read",
    ),
    "environment": ("environment", "lets an environment variable reach a number", "make it a setting"),
    "host_name": ("environment", "lets the host's name reach a number", "derive the value from the seed"),
    "cpu_count": ("environment", "lets the number of cores reach a number", "make it a setting"),
    "working_folder": (
        "environment",
        "lets the path of the working folder reach a number",
        "let no number depend on the path",
    ),
    "surroundings": ("environment", "lets the user reach a number", "make it a setting"),
    "run_path": (
        "environment",
        "lets the path of the run folder reach a number",
        "let no number depend on the path",
    ),
    "file_read": (
        "environment",
        "reads a file of the system that is another every time",
        "make the value a setting",
    ),
}
_UNKNOWN = ("unknown", "draws on surroundings", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What makes two runs differ.

    Attributes:
        category: One of the words of the command line's reference.
        file: Of the program, or None where no line is known.
        line: Of the file, or None.
        function: That the line stands in, or None.
        what: A sentence without a full stop.
        fix: What would mend it.
        confidence: ``high``: holding it alone makes the runs equal, and holding all else does not.
            ``medium``: the first of these only.
    """

    category: str
    file: str | None
    line: int | None
    function: str | None
    what: str
    fix: str
    confidence: str


def category_of(kind: str) -> str:
    """The category of a kind of call site; ``unknown`` for one that nobody knows."""
    return _KINDS.get(kind, _UNKNOWN)[0]


def cause_of(site: Site, *, confidence: str) -> Cause:
    """The cause that a call site has been shown to be."""
    category, what, fix = _KINDS.get(site.kind, _UNKNOWN)
    subject = f"{site.what}: " if site.what else ""
    return Cause(
        category=category,
        file=site.file,
        line=site.line,
        function=site.function,
        what=subject + what,
        fix=fix,
        confidence=confidence,
    )


#: Operation → what is deterministic in its place. Source: torch.use_deterministic_algorithms' documentation.
_ALTERNATIVES = {
    "index_put": "torch.use_deterministic_algorithms(True), which gives index_put_ a fixed order",
    "put_": "index_add_ or scatter_add_ on one thread, or torch.use_deterministic_algorithms(True)",
    "scatter_add": "torch.use_deterministic_algorithms(True), or one thread",
    "index_add": "torch.use_deterministic_algorithms(True), or one thread",
}


_GIVEN, _DRAW, _STEP = "what ", "a draw from ", "the optimizer's step"


def cause_of_operation(found: Operation, *, varied: bool) -> Cause | None:
    """The cause that an operation is which gave another output for the same inputs.

    Args:
        found: The operation, or what the hook tells beside operations: a draw, or a step of an optimizer.
        varied: Whether it took other surroundings for that.

    Returns:
        None for what only arrives with other numbers: where they come from is not known.
    """
    if found.name.startswith(_GIVEN):
        return None
    if found.name.startswith(_DRAW):
        what = f"{found.name}: takes another number of values, though its state was equal before"
        return _at(found, "unknown", what, "let the number of draws depend on nothing but the seed")
    name = found.name.removeprefix("aten.").split(".")[0]
    fix = next((text for word, text in _ALTERNATIVES.items() if name.startswith(word)), "")
    fix = (
        fix
        or "fix the number of threads: torch.set_num_threads(1); or torch.use_deterministic_algorithms(True)"
    )
    what = f"{found.name}: gives another output for the same inputs"
    if found.name == _STEP:
        what = f"{found.name}: gives other parameters for the same gradients, state and settings"
        fix = "let the optimizer's own code draw on nothing else; foreach=False, fused=False"
    return _at(found, "nonportable_numerics" if varied else "nondeterministic_kernel", what, fix)


def cause_of_simulator(found: Operation, *, confidence: str) -> Cause:
    """The cause that an environment is which gave another answer to the same actions.

    Args:
        found: What the hook calls ``environment N``.
        confidence: ``high`` where it did so alone, in processes of its own; else ``medium``.
    """
    alone = ", alone in new processes too" if confidence == "high" else ""
    what = f"{found.name}: answers the same actions otherwise{alone}"
    return _at(found, "simulator", what, "seed it in reset(seed=…); else its own code draws", confidence)


def known_of_operation(found: Operation) -> str:
    """What is known where something arrives with other numbers, and nothing watched explains them."""
    where = f" at {found.file}:{found.line}" if found.file else ""
    return f"{found.name}{where} differs, and nothing that was watched before it does"


def _at(found: Operation, category: str, what: str, fix: str, confidence: str = "high") -> Cause:
    return Cause(
        category=category,
        file=found.file or None,
        line=found.line or None,
        function=found.function or None,
        what=what,
        fix=fix,
        confidence=confidence,
    )
