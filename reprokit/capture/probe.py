"""What the environment that trains says of itself: packages, libraries, settings in force.

It runs next to the training code, in any Python from 3.8 on, so it is one file and needs nothing but the
standard library (and is longer than other modules for that). What cannot be read is named in ``missing`` with
the reason. It starts no process, touches no network, and reads no variable that is not on its list, so no
secret can get in.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import platform
import re
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # names for annotations, which Python 3.8 need not evaluate
    from collections.abc import Callable, Sequence
    from types import ModuleType

    Facts = dict[str, Any]
    Missing = dict[str, str]

SCHEMA = 1

#: The only environment variables that are ever read. None of them can hold a secret; each can steer
#: how numbers are computed, or on what.
VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "BLIS_NUM_THREADS",
    "CPU_NUM_DEVICES",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "GLIBC_TUNABLES",
    "KMP_DETERMINISTIC_REDUCTION",
    "LC_ALL",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NPROC",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "NUMEXPR_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_DYNAMIC",
    "OMP_NUM_THREADS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "PJRT_DEVICE",
    "PYTHONHASHSEED",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TPU_ACCELERATOR_TYPE",
    "TZ",
    "VECLIB_MAXIMUM_THREADS",
    "XLA_FLAGS",
    "XLA_USE_BF16",
)

# What a library of someone else's may raise when a setting does not exist in its version, on this
# machine, or (torch 2.9 on) when old and new names of one setting were mixed.
_UNREADABLE = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)

# Values of mkl_cbwr_get, from mkl_types.h.
_CBWR_BRANCHES = {
    1: "OFF",
    2: "AUTO",
    3: "COMPATIBLE",
    4: "SSE2",
    6: "SSSE3",
    7: "SSE4_1",
    8: "SSE4_2",
    9: "AVX",
    10: "AVX2",
    11: "AVX512_MIC",
    12: "AVX512",
    13: "AVX512_MIC_E1",
    14: "AVX512_E1",
}
_CBWR_ALL, _CBWR_BRANCH_MASK, _CBWR_STRICT = -1, 0xFFFF, 0x10000

_ARCHITECTURES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}

_TORCH_SETTINGS = {
    "deterministic_algorithms": "are_deterministic_algorithms_enabled",
    "deterministic_warn_only": "is_deterministic_algorithms_warn_only_enabled",
    "deterministic_fill_uninitialized_memory": "utils.deterministic.fill_uninitialized_memory",
    "default_dtype": "get_default_dtype",
    "float32_matmul_precision": "get_float32_matmul_precision",
    "mkldnn_enabled": "backends.mkldnn.enabled",
    "mkldnn_deterministic": "backends.mkldnn.deterministic",
    "sdp_flash": "backends.cuda.flash_sdp_enabled",
    "sdp_math": "backends.cuda.math_sdp_enabled",
    "sdp_mem_efficient": "backends.cuda.mem_efficient_sdp_enabled",
}
_CUDA_SETTINGS = {
    "cudnn_enabled": "backends.cudnn.enabled",
    "cudnn_deterministic": "backends.cudnn.deterministic",
    "cudnn_benchmark": "backends.cudnn.benchmark",
    "cudnn_allow_tf32": "backends.cudnn.allow_tf32",
    "matmul_allow_tf32": "backends.cuda.matmul.allow_tf32",
    "matmul_fp32_precision": "backends.cuda.matmul.fp32_precision",
    "matmul_allow_fp16_reduction": "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "matmul_allow_bf16_reduction": "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
}


def collect(*, with_torch: bool, device: str | None = None) -> Facts:
    """Everything this Python can say about what it computes with, once seeds, threads and settings are set.

    Without ``with_torch`` it says only what is installed; ``device`` None: what is in use now.

    Returns:
        The section ``inside`` of environment.json: plain JSON types only.
    """
    missing: Missing = {}
    packages, sources = _packages(sys.path, missing)
    facts: Facts = {
        "schema": SCHEMA,
        "python": _python(),
        "os": _os(missing),
        "libc": libc(missing),
        "packages": packages,
        "sources": sources,
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = _library("torch", with_torch, missing)
        numpy = _library("numpy", with_torch, missing)
        facts["cpu"] = _cpu(torch, numpy, missing)
        if numpy is not None:
            facts["numpy"] = _numpy(numpy, missing)
        if torch is not None:
            facts["torch"] = _torch(torch, missing)
        facts["device"] = _device(torch, device, missing)
    facts["missing"] = missing
    return facts


def loaded() -> Facts:
    """What the libraries that this process has loaded say, and the variables that it was started with.

    For the watch of a judged run, at the end of a program: nothing is imported for it.
    """
    missing: Missing = {}
    facts: Facts = {"python": _python(), "variables": _variables_at_start()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if (numpy := sys.modules.get("numpy")) is not None:
            facts["numpy"] = _numpy(numpy, missing)
        if (torch := sys.modules.get("torch")) is not None:
            facts["torch"] = _torch(torch, missing)
    return facts


def _variables_at_start() -> dict[str, str]:
    """Those of ``VARIABLES`` as the kernel keeps them: the program may have set others since."""
    try:
        block = Path("/proc/self/environ").read_bytes()
    except OSError:
        return {name: os.environ[name] for name in VARIABLES if name in os.environ}
    pairs = (os.fsdecode(entry).partition("=") for entry in block.split(b"\0") if entry)
    return {name: value for name, _, value in pairs if name in VARIABLES}


def _python() -> Facts:
    # Said only of a build without the GIL, so that the records of all others are what they were.
    build = {"free_threaded": True} if sysconfig.get_config_var("Py_GIL_DISABLED") else {}
    return {
        **build,
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "minor": f"{sys.version_info.major}.{sys.version_info.minor}",
        "compiler": platform.python_compiler(),
        "virtual_environment": sys.prefix != sys.base_prefix,
        "hash_randomization": bool(sys.flags.hash_randomization),
        "optimize": sys.flags.optimize,
        "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
    }


def _os(missing: Missing) -> Facts:
    facts: Facts = {"system": platform.system()}
    try:
        release = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        missing["os.name"] = f"no /etc/os-release ({error.strerror})"
        return facts
    found = dict(re.findall(r'^(ID|VERSION_ID|PRETTY_NAME)="?([^"\n]*)"?$', release, flags=re.MULTILINE))
    facts["name"] = found.get("PRETTY_NAME") or found.get("ID", "")
    return facts


def libc(missing: Missing) -> Facts:
    """Name and version of the C library; a reason in ``missing`` where it has none."""
    # confstr asks the C library that is loaded; platform.libc_ver guesses from the executable's bytes.
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        name, version = "", ""
    if not version:
        missing["libc.version"] = "the C library is not glibc, which alone reports its version"
        return {"name": name or "not glibc"}
    return {"name": name, "version": version}


def _packages(folders: Sequence[str], missing: Missing) -> tuple[dict[str, str], dict[str, str]]:
    """Name → version as an import would find them, and name → origin for those not from an index.

    importlib.metadata parses every METADATA file as an e-mail (150 ms for 84 packages); the two
    lines that count stand at its top. What a package brings as its own copy is a part of it: setuptools puts
    its folder ``_vendor`` on the path when it is imported, as ``torch.compile`` does.
    """
    packages: dict[str, str] = {}
    sources: dict[str, str] = {}
    brought = {folder for folder in folders if _is_brought(Path(folder), folders)}
    for folder in (one for one in folders if one not in brought):
        here: dict[str, str] = {}
        for path in _metadata_folders(Path(folder)):
            name, version = _name_and_version(path)
            if not name:
                missing["packages." + path.stem] = "its metadata names no package and version"
            elif here.get(name, version) != version:
                missing["packages." + name] = f"two versions in one folder: {here[name]} and {version}"
            elif name not in packages:
                here[name] = version
                origin = _origin(path)
                if origin:
                    sources[name] = origin
        for name, version in here.items():
            packages.setdefault(name, version)
    return dict(sorted(packages.items())), dict(sorted(sources.items()))


def _is_brought(folder: Path, folders: Sequence[str]) -> bool:
    return folder.name == "_vendor" and str(folder.parent.parent) in folders


def _metadata_folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in (".dist-info", ".egg-info"))
    except OSError:
        return []  # a zip file, or a folder that is not there


def _name_and_version(path: Path) -> tuple[str, str]:
    for candidate in (path / "METADATA", path / "PKG-INFO", path):
        found: dict[str, str] = {}
        with contextlib.suppress(OSError), candidate.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, colon, value = line.partition(":")
                if not colon or len(found) == 2:
                    break
                if key in ("Name", "Version"):
                    found[key] = value.strip()
        if len(found) == 2:
            return re.sub(r"[-_.]+", "-", found["Name"]).lower(), found["Version"]
    return "", ""


def _origin(path: Path) -> str:
    """Where a package that came from no index came from, without the address (it may hold a token)."""
    try:
        record = json.loads((path / "direct_url.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    if "vcs_info" in record:
        return f"{record['vcs_info'].get('vcs')} {record['vcs_info'].get('commit_id')}"
    if "dir_info" in record:
        return "folder, editable" if record["dir_info"].get("editable") else "folder"
    hashes = sorted(record.get("archive_info", {}).get("hashes", {}).items())
    return " ".join(["archive", *(f"{name}:{value}" for name, value in hashes)])


def _library(name: str, wanted: bool, missing: Missing) -> ModuleType | None:
    if not wanted:
        missing[name] = "not asked: the record was taken beside the program, not inside it"
        return None
    try:
        return __import__(name)
    except ImportError as error:
        missing[name] = f"cannot be imported: {error}"
        return None


def _read(missing: Missing, field: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except _UNREADABLE as error:
        reason = str(error).split("\n")[0][:160] or type(error).__name__
        missing[field] = f"cannot be read here: {reason}"
        return None


def _settings(root: Any, names: dict[str, str], missing: Missing, *, field: str) -> Facts:
    facts: Facts = {}
    for name, dotted in names.items():
        value = _read(missing, f"{field}.{name}", functools.partial(_setting, root, dotted))
        if value is not None:
            facts[name] = value
    return facts


def _setting(root: Any, dotted: str) -> bool | int | str:
    value = functools.reduce(getattr, dotted.split("."), root)
    value = value() if callable(value) else value
    return value if isinstance(value, (bool, int, str)) else str(value)


def _cpu(torch: Any, numpy: Any, missing: Missing) -> Facts:
    """Architecture, and the two instruction sets that part the platforms, by CPUID where possible.

    The kernel's list is the machine's, which an emulated CPU does not have, so libraries go first.
    """
    machine = platform.machine()
    facts: Facts = {"architecture": _ARCHITECTURES.get(machine, machine)}
    if facts["architecture"] != "x86_64":
        return facts
    asked: list[tuple[str, Callable[[], tuple[bool, bool]]]] = []
    if torch is not None:
        asked.append(("torch", lambda: (torch.cpu._is_avx2_supported(), torch.cpu._is_avx512_supported())))
    if numpy is not None:
        asked.append(("numpy", lambda: (_numpy_features(numpy)["AVX2"], _numpy_features(numpy)["AVX512F"])))
    asked.append(("/proc/cpuinfo", _kernel_avx))
    for source, ask in asked:
        try:
            avx2, avx512f = ask()
        except _UNREADABLE:
            continue
        return {**facts, "avx2": bool(avx2), "avx512f": bool(avx512f), "source": source}
    missing["cpu.avx2"] = "neither torch, numpy nor /proc/cpuinfo says"
    return facts


def _kernel_avx() -> tuple[bool, bool]:
    for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("flags"):
            flags = line.partition(":")[2].split()
            return "avx2" in flags, "avx512f" in flags
    raise ValueError("no flags in /proc/cpuinfo")


def _numpy_core(numpy: Any) -> Any:
    core = getattr(numpy, "_core", None) or numpy.core  # numpy 2 | numpy 1
    return core._multiarray_umath


def _numpy_features(numpy: Any) -> dict[str, bool]:
    features: dict[str, bool] = _numpy_core(numpy).__cpu_features__
    return features


def _numpy(numpy: Any, missing: Missing) -> Facts:
    def dispatch() -> Facts:
        core, on = _numpy_core(numpy), _numpy_features(numpy)
        return {
            "baseline": list(core.__cpu_baseline__),
            "in_force": [name for name in core.__cpu_dispatch__ if on.get(name)],
            "not_in_force": [name for name in core.__cpu_dispatch__ if not on.get(name)],
        }

    def built_with() -> Facts:
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return {"name": blas["name"], "version": blas["version"]}

    facts: Facts = {
        "version": str(numpy.__version__),
        "cpu_features": _read(missing, "numpy.cpu_features", dispatch),
        "blas": _read(missing, "numpy.blas", built_with),
        "openblas": _read(missing, "numpy.openblas", lambda: _openblas(numpy)),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _openblas(numpy: Any) -> Facts:
    """The kernels and threads that numpy's own OpenBLAS chose, asked of the loaded library itself."""
    home = Path(numpy.__file__).parent
    found = sorted([*home.parent.glob("numpy.libs/*openblas*"), *home.glob(".dylibs/*openblas*")])
    library = _loaded(found[0] if found else _mapped("openblas"))
    for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
        core = getattr(library, f"{prefix}openblas_get_corename{suffix}", None)
        threads = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
        if core and threads:
            core.restype, threads.restype = ctypes.c_char_p, ctypes.c_int
            return {"core": core().decode("ascii", "replace"), "threads": threads()}
    raise AttributeError("the library has no openblas_get_corename")


