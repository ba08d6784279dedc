"""The probe: one file of standard library that says what a Python computes with."""

import ast
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from reprokit.capture import probe

SOURCE = Path(probe.__file__)
PLANTED = "hunter2-S3cr3t"


@pytest.fixture
def site(tmp_path):
    """A folder of installed packages."""

    def install(name, *, metadata=None, direct_url=None, folder="site", kind="dist-info", file="METADATA"):
        path = tmp_path / folder / f"{name}.{kind}"
        path.mkdir(parents=True)
        (path / file).write_text(f"Metadata-Version: 2.1\n{metadata}" if metadata else "")
        if direct_url is not None:
            (path / "direct_url.json").write_text(json.dumps(direct_url))
        return str(path.parent)

    return install


def packages(*folders):
    missing = {}
    found, sources = probe._packages(folders, missing)
    return found, sources, missing


def with_library(name, module, monkeypatch, **options):
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "numpy" if name == "torch" else "torch", None)  # cannot be imported
    return probe.collect(with_torch=True, **options)


def fake_torch(**changes):
    """As much of torch as the probe asks for."""

    def show():
        return (
            "PyTorch built with:\n  - GCC 13.3\n"
            "  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64\n"
            "  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71)\n  - OpenMP 201511 (a.k.a. OpenMP 4.5)\n"
            "  - Build settings: BLAS_INFO=mkl, CXX_FLAGS= -O2 -DA=1 -Werror=x, USE_XPU=OFF, \n"
        )

    module = ModuleType("torch")
    module.__file__ = str(Path("nowhere") / "torch" / "__init__.py")
    module.__version__ = "2.13.0+cpu"
    module.version = SimpleNamespace(git_version="cf30", cuda=None)
    module.__config__ = SimpleNamespace(show=show)
    module.cpu = SimpleNamespace(_is_avx2_supported=lambda: True, _is_avx512_supported=lambda: False)
    module.get_num_threads = lambda: 1
    module.get_num_interop_threads = lambda: 2
    module.are_deterministic_algorithms_enabled = lambda: True
    module.cuda = SimpleNamespace(is_initialized=lambda: False)
    module.backends = SimpleNamespace(
        cpu=SimpleNamespace(get_cpu_capability=lambda: "AVX2"),
        mkl=SimpleNamespace(is_available=lambda: False),
        mkldnn=SimpleNamespace(enabled=True),
    )
    for name, value in changes.items():
        setattr(module, name, value)
    return module


def fake_cuda_torch():
    properties = SimpleNamespace(
        name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, total_memory=150_000_000_000
    )
    torch = fake_torch(
        version=SimpleNamespace(git_version="cf30", cuda="13.0"),
        cuda=SimpleNamespace(
            is_initialized=lambda: True,
            current_device=lambda: 0,
            device_count=lambda: 2,
            get_device_properties=lambda _index: properties,
        ),
    )
    torch.backends.cudnn = SimpleNamespace(
        version=lambda: 91300, enabled=True, deterministic=True, benchmark=False, allow_tf32=False
    )
    return torch


def fake_numpy(**features):
    module = ModuleType("numpy")
    module.__file__ = str(Path("nowhere") / "numpy" / "__init__.py")
    module.__version__ = "2.4.6"
    umath = SimpleNamespace(
        __cpu_features__=features, __cpu_baseline__=["X86_V2"], __cpu_dispatch__=["X86_V3", "X86_V4"]
    )
    module._core = SimpleNamespace(_multiarray_umath=umath)
    module.show_config = lambda mode: {"Build Dependencies": {"blas": {"name": mode, "version": "1"}}}
    return module


def test_the_probe_is_written_in_the_grammar_of_python_3_8():
    ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_the_probe_imports_only_the_standard_library():
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_a_look_from_outside_names_what_is_installed_and_what_was_not_asked():
    facts = probe.collect(with_torch=False)
    assert facts["python"]["minor"] == "{}.{}".format(*sys.version_info)
    assert facts["python"]["virtual_environment"] is (sys.prefix != sys.base_prefix)
    assert facts["packages"]["pytest"] == pytest.__version__
    assert facts["os"]["system"] == os.uname().sysname
    assert facts["device"] == {"kind": "cpu"}
    assert {"torch", "numpy"} <= facts["missing"].keys()
    assert "torch" not in facts
    json.dumps(facts)


