"""What a machine is made of, on machines of several kinds."""

import json
import sys

import pynvml
import pytest

from reprokit.capture import hardware as hardware_module
from reprokit.capture.hardware import capture_hardware

X86 = """processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 7B13
flags\t\t: fpu sse2 avx avx2

processor\t: 1
vendor_id\t: AuthenticAMD
model name\t: something else
"""
ARM = """processor\t: 0
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU variant\t: 0x1
CPU part\t: 0xd40
"""


class FakeNvml:
    """NVIDIA's library with two GPUs, or failing at a given call."""

    __spec__ = pynvml.__spec__
    NVMLError = pynvml.NVMLError

    def __init__(self, *, fails_at=None, names=("NVIDIA H200", b"NVIDIA H200")):
        self.fails_at, self.names, self.open = fails_at, names, False

    def _call(self, name):
        if self.fails_at == name:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    def nvmlInit(self):  # noqa: N802
        self._call("init")
        self.open = True

    def nvmlShutdown(self):  # noqa: N802
        self.open = False

    def nvmlSystemGetDriverVersion(self):  # noqa: N802
        self._call("driver")
        return "580.65.06"

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        return index

    def nvmlDeviceGetName(self, index):  # noqa: N802
        return self.names[index]

    def nvmlDeviceGetMemoryInfo(self, _index):  # noqa: N802
        self._call("memory")
        return type("Memory", (), {"total": 150_000_000_000})()

    def nvmlDeviceGetCudaComputeCapability(self, _index):  # noqa: N802
        return (9, 0)


@pytest.fixture
def cpuinfo(monkeypatch, tmp_path):
    def use(text):
        (tmp_path / "cpuinfo").write_text(text)
        monkeypatch.setattr(hardware_module, "_CPUINFO", tmp_path / "cpuinfo")

    return use


def test_this_machine_has_a_cpu_memory_and_a_disk(tmp_path):
    facts = capture_hardware(tmp_path)
    assert facts["cpu"]["architecture"]
    assert facts["cpu"]["logical"] >= facts["cpu"]["usable"] >= 1
    assert facts["memory"]["total_bytes"] >= facts["memory"]["available_bytes"] > 0
    assert facts["disk"]["total_bytes"] >= facts["disk"]["free_bytes"] >= 0
    json.dumps(facts)


def test_the_name_of_this_machine_is_not_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(hardware_module.platform, "node", lambda: "alices-laptop")
    monkeypatch.setattr("socket.gethostname", lambda: "alices-laptop")
    assert "alices-laptop" not in json.dumps(capture_hardware(tmp_path))


def test_an_x86_cpu_is_described_by_its_first_core(cpuinfo, tmp_path):
    cpuinfo(X86)
    cpu = capture_hardware(tmp_path)["cpu"]
    assert (cpu["model"], cpu["vendor"]) == ("AMD EPYC 7B13", "AuthenticAMD")
    assert cpu["features"] == ["avx", "avx2", "fpu", "sse2"]


def test_an_arm_cpu_is_described_by_its_numbers(cpuinfo, tmp_path):
    cpuinfo(ARM)
    cpu = capture_hardware(tmp_path)["cpu"]
    assert (cpu["model"], cpu["vendor"]) == ("part 0xd40 variant 0x1", "0x41")
    assert cpu["features"] == ["asimd", "fp", "sve"]


def test_what_the_kernel_does_not_say_is_missing_with_a_reason(cpuinfo, tmp_path):
    cpuinfo("processor\t: 0\n")
    facts = capture_hardware(tmp_path)
    assert "model" not in facts["cpu"]
    assert facts["missing"]["cpu.model"] == "not in /proc/cpuinfo"
    assert facts["missing"]["cpu.features"] == "not in /proc/cpuinfo"


def test_without_a_proc_folder_the_cpu_is_missing_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(hardware_module, "_CPUINFO", tmp_path / "none")
    facts = capture_hardware(tmp_path)
    assert facts["missing"]["cpu.model"] == "no /proc/cpuinfo (No such file or directory)"
    assert facts["cpu"]["architecture"]


def test_the_disk_of_a_folder_that_is_not_there_yet_is_that_of_its_parent(tmp_path):
    assert capture_hardware(tmp_path / "runs" / "x")["disk"]["total_bytes"] > 0


@pytest.mark.parametrize(
    ("machine", "name"), [("AMD64", "x86_64"), ("arm64", "aarch64"), ("riscv64", "riscv64")]
)
def test_architectures_go_by_their_linux_names(monkeypatch, machine, name):
    monkeypatch.setattr(hardware_module.platform, "machine", lambda: machine)
    assert hardware_module.architecture() == name


def test_gpus_are_named_with_their_driver(monkeypatch, tmp_path):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    facts = capture_hardware(tmp_path)
    gpu = {
        "name": "NVIDIA H200",
        "driver": "580.65.06",
        "memory_bytes": 150_000_000_000,
        "compute_capability": "9.0",
    }
    assert facts["gpus"] == [gpu, gpu]
    assert "gpus" not in facts["missing"]
    assert nvml.open is False


@pytest.mark.parametrize("call", ["init", "driver"])
def test_a_driver_that_does_not_answer_is_a_reason_not_a_crash(monkeypatch, tmp_path, call):
    nvml = FakeNvml(fails_at=call)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    facts = capture_hardware(tmp_path)
    assert facts["gpus"] == []
    assert "NVIDIA" in facts["missing"]["gpus"]
    assert nvml.open is False


def test_what_one_gpu_does_not_say_leaves_the_rest(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(fails_at="memory"))
    gpu = capture_hardware(tmp_path)["gpus"][0]
    assert "memory_bytes" not in gpu
    assert gpu["compute_capability"] == "9.0"


def test_a_tpu_is_known_by_its_pci_numbers(monkeypatch, tmp_path):
    for position, (vendor, device) in enumerate(
        [("0x8086", "0x0001"), ("0x1ae0", "0x0063"), ("0x1ae0", "0x0063")]
    ):
        folder = tmp_path / f"0000:0{position}"
        folder.mkdir()
        (folder / "vendor").write_text(vendor + "\n")
        (folder / "device").write_text(device + "\n")
    monkeypatch.setattr(hardware_module, "_PCI_DEVICES", tmp_path)
    assert capture_hardware(tmp_path)["tpu"] == {"name": "v5e", "chips": 2}


def test_other_devices_of_that_vendor_are_no_tpu(monkeypatch, tmp_path):
    (tmp_path / "0000:00").mkdir()
    (tmp_path / "0000:00" / "vendor").write_text("0x1ae0\n")
    (tmp_path / "0000:00" / "device").write_text("0x001f\n")
    (tmp_path / "0000:01").mkdir()  # without files
    monkeypatch.setattr(hardware_module, "_PCI_DEVICES", tmp_path)
    assert capture_hardware(tmp_path)["tpu"] is None
