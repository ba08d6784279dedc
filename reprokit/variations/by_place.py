"""Variations that depend on where a run is made: the change, or why it cannot be made there."""

from __future__ import annotations

import platform
import time
from pathlib import Path

from reprokit.core.numerics import MARK
from reprokit.variations.variation import RunPlace, Variation, VariationNotMade

#: personality(2), ADDR_NO_RANDOMIZE, has no effect where this is off.
_RANDOMISES = Path("/proc/sys/kernel/randomize_va_space")
_HASH_SEED = "PYTHONHASHSEED"
_EMULATED = "Haswell"  # no AVX-512
_FILL = 165  # byte that the C library's allocator fills memory with
_HOUR_S = 3600
#: Name → seconds ahead of UTC, in summer and in winter.
_ZONES = {"Pacific/Kiritimati": 14 * _HOUR_S, "Etc/GMT+12": -12 * _HOUR_S}
_COMPILE_OFF = "TORCHDYNAMO_DISABLE"
_NUM_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def hash_seed(there: RunPlace) -> Variation | VariationNotMade:
    """Another seed, where one is fixed; where none is, every run has another already."""
    fixed = there.environment.get(_HASH_SEED, "")
    if fixed in {"", "random"}:
        return VariationNotMade(why="every run has a different one already", held=True)
    return Variation(
        category="hash_order",
        fix="sort what comes out of sets",
        environment={_HASH_SEED: "20263" if fixed != "20263" else "20264"},
    )


def time_zone(there: RunPlace) -> Variation:
    """Another than here; a system without the zone's file would take its name for UTC."""
    own = there.environment.get("TZ")
    at_home = _ZONES.get(own) if own else time.localtime().tm_gmtoff
    name, ahead_s = next((name, ahead_s) for name, ahead_s in _ZONES.items() if ahead_s != at_home)
    return Variation(
        category="environment",
        fix="name the time zone: datetime.fromtimestamp(…, tz=UTC)",
        environment={"TZ": name},
        shows={"utc_offset_s": (ahead_s,)},
    )


def user_and_home(there: RunPlace) -> Variation:
    """Another home folder, and another user's name in the variables."""
    home = f"{there.folder}/h"
    return Variation(
        category="environment",
        fix="make it a setting",
        environment={"HOME": home, "USER": "somebody", "LOGNAME": "somebody"},
        start=("--folder", home),
    )


def temporary_folder(there: RunPlace) -> Variation:
    """Temporary files elsewhere."""
    folder = f"{there.folder}/t"  # a path that has room for a socket's name
    return Variation(
        category="environment",
        fix="do not let a number depend on it",
        environment={"TMPDIR": folder},
        start=("--folder", folder),
    )


def run_folder(there: RunPlace) -> Variation | VariationNotMade:
    """Another path, hardly longer: a socket's path has a limit."""
    if there.container:
        why = "a run in a container has its folder at one path, whatever the host calls it"
        return VariationNotMade(why=why, held=True)
    return Variation(
        category="environment",
        fix="do not let a number depend on the path",
        run_folder="x",
        differs=("output",),
    )


def threads(there: RunPlace) -> Variation:
    """One thread, or two where there was one; seldom where a numerics profile fixes their number."""
    one_core = len(there.pinned or there.cores) == 1
    had_one = there.environment.get("OMP_NUM_THREADS", "1" if one_core else "") == "1"
    more_cores = had_one and one_core and len(there.cores) > 1  # a library takes no more threads than cores
    says = "the number of threads of the numeric libraries (2, on all cores, where the runs have one each)"
    return Variation(
        category="nonportable_numerics",
        fix="fix the number of threads: torch.set_num_threads(1), OMP_NUM_THREADS=1",
        environment=dict.fromkeys(_NUM_THREADS, "2" if had_one else "1"),
        says=says if more_cores else "",
        all_cores=more_cores,
        seldom="the numerics profile fixes it" if there.environment.get(MARK) else "",
    )


def memory_pattern(there: RunPlace) -> Variation | VariationNotMade:
    """Only glibc's allocator fills memory on request: mallopt(3), M_PERTURB; Memory Allocation Tunables."""
    library = platform.libc_ver()[0]
    if library != "glibc" and not there.container:
        why = f"the C library is {library or 'not known'}, and only glibc's allocator fills memory on request"
        return VariationNotMade(why=why)
    tunables = there.environment.get("GLIBC_TUNABLES", "")
    own = f"glibc.malloc.perturb={_FILL}"
    return Variation(
        category="uninitialised_memory",
        fix="use zeros, or write memory before it is read",
        environment={
            "MALLOC_PERTURB_": str(_FILL),
            "GLIBC_TUNABLES": f"{tunables}:{own}" if tunables else own,
        },
        shows={"fresh_memory": (_FILL ^ 0xFF,)},
    )