def test_only_variables_on_the_list_are_read(monkeypatch):
    for name in ("AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "LD_PRELOAD", "PYTHONPATH", "HOME"):
        monkeypatch.setenv(name, PLANTED)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    facts = probe.collect(with_torch=False)
    assert facts["variables"]["OMP_NUM_THREADS"] == "3"
    assert set(facts["variables"]) <= set(probe.VARIABLES)
    assert PLANTED not in json.dumps(facts)


def test_the_list_of_variables_is_sorted_and_has_no_name_of_a_secret():
    assert list(probe.VARIABLES) == sorted(set(probe.VARIABLES))
    assert not any(word in name for name in probe.VARIABLES for word in ("KEY", "TOKEN", "SECRET", "PASS"))


def test_names_of_packages_are_normalised_and_versions_are_their_own(site):
    folder = site("Ruamel.YAML-0.19", metadata="Name: Ruamel.YAML\nVersion: 0.19.1\nSummary: x\n")
    site("Some_Pkg-1", metadata="Version: 1.0+cpu\nName: Some_Pkg\n")
    assert packages(folder)[0] == {"ruamel-yaml": "0.19.1", "some-pkg": "1.0+cpu"}


def test_old_metadata_is_read_too(site):
    folder = site("old-1", metadata="Name: old\nVersion: 1\n", kind="egg-info", file="PKG-INFO")
    (Path(folder) / "single.egg-info").write_text("Name: single\nVersion: 2\n")
    assert packages(folder)[0] == {"old": "1", "single": "2"}


def test_the_description_of_a_package_is_not_mistaken_for_its_name(site):
    folder = site("a-1", metadata="Name: a\n\nVersion: 9\n")
    found, _, missing = packages(folder)
    assert found == {}
    assert missing == {"packages.a-1": "its metadata names no package and version"}


def test_the_first_folder_wins_as_in_an_import(site):
    first = site("a-1", metadata="Name: a\nVersion: 1\n", folder="first")
    second = site("a-2", metadata="Name: a\nVersion: 2\n", folder="second")
    assert packages(first, second)[0] == {"a": "1"}
    assert packages(second, first)[0] == {"a": "2"}
    assert packages(first, second)[2] == {}


def test_the_copies_that_a_package_brings_are_a_part_of_it(site):
    """setuptools puts this folder on the path when it is imported, as ``torch.compile`` does."""
    folder = site("setuptools-84", metadata="Name: setuptools\nVersion: 84\n", folder="site")
    brought = site("b-2", metadata="Name: b\nVersion: 2\n", folder="site/setuptools/_vendor")
    assert packages(folder, brought)[0] == {"setuptools": "84"}
    assert packages(brought)[0] == {"b": "2"}, "a folder of that name that no package brings"


def test_two_versions_in_one_folder_are_pointed_out(site):
    folder = site("a-1", metadata="Name: a\nVersion: 1\n")
    site("a-2", metadata="Name: a\nVersion: 2\n")
    assert packages(folder)[2] == {"packages.a": "two versions in one folder: 1 and 2"}


@pytest.mark.parametrize(
    ("direct_url", "origin"),
    [
        ({"url": "https://u:p@h/x", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, "git abc"),
        ({"url": "file:///home/alice/x", "dir_info": {"editable": True}}, "folder, editable"),
        ({"url": "file:///home/alice/x", "dir_info": {}}, "folder"),
        ({"url": "https://h/x.whl", "archive_info": {"hashes": {"sha256": "ff"}}}, "archive sha256:ff"),
        ({"url": "https://h/x.whl", "archive_info": {}}, "archive"),
    ],
)
def test_a_package_from_no_index_says_where_from_without_the_address(site, direct_url, origin):
    folder = site("a-1", metadata="Name: a\nVersion: 1\n", direct_url=direct_url)
    assert packages(folder)[1] == {"a": origin}


def test_folders_that_are_not_there_hold_no_packages(tmp_path):
    (tmp_path / "x.zip").write_text("")
    assert packages(str(tmp_path / "none"), str(tmp_path / "x.zip"), "")[0].keys() <= packages(".")[0].keys()


def test_the_build_of_torch_is_taken_apart(monkeypatch):
    torch = with_library("torch", fake_torch(), monkeypatch)["torch"]
    assert torch["version"] == "2.13.0+cpu"
    assert torch["mkl"] == "2024.2-Product Build 20240605"
    assert torch["onednn"] == "v3.12.0 (Git Hash 80afa71)"
    assert (torch["openmp"], torch["compiler"]) == ("201511", "GCC 13.3")
    assert torch["build"] == {"BLAS_INFO": "mkl", "CXX_FLAGS": "-O2 -DA=1 -Werror=x", "USE_XPU": "OFF"}
    assert (torch["threads"], torch["interop_threads"], torch["mkl_cbwr"]) == (1, 2, "NO_MKL")


def test_a_setting_that_torch_does_not_have_is_missing_and_the_others_are_there(monkeypatch):
    facts = with_library("torch", fake_torch(), monkeypatch)
    assert facts["torch"]["flags"] == {"deterministic_algorithms": True, "mkldnn_enabled": True}
    assert facts["missing"]["torch.flags.sdp_math"].startswith("cannot be read here: ")


def test_a_setting_that_torch_refuses_to_read_is_missing_with_what_it_said(monkeypatch):
    def mixed():
        raise RuntimeError("mix of the legacy and new APIs\nmore")

    facts = with_library("torch", fake_torch(get_float32_matmul_precision=mixed), monkeypatch)
    reason = facts["missing"]["torch.flags.float32_matmul_precision"]
    assert reason == "cannot be read here: mix of the legacy and new APIs"


def test_a_warning_of_a_library_does_not_break_the_record(monkeypatch):
    def warns():
        import warnings  # noqa: PLC0415

        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
        return "highest"

    facts = with_library("torch", fake_torch(get_float32_matmul_precision=warns), monkeypatch)
    assert facts["torch"]["flags"]["float32_matmul_precision"] == "highest"


def test_a_library_that_cannot_be_imported_is_missing_with_the_reason(monkeypatch):
    facts = with_library("torch", fake_torch(), monkeypatch)
    assert facts["missing"]["numpy"].startswith("cannot be imported: ")


def test_settings_of_cuda_are_read_only_where_torch_was_built_for_it(monkeypatch):
    assert "cuda_flags" not in with_library("torch", fake_torch(), monkeypatch)["torch"]
    torch = with_library("torch", fake_cuda_torch(), monkeypatch)["torch"]
    assert torch["cuda_flags"]["cudnn_deterministic"] is True
    assert (torch["cuda"], torch["cudnn"]) == ("13.0", 91300)


def test_the_gpu_in_use_is_described(monkeypatch):
    device = with_library("torch", fake_cuda_torch(), monkeypatch)["device"]
    assert {key: device[key] for key in ("kind", "name", "compute_capability", "count", "cuda", "cudnn")} == {
        "kind": "cuda",
        "name": "NVIDIA H200",
        "compute_capability": "9.0",
        "count": 2,
        "cuda": "13.0",
        "cudnn": 91300,
    }


def test_a_gpu_that_was_asked_for_and_is_not_there_is_missing_with_the_reason(monkeypatch):
    def none():
        raise AssertionError("Torch not compiled with CUDA enabled")

    torch = fake_torch(
        cuda=SimpleNamespace(is_initialized=lambda: False, current_device=none, get_device_properties=none)
    )
    facts = with_library("torch", torch, monkeypatch, device="cuda")
    assert facts["device"] == {"kind": "cuda"}
    assert facts["missing"]["device"] == "cannot be read here: Torch not compiled with CUDA enabled"


@pytest.mark.parametrize(("reported", "kind"), [("TPU", "tpu"), ("CPU", "xla-cpu")])
def test_a_tpu_is_told_from_xla_on_a_cpu(monkeypatch, reported, kind):
    package = ModuleType("torch_xla")
    package.__version__ = "2.9.0"
    package.runtime = ModuleType("torch_xla.runtime")
    package.runtime.device_type = lambda: reported
    package.runtime.global_runtime_device_count = lambda: 8
    monkeypatch.setitem(sys.modules, "torch_xla", package)
    monkeypatch.setitem(sys.modules, "torch_xla.runtime", package.runtime)
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5litepod-8")
    device = probe.collect(with_torch=False)["device"]
    assert (device["kind"], device["torch_xla"], device["count"]) == (kind, "2.9.0", 8)
    assert device.get("name") == ("v5litepod-8" if kind == "tpu" else None)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="instruction sets of x86-64")
def test_the_cpu_is_asked_before_the_kernel(monkeypatch):
    monkeypatch.setattr(probe, "_kernel_avx", lambda: (True, True))
    emulated = with_library("numpy", fake_numpy(AVX2=False, AVX512F=False), monkeypatch)["cpu"]
    assert emulated == {"architecture": "x86_64", "avx2": False, "avx512f": False, "source": "numpy"}
    by_torch = with_library("torch", fake_torch(), monkeypatch)["cpu"]
    assert (by_torch["avx2"], by_torch["avx512f"], by_torch["source"]) == (True, False, "torch")
    assert probe.collect(with_torch=False)["cpu"]["source"] == "/proc/cpuinfo"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="instruction sets of x86-64")
