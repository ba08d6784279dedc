"""What a cause is called: its category, a sentence, and a fix."""

from __future__ import annotations

from dataclasses import dataclass

from reprokit.diagnosis.alternatives import alternative_of
from reprokit.diagnosis.operations import Operation, UnfinishedWork
from reprokit.diagnosis.traces import Site

#: Kind → category, what happens there, fix.
_KINDS: dict[str, tuple[str, str, str]] = {
    "unseeded": (
        "unseeded_rng",
        "draws from a generator that was never seeded",
        "seed it from a setting, or pass a seeded generator",
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
        "uses the output of another program, which differs in every run",
        "seed that program, or do its work here from the seed",
    ),
    "temporary_name": (
        "process_identity",
        "uses the name of a temporary file, which differs in every run",
        "do not let the name affect a number",
    ),
    "set_order": (
        "hash_order",
        "depends on the order of a set, which depends on the hash seed and on addresses",
        "sort it: sorted(…)",
    ),
    "hash": (
        "hash_order",
        "uses hash(), which differs in every process",
        "use a stable digest, such as zlib.crc32 or hashlib",
    ),
    "address": (
        "process_identity",
        "uses id(), an address, which differs in every process",
        "number the objects yourself",
    ),
    "process_id": (
        "process_identity",
        "uses a process or thread ID, which differs in every run",
        "derive the value from the seed",
    ),
    "clock": (
        "clock",
        "lets the clock affect a number",
        "count steps instead of seconds; take a seed from a setting",
    ),
    "library_clock": (
        "clock",
        "affects a number",
        "give the call a seed or a count in its place; a number that only measures time: --ignore-metric",
    ),
    "directory_order": (
        "file_order",
        "uses a directory listing in file-system order",
        "sort it: sorted(…)",
    ),
    "completion_order": (
        "concurrency",
        "takes results in the order in which they complete",
        "take them in the order in which they were submitted",
    ),
    "thread_order": (
        "concurrency",
        "starts threads whose finishing order affects a number",
        "join them, and combine their results in a fixed order",
    ),
    "queue_order": (
        "concurrency",
        "takes items from a queue in the order in which they arrive",
        "number them, and sort by the number",
    ),
    "thread_state": (
        "concurrency",
        "asks for the state of other threads or tasks, which depends on timing",
        "wait for them instead of asking",
    ),
    "time_zone": ("environment", "lets local time affect a number", "name the time zone: tz=UTC"),
    "unwritten": (
        "uninitialised_memory",
        "reads uninitialised memory",
        "use zeros, or write the memory before reading it",
    ),
    "environment": ("environment", "lets an environment variable affect a number", "make it a setting"),
    "host_name": ("environment", "lets the host name affect a number", "derive the value from the seed"),
    "cpu_count": ("environment", "lets the number of cores affect a number", "make it a setting"),
    "working_folder": (
        "environment",
        "lets the path of the working folder affect a number",
        "do not let the path affect a number",
    ),
    "encoding": (
        "environment",
        "reads or writes a file in the locale's encoding",
        'name it: encoding="utf-8"',
    ),
    "locale": ("environment", "lets the locale affect a number", "sort and format without the locale"),
    "temporary_folder": (
        "environment",
        "lets the folder for temporary files affect a number",
        "do not let the path affect a number",
    ),
    "surroundings": ("environment", "lets the user affect a number", "make it a setting"),
    "run_path": (
        "environment",
        "lets the path of the run folder affect a number",
        "do not let the path affect a number",
    ),
    "file_read": (
        "environment",
        "reads a system file that differs in every run",
        "make the value a setting",
    ),
}
#: All that a cause can be called; those that follow from no kind of line are of experiments.
CATEGORIES = frozenset(
    {
        *(category for category, _, _ in _KINDS.values()),
        *("resume_state", "leftover_state", "nondeterministic_kernel", "simulator", "nonportable_numerics"),
        "unknown",
    }
)
_UNKNOWN = ("unknown", "depends on its conditions", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What makes two runs differ.

    Attributes:
        category: One of the words of the command line's reference.
        file: Of the program, or None where no line is known.
        source: That line as it stands in the file, without its indentation; "" where it cannot be read.
        around: That line with those before and after it, indentation kept; empty where they cannot be read.
        around_from: The number of the first of them.
        what: A sentence without a full stop.
        fix: What to do about it.
        confidence: ``high``: holding it alone fixed makes the runs equal, and holding all else does not.
            ``medium``: the first of these only.

    >>> Cause(category="clock", what="asks the clock", fix="count steps", confidence="high").line is None
    True
    """

    category: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    what: str
    fix: str
    confidence: str
    source: str = ""
    around: tuple[str, ...] = ()
    around_from: int | None = None

    @classmethod
    def at(
        cls, place: Site | Operation, *, category: str, what: str, fix: str, confidence: str = "high"
    ) -> Cause:
        file, line, function = place.file or None, place.line or None, place.function or None
        return cls(
            category=category,
            file=file,
            line=line,
            function=function,
            what=what,
            fix=fix,
            confidence=confidence,
        )


def category_of(kind: str) -> str:
    """The category of a kind of call site; ``unknown`` for any other."""
    return _KINDS.get(kind, _UNKNOWN)[0]


#: Global generator → what to write.
_SEED_CALLS = {
    "NumPy's global generator": "call np.random.seed(seed) first; in scikit-learn pass random_state=",
    "Python's global generator": "call random.seed(seed) first, or draw from a seeded random.Random",
}


def cause_of(site: Site, *, confidence: str, never_seeded: str = "") -> Cause:
    """The cause at a call site that experiments have confirmed.

    ``never_seeded`` is the global generator that it draws from, where no seed call of that was seen.
    """
    category, what, fix = _KINDS.get(site.kind, _UNKNOWN)
    if never_seeded:
        what = f"draws first from {never_seeded}, for which no seed call was seen"
        if never_seeded.startswith("Python") and all(".f" in one for one in site.processes):
            what += " in the forked process, where Python seeds it again"
        else:
            fix = _SEED_CALLS.get(never_seeded, fix)
    subject = f"{site.what}: " if site.what else ""
    return Cause.at(site, category=category, what=subject + what, fix=fix, confidence=confidence)


_GIVEN, _DRAW, _STEP = "what ", "a draw from ", "the optimizer's step"


def cause_of_operation(found: Operation, *, varied: bool) -> Cause | None:
    """The cause where an operation gave another output for the same inputs; None for an input that differs.

    ``varied``: whether that took varied conditions.
    """
    if found.name.startswith(_GIVEN):
        return None
    if found.name.startswith(_DRAW):
        what = f"{found.name}: draws a different number of values, though its state was equal before"
        fix = "let the number of draws depend on nothing but the seed"
        return Cause.at(found, category="unknown", what=what, fix=fix)
    if found.beside is not None:
        return _cause_of_race(found, found.beside)
    name = found.name.removeprefix("aten.").split(".")[0]
    on_cpu = found.device.get("device", "cpu") == "cpu"
    fix = alternative_of(name, on_cpu=on_cpu)
    what = f"{found.name}: gives a different output for the same inputs"
    if found.name == _STEP:
        what = f"{found.name}: gives different parameters for the same gradients, state and settings"
        fix = "let the optimizer's own code use nothing else; try foreach=False, fused=False"
    category = "nonportable_numerics" if varied else "nondeterministic_kernel"
    return Cause.at(found, category=category, what=what, fix=fix)


def _cause_of_race(found: Operation, other: UnfinishedWork) -> Cause:
    """``high`` where it had equal inputs; otherwise what it read differed, and nothing before that did."""
    at = f"{other.name} at {other.file}:{other.line}" if other.file else other.name
    on_host = "stream" not in found.device
    place = "the host" if on_host else f"stream {found.device['stream']}"
    what = f"{found.name}: touches on {place} what {at} was given on stream {other.stream}, "
    what += "and nothing makes it wait for that"
    fix = "wait first: stream.wait_stream(other) or an event; record_stream for memory that is freed"
    if on_host:
        fix = "wait first: torch.cuda.synchronize() or an event's synchronize(); or copy without non_blocking"
    confidence = "high" if found.same_inputs else "medium"
    return Cause.at(found, category="concurrency", what=what, fix=fix, confidence=confidence)


def cause_of_simulator(found: Operation, *, confidence: str) -> Cause:
    """The cause where an environment answers otherwise; ``high`` where also in processes of its own."""
    alone = ", even alone in a new process" if confidence == "high" else ""
    what = f"{found.name}: answers the same actions differently{alone}"
    fix = "seed it in reset(seed=…); if that is done, its own code is not deterministic"
    return Cause.at(found, category="simulator", what=what, fix=fix, confidence=confidence)


def known_of_operation(found: Operation) -> str:
    """What is known where a value differs and nothing that was recorded explains it."""
    where = f" at {found.file}:{found.line}" if found.file else ""
    return f"{found.name}{where} differs, and nothing that was recorded before it does"
