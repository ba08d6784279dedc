"""What a container is asked to be, and what the engine says it became."""

from dataclasses import replace
from typing import Any

import pytest

from reprokit.core.records import Mount, RunLimits, RunSpec
from reprokit.execution import accelerators
from reprokit.execution.docker_config import container_config, isolation


def config_of(spec: RunSpec, *, watched: bool = True, **changes: Any) -> dict[str, Any]:
    return container_config(
        replace(spec, **changes),
        output="/host/output",
        user="1000:100",
        labels={"mine": "yes"},
        watched=watched,
    )


def host_config_of(spec: RunSpec, **changes: Any) -> dict[str, Any]:
    return config_of(spec, **changes)["HostConfig"]


def test_every_confinement_is_asked_for(container_spec: RunSpec):
    host = host_config_of(container_spec)
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Privileged"] is False
    assert host["IpcMode"] == "private"
    assert host["Init"] is True
    assert host["PidsLimit"] == 512
    assert host["Ulimits"] == [{"Name": "core", "Soft": 0, "Hard": 0}]
    assert host["Tmpfs"] == {"/tmp": "rw,noexec,nosuid,nodev,size=1073741824,mode=1777"}
    assert config_of(container_spec)["User"] == "1000:100"


def test_memory_has_a_limit_even_when_nobody_set_one_and_swap_never_adds_to_it(container_spec: RunSpec):
    default = host_config_of(container_spec)
    chosen = host_config_of(container_spec, limits=RunLimits(memory_bytes=1 << 30))
    assert default["Memory"] == default["MemorySwap"] == 8 << 30
    assert chosen["Memory"] == chosen["MemorySwap"] == 1 << 30


def test_the_engine_keeps_no_log_that_could_fill_its_disk(container_spec: RunSpec):
    assert host_config_of(container_spec)["LogConfig"]["Type"] == "none"


def test_only_the_output_folder_is_writable(container_spec: RunSpec):
    mounts = host_config_of(container_spec, mounts=(Mount(name="code", path="/host/code"),))["Mounts"]
    assert mounts == [
        {"Type": "bind", "Source": "/host/code", "Target": "/mnt/reprokit/code", "ReadOnly": True},
        {"Type": "bind", "Source": "/host/output", "Target": "/run_dir", "ReadOnly": False},
    ]


def test_placeholders_are_filled_in_command_environment_and_working_directory(container_spec: RunSpec):
    config = config_of(
        container_spec,
        mounts=(Mount(name="code", path="/host/code"),),
        environment={"PYTHONPATH": "{mounts}", "SEED": "{seed}"},
        working_dir="{code}",
    )
    assert config["Entrypoint"] == ["/opt/python"]
    assert config["Cmd"] == ["/mnt/reprokit/code/train.py", "--seed", "7", "--out", "/run_dir"]
    assert {"PYTHONPATH=/mnt/reprokit", "SEED=7"} <= set(config["Env"])
    assert config["WorkingDir"] == "/mnt/reprokit/code"


def test_surroundings_are_the_same_on_every_host_and_the_run_may_change_them(container_spec: RunSpec):
    config = config_of(container_spec, environment={"TMPDIR": "/elsewhere"})
    assert config["Env"] == ["HOME=/tmp", "TMPDIR=/elsewhere", "TZ=UTC", "LC_ALL=C.UTF-8"]
    assert config["Hostname"] == "reprokit"
    assert config["WorkingDir"] == "/run_dir"


def test_an_images_own_entry_point_and_health_check_never_run(container_spec: RunSpec):
    config = config_of(container_spec, command=("alone",))
    assert (config["Entrypoint"], config["Cmd"]) == (["alone"], [])
    assert config["Healthcheck"]["Test"][-1] == "pass"
    assert config_of(container_spec, watched=False)["Healthcheck"] == {"Test": ["NONE"]}


def test_cores_are_pinned_only_when_asked(container_spec: RunSpec):
    assert "CpusetCpus" not in host_config_of(container_spec)
    assert host_config_of(container_spec, limits=RunLimits(cpus=(0, 3)))["CpusetCpus"] == "0,3"