def test_a_cpu_that_nobody_describes_is_missing_with_a_reason(monkeypatch):
    def silent():
        raise OSError

    monkeypatch.setattr(probe, "_kernel_avx", silent)
    facts = probe.collect(with_torch=False)
    assert facts["cpu"] == {"architecture": "x86_64"}
    assert facts["missing"]["cpu.avx2"] == "neither torch, numpy nor /proc/cpuinfo says"


def test_numpy_says_which_kernels_are_in_force_and_which_are_not(monkeypatch):
    facts = with_library("numpy", fake_numpy(AVX2=True, AVX512F=True, X86_V3=True, X86_V4=False), monkeypatch)
    assert facts["numpy"]["cpu_features"] == {
        "baseline": ["X86_V2"],
        "in_force": ["X86_V3"],
        "not_in_force": ["X86_V4"],
    }
    assert facts["numpy"]["blas"] == {"name": "dicts", "version": "1"}


def test_as_a_script_it_prints_one_line_of_json_and_sees_the_programs_own_packages(site):
    folder = site("only-here-1", metadata="Name: only-here\nVersion: 7\n")
    done = subprocess.run(
        [sys.executable, str(SOURCE)],
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        check=True,
    )
    facts = json.loads(done.stdout)
    assert facts["packages"]["only-here"] == "7"
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


