"""A run with the hook on its path: its orders, its trace, and where both lie as the program sees them.

On this host every path is what it is. A container gets hook and orders read-only and leaves its trace in its
own run folder; its hardening stays as it is.
"""

from __future__ import annotations

import compileall
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import instrumentation
from reprokit.core.records import Mount, RunSpec
from reprokit.execution.docker_config import MOUNTS, RUN_DIR
from reprokit.harness.running.run_kinds import WATCH
from reprokit.harness.running.varying.apply_variations import ELSEWHERE, in_container
from reprokit.layout import OUTPUT

HOOK = Path(instrumentation.__file__).parent
HASH_SEED = "PYTHONHASHSEED"
ORDERS = "orders.json"
_REPLAY = "replay"
#: The hook where the package is mounted; a program that gets no package gets the hook alone.
MOUNTED_HOOK = "{mounts}/reprokit/instrumentation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Paths as the watched program sees them.

    Attributes:
        hook: The hook's folder; may hold placeholders.
        orders: The file of orders, or ``light`` for the watch that has none; may hold placeholders. The same
            for all runs: a program may read the variable that names it.
        out: Where the trace goes.
        output: The run's own folder.
        replay: The trace of the run whose values are held, or None.
        apart: A folder for other paths of the same thing.
        mounts: What a container must be given for it.
    """

    hook: str
    orders: str
    out: str
    output: str
    replay: str | None
    apart: str
    mounts: tuple[Mount, ...] = ()


def places_of(spec: RunSpec, *, stage: Path, traced: Path, apart: Path, replay: Path | None = None) -> Places:
    """Where everything lies for one run.

    Args:
        spec: The run.
        stage: Its folder on this host; ``output`` in it is the program's.
        traced: Where its trace is to lie in the end.
        apart: A folder of this host for other paths of the same thing.
        replay: The trace of the run whose values are held, or None.
    """
    if not in_container(spec):
        return Places(
            hook=str(HOOK),
            orders=str((stage.parent / ORDERS).resolve()),
            out=str(traced.resolve()),
            output=str((stage / OUTPUT).resolve()),
            replay=str(replay.resolve()) if replay else None,
            apart=str(apart.resolve()),
        )
    mounts = [Mount(name=ORDERS, path=str((traced / ORDERS).resolve()))]
    if replay is not None:
        mounts.append(Mount(name=_REPLAY, path=str(replay.resolve())))
    return Places(
        hook=MOUNTED_HOOK,
        orders=f"{{mounts}}/{ORDERS}",
        out=f"{RUN_DIR}/{WATCH}",
        output=RUN_DIR,
        replay=f"{MOUNTS}/{_REPLAY}" if replay else None,
        apart=ELSEWHERE,
        mounts=tuple(mounts),
    )


def hooked(spec: RunSpec, places: Places, *, environment: Mapping[str, str]) -> RunSpec:
    """The run with the hook on its path.

    Args:
        spec: The run.
        places: Where the hook and its orders lie.
        environment: Further variables; Python's hash seed is one of them.
    """
    inherited = os.environ.get("PYTHONPATH", "") if spec.inherit_environment else ""
    compile_hook()
    hook, own = places.hook, places.mounts
    if hook == MOUNTED_HOOK and not any(mount.name == "reprokit" for mount in spec.mounts):
        hook, own = f"{{mounts}}/{HOOK.name}", (*own, Mount(name=HOOK.name, path=str(HOOK.resolve())))
    paths = [hook, *filter(None, [spec.environment.get("PYTHONPATH", inherited)])]
    added = {**environment, "PYTHONPATH": os.pathsep.join(paths), "REPROKIT_HOOK": places.orders}
    return replace(spec, environment={**spec.environment, **added}, mounts=(*spec.mounts, *own))


def compile_hook() -> None:
    """Compile the hook here, where that may be kept: a run writes no byte-code and would do it each time."""
    compileall.compile_dir(HOOK, quiet=2)


def make_trace_folder(spec: RunSpec, stage: Path) -> None:
    """Make the folder that a container's trace goes to; whoever the program is there may write to it."""
    if in_container(spec):
        folder = stage / OUTPUT / WATCH
        folder.mkdir()
        folder.chmod(0o777)  # the container's user is not the caller where that is root


def bring_out(spec: RunSpec, stage: Path, traced: Path) -> None:
    """Move what a container's watch has left to where traces lie, links and all else but files left out."""
    traces = stage / OUTPUT / WATCH
    if not in_container(spec) or traces.is_symlink() or not traces.is_dir():
        return
    for path in sorted(traces.iterdir()):
        if path.is_file() and not path.is_symlink() and path.name != ORDERS:
            shutil.move(path, traced / path.name)
    shutil.rmtree(traces)


def own_mounts(spec: RunSpec, stage: Path) -> RunSpec:
    """The run with its mounts from its own folder taken from another one: program, recipe, settings."""
    planned = f"/{spec.recipe}/{spec.run_id}/"

    def moved(one: Mount) -> Mount:
        _, within, name = one.path.rpartition(planned)
        return replace(one, path=str(stage / name)) if within else one

    return replace(spec, mounts=tuple(map(moved, spec.mounts)))
