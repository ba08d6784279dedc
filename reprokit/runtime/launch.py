"""Starts a trainer inside the environment that trains, and records the settings that were in force.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- trainers/ppo.py

A trainer is a file that does nothing when imported and holds a frozen dataclass ``Config`` and a
function ``train(config: Config, run: Run) -> None``. Two records are added to what it writes:
``environment.json`` (``capture.probe``, and the section ``numerics``) and ``runtime.json``::

    {"schema": 1,
     "seeding": {"seed": 42, "rank": 0, "generators": {"python": …, "numpy": …, "torch": …,
                 "environment[0]": …}, "deterministic": {"algorithms": true, "warn_only": false},
                 "in_use": {"environment[0]": […]}},
     "numerics": {"profile": "portable", "version": 1, "requested": {…}, "in_force": {…},
                  "missing": [{"name", "expected", "actual", "why"}]},
     "checkpoints": {"final_model.pt": {"sha256": "sha256:…", "loadable": true, "reason": ""}}}

Both are written before the training too, so that a run that is killed has them as well. How every
operation rounds here (``numerics.probe`` of environment.json) is probed after it, where it can disturb
nothing. With ``--max-updates N`` the training ends after N updates, and the process with
``STOPPED_EARLY``; with ``--stop-at`` it is killed at that step (``stopping``). One of several processes
that train one model is started by ``launch_ranks``; ``runtime.json`` then has what ``rank_records`` found and
``models``: for each checkpoint a digest of what the rank held.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from reprokit.capture import probe
from reprokit.core import numerics
from reprokit.core.records import STOPPED_EARLY
from reprokit.errors import CannotRunError, RecipeError, ReprokitError
from reprokit.layout import CONFIG, ENVIRONMENT, RUNTIME
from reprokit.runtime import config as configuration
from reprokit.runtime import data_files, devices, settings
from reprokit.runtime.first_updates import EnoughUpdates
from reprokit.runtime.rank_settings import ALL_REDUCE, FIXED_ORDER, LOST_PEER, RankSettings
from reprokit.runtime.rank_status import tell_error
from reprokit.runtime.ranks import LostPeerError, RankCheckpoints
from reprokit.runtime.record_file import write_record
from reprokit.runtime.run import Run


def main(arguments: Sequence[str]) -> int:
    """Run a trainer to its end.

    Args:
        arguments: The command line, without the program's name.

    Returns:
        0; ``STOPPED_EARLY`` where only the first updates were asked for; or the exit code that belongs to
        an error of reprokit's own. Other errors pass through.
    """
    at_start = settings.variables_at_start()
    options = _options(arguments)
    try:
        launch(
            options.trainer,
            run_dir=options.run_dir,
            config=options.config,
            seed=options.seed,
            device=options.device,
            resume_from=options.resume_from,
            at_start=at_start,
            max_updates=options.max_updates,
            stop_at=options.stop_at,
            data=options.data,
            keep_checkpoints=options.keep_checkpoints,
            profile_step=options.profile_step,
            ranks=_ranks(options),
            rank=options.rank or 0,
            meeting=options.meeting,
        )
    except ReprokitError as error:
        sys.stderr.write(f"{_mark(options)}error: {error}\n")
        if options.meeting is not None:
            tell_error(options.meeting, rank=options.rank or 0, error=str(error))
        return error.exit_code
    except LostPeerError as error:
        sys.stderr.write(f"{_mark(options)}lost another rank {error}\n")
        sys.stderr.flush()
        os._exit(LOST_PEER)  # what the group's destructor waits for does not come
    return 0 if options.max_updates is None else STOPPED_EARLY


def launch(  # noqa: PLR0913 - one keyword for each thing that a run follows from
    trainer: Path,
    *,
    run_dir: Path,
    config: Path,
    seed: int,
    device: str,
    at_start: Mapping[str, str],
    resume_from: Path | None = None,
    max_updates: int | None = None,
    stop_at: int | None = None,
    data: Sequence[tuple[str, str, str]] = (),
    keep_checkpoints: int | None = None,
    profile_step: int | None = None,
    ranks: RankSettings | None = None,
    rank: int = 0,
    meeting: Path | None = None,
) -> None:
    """Train, and write what held.

    Args:
        trainer: The trainer's file.
        run_dir: An existing folder; the only one that is written to.
        config: ``config.yaml``.
        seed: The run's seed.
        device: ``cpu``, ``cuda`` or ``tpu``.
        at_start: The variables that the interpreter was started with.
        resume_from: A checkpoint to go on from, or None.
        max_updates: End after so many updates; None to train to the end.
        stop_at: Be killed at this step; None to live.
        data: Name, digest and path of each data set.
        keep_checkpoints: How many of the last checkpoints stay; None for all.
        profile_step: Profile the training, and look at the update that begins at or after this step; or None.
        ranks: How many processes train together; None for one that trains alone.
        rank: Number of this one.
        meeting: The folder where they meet; None for one process.

    Raises:
        ReprokitError: Data, configuration, trainer, device or folder is not as it must be; or the trainer
            ended the process as if it were done.
    """
    module = load_trainer(trainer)
    chosen = configuration.build(module.Config, configuration.read(config), where=str(config))
    with Run.open(
        run_dir,
        seed=seed,
        device=device,
        clock=time.perf_counter,
        resume_from=resume_from,
        max_updates=max_updates,
        stop_at=stop_at,
        data=data_files.checked(data),
        keep_checkpoints=keep_checkpoints,
        profile_step=profile_step,
        ranks=ranks,
        rank=rank,
        meeting=meeting,
    ) as run:
        facts = _prove(run, at_start)
        for lack in facts["numerics"]["missing"]:
            sys.stderr.write(f"warning: {lack['name']} is not in force: {lack['why']}\n")
        try:
            run.ranks.join()
            with nullcontext() if profile_step is None or rank else _profiled(run_dir):
                module.train(chosen, run)
        except EnoughUpdates:
            run.ranks.leave()
            return
        except SystemExit as error:
            if error.code:
                raise
            what = "the trainer ended the process, with exit code 0, before `train` returned"
            raise CannotRunError(
                what, where=str(trainer), fix="return from `train` once it is done"
            ) from error
        run.ranks.leave()
        if rank:
            _prove(run, at_start)
            return
        from reprokit.probes import rounding_probe  # noqa: PLC0415 - only once the training has ended

        compiled = devices.facts()  # before the probe, which has programs of its own
        rounding = {"probe": rounding_probe.probe(device=run.device)}
        _prove(run, at_start, rounding=rounding, of_device=compiled)


def _profiled(run_dir: Path) -> AbstractContextManager[None]:
    from reprokit.probes import profiling  # noqa: PLC0415 - no probe is loaded where nobody asked for it

    return profiling.profiled(run_dir / profiling.FOLDER)


def load_trainer(path: Path) -> ModuleType:
    """Import a trainer from its file.

    Raises:
        RecipeError: There is no such file, or it has no ``Config`` or no ``train``.
    """
    if not path.is_file():
        raise RecipeError("the trainer is not there", where=str(path))
    spec = importlib.util.spec_from_file_location(f"reprokit_trainer_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise RecipeError("the trainer is no Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    if not dataclasses.is_dataclass(getattr(module, "Config", None)) or not callable(
        getattr(module, "train", None)
    ):
        fix = "give it a dataclass Config and a function train(config, run)"
        raise RecipeError("not a trainer", where=str(path), fix=fix)
    return module


def _prove(
    run: Run,
    at_start: Mapping[str, str],
    *,
    rounding: Mapping[str, Any] | None = None,
    of_device: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write both records, as things stand now; ``rounding`` goes beside the profile in force."""
    device = devices.name_of(run.device)
    inside = probe.collect(with_torch=True, device=device)
    held = settings.verify(
        profile=at_start.get(numerics.MARK), facts=inside, at_start=at_start, device=device
    )
    write_record(run.dir / ENVIRONMENT, {**inside, "numerics": {**held, **(rounding or {})}})
    facts = {
        "schema": 1,
        "seeding": {**run.seeding.record(), "in_use": run.trace.seeds_in_use, "alike": run.trace.alike},
        "numerics": held,
        **({"device": dict(of_device)} if of_device else {}),
        "checkpoints": run.checkpoints.prove(),
        **({"models": run.checkpoints.models} if isinstance(run.checkpoints, RankCheckpoints) else {}),
    }
    write_record(run.dir / RUNTIME, facts)
    return facts