def _loaded(path: Path) -> ctypes.CDLL:
    """A handle of a library that is loaded already; never loads one."""
    return ctypes.CDLL(str(path), mode=getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0))


def _mapped(word: str) -> Path:
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        path = line.partition("/")[2]
        if word in path.rpartition("/")[2] and "scipy.libs" not in path:
            return Path("/" + path)
    raise ValueError(f"no {word} library is loaded")


def _torch(torch: Any, missing: Missing) -> Facts:
    def capability() -> str:
        return str(torch.backends.cpu.get_cpu_capability()).upper().replace(" ", "_")

    facts: Facts = {
        "version": str(torch.__version__),
        "git_version": _read(missing, "torch.git_version", lambda: str(torch.version.git_version)),
        "cuda": torch.version.cuda,
        "cpu_capability": _read(missing, "torch.cpu_capability", capability),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "mkl_cbwr": _read(missing, "torch.mkl_cbwr", lambda: _mkl_cbwr(torch)),
        "flags": _settings(torch, _TORCH_SETTINGS, missing, field="torch.flags"),
        **_read_build(torch, missing),
    }
    if torch.version.cuda is not None:
        facts["cuda_flags"] = _settings(torch, _CUDA_SETTINGS, missing, field="torch.cuda_flags")
        facts["cudnn"] = _read(missing, "torch.cudnn", torch.backends.cudnn.version)
    return {name: value for name, value in facts.items() if value is not None}


