"""Which recorded facts can change numbers, and why: one line a fact, in order of importance.

This module is one table, hence its length: the written-down answer to "what goes into the numerics
fingerprint, and what stays out".

The first rule whose pattern fits a field decides. ``yes`` and ``maybe`` go in, ``no`` stays out. A
fact goes in where the same code with the same seed is known to give other bits when only that fact
changes (``yes``), or where no one can rule that out without running it (``maybe``). It stays out where
it cannot reach a number except through another fact that is in: were such facts in, every regression
would look like a stale golden.
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
    """The rule that decides for a field; for one that no one has thought of, a cautious one."""
    for rule in RULES:
        if fnmatch.fnmatchcase(field, rule.field):
            return rule
    if field.startswith("inside."):
        return Rule(field=field, level="maybe", why="its effect is not documented, and the training saw it")
    return Rule(field=field, level="no", why="not seen by the training")


def _rules(level: str, why: str, *fields: str, when: str = ALWAYS) -> tuple[Rule, ...]:
    return tuple(Rule(field=field, level=level, why=why, when=when) for field in fields)


_yes = functools.partial(_rules, "yes")
_maybe = functools.partial(_rules, "maybe")
_no = functools.partial(_rules, "no")


_INSTALLERS = ("pip", "setuptools", "wheel", "uv", "reprokit")
_NUMERIC_PACKAGES = (
    *("torch", "torch-xla", "libtpu", "triton", "nvidia-cu*", "nvidia-nccl*", "nvidia-nvjitlink*"),
    *("numpy", "scipy", "mkl", "intel-openmp", "jax", "jaxlib", "gymnasium"),
)

RULES: tuple[Rule, ...] = (
    # The platform.
    *_yes("each kind of device computes with its own kernels", "inside.device.kind"),
    *_yes(
        "other architectures have different kernels, and fuse multiply and add in different places",
        "inside.cpu.architecture",
    ),
    *_yes("without AVX2 every library uses different kernels: another platform", "inside.cpu.avx2"),
    # The numerics profile.
    *_yes(
        "a profile decides which kernels may run; what it sets is versioned with it",
        "inside.numerics.profile",
        "inside.numerics.version",
    ),
    *_yes("MKL chooses its matrix-product kernels by it (measured)", "inside.torch.mkl_cbwr"),
    *_yes(
        "PyTorch chooses its vector kernels by it (measured: default and avx2 differ)",
        "inside.torch.cpu_capability",
    ),
    *_yes(
        "a sum split over a different number of threads is added up in a different order (measured)",
        "inside.torch.threads",
        "inside.numpy.openblas.threads",
    ),
    *_yes(
        "numpy chooses its float64 exp and log and float32 tanh by it (measured)",
        "inside.numpy.cpu_features.in_force",
        "inside.numpy.cpu_features.baseline",
    ),
    *_yes("numpy's matrix products differ between core types (measured)", "inside.numpy.openblas.*"),
    *_no(
        "shows how the operation rounds on this CPU; the numbers show whether the training calls it",
        "inside.numerics.probe.*",
    ),
    *_no(
        "what the libraries report is used instead: a setting that had no effect changes nothing",
        "inside.numerics.*",
        "inside.numpy.cpu_features.*",
    ),
    # Builds of the libraries.
    *_yes(
        "a different build is a different set of kernels", "inside.torch.version", "inside.torch.git_version"
    ),
    *_yes(
        "compiled into PyTorch, and computes its matrix products and elementary functions",
        "inside.torch.mkl",
        "inside.torch.onednn",
        "inside.torch.openmp",
    ),
    *_yes("compiler and flags decide rounding and fusing", "inside.torch.compiler", "inside.torch.build.*"),
    *_yes("the library behind numpy's matrix products", "inside.numpy.version", "inside.numpy.blas.*"),
    *_yes(
        "exp, log, sin and tanh of Python and of every package come from it, and change with it",
        "inside.libc.*",
    ),
    # Accelerators.
    *_yes("kernels are chosen by the model of the accelerator", "inside.device.name"),
    *_yes(
        "kernels are chosen by what the GPU can do",
        "inside.device.compute_capability",
        "inside.device.multiprocessors",
        when=CUDA,
    ),
    *_yes("the driver compiles and schedules kernels", "inside.device.driver", when=CUDA),
    *_yes(
        "the libraries that hold the GPU's kernels",
        "inside.device.cuda",
        "inside.device.cudnn",
        "inside.torch.cuda",
        "inside.torch.cudnn",
        when=CUDA,
    ),
    *_yes("chooses between kernels that round differently", "inside.torch.cuda_flags.*", when=CUDA),
    *_yes(
        "cuBLAS repeats only with a fixed workspace; TF32 drops 13 bits",
        "inside.variables.CUBLAS*",
        "inside.variables.NVIDIA_TF32_OVERRIDE",
        "inside.variables.TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        when=CUDA,
    ),
    *_maybe("decides the order in which gradients are added up", "inside.variables.NCCL_*", when=CUDA),
    *_yes(
        "XLA compiles the program, and chooses its precision",
        "inside.device.torch_xla",
        "inside.variables.PJRT_DEVICE",
        "inside.variables.XLA_FLAGS",
        "inside.variables.XLA_USE_BF16",
        when=TPU,
    ),
    *_yes(
        "over more devices or threads a sum is added up in a different order",
        "inside.device.count",
        "inside.variables.NPROC",
        "inside.variables.CPU_NUM_DEVICES",
        when=TPU,
    ),
    *_no("repeats another field, or is capacity, which changes no bit", "inside.device.*"),
    *_no(
        "which devices were visible; the one in use is included by its name",
        "inside.variables.CUDA_VISIBLE_DEVICES",
        "inside.variables.CUDA_LAUNCH_BLOCKING",
        "inside.variables.TPU_ACCELERATOR_TYPE",
    ),
    # Settings of the process.
    *_yes(
        "chooses between kernels, or the precision they compute in",
        "inside.torch.flags.deterministic_algorithms",
        "inside.torch.flags.default_dtype",
        "inside.torch.flags.float32_matmul_precision",
        "inside.torch.flags.mkldnn_*",
        "inside.variables.*_DEFAULT_FPMATH_MODE",
    ),
    *_maybe("chooses between kernels where the model uses them", "inside.torch.flags.*"),
    *_yes("the order of sets of strings follows it", "inside.variables.PYTHONHASHSEED"),
    *_maybe(
        "selects other kernels where the program calls the library that it controls",
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
    *_no(
        "what the library reports is used instead",
        "inside.variables.ATEN_CPU_CAPABILITY",
        "inside.variables.MKL_CBWR",
        "inside.variables.*_NUM_THREADS",
        "inside.variables.NPY_*",
        "inside.variables.OPENBLAS_CORETYPE",
    ),
    *_no(
        "affects dates and the order of sorted text, but no number",
        "inside.variables.TZ",
        "inside.variables.LC_ALL",
    ),
    *_no("belongs to a kind of device that is not in use", "inside.variables.*"),
    # Packages.
    *_no(
        "installs packages, or is this tool: it cannot affect a number",
        *(f"inside.packages.{name}" for name in (*_INSTALLERS, "pkg-resources")),
        *(f"inside.sources.{name}" for name in _INSTALLERS),
    ),
    *_yes("computes", *(f"inside.packages.{name}" for name in _NUMERIC_PACKAGES)),
    *_maybe(
        "environments, random streams and decoders are packages too, and a name does not say which "
        "one is not",
        "inside.packages.*",
    ),
    *_maybe("installed from a source tree: the version alone does not name the code", "inside.sources.*"),
    # Python.
    *_yes("another interpreter hashes and sums in its own way", "inside.python.implementation"),
    *_maybe("the built-in sum() of floats rounds differently since 3.12", "inside.python.minor"),
    *_maybe("a build without the GIL runs threads in another order", "inside.python.free_threaded"),
    *_no(
        "floats are C doubles; bug-fix releases were bit-equal (measured: 3.11.2 and 3.11.7)",
        "inside.python.*",
    ),
    # The machine.
    *_yes(
        "libraries pick kernels and block sizes by the model of the CPU",
        "host.cpu.model",
        "host.cpu.vendor",
        "host.cpu.features",
        "inside.cpu.avx512f",
        when=NATIVE,
    ),
    *_no(
        "the architecture and the instruction sets that count are included separately",
        "inside.cpu.*",
        "host.cpu.*",
    ),
    *_no("the number of threads is included, as the libraries report it", "inside.torch.interop_threads"),
    *_no("takes no part in the arithmetic of the training", "host.kernel", "host.memory.*", "host.disk.*"),
    *_no("the training never saw it: what it saw is recorded inside", "host.*"),
    *_no("a name; the C library is included separately", "inside.os.*"),
    # What only describes the record.
    *_no("the recipe's own code is judged by its digests, apart from the machine", "source.*"),
    *_no("packages and C library are included separately: two images may hold the same", "image.*"),
    *_no("limits end a run or slow it down; they round nothing", "limits.*"),
    *_no("says how the record is read", "schema", "inside.schema", "missing.*"),
)