def _ranks(options: argparse.Namespace) -> RankSettings | None:
    if options.ranks is None:
        return None
    return RankSettings(
        world_size=options.ranks,
        reduction=options.reduction,
        shards=options.shards,
        timeout_s=options.rank_timeout,
    )


def _mark(options: argparse.Namespace) -> str:
    """What a line of stderr begins with, as PyTorch marks those of a rank."""
    return "" if options.rank is None else f"[rank{options.rank}]: "


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reprokit.runtime.launch", description="Run a trainer inside its environment."
    )
    parser.add_argument("--run-dir", type=Path, required=True, help="existing folder to write to")
    parser.add_argument("--config", type=Path, required=True, help=CONFIG)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda", "tpu"), default="cpu")
    parser.add_argument("--resume-from", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--max-updates", type=int, metavar="N", help="end after so many updates")
    parser.add_argument("--stop-at", type=int, metavar="STEP", help="be killed at this step")
    parser.add_argument(
        "--data", action="append", nargs=3, default=[], metavar=("NAME", "SHA256", "PATH"), help="a data set"
    )
    parser.add_argument("--keep-checkpoints", type=int, metavar="N", help="keep the last N checkpoints")
    parser.add_argument(
        "--profile-step", type=int, metavar="STEP", help="profile; look at the update that begins there"
    )
    parser.add_argument("--ranks", type=int, metavar="N", help="train in N processes, by launch_ranks")
    parser.add_argument("--reduction", choices=(ALL_REDUCE, FIXED_ORDER), default=ALL_REDUCE)
    parser.add_argument("--shards", type=int, default=1, help="parts of a batch, added up in a fixed order")
    parser.add_argument("--rank-timeout", type=float, default=40.0, metavar="SECONDS")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meeting", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("trainer", type=Path, help="the trainer's file")
    options = parser.parse_args(arguments)
    if options.max_updates is not None and (options.max_updates < 1 or options.resume_from):
        parser.error("--max-updates wants 1 or more, and a training from its beginning")
    if options.profile_step is not None and (options.max_updates or options.stop_at):
        parser.error("--profile-step wants a training that is not cut short")
    if options.stop_at is not None and (options.stop_at < 1 or options.max_updates is not None):
        parser.error("--stop-at wants a step of 1 or more, and no --max-updates")
    if (options.ranks or 1) > 1 and options.meeting is None:
        parser.error("several ranks are started by reprokit.runtime.launch_ranks")
    if options.keep_checkpoints is not None and options.keep_checkpoints < 1:
        parser.error("--keep-checkpoints wants 1 or more")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