def _read_build(torch: Any, missing: Missing) -> Facts:
    text = _read(missing, "torch.build", torch.__config__.show)
    if text is None:
        return {}
    patterns = {
        "mkl": r"Math Kernel Library Version (\S+(?: Build \d+)?)",
        "onednn": r"MKL-DNN (v\S+(?: \(Git Hash \w+\))?)",
        "openmp": r"OpenMP (\d+)",
        "compiler": r"- ((?:GCC|clang|MSVC) \S+)",
    }
    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    facts: Facts = {name: match.group(1) for name, match in found.items() if match}
    settings = re.search(r"Build settings: (.*)", text)
    pairs = re.findall(r"(\w+)=(.*?)(?:, (?=\w+=)|,? *$)", settings.group(1) if settings else "")
    facts["build"] = {name: value.strip() for name, value in pairs}
    return facts


def _mkl_cbwr(torch: Any) -> str:
    """MKL's reproducibility branch in force, asked of the loaded library; asking does not fix it."""
    if not torch.backends.mkl.is_available():
        return "NO_MKL"
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            library = _loaded(folder / name)
            ask = getattr(library, "mkl_serv_cbwr_get", None) or library.MKL_CBWR_Get
            ask.argtypes, ask.restype = [ctypes.c_int], ctypes.c_int
            value = ask(_CBWR_ALL)
            branch = _CBWR_BRANCHES.get(value & _CBWR_BRANCH_MASK, str(value & _CBWR_BRANCH_MASK))
            return branch + (",STRICT" if value & _CBWR_STRICT else "")
    raise OSError("torch's library is not where wheels have it")


