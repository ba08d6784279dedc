"""Every program of the suite: what is planted in it, and what a right answer says.

Knows the programs' names, marks and forms. Refuses to know how an answer is found or scored: that is
``score.py``.

A program's source marks the line where the fault is with ``# FAULT`` and the line of its decoy with
``# DECOY``: a suspicious call of another kind, which runs too, and whose value reaches no number.
``# ALSO`` marks lines that name the same fault as well. No mark is in what runs::

    source = PLANTED[0].source()               # as it is, without the marks
    source = PLANTED[0].source(swapped=True)   # the decoy's value reaches the numbers, the fault's does not
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_MARK = re.compile(r"  # (FAULT|DECOY|ALSO)$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"^(\s*)(\w+)( = .*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A program that only looks suspicious."""

    name: str
    what: str
    needs: str

    @property
    def folder(self) -> Path:
        return HERE / "clean" / self.name

    def source(self, *, swapped: bool = False) -> str:
        return (self.folder / "program.py").read_text()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One program with a fault.

    Args:
        what: the kind of fault, distinct in the suite.
        category: the right answer; ``also`` holds answers that are as right.
        decoy: the right answer when fault and decoy have changed roles.
        needs: the package that it needs beyond the standard library, or ``nothing``.
        varies: the variation that shows the fault, where two equal runs do not; "" otherwise.
        resumes: the fault shows between an uninterrupted run and one that was stopped and resumed.
    """

    name: str
    what: str
    category: str
    also: tuple[str, ...]
    decoy: str
    needs: str
    varies: str
    resumes: bool

    @property
    def folder(self) -> Path:
        return HERE / "programs" / self.name

    @property
    def marked(self) -> str:
        return (self.folder / "program.py").read_text()

    def lines(self, mark: str) -> list[int]:
        """The lines that carry a mark, counted from 1."""
        return [n for n, line in enumerate(self.marked.splitlines(), 1) if line.endswith(f"  # {mark}")]

    def source(self, *, swapped: bool = False) -> str:
        """What runs: no marks, the same line numbers; swapped, the two marked lines exchange their targets."""
        lines = self.marked.splitlines()
        if swapped:
            fault, decoy = self.lines("FAULT")[0] - 1, self.lines("DECOY")[0] - 1
            (a, name, call), (b, other, decoy_call) = (_parts(lines[n]) for n in (fault, decoy))
            lines[fault], lines[decoy] = a + other + call, b + name + decoy_call
        return _MARK.sub("", "\n".join(lines) + "\n")

    def right_categories(self, *, swapped: bool = False) -> set[str]:
        return {self.decoy} if swapped else {self.category, *self.also}

    def right_lines(self, *, swapped: bool = False) -> list[int]:
        return self.lines("DECOY") if swapped else self.lines("FAULT") + self.lines("ALSO")

    def shows_by(self, *, swapped: bool = False) -> str:
        """How two runs come to differ: ``repeat``, ``vary`` or ``resume``."""
        if swapped or not (self.varies or self.resumes):
            return "repeat"
        return "vary" if self.varies else "resume"


def _parts(line: str) -> tuple[str, str, str]:
    found = _ASSIGNMENT.match(line)
    assert found, f"a marked line must be one assignment to a name: {line}"
    return found[1], found[2], found[3]


def _planted(
    name: str,
    *,
    what: str,
    category: str,
    also: tuple[str, ...] = (),
    decoy: str,
    needs: str,
    varies: str = "",
    resumes: bool = False,
) -> Planted:
    return Planted(
        name=name,
        what=what,
        category=category,
        also=also,
        decoy=decoy,
        needs=needs,
        varies=varies,
        resumes=resumes,
    )


PLANTED = (
    _planted(
        "python_random",
        what="random.randrange, never seeded",
        category="unseeded_rng",
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "numpy_global",
        what="numpy's global generator, never seeded",
        category="unseeded_rng",
        decoy="hash_order",
        needs="numpy",
    ),
    _planted(
        "numpy_default_rng",
        what="default_rng() without a seed",
        category="unseeded_rng",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "numpy_random_state",
        what="RandomState() without a seed",
        category="unseeded_rng",
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "torch_default",
        what="torch's default generator, never seeded",
        category="unseeded_rng",
        decoy="process_identity",
        needs="torch",
    ),
    _planted(
        "torch_generator_seed",
        what="Generator.seed(), which draws a seed of its own",
        category="unseeded_rng",
        decoy="process_identity",
        needs="torch",
    ),
    _planted(
        "torch_dataloader",
        what="DataLoader(shuffle=True) without a generator",
        category="unseeded_rng",
        decoy="hash_order",
        needs="torch",
    ),
    _planted(
        "torch_dropout",
        what="dropout from the default generator",
        category="unseeded_rng",
        decoy="process_identity",
        needs="torch",
    ),
    _planted(
        "torch_seeded_too_late",
        what="manual_seed after the model is made",
        category="unseeded_rng",
        decoy="clock",
        needs="torch",
    ),
    _planted(
        "torch_distribution",
        what="actions sampled from the default generator",
        category="unseeded_rng",
        decoy="clock",
        needs="torch",
    ),
    _planted(
        "gym_reset",
        what="env.reset() without a seed",
        category="unseeded_rng",
        also=("simulator",),
        decoy="process_identity",
        needs="gymnasium",
    ),
    _planted(
        "gym_action_sample",
        what="action_space.sample(), never seeded",
        category="unseeded_rng",
        decoy="clock",
        needs="gymnasium",
    ),
    _planted(
        "system_random", what="random.SystemRandom", category="unseeded_rng", decoy="clock", needs="numpy"
    ),
    _planted(
        "os_urandom",
        what="a seed from os.urandom",
        category="unseeded_rng",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "secrets_salt", what="a seed from secrets", category="unseeded_rng", decoy="hash_order", needs="numpy"
    ),
    _planted("uuid4_seed", what="a seed from uuid4", category="unseeded_rng", decoy="clock", needs="numpy"),
    _planted(
        "uuid1_seed",
        what="a seed from uuid1",
        category="clock",
        also=("unseeded_rng",),
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "random_instance",
        what="random.Random() without a seed",
        category="unseeded_rng",
        decoy="clock",
        needs="nothing",
    ),
    _planted(
        "urandom_file",
        what="a seed read from /dev/urandom",
        category="unseeded_rng",
        decoy="hash_order",
        needs="numpy",
    ),
    _planted(
        "numpy_seed_sequence",
        what="SeedSequence() without entropy",
        category="unseeded_rng",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "scipy_global",
        what="scipy drawing from numpy's global generator",
        category="unseeded_rng",
        decoy="clock",
        needs="scipy",
    ),
    _planted(
        "worker_rng",
        what="default_rng() in worker processes",
        category="unseeded_rng",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "tempfile_name",
        what="a temporary folder's name",
        category="unseeded_rng",
        also=("process_identity",),
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "subprocess_shuffle",
        what="an order from coreutils' shuf",
        category="unseeded_rng",
        also=("unknown",),
        decoy="hash_order",
        needs="numpy",
    ),
    _planted(
        "time_seed", what="time.time() as the seed", category="clock", decoy="unseeded_rng", needs="numpy"
    ),
    _planted(
        "perf_counter_budget",
        what="a loop limited by perf_counter",
        category="clock",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "datetime_seed",
        what="datetime.now() as the seed",
        category="clock",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "time_schedule",
        what="a learning rate that follows monotonic()",
        category="clock",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "timer_stop",
        what="a threading.Timer that ends the loop",
        category="clock",
        also=("concurrency",),
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "getpid_seed",
        what="the process id as the seed",
        category="process_identity",
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "id_seed",
        what="id() as a stream's number",
        category="process_identity",
        also=("hash_order",),
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "thread_ident",
        what="a thread's identity as the seed",
        category="process_identity",
        also=("concurrency",),
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "hash_features",
        what="hash() of words as buckets",
        category="hash_order",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "set_iteration",
        what="a list from a set of strings",
        category="hash_order",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "dict_from_set",
        what="a dict numbered from a frozenset",
        category="hash_order",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "float_sum_over_set",
        what="a float sum over a set of tuples",
        category="hash_order",
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "set_next",
        what="the first of a set of strings",
        category="hash_order",
        decoy="unseeded_rng",
        needs="nothing",
    ),
    _planted(
        "object_set",
        what="a list from a set of objects",
        category="hash_order",
        also=("process_identity",),
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "listdir_order", what="os.listdir, unsorted", category="file_order", decoy="hash_order", needs="numpy"
    ),
    _planted(
        "glob_order", what="glob.glob, unsorted", category="file_order", decoy="unseeded_rng", needs="numpy"
    ),
    _planted(
        "scandir_order",
        what="os.scandir, unsorted",
        category="file_order",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "walk_order", what="os.walk, unsorted", category="file_order", decoy="hash_order", needs="numpy"
    ),
    _planted(
        "iterdir_order",
        what="Path.iterdir, unsorted",
        category="file_order",
        decoy="unseeded_rng",
        needs="nothing",
        varies="directory_order",
    ),
    _planted(
        "as_completed",
        what="futures in the order of completion",
        category="concurrency",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "imap_unordered", what="imap_unordered", category="concurrency", decoy="hash_order", needs="numpy"
    ),
    _planted(
        "ray_wait",
        what="ray.wait: results of actors in the order of completion",
        category="concurrency",
        decoy="unseeded_rng",
        needs="ray",
    ),
    _planted(
        "thread_append",
        what="threads that append to one list",
        category="concurrency",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "process_queue",
        what="a queue that processes fill",
        category="concurrency",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "hogwild",
        what="threads that update one array without a lock",
        category="concurrency",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "straggler_drop",
        what="only the futures that are done in time",
        category="concurrency",
        also=("clock",),
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "asyncio_order",
        what="asyncio.as_completed",
        category="concurrency",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "reduction_order",
        what="floats added in the order of callbacks",
        category="concurrency",
        also=("nondeterministic_kernel",),
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "queue_poll",
        what="a queue that is polled",
        category="concurrency",
        also=("clock",),
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "numpy_empty",
        what="np.empty, read before it is written",
        category="uninitialised_memory",
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "numpy_empty_like",
        what="np.empty_like, read before it is written",
        category="uninitialised_memory",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "torch_empty",
        what="torch.empty, read before it is written",
        category="uninitialised_memory",
        decoy="process_identity",
        needs="torch",
    ),
    _planted(
        "run_folder_seed",
        what="the run folder's path as the seed",
        category="environment",
        decoy="clock",
        needs="numpy",
    ),
    _planted(
        "host_name_seed",
        what="the host name",
        category="environment",
        also=("process_identity",),
        decoy="unseeded_rng",
        needs="nothing",
        varies="host_name",
    ),
    _planted(
        "home_variable",
        what="the variable HOME",
        category="environment",
        decoy="clock",
        needs="nothing",
        varies="user_and_home",
    ),
    _planted(
        "time_zone_feature",
        what="local time",
        category="environment",
        also=("clock",),
        decoy="unseeded_rng",
        needs="nothing",
        varies="time_zone",
    ),
    _planted(
        "cpu_count_shards",
        what="the number of processors",
        category="environment",
        also=("nonportable_numerics",),
        decoy="unseeded_rng",
        needs="nothing",
        varies="cpu_count",
    ),
    _planted(
        "pool_size",
        what="a pool's size, which nobody said",
        category="environment",
        decoy="unseeded_rng",
        needs="nothing",
        varies="cpu_count",
    ),
    _planted(
        "temporary_path",
        what="the path of the folder for temporary files",
        category="environment",
        decoy="clock",
        needs="nothing",
        varies="temporary_folder",
    ),
    _planted(
        "two_surroundings",
        what="two variables at once, neither of which does it alone",
        category="environment",
        decoy="unseeded_rng",
        needs="nothing",
        varies="time_zone",
    ),
    _planted(
        "working_folder_seed",
        what="the working folder",
        category="environment",
        decoy="unseeded_rng",
        needs="numpy",
        varies="working_folder",
    ),
    _planted(
        "free_memory_batch",
        what="the memory that is free",
        category="environment",
        also=("unknown",),
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "leftover_beside",
        what="a file beside the program",
        category="leftover_state",
        decoy="process_identity",
        needs="numpy",
    ),
    _planted(
        "leftover_temporary",
        what="a cache in the temporary folder",
        category="leftover_state",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "leftover_other_seed",
        what="a cache that a run with another seed has left",
        category="leftover_state",
        decoy="process_identity",
        needs="numpy",
        varies="leftovers",
    ),
    _planted(
        "leftover_home_log",
        what="a log in the home folder",
        category="leftover_state",
        decoy="clock",
        needs="nothing",
    ),
    _planted(
        "leftover_database",
        what="a database in the working folder",
        category="leftover_state",
        decoy="unseeded_rng",
        needs="numpy",
    ),
    _planted(
        "index_put",
        what="index_put with accumulate in two threads",
        category="nondeterministic_kernel",
        also=("concurrency",),
        decoy="process_identity",
        needs="torch",
    ),
    _planted(
        "put_accumulate",
        what="put_ with accumulate in two threads",
        category="nondeterministic_kernel",
        also=("concurrency",),
        decoy="clock",
        needs="torch",
    ),
    _planted(
        "simulator_noise",
        what="an environment's own noise",
        category="simulator",
        also=("unseeded_rng",),
        decoy="process_identity",
        needs="gymnasium",
    ),
    _planted(
        "simulator_realtime",
        what="an environment in real time",
        category="simulator",
        also=("clock",),
        decoy="unseeded_rng",
        needs="gymnasium",
    ),
    _planted(
        "thread_count_sum",
        what="a sum whose order is the number of threads",
        category="nonportable_numerics",
        also=("environment", "nondeterministic_kernel"),
        decoy="process_identity",
        needs="torch",
        varies="threads",
    ),
    _planted(
        "resume_optimizer",
        what="momentum that is not in the checkpoint",
        category="resume_state",
        decoy="clock",
        needs="numpy",
        resumes=True,
    ),
    _planted(
        "resume_generator",
        what="a generator that is not in the checkpoint",
        category="resume_state",
        decoy="process_identity",
        needs="numpy",
        resumes=True,
    ),
)

CLEAN = (
    Clean(name="entropy_names", what="generators whose names sound like entropy, all seeded", needs="numpy"),
    Clean(name="clock_in_log", what="the clock is only printed", needs="numpy"),
    Clean(name="uuid_run_name", what="a uuid names a folder", needs="numpy"),
    Clean(name="sorted_set", what="a set of strings that is sorted before use", needs="numpy"),
    Clean(name="sorted_listing", what="a folder whose listing is sorted", needs="numpy"),
    Clean(
        name="placed_by_index",
        what="as_completed, with results that are placed by their index",
        needs="numpy",
    ),
    Clean(name="ray_in_order", what="ray.get of all results, in the order of the actors' tasks", needs="ray"),
    Clean(name="empty_then_filled", what="np.empty that is filled before it is read", needs="numpy"),
    Clean(name="stable_hash", what="words hashed with hashlib", needs="numpy"),
    Clean(name="pid_in_log", what="process id, host name and user are only written down", needs="numpy"),
    Clean(name="timing_beside", what="durations in a text file beside the metrics", needs="numpy"),
    Clean(
        name="threads_with_places",
        what="threads with a lock that write to places of their own",
        needs="numpy",
    ),
    Clean(name="token_never_used", what="a secret token that reaches no number", needs="numpy"),
    Clean(
        name="verbosity_variable",
        what="an environment variable that decides how much is printed",
        needs="numpy",
    ),
    Clean(name="torch_seeded", what="torch, a loader and dropout, all seeded", needs="torch"),
    Clean(name="gym_seeded", what="environments and actions that are seeded", needs="gymnasium"),
)
