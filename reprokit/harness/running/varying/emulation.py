"""Which CPUs can be emulated here, and how a run is put under one: qemu's user-mode emulator.

The emulator has AVX2 and FMA but no AVX-512: a model that has it is emulated without, and the user is told.
What a CPU with AVX-512 computes is covered by a native run on one, and by nothing else.
"""

from __future__ import annotations

import difflib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit.core.records import Mount, RunSpec
from reprokit.errors import CannotJudgeError, CannotRunError, UsageError

EMULATOR = "qemu-x86_64"
#: The same without libraries of its own: what a container can be given, which has none of the host's.
STATIC_EMULATOR = "qemu-x86_64-static"

_MODEL = re.compile(r"^x86 (\S+)", re.MULTILINE)
_LEFT_OUT = re.compile(r"doesn't support requested feature: \S+?\.([\w-]+) \[bit")
_ASK_S = 120.0
_MAGIC = b"\x7fELF"
# numpy asks the CPU itself and comes up in seconds; PyTorch takes half a minute under the emulator.
ASK = (
    "import json, numpy; core = getattr(numpy, '_core', None) or numpy.core; "
    "has = core._multiarray_umath.__cpu_features__; "
    "print(json.dumps({name: bool(has.get(name)) for name in ('AVX2', 'FMA3', 'AVX512F')}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedCpu:
    """A CPU as the emulator can really be it.

    Attributes:
        name: The model, in the emulator's words.
        avx2: Whether it has AVX2 and FMA, which the portable profile needs.
        left_out: Features of the real model that the emulator lacks.
        trouble: Why nothing runs on it, or "".
    """

    name: str
    avx2: bool
    left_out: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def told(self) -> str:
        """The CPU as a person should read it: ``Skylake-Server without AVX-512``."""
        lacks = any(feature.startswith("avx512") for feature in self.left_out)
        return f"{self.name} without AVX-512" if lacks else self.name


def find_emulator(*, in_container: bool = False) -> str:
    """Path of the emulator.

    Args:
        in_container: The one that a container can be given.

    Raises:
        CannotRunError: It is not installed, or this is no x86-64 machine.
    """
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise CannotRunError(
            "other x86-64 CPUs are emulated on x86-64 machines only",
            expected="x86_64",
            actual=platform.machine(),
            fix="run it on an x86-64 machine; this one has goldens of its own",
        )
    name, package = (STATIC_EMULATOR, "qemu-user-static") if in_container else (EMULATOR, "qemu-user")
    found = shutil.which(name)
    if found is None:
        fix = f"sudo apt-get install {package} (Debian, Ubuntu)"
        raise CannotRunError(f"the emulator {name} is not installed", fix=fix)
    return found


def check_names(cpus: Sequence[str], *, emulator: str) -> None:
    """See that the emulator knows every model.

    Raises:
        UsageError: It does not know one; the nearest names are given.
    """
    listed = subprocess.run(
        [emulator, "-cpu", "help"], capture_output=True, text=True, check=False, timeout=_ASK_S
    )
    known = _MODEL.findall(listed.stdout)
    for cpu in cpus:
        if cpu not in known:
            near = " or ".join(difflib.get_close_matches(cpu, known, n=3, cutoff=0.4))
            hint = f"did you mean {near}? " if near else ""
            raise UsageError(f"the emulator has no CPU {cpu!r}", fix=f"{hint}All: {EMULATOR} -cpu help")


def look_at(cpu: str, *, emulator: str, python: str) -> EmulatedCpu:
    """What an emulated CPU really has, asked of it by numpy; takes some seconds.

    Args:
        cpu: A model that the emulator knows.
        emulator: Path of the emulator.
        python: Interpreter of an environment with numpy.
    """
    command = [emulator, "-cpu", cpu, python, "-I", "-c", ASK]
    environment = {"PATH": os.defpath, "OPENBLAS_NUM_THREADS": "1"}
    try:
        asked = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=_ASK_S
        )
    except subprocess.TimeoutExpired:
        return EmulatedCpu(name=cpu, avx2=False, trouble=f"it did not answer within {_ASK_S:.0f} s")
    return answered(cpu, stdout=asked.stdout, stderr=asked.stderr)


def answered(cpu: str, *, stdout: str, stderr: str) -> EmulatedCpu:
    """What an emulated CPU really has, from its answer to ``ASK``."""
    left_out = tuple(dict.fromkeys(_LEFT_OUT.findall(stderr)))
    try:
        has = json.loads(stdout)
    except ValueError:
        return EmulatedCpu(name=cpu, avx2=False, left_out=left_out, trouble=_trouble(stderr))
    return EmulatedCpu(name=cpu, avx2=has["AVX2"] and has["FMA3"], left_out=left_out)


def under(spec: RunSpec, *, cpu: str, emulator: str, options: Sequence[str] = ()) -> RunSpec:
    """The same run on an emulated CPU; without a limit on memory, which would hit the emulator's own.

    A container is given the emulator read-only, and stays as hardened as it is. ``options`` are further
    words for the emulator.

    Raises:
        CannotJudgeError: The command's first word is nothing that the emulator can load.
    """
    limits = replace(spec.limits, memory_bytes=None)
    mounts = spec.mounts
    if spec.realisation is not None and spec.realisation.kind == "image":
        word, program = "{emulator}", spec.command
        mounts = (*mounts, Mount(name="emulator", path=emulator))
    else:
        word, program = emulator, emulable(spec.command)
    return replace(spec, command=(word, "-cpu", cpu, *options, *program), limits=limits, mounts=mounts)


def emulable(command: Sequence[str]) -> tuple[str, ...]:
    """A command whose first word the emulator can load: a program in its file, not a script.

    Raises:
        CannotJudgeError: It is neither a program nor a script of Python's.
    """
    if command[0].startswith("{"):  # the environment's own Python
        return tuple(command)
    found = shutil.which(command[0])
    if found is None:
        return tuple(command)  # the run says that it is not there
    if _is_program(Path(found)):
        return (found, *command[1:])
    if re.fullmatch(r"python[\d.]*", Path(found).name):  # a wrapper, such as a version manager's
        asked = [found, "-c", "import sys; print(sys.executable)"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=_ASK_S)
        python = answer.stdout.strip()
        if python and _is_program(Path(python)):
            return (python, *command[1:])
    raise CannotJudgeError(
        f"{command[0]} is a script, which starts another program that the emulator does not follow",
        where=found,
        fix="let the recipe's command begin with that program: `command: [python, train.py]`",
    )


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _trouble(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip() and "doesn't support requested" not in line]
    if any("Illegal instruction" in line for line in lines):
        return "it lacks instructions that numpy itself is built with"
    return lines[-1].strip()[:200] if lines else "Python did not start on it"
