"""Which recorded facts can change numbers, and why: one line a fact, in order of importance.

This module is one table, hence its length: the written-down answer to "what goes into the numerics
fingerprint, and what stays out". It knows fields of the environment record; it refuses to know
their values.

The first rule whose pattern fits a field decides. ``yes`` and ``maybe`` go in, ``no`` stays out. A
fact goes in where the same code with the same seed is known to give other bits when only that fact
changes (``yes``), or where nobody can rule that out without running it (``maybe``). It stays out where
it cannot reach a number except through another fact that is in: were such facts in, every regression
would look like a stale golden.

    >>> rule_for("host.kernel").level
    'no'
"""

from __future__ import annotations

import fnmatch
import functools
from dataclasses import dataclass

#: When a rule applies: everywhere, or only for what the run trained on.
ALWAYS, NATIVE, CUDA, TPU = "always", "native", "cuda", "tpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one field, or one family of fields, means for the numbers.

    Attributes:
        field: Dotted path in the environment record; ``*`` stands for any run of characters.
        level: ``yes``, ``maybe`` or ``no``.
        why: One clause, the reason.
        when: ``always``; ``native`` (any profile but ``portable``); ``cuda``; ``tpu``. Elsewhere the
            fact stays out.
    """

    field: str
    level: str
    why: str
    when: str = ALWAYS


@functools.lru_cache(maxsize=4096)  # a judgement asks for some 300 fields, again and again
def rule_for(field: str) -> Rule:
    """The rule that decides for a field; for one that nobody has thought of, a cautious one."""
    for rule in RULES:
        if fnmatch.fnmatchcase(field, rule.field):
            return rule
    if field.startswith("inside."):
        return Rule(
            field=field, level="maybe", why="nobody has written down what this does, and the training saw it"
        )
    return Rule(field=field, level="no", why="not seen by the training")


def _rules(level: str, why: str, *fields: str, when: str = ALWAYS) -> tuple[Rule, ...]:
    return tuple(Rule(field=field, level=level, why=why, when=when) for field in fields)


_PLATFORM = (
    *_rules("yes", "each kind of device computes with its own kernels", "inside.device.kind"),
    *_rules(
        "yes",
        "other architectures have other kernels, and fuse multiply and add at other places",
        "inside.cpu.architecture",
    ),
    *_rules("yes", "without AVX2 every library takes other kernels: another platform", "inside.cpu.avx2"),
)

_PROFILE = (
    *_rules(
        "yes",
        "a profile decides which kernels may run; what it sets is versioned with it",
        "inside.numerics.profile",
        "inside.numerics.version",
    ),
    *_rules("yes", "MKL takes its matrix-product kernels by it (measured)", "inside.torch.mkl_cbwr"),
    *_rules(
        "yes",
        "PyTorch takes its vector kernels by it (measured: default and avx2 differ)",
        "inside.torch.cpu_capability",
    ),
    *_rules(
        "yes",
        "a sum split over other threads is added up in another order (measured)",
        "inside.torch.threads",
        "inside.numpy.openblas.threads",
    ),
    *_rules(
        "yes",
        "numpy takes its float64 exp and log and float32 tanh by it (measured)",
        "inside.numpy.cpu_features.in_force",
        "inside.numpy.cpu_features.baseline",
    ),
    *_rules("yes", "numpy's matrix products differ between core types (measured)", "inside.numpy.openblas.*"),
    *_rules(
        "no",
        "shows how the operation rounds on this CPU; whether the training calls it, the numbers tell",
        "inside.numerics.probe.*",
    ),
    *_rules(
        "no",
        "what the libraries report goes in instead: a wish that had no effect changes nothing",
        "inside.numerics.*",
        "inside.numpy.cpu_features.*",
    ),
)

_BUILDS = (
    *_rules(
        "yes", "another build is another set of kernels", "inside.torch.version", "inside.torch.git_version"
    ),
    *_rules(
        "yes",
        "compiled into PyTorch, and computes its matrix products and elementary functions",
        "inside.torch.mkl",
        "inside.torch.onednn",
        "inside.torch.openmp",
    ),
    *_rules(
        "yes",
        "compiler and flags decide rounding and fusing",
        "inside.torch.compiler",
        "inside.torch.build.*",
    ),
    *_rules(
        "yes", "the library behind numpy's matrix products", "inside.numpy.version", "inside.numpy.blas.*"
    ),
    *_rules(
        "yes",
        "exp, log, sin and tanh of Python and of every package come from it, and change with it",
        "inside.libc.*",
    ),
)

_ACCELERATORS = (
    *_rules("yes", "kernels are chosen by the model of the accelerator", "inside.device.name"),
    *_rules(
        "yes",
        "kernels are chosen by what the GPU can do",
        "inside.device.compute_capability",
        "inside.device.multiprocessors",
        when=CUDA,
    ),
    *_rules("yes", "the driver compiles and schedules kernels", "inside.device.driver", when=CUDA),
    *_rules(
        "yes",
        "the libraries that hold the GPU's kernels",
        "inside.device.cuda",
        "inside.device.cudnn",
        "inside.torch.cuda",
        "inside.torch.cudnn",
        when=CUDA,
    ),
    *_rules("yes", "chooses between kernels that round differently", "inside.torch.cuda_flags.*", when=CUDA),
    *_rules(
        "yes",
        "cuBLAS repeats only with a fixed workspace; TF32 drops 13 bits",
        "inside.variables.CUBLAS*",
        "inside.variables.NVIDIA_TF32_OVERRIDE",
        "inside.variables.TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        when=CUDA,
    ),
    *_rules(
        "maybe", "decides the order in which gradients are added up", "inside.variables.NCCL_*", when=CUDA
    ),
    *_rules(
        "yes",
        "XLA compiles the program, and chooses its precision",
        "inside.device.torch_xla",
        "inside.variables.PJRT_DEVICE",
        "inside.variables.XLA_USE_BF16",
        when=TPU,
    ),
    *_rules(
        "yes",
        "over more devices a sum is added up in another order",
        "inside.device.count",
        "inside.variables.CPU_NUM_DEVICES",
        when=TPU,
    ),
    *_rules("no", "repeats another field, or is capacity, which changes no bit", "inside.device.*"),
    *_rules(
        "no",
        "which devices were visible; the one in use goes in by its name",
        "inside.variables.CUDA_VISIBLE_DEVICES",
        "inside.variables.CUDA_LAUNCH_BLOCKING",
        "inside.variables.TPU_ACCELERATOR_TYPE",
    ),
)

_SETTINGS = (
    *_rules(
        "yes",
        "chooses between kernels, or the precision they compute in",
        "inside.torch.flags.deterministic_algorithms",
        "inside.torch.flags.default_dtype",
        "inside.torch.flags.float32_matmul_precision",
        "inside.torch.flags.mkldnn_*",
        "inside.variables.*_DEFAULT_FPMATH_MODE",
    ),
    *_rules("maybe", "chooses between kernels where the model uses them", "inside.torch.flags.*"),
    *_rules("yes", "the order of sets of strings follows it", "inside.variables.PYTHONHASHSEED"),
    *_rules(
        "maybe",
        "takes other kernels where the program calls the library it steers",
        "inside.variables.*_MAX_CPU_ISA",
        "inside.variables.GLIBC_TUNABLES",
        "inside.variables.MKL_DEBUG_CPU_TYPE",
        "inside.variables.MKL_ENABLE_INSTRUCTIONS",
        "inside.variables.MKL_DYNAMIC",
        "inside.variables.OMP_DYNAMIC",
        "inside.variables.KMP_DETERMINISTIC_REDUCTION",
        "inside.variables.BLIS_NUM_THREADS",
        "inside.variables.NUMEXPR_NUM_THREADS",
        "inside.variables.VECLIB_MAXIMUM_THREADS",
    ),
    *_rules(
        "no",
        "what the library reports goes in instead",
        "inside.variables.ATEN_CPU_CAPABILITY",
        "inside.variables.MKL_CBWR",
        "inside.variables.*_NUM_THREADS",
        "inside.variables.NPY_*",
        "inside.variables.OPENBLAS_CORETYPE",
    ),
    *_rules(
        "no",
        "dates and the order of sorted text, no number",
        "inside.variables.TZ",
        "inside.variables.LC_ALL",
    ),
    *_rules("no", "belongs to another kind of device than the one in use", "inside.variables.*"),
)

_PACKAGES = (
    *_rules(
        "no",
        "installs packages, or is this tool: on no path from a seed to a number",
        *(
            f"inside.packages.{name}"
            for name in ("pip", "setuptools", "wheel", "uv", "reprokit", "pkg-resources")
        ),
        *(f"inside.sources.{name}" for name in ("pip", "setuptools", "wheel", "uv", "reprokit")),
    ),
    *_rules(
        "yes",
        "computes",
        *(
            f"inside.packages.{name}"
            for name in (
                "torch",
                "torch-xla",
                "libtpu",
                "triton",
                "nvidia-cu*",
                "nvidia-nccl*",
                "nvidia-nvjitlink*",
                "numpy",
                "scipy",
                "mkl",
                "intel-openmp",
                "jax",
                "jaxlib",
                "gymnasium",
            )
        ),
    ),
    *_rules(
        "maybe",
        "environments, random streams and decoders are packages too, and no name says which is not",
        "inside.packages.*",
    ),
    *_rules(
        "maybe", "installed from a source tree: the version alone does not name the code", "inside.sources.*"
    ),
)

_PYTHON = (
    *_rules("yes", "another interpreter hashes and sums in its own way", "inside.python.implementation"),
    *_rules("maybe", "the built-in sum() of floats rounds differently since 3.12", "inside.python.minor"),
    *_rules(
        "no",
        "floats are C doubles; bug-fix releases were bit-equal (measured: 3.11.2 and 3.11.7)",
        "inside.python.*",
    ),
)

_MACHINE = (
    *_rules(
        "yes",
        "libraries pick kernels and block sizes by the model of the CPU",
        "host.cpu.model",
        "host.cpu.vendor",
        "host.cpu.features",
        "inside.cpu.avx512f",
        when=NATIVE,
    ),
    *_rules(
        "no",
        "the architecture and instruction sets that count go in by themselves",
        "inside.cpu.*",
        "host.cpu.*",
    ),
    *_rules(
        "no", "the number of threads goes in, as the libraries report it", "inside.torch.interop_threads"
    ),
    *_rules(
        "no",
        "no floating-point code: it schedules and allocates",
        "host.kernel",
        "host.memory.*",
        "host.disk.*",
    ),
    *_rules("no", "the training never saw it: what it saw is recorded inside", "host.*"),
    *_rules("no", "a name; the C library goes in by itself", "inside.os.*"),
)

_REST = (
    *_rules(
        "no",
        "the recipe's own code is judged by its digests, apart from the machine",
        "source.*",
    ),
    *_rules("no", "packages and C library go in by themselves: two images may hold the same", "image.*"),
    *_rules("no", "limits end a run or slow it down; they round nothing", "limits.*"),
    *_rules("no", "says how the record is read", "schema", "inside.schema", "missing.*"),
)

RULES: tuple[Rule, ...] = (
    *_PLATFORM,
    *_PROFILE,
    *_BUILDS,
    *_ACCELERATORS,
    *_SETTINGS,
    *_PACKAGES,
    *_PYTHON,
    *_MACHINE,
    *_REST,
)