def address_layout(there: RunPlace) -> Variation | VariationNotMade:
    """Every library at the same address in each run, as ``setarch -R`` does."""
    if there.container:
        why = "the engine's seccomp filter forbids it in a container (with --backend local it is varied)"
        return VariationNotMade(why=why)
    try:
        randomised = _RANDOMISES.read_text(encoding="ascii").strip() != "0"
    except OSError:
        return VariationNotMade(why="this system does not say whether it randomises addresses")
    if not randomised:
        return VariationNotMade(why="address randomisation is off in this kernel")
    return Variation(
        category="process_identity",
        fix="do not let a number depend on addresses",
        start=("--fixed-addresses",),
        shows={"fixed_addresses": (True,)},
    )


def network(there: RunPlace) -> Variation | VariationNotMade:
    """None; a run in a container never has one."""
    if there.container:
        return VariationNotMade(why="no run in a container has a network, so no number needs one", held=True)
    if not there.network:
        return VariationNotMade(why="only root may create a network namespace on this system")
    return Variation(
        category="environment",
        fix="fetch data before the run, and name its digest",
        start=("--no-network",),
        differs=("interfaces",),
    )


def cpu_affinity(there: RunPlace) -> Variation | VariationNotMade:
    """The last of the cores alone; all of them where the runs have one each: another number in any case.

    Where four are usual, two: ``cpu_count`` adds three when both are varied, and one and three are four.
    """
    if len(there.cores) < 2:
        why = f"there {'is one core' if there.cores else 'are no cores that could be chosen'} here"
        return VariationNotMade(why=why)
    usual = len(there.pinned or there.cores)
    cores = there.cores if usual == 1 else there.cores[-2:] if usual == 4 else there.cores[-1:]
    return Variation(
        category="concurrency",
        fix="take no number of workers or threads from the cores",
        start=() if cores == there.cores else ("--cores", ",".join(map(str, cores))),
        shows={"cores": (list(cores),)},
    )


def load(there: RunPlace) -> Variation | VariationNotMade:
    """Another program is busy on one of the cores all the while."""
    if len(there.cores) < 2:
        return VariationNotMade(why="there is no other core here that could be kept busy")
    return Variation(
        category="concurrency",
        fix="do not let a number depend on who is first",
        start=("--load", str(there.cores[0])),
    )


def leftovers(there: RunPlace) -> Variation | VariationNotMade:
    """The run begins when one with another seed has ended, and nothing is removed between them."""
    if there.container:
        return VariationNotMade(
            why="what a run in a container leaves outside its folder is removed with it", held=True
        )
    return Variation(category="leftover_state", fix="write into the run's own folder")


def cpu_model(there: RunPlace) -> Variation | VariationNotMade:
    """It takes the emulator, and a run that computes on the CPU."""
    if there.device != "cpu":
        return VariationNotMade(why=f"the run computes on {there.device}, and only CPUs can be emulated")
    if not there.emulator:
        return VariationNotMade(why=there.no_emulator or "there is no emulator")
    return Variation(
        says=f"the CPU model ({_EMULATED}, emulated)",
        category="nonportable_numerics",
        fix="numerics: portable, which is bit-equal on every CPU with AVX2",
        seldom="it takes many times as long",
        cpu=_EMULATED,
        differs=("cpu",),
    )


def gpu_index(there: RunPlace) -> Variation | VariationNotMade:
    """It takes two GPUs, and a run that uses one."""
    if there.num_gpus < 2:
        return VariationNotMade(why="there is one GPU here" if there.num_gpus else "there is no GPU here")
    others = [number for number in reversed(range(there.num_gpus)) if number != there.gpu]
    return Variation(
        category="nonportable_numerics",
        fix="compute on GPUs of one kind",
        environment={
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # or CUDA numbers them by their speed
            "CUDA_VISIBLE_DEVICES": ",".join(map(str, [*others, there.gpu])),
        },
    )


def compile_autotune(there: RunPlace) -> Variation:
    """Seldom on a CPU, where few kernels are chosen so. Source: torch/_inductor/config.py."""
    return Variation(
        category="nonportable_numerics",
        fix='compile without mode="max-autotune", and keep TORCHINDUCTOR_MAX_AUTOTUNE unset',
        environment={"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"},
        seldom="" if there.device == "cuda" else "only torch.compile chooses kernels by their times",
    )


def compiler(there: RunPlace) -> Variation:
    """Without ``torch.compile``, or with it where it is switched off. Source: torch/_dynamo/config.py."""
    off = "0" if there.environment.get(_COMPILE_OFF) == "1" else "1"
    return Variation(
        category="environment",
        fix="compile in every run or in none, and draw nothing inside what is compiled",
        environment={_COMPILE_OFF: off},
        seldom="compiled code rounds otherwise, and diagnose tries it by itself where PyTorch runs",
    )
