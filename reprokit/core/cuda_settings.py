"""What fixes the bits of a trainer on an NVIDIA GPU, beside the numerics profile: the one table of it.

Variables are set before the interpreter starts; flags are set by the runtime when it opens the device. Both
are held against what was there and what torch reports: ``runtime.settings`` while it trains, the row
``numerics_in_force`` once more from the records.

    >>> variables()["NVIDIA_TF32_OVERRIDE"]
    '0'
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reprokit.core.numerics import Setting

#: What a recipe calls this kind of device.
CUDA = "cuda"

SETTINGS: tuple[Setting, ...] = (
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
IN_FORCE: Mapping[str, tuple[bool, str]] = MappingProxyType(
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
DEVICE_FACTS = ("name", "compute_capability", "multiprocessors", "driver", "cuda", "cudnn")


def variables() -> dict[str, str]:
    """Everything that must be in the environment of a trainer before it starts, beside the profile's."""
    return {setting.name: setting.value for setting in SETTINGS}
