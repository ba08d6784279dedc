"""Row ``hardware_recorded``: CPU, memory and the device that trained are in the record.

The device and the platform that were asked for must be those that trained: a library that silently falls back
to the CPU does not pass, nor does a recipe whose settings for a platform lead to another one. Of a GPU,
everything must be there that its numbers depend on: model, driver, CUDA, cuDNN.
"""

from __future__ import annotations

from reprokit.core import fingerprint, numerics
from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.verdicts.rows import Finding, failed_runs, not_applicable, passed

ID = "hardware_recorded"
TITLE = "The hardware is recorded"
ORDER = 90
ADVISORY = False
NEEDS_RECIPE = False


def check(evidence: Evidence) -> Finding:
    """Every run's record describes the machine."""
    if evidence.recipe is None and not any(run.environment for run in evidence.runs):
        return not_applicable(
            "nothing was captured around the plain command", "capture it: `reprokit env capture`"
        )

    def find(run: RunEvidence) -> str:
        return _problem(run) or (_other_device(run) if evidence.recipe is not None else "")

    if broken := failed_runs(evidence, find, "see what the host reports: `reprokit env capture`"):
        return broken
    machine = evidence.runs[0].environment
    cpu = fact(machine, "host.cpu.model") or fact(machine, "host.cpu.architecture")
    gib = fact(machine, "host.memory.total_bytes") / 2**30
    kind = fact(machine, "inside.device.kind") or "the host"
    about = f"{cpu}, {fact(machine, 'host.cpu.logical')} cores, {gib:.1f} GiB"
    gpus = sorted({str(gpu.get("name")) for gpu in fact(machine, "host.gpus") or () if gpu.get("name")})
    if gpus and kind == "cpu":  # a program may use them all the same: of it, this is what its recipe says
        about += f"; GPUs of the host: {', '.join(gpus)}"
    return passed(f"trained on {kind}: {about}")


def _problem(run: RunEvidence) -> str:
    missing = fact(run.environment, "missing") or {}
    for field in ("host.cpu.logical", "host.memory.total_bytes"):
        value = fact(run.environment, field)
        if not is_integer(value) or value <= 0:
            return f"{field} is not recorded"
    if not fact(run.environment, "host.cpu.architecture"):
        return "host.cpu.architecture is not recorded"
    if not fact(run.environment, "host.cpu.model") and not missing.get("host.cpu.model"):
        return "host.cpu.model is not recorded, and no reason is given"
    return ""


def _other_device(run: RunEvidence) -> str:
    asked, kind = run.run.device, fact(run.environment, "inside.device.kind")
    if not asked or not kind:
        return "inside.device.kind is not recorded"
    wanted, platform = run.run.platform_asked, fingerprint.platform_of(run.environment)
    if wanted and wanted != platform:
        return f"asked to be judged on {wanted}, trained on {platform}"
    if kind != asked and not (asked == "tpu" and kind == "xla-cpu"):  # the platform xla-cpu, by its own name
        return f"asked to train on {asked}, trained on {kind}"
    needed = numerics.CUDA_FACTS if kind == numerics.CUDA else ("name",) if kind == "tpu" else ()
    lacking = [name for name in needed if not fact(run.environment, f"inside.device.{name}")]
    return f"inside.device.{lacking[0]} is not recorded" if lacking else ""
