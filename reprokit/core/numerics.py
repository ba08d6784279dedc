"""The numerics profiles: which variables fix the bits of a training run, and the reason for each.

``portable`` gives equal bits on any x86-64 CPU with AVX2 and FMA (docs/decisions/0003). ``native``
lets every library pick its fastest kernels: equal bits only on the same kind of CPU or accelerator.
The version of a profile goes up whenever a setting that can change numbers is added or changed.

On an NVIDIA GPU a trainer has more of them, in one table beside the profiles (docs/decisions/0082): variables
that are set before the interpreter starts, and flags that the runtime sets when it opens the device. Both are
held against what was there and what torch reports, by ``runtime.settings`` and by ``numerics_in_force``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from reprokit.errors import UsageError

MARK = "REPROKIT_NUMERICS"

#: What a recipe calls NVIDIA GPUs.
CUDA = "cuda"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One environment variable.

    Attributes:
        name: The variable.
        value: What it is set to.
        reason: Which numbers change without it.
        reported_as: Where the environment record says what took effect (``torch.threads``), or ""
            when no library says.
        in_force: What the record must say there; for ``numpy.cpu_features.in_force`` it must hold
            none of these. Empty when no library says.
    """

    name: str
    value: str
    reason: str
    reported_as: str = ""
    in_force: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named set of settings.

    Attributes:
        name: ``portable`` or ``native``.
        version: Goes up whenever the profile can give other numbers.
        settings: In the order in which people see them.
    """

    name: str
    version: int
    settings: tuple[Setting, ...]


_ANY_PROFILE = (
    Setting(
        name="OMP_NUM_THREADS",
        value="1",
        reason="a sum split over other threads is added up in another order",
        reported_as="torch.threads",
        in_force=("1",),
    ),
    Setting(
        name="MKL_NUM_THREADS",
        value="1",
        reason="PyTorch takes its thread count from it before OMP_NUM_THREADS",
        reported_as="torch.threads",
        in_force=("1",),
    ),
    Setting(
        name="OPENBLAS_NUM_THREADS",
        value="1",
        reason="numpy's matrix products are split over threads",
        reported_as="numpy.openblas.threads",
        in_force=("1",),
    ),
    Setting(
        name="OMP_DYNAMIC",
        value="FALSE",
        reason="a library that picks its own thread count picks another one under load",
    ),
    Setting(name="MKL_DYNAMIC", value="FALSE", reason="the same for MKL"),
    Setting(
        name="CUBLAS_WORKSPACE_CONFIG",
        value=":4096:8",
        reason="cuBLAS picks its workspace, and with it the order of sums, anew in every stream",
    ),
    Setting(
        name="PYTHONDONTWRITEBYTECODE",
        value="1",
        reason="changes no number; keeps the sources that a run reads as they are",
    ),
)

_PORTABLE = (
    Setting(
        name="MKL_CBWR",
        value="COMPATIBLE",
        reason="MKL picks matrix products and vector math by CPU; the only branch that AMD has as well",
        reported_as="torch.mkl_cbwr",
        in_force=("COMPATIBLE",),
    ),
    Setting(
        name="ATEN_CPU_CAPABILITY",
        value="avx2",
        reason="PyTorch's own vector kernels for AVX-512 sum in other widths and have another tanh",
        reported_as="torch.cpu_capability",
        in_force=("AVX2",),
    ),
    Setting(
        name="ONEDNN_MAX_CPU_ISA",
        value="AVX2",
        reason="oneDNN generates convolutions for the widest vectors that it finds",
    ),
    Setting(
        name="NPY_DISABLE_CPU_FEATURES",
        value="X86_V4 AVX512_ICL AVX512_SPR",
        reason="numpy's float64 exp and log and float32 tanh have AVX-512 variants (numpy 2.4's names)",
        reported_as="numpy.cpu_features.in_force",
        in_force=("X86_V4", "AVX512_ICL", "AVX512_SPR"),
    ),
    Setting(
        name="OPENBLAS_CORETYPE",
        value="Haswell",
        reason="OpenBLAS, behind numpy's matrix products, has one set of kernels for each kind of core",
        reported_as="numpy.openblas.core",
        in_force=("Haswell",),
    ),
)

PROFILES: tuple[Profile, ...] = (
    Profile(name="portable", version=1, settings=(*_ANY_PROFILE, *_PORTABLE)),
    Profile(name="native", version=1, settings=_ANY_PROFILE),
)


#: Before a trainer on a GPU starts.
CUDA_SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="NVIDIA_TF32_OVERRIDE",
        value="0",
        reason="a library may compute float32 products with 10 bits in place of 23",
    ),
    Setting(
        name="CUDA_DEVICE_ORDER",
        value="PCI_BUS_ID",
        reason="GPUs are numbered by their speed, otherwise than nvidia-smi numbers them",
    ),
    Setting(
        name="NCCL_ALGO",
        value="Ring",
        reason="NCCL picks the order of sums over ranks by size and by the machine's links",
    ),
    Setting(name="NCCL_PROTO", value="Simple", reason="the same for how they are sent"),
)

#: Field of the environment record → what it must say, and which numbers change where it does not.
CUDA_IN_FORCE: Mapping[str, tuple[bool, str]] = MappingProxyType(
    {
        "torch.flags.deterministic_algorithms": (True, "kernels that add atomically may run"),
        "torch.flags.deterministic_warn_only": (False, "kernels that add atomically run, with a warning"),
        "torch.cuda_flags.matmul_allow_tf32": (False, "float32 products have 10 bits in place of 23"),
        "torch.cuda_flags.cudnn_allow_tf32": (False, "convolutions have 10 bits in place of 23"),
        "torch.cuda_flags.cudnn_deterministic": (True, "cuDNN may add up in another order in every run"),
        "torch.cuda_flags.cudnn_benchmark": (False, "cuDNN picks its kernels by how fast they were today"),
    }
)

#: What a record must say of the GPU and of what drives it: all of it can change numbers.
CUDA_FACTS = ("name", "compute_capability", "multiprocessors", "driver", "cuda", "cudnn")


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        UsageError: There is none.
    """
    for known in PROFILES:
        if known.name == name:
            return known
    raise UsageError(f"no numerics profile {name!r}", expected=" or ".join(known.name for known in PROFILES))


def variables(name: str, *, hash_seed: int) -> dict[str, str]:
    """Everything that must be in the environment before the interpreter starts.

    Args:
        name: ``portable`` or ``native``.
        hash_seed: For PYTHONHASHSEED, 0 to 4294967295: the order of sets of strings follows from it.

    Returns:
        Variable → value. ``REPROKIT_NUMERICS`` tells the program which profile was asked for.

    Raises:
        UsageError: No such profile, or a hash seed that Python would refuse.
    """
    if not 0 <= hash_seed < 2**32:
        raise UsageError("Python takes no such hash seed", expected="0 to 4294967295", actual=str(hash_seed))
    settings = profile(name).settings
    return {
        MARK: name,
        "PYTHONHASHSEED": str(hash_seed),
        **{setting.name: setting.value for setting in settings},
    }


def cuda_variables() -> dict[str, str]:
    """What must be in the environment of a trainer on a GPU before it starts, beside the profile's."""
    return {setting.name: setting.value for setting in CUDA_SETTINGS}