def test_only_a_run_on_cuda_gets_the_gpus(container_spec: RunSpec, monkeypatch):
    monkeypatch.setattr(accelerators, "cdi_specifications", tuple)
    assert "DeviceRequests" not in host_config_of(container_spec)
    assert host_config_of(container_spec, device="cuda")["DeviceRequests"] == [
        {"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}
    ]


def on_gpu(spec: RunSpec, **changes: Any) -> RunSpec:
    return replace(spec, device="cuda", limits=RunLimits(gpus=(3,)), **changes)


def test_a_container_gets_the_gpu_of_its_run_and_no_other(container_spec: RunSpec):
    asked = accelerators.gpu_request(on_gpu(container_spec), cdi=(), toolkit=True)
    assert asked == {"Driver": "", "DeviceIDs": ["3"], "Capabilities": [["gpu"]]}


def test_a_variation_that_chooses_among_gpus_is_given_all_of_them(container_spec: RunSpec):
    varied = on_gpu(container_spec, environment={"CUDA_VISIBLE_DEVICES": "1,0"})
    assert accelerators.gpu_request(varied, cdi=(), toolkit=True)["Count"] == -1


def test_without_nvidias_toolkit_gpus_come_by_cdi(container_spec: RunSpec):
    cdi = ("/etc/cdi/nvidia.yaml",)
    asked = accelerators.gpu_request(on_gpu(container_spec), cdi=cdi, toolkit=False)
    assert asked == {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=3"]}
    every = accelerators.gpu_request(replace(container_spec, device="cuda"), cdi=cdi, toolkit=False)
    assert every["DeviceIDs"] == ["nvidia.com/gpu=all"]
    assert accelerators.gpu_request(on_gpu(container_spec), cdi=cdi, toolkit=True)["Driver"] == ""


def test_specifications_of_other_devices_are_none_of_a_gpu(tmp_path):
    for name in ("nvidia.yaml", "intel.com-npu.yaml", "nvidia.txt"):
        (tmp_path / name).touch()
    assert accelerators.cdi_specifications([tmp_path, tmp_path / "none"]) == (str(tmp_path / "nvidia.yaml"),)


def test_user_remapping_is_switched_off_only_on_request(container_spec: RunSpec):
    config = container_config(container_spec, output="/o", user="1:1", labels={}, userns="host")
    assert config["HostConfig"]["UsernsMode"] == "host"
    assert "UsernsMode" not in host_config_of(container_spec)


def test_a_run_without_an_image_is_no_container(container_spec: RunSpec):
    with pytest.raises(ValueError, match="realisation"):
        config_of(container_spec, realisation=None)


def inspected(config: dict[str, Any], **host: Any) -> dict[str, Any]:
    return {
        "Image": "sha256:abc",
        "Config": config,
        "HostConfig": {**config["HostConfig"], **host},
        "Mounts": [
            {"Destination": "/run_dir", "RW": True},
            {"Destination": "/mnt/reprokit/code", "RW": False},
        ],
    }


def test_isolation_is_what_the_engine_reports(container_spec: RunSpec):
    found = isolation(inspected(config_of(container_spec)), engine={"engine_version": "99"})
    assert found["backend"] == "docker"
    assert found["engine_version"] == "99"
    assert found["network"] == "none"
    assert found["read_only_root"] is True
    assert found["capabilities"] == {"dropped": ["ALL"], "added": []}
    assert found["no_new_privileges"] is True
    assert found["user"] == "1000:100"
    assert found["writable"] == ["/run_dir"]
    assert found["read_only"] == ["/mnt/reprokit/code"]
    assert found["relaxations"] == []


def test_a_confinement_that_the_engine_dropped_is_not_claimed(container_spec: RunSpec):
    softened = inspected(
        config_of(container_spec),
        NetworkMode="host",
        ReadonlyRootfs=False,
        CapDrop=None,
        CapAdd=["SYS_ADMIN"],
        SecurityOpt=None,
        Privileged=True,
        PidsLimit=None,
        Memory=0,
        MemorySwap=-1,
    )
    found = isolation(softened, engine={})
    assert found["network"] == "host"
    assert found["read_only_root"] is False
    assert found["capabilities"] == {"dropped": [], "added": ["SYS_ADMIN"]}
    assert found["no_new_privileges"] is False
    assert found["privileged"] is True
    assert (found["pids_limit"], found["memory_bytes"], found["memory_and_swap_bytes"]) == (None, None, -1)


def test_gpus_are_a_declared_relaxation(container_spec: RunSpec):
    found = isolation(inspected(config_of(container_spec, device="cuda")), engine={})
    assert found["relaxations"] == ["gpu devices"]


def test_a_container_without_a_named_user_is_root(container_spec: RunSpec):
    config = {**config_of(container_spec), "User": ""}
    assert isolation(inspected(config), engine={})["user"] == "0:0"