def _device(torch: Any, wanted: str | None, missing: Missing) -> Facts:
    kind = wanted or _device_in_use(torch)
    if kind == "cuda" and torch is not None:
        return {"kind": "cuda", **(_read(missing, "device", lambda: _cuda(torch)) or {})}
    if kind == "tpu":
        return _read(missing, "device", _tpu) or {"kind": "tpu"}
    return {"kind": kind}


def _device_in_use(torch: Any) -> str:
    if "torch_xla" in sys.modules:
        return "tpu"
    return "cuda" if torch is not None and torch.cuda.is_initialized() else "cpu"


def _cuda(torch: Any) -> Facts:
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    facts = {
        "name": str(properties.name),
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": int(properties.multi_processor_count),
        "memory_bytes": int(properties.total_memory),
        "count": int(torch.cuda.device_count()),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }
    with contextlib.suppress(OSError):
        text = Path("/proc/driver/nvidia/version").read_text(encoding="ascii", errors="replace")
        found = re.search(r"\s(\d{3,}\.\d+(?:\.\d+)?)\s", text)
        if found:
            facts["driver"] = found.group(1)
    return facts


def _tpu() -> Facts:
    torch_xla = __import__("torch_xla.runtime")
    runtime = torch_xla.runtime
    kind = str(runtime.device_type())  # "TPU", or "CPU" where PJRT_DEVICE says so
    facts: Facts = {
        "kind": "tpu" if kind == "TPU" else f"xla-{kind.lower()}",
        "torch_xla": str(torch_xla.__version__),
        "count": int(runtime.global_runtime_device_count()),
    }
    if kind == "TPU" and os.environ.get("TPU_ACCELERATOR_TYPE"):
        facts["name"] = os.environ["TPU_ACCELERATOR_TYPE"]
    return facts


def _main(arguments: list[str]) -> None:
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [folder for folder in sys.path if folder != here]  # only the program's own packages count
    device = arguments[arguments.index("--device") + 1] if "--device" in arguments else None
    sys.stdout.write(json.dumps(collect(with_torch="--torch" in arguments, device=device)) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