def test_an_isolated_python_leaves_out_what_variables_add(site):
    folder = site("only-here-1", metadata="Name: only-here\nVersion: 7\n")
    done = subprocess.run(
        [sys.executable, "-I", str(SOURCE)],
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        check=True,
    )
    assert "only-here" not in json.loads(done.stdout)["packages"]


def test_it_starts_no_process_and_opens_no_connection():
    watch = (
        "import sys; seen = []\n"
        "sys.addaudithook(lambda name, _: seen.append(name))\n"
        f"sys.path.insert(0, {str(SOURCE.parent)!r})\n"
        "import probe\n"
        "probe.collect(with_torch=False)\n"
        "bad = ('subprocess.', 'os.system', 'os.exec', 'os.fork', 'os.posix_spawn', 'socket.')\n"
        "print([name for name in seen if name.startswith(bad)])\n"
    )
    done = subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_bare_python_without_any_package_can_run_it(tmp_path):
    base = Path(sysconfig.get_config_var("BINDIR")) / f"python{sysconfig.get_python_version()}"
    python = str(base) if base.exists() else sys.executable
    done = subprocess.run([python, "-I", "-S", str(SOURCE)], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout)["packages"] == {}


def test_a_build_without_the_gil_is_named_and_no_other(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else None)
    assert probe.collect(with_torch=False)["python"]["free_threaded"] is True
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: None)
    assert "free_threaded" not in probe.collect(with_torch=False)["python"]
