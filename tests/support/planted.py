"""Evidence in which every row passes, and the faults that must turn each row red.

``FAULTS`` is keyed by the row's id: name of the fault → what it does to clean evidence. The
conformance test fails when a row has none.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from reprokit.core import numerics
from reprokit.core.comparison import Comparison, Divergence, Problem
from reprokit.core.evidence import (
    EnsembleEvidence,
    Evidence,
    GoldenEvidence,
    ReferenceRun,
    ResumeEvidence,
    RunEvidence,
    SeedResponse,
    SweepEvidence,
    TraceComparison,
    VariedEvidence,
    VariedResult,
)
from reprokit.core.provenance import Provenance
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.expected_results import ExpectedWindow
from reprokit.errors import ReportError
from reprokit.records import run_json

Fault = Callable[[Evidence], Evidence]

LOCK = f"sha256:{'1' * 64}"
IMAGE = f"sha256:{'2' * 64}"
FINGERPRINT = f"sha256:{'3' * 64}"
DATA = f"sha256:{'4' * 64}"
STEPS = tuple(range(2048, 100_353, 2048))
DIGESTS = {"recipe": f"sha256:{'5' * 64}", "trainer": f"sha256:{'6' * 64}", "lock": LOCK}

REPEATED_RUN = ReferenceRun(path="theirs/T-seed42-1", overrides=("a=1",))

EQUAL = Comparison(
    identical=True,
    within_tolerance=True,
    records_compared=49,
    metrics_compared=3,
    divergence=None,
    per_metric={},
)
DIFFERENT = replace(
    EQUAL,
    identical=False,
    within_tolerance=False,
    divergence=Divergence(record=3, step=8192, metric="losses/policy", expected=0.5, actual=0.25),
)
CLOSE = replace(EQUAL, identical=False)
PARTED = "from step 2048 on: losses/policy is 0.25, expected 0.5"
TORN = replace(
    EQUAL,
    identical=False,
    within_tolerance=False,
    problems=(Problem(kind="torn_line", side="actual", line=49, message="cut off", severity="error"),),
)
NOTHING = replace(EQUAL, identical=True, records_compared=0, metrics_compared=0)
SAME_TRACE = TraceComparison(equal=True, records_compared=49)
OTHER_TRACE = TraceComparison(
    equal=False,
    records_compared=5,
    first={"step": 8192, "what": "parameters", "expected": "a", "actual": "b"},
)

FOREIGN = {
    "foreign": ["evil.pth is foreign"],
    "num_foreign": 3,
}

RECIPE: dict[str, Any] = {
    "immune_to": ["umask", "clock", "network"],
    "schema": 1,
    "name": "cartpole",
    "title": "PPO on CartPole",
    "variant": "cpu",
    "device": "cpu",
    "numerics": "portable",
    "seeds": [42, 43, 44],
    "platforms": ["cpu-x86_64"],
    "expected": {"eval/return": {"value": 490.0, "rtol": 0.0, "atol": 10.0}},
    "nondeterminism": ["more than one thread"],
    "data": "none",
    "checks": {"relax": [], "require": []},
    "training": {"total_timesteps": 100_000},
    "logging": {"save_interval": 10_000},
}

ENVIRONMENT: dict[str, Any] = {
    "schema": 1,
    "inside": {
        "python": {"version": "3.11.7"},
        "libc": {"name": "glibc", "version": "2.36"},
        "packages": {"numpy": "2.4.0", "torch": "2.13.0+cpu", "pip": "26.0"},
        "sources": {},
        "torch": {"version": "2.13.0+cpu"},
        "numpy": {"version": "2.4.0"},
        "device": {"kind": "cpu"},
        "numerics": {"profile": "portable", "version": 1},
        "variables": {"PYTHONHASHSEED": "0"},
    },
    "host": {
        "kernel": "6.1.0",
        "os": {"system": "Linux", "name": "Debian 12"},
        "libc": {"name": "glibc", "version": "2.36"},
        "cpu": {"architecture": "x86_64", "model": "AMD EPYC", "logical": 2},
        "memory": {"total_bytes": 8 << 30},
        "tool": {"version": "0.1.0"},
        "gpus": [],
    },
    "source": {"commit": "1f2e3d4c", "branch": "main", "dirty": False, "changed": 0},
    "image": {"kind": "image", "digest": IMAGE, "lock_digest": LOCK},
    "limits": {"pids": 512},
    "missing": {"host.gpus": "no driver, or no GPU"},
}

ISOLATION: dict[str, Any] = {
    "backend": "docker",
    "rootless": False,
    "image": IMAGE,
    "network": "none",
    "read_only_root": True,
    "capabilities": {"dropped": ["ALL"], "added": []},
    "no_new_privileges": True,
    "privileged": False,
    "user": "65532:65532",
    "pids_limit": 512,
    "memory_bytes": 4 << 30,
    "init": True,
    "writable": ["/run_dir"],
    "relaxations": [],
}

RUN: dict[str, Any] = {
    "schema": 1,
    "recipe": "cartpole",
    "seed": 42,
    "device": "cpu",
    "command": ["{python}", "-m", "reprokit.runtime.launch", "--seed", "{seed}"],
    "environment": {"PYTHONHASHSEED": "0"},
    "image": {
        "variant": "cpu",
        "kind": "image",
        "reference": IMAGE,
        "digest": IMAGE,
        "lock_digest": LOCK,
        "base": "python:3.11-slim@sha256:aa",
    },
    "numerics": "portable",
    "modified": [],
    "digests": DIGESTS,
    "outcome": "completed",
    "exit_code": 0,
    "isolation": ISOLATION,
}

CONFIG: dict[str, Any] = {
    "environment": {"name": "CartPole-v1", "num_envs": 8},
    "model": {"hidden_sizes": [64, 64]},
    "training": {"total_timesteps": 100_000},
    "logging": {"save_interval": 10_000},
}


VARIABLES = {setting.name: setting.value for setting in numerics.profile("portable").settings}
NATIVE = {setting.name: setting.value for setting in numerics.profile("native").settings}
REPORTED = {
    "torch.threads": 1,
    "torch.mkl_cbwr": "COMPATIBLE",
    "torch.cpu_capability": "AVX2",
    "numpy.openblas.threads": 1,
    "numpy.openblas.core": "Haswell",
    "numpy.cpu_features.in_force": ["AVX2"],
}
NUMERICS = {
    "profile": "portable",
    "version": numerics.profile("portable").version,
    "requested": VARIABLES,
    "in_force": REPORTED,
    "missing": [],
}
ENVIRONMENT["inside"] |= {
    "torch": {"version": "2.13.0+cpu", "threads": 1, "mkl_cbwr": "COMPATIBLE", "cpu_capability": "AVX2"},
    "numpy": {
        "version": "2.4.0",
        "cpu_features": {"in_force": ["AVX2"]},
        "openblas": {"core": "Haswell", "threads": 1},
    },
    "numerics": NUMERICS,
}
RUN["environment"] |= VARIABLES
GPU: dict[str, Any] = {
    "kind": "cuda",
    "name": "NVIDIA H200",
    "compute_capability": "9.0",
    "multiprocessors": 132,
    "driver": "580.65.06",
    "cuda": "13.0",
    "cudnn": 91900,
}
RUNTIME: dict[str, Any] = {
    "schema": 1,
    "seeding": {
        "seed": 42,
        "rank": 0,
        "generators": {
            "python": 11,
            "numpy": 12,
            "torch": 13,
            **{f"environment[{index}]": 100 + index for index in range(8)},
        },
        "deterministic": {"algorithms": True, "warn_only": False},
        "in_use": {f"environment[{index}]": [100 + index] for index in range(8)},
        "alike": [],
    },
    "numerics": NUMERICS,
}


def checkpoints() -> dict[str, dict[str, Any]]:
    due = (10240, 20480, 30720, 40960, 51200, 61440, 71680, 81920, 90112, 100352)
    entries = {f"checkpoint_{step}.pt": step for step in due}
    return {
        name: {"step": step, "sha256_ok": True, "loadable": True, "reason": ""}
        for name, step in {**entries, "final_model.pt": None}.items()
    }


def run(number: int) -> RunEvidence:
    return RunEvidence(
        path=f"runs/cartpole/20261120T101500Z-seed42-{number}",
        complete=True,
        run=run_json.of({**RUN, "run_id": f"20261120T101500Z-seed42-{number}"}, where="run.json"),
        environment=copy.deepcopy(ENVIRONMENT),
        runtime=copy.deepcopy(RUNTIME),
        config=copy.deepcopy(CONFIG),
        config_differs=(),
        num_records=49,
        metric_names=("eval/return", "losses/policy", "losses/value"),
        metrics_problems=(),
        last_step=100_352,
        final_values={"eval/return": 492.5, "losses/policy": 0.25, "losses/value": 1.5},
        update_steps=STEPS,
        checkpoints=checkpoints(),
        files={
            "config.yaml": 400,
            "metrics.jsonl": 9000,
            "timing.jsonl": 4000,
            "stdout.log": 0,
            "stderr.log": 0,
        },
        trace_records=49,
        trace_digest=f"sha256:{'7' * 64}",
    )


def golden() -> GoldenEvidence:
    return GoldenEvidence(
        path="golden/cartpole/cpu-x86_64/seed-42",
        provenance=Provenance(recipe="cartpole", platform="cpu-x86_64", seed=42, fingerprint=FINGERPRINT),
        num_records=49,
        comparison=EQUAL,
        fingerprint_equal=True,
        trace=TraceComparison(equal=True, records_compared=13),
        has_trace=True,
    )


def sweep() -> SweepEvidence:
    interval = {
        "estimate": 491.0,
        "low": 485.0,
        "high": 497.0,
        "method": "student_t",
        "num_seeds": 3,
        "coverage": {"normal": 0.95, "bimodal": 0.48},
    }
    return SweepEvidence(
        final_values={seed: {"eval/return": 490.0 + seed / 10} for seed in (42, 43, 44)},
        metrics_digests={seed: f"sha256:{seed:064}" for seed in (42, 43, 44)},
        runs=tuple(f"runs/cartpole/20261120T101800Z-seed{seed}-1" for seed in (42, 43, 44)),
        intervals={"eval/return": interval},
    )


def resumed() -> ResumeEvidence:
    """A run that was killed after two fifths, and continued from its last checkpoint."""
    return ResumeEvidence(
        stopped="runs/cartpole/20261120T101600Z-seed42-stopped",
        resumed="runs/cartpole/20261120T101630Z-seed42-resumed",
        signal="SIGKILL",
        stopped_at=43_008,
        checkpoint="checkpoint_40960.pt",
        step=40_960,
        first_resumed=43_008,
        last_resumed=100_352,
        records=49,
        updates=49,
        checkpoints=("checkpoint_51200.pt", "checkpoint_100352.pt", "final_model.pt"),
        resumed_s=6.0,
        whole_s=10.0,
    )


def on_resume(**changes: Any) -> Fault:
    """A fault in what a stopped and resumed training came to."""
    return lambda evidence: replace(evidence, resume=replace(evidence.resume, **changes))


def varied_run(number: int, *names: str, **changes: Any) -> VariedResult:
    """One more run, under some variations, equal to the first."""
    path = f"runs/cartpole/20261120T101700Z-seed42-varied{number}"
    return replace(VariedResult(path=path, names=names, records=49), **changes)


def on_varied(*runs: VariedResult, **changes: Any) -> Fault:
    """What came of varying the conditions; of all at once where no run is given."""
    return lambda evidence: replace(
        evidence, varied=replace(evidence.varied, **({"runs": runs} if runs else {}), **changes)
    )


def clean(**changes: Any) -> Evidence:
    """Two agreeing runs of a recipe in the pinned image, equal to the golden, and a sweep."""
    evidence = Evidence(
        recipe=copy.deepcopy(RECIPE),
        platform="cpu-x86_64",
        runs=(run(1), run(2)),
        repeats=(EQUAL,),
        trace_repeats=(SAME_TRACE,),
        seed=42,
        rerun="make reproduce RECIPE=cartpole SEED=42",
        golden=golden(),
        locked={"numpy": "2.4.0", "torch": "2.13.0+cpu"},
        sweep=sweep(),
        resume=resumed(),
        varied=VariedEvidence(runs=(varied_run(1, "umask", "clock"),), held={"network": "there is none"}),
    )
    return replace(evidence, **changes)


def plain(**changes: Any) -> Evidence:
    """The same for a program without a recipe."""
    runs = tuple(
        replace(
            one,
            run=one.run._replace(recipe="plain-train", image=None, isolation={"backend": "local"}),
            environment={},
            runtime={},
            config=None,
            config_differs=None,
            checkpoints={},
            files={"events.csv": 9000, "stdout.log": 10, "stderr.log": 0},
            update_steps=(),
            trace_records=0,
            trace_digest=None,
        )
        for one in (run(1), run(2))
    )
    evidence = Evidence(
        recipe=None,
        platform="cpu-x86_64",
        runs=runs,
        repeats=(EQUAL,),
        seed=42,
        rerun="reprokit reproduce --seed 42 -- python train.py",
    )
    return replace(evidence, **changes)


NO_RUNS = Evidence(recipe=copy.deepcopy(RECIPE), platform="cpu-x86_64", runs=())
NOTHING_AT_ALL = Evidence(recipe={}, platform="", runs=())


def put(mapping: Mapping[str, Any] | None, path: str, value: Any) -> dict[str, Any]:
    """A copy with one dotted path set, or taken out when the value is ``...``."""
    changed = copy.deepcopy(dict(mapping or {}))
    *above, name = path.split(".")
    place = changed
    for part in above:
        place = place.setdefault(part, {})
    if value is ...:
        place.pop(name, None)
    else:
        place[name] = value
    return changed


def on_run(index: int, **changes: Any) -> Fault:
    """A fault in fields of one run; a callable value is given the field as it was."""

    def fault(evidence: Evidence) -> Evidence:
        old = evidence.runs[index]
        new = {
            name: value(getattr(old, name)) if callable(value) else value for name, value in changes.items()
        }
        runs = list(evidence.runs)
        runs[index] = replace(old, **new)
        return replace(evidence, runs=tuple(runs))

    return fault


def in_run(field: str, path: str, value: Any, *, index: int = 1) -> Fault:
    """A fault at a dotted path of a mapping of one run (the second, so that one look is not enough)."""
    if field == "run":
        return in_run_json(path, value, index=index)
    return on_run(index, **{field: lambda old: put(old, path, value)})


def written_form(record: Any) -> Any:
    """A record as JSON has it."""
    if hasattr(record, "_asdict"):
        return {name: written_form(value) for name, value in record._asdict().items()}
    return [written_form(one) for one in record] if isinstance(record, tuple) else copy.deepcopy(record)


def in_run_json(path: str, value: Any, *, index: int) -> Fault:
    """The same in ``run.json``, as its reader finds it: with a value of another form, nothing is believed."""

    def fault(evidence: Evidence) -> Evidence:
        run = evidence.runs[index]
        written = put(written_form(run.run), path, value)
        try:
            changes = {"run": run_json.of(written, where="run.json")}
        except ReportError as error:
            changes = {"run": RunRecord(), "complete": False, "incomplete_because": error.what}
        return on_run(index, **changes)(evidence)

    return fault


def in_runs(field: str, path: str, value: Any) -> Fault:
    """The same fault in both runs."""
    return both(in_run(field, path, value, index=0), in_run(field, path, value, index=1))


def in_golden(**changes: Any) -> Fault:
    """A fault in the golden's provenance."""

    def fault(evidence: Evidence) -> Evidence:
        provenance = evidence.golden.provenance._replace(**changes)
        return replace(evidence, golden=replace(evidence.golden, provenance=provenance))

    return fault


def generator(name: str, value: Any) -> Fault:
    """Another seed for one generator of the second run, or none."""

    def changed(old: Mapping[str, Any]) -> dict[str, Any]:
        runtime = copy.deepcopy(dict(old))
        generators = runtime["seeding"]["generators"]
        if value is ...:
            del generators[name]
        else:
            generators[name] = value
        return runtime

    return on_run(1, runtime=changed)


def seeds_in_use(name: str, seeds: Any) -> Fault:
    """What one environment of the second run was found with."""

    def changed(old: Mapping[str, Any]) -> dict[str, Any]:
        runtime = copy.deepcopy(dict(old))
        runtime["seeding"]["in_use"][name] = seeds
        return runtime

    return on_run(1, runtime=changed)


def on_report(name: str, value: Any) -> Fault:
    return on_run(
        1,
        runtime=lambda old: put(old, "numerics.in_force", {**old["numerics"]["in_force"], name: value}),
    )


def on_gpu(**otherwise: Any) -> Fault:
    """Both runs trained on a GPU with all its settings; ``otherwise``: paths of run 1, ``__`` for dots."""

    def fault(evidence: Evidence) -> Evidence:
        told: dict[str, Any] = {}
        for field, (wanted, _) in numerics.CUDA_IN_FORCE.items():
            told = put(told, field.removeprefix("torch."), wanted)
        there = both(
            in_runs("run", "device", "cuda"),
            in_runs("run", "environment", {**RUN["environment"], **numerics.cuda_variables()}),
            in_runs("environment", "inside.device", dict(GPU)),
            in_runs("environment", "inside.torch", {**ENVIRONMENT["inside"]["torch"], **told}),
            in_runs("runtime", "numerics.cuda", {"requested": numerics.cuda_variables()}),
        )
        parts = [(path.replace("__", ".").partition("."), value) for path, value in otherwise.items()]
        return both(there, *(in_run(field, rest, value) for (field, _, rest), value in parts))(evidence)

    return fault


def lacking(name: str) -> Fault:
    """The runtime found that a setting was not in force."""
    lack = {"name": name, "expected": "x", "actual": None, "why": "it was not set so before the start"}
    return in_run("runtime", "numerics.missing", [lack])


def odd(kind: str, message: str, *, severity: str = "error") -> Problem:
    return Problem(kind=kind, side="actual", line=49, message=message, severity=severity)


def estimated(**entry: Any) -> Fault:
    def fault(evidence: Evidence) -> Evidence:
        intervals = {"eval/return": {**evidence.sweep.intervals["eval/return"], **entry}}
        return replace(evidence, sweep=replace(evidence.sweep, intervals=intervals))

    return fault


def on_finals(values: Mapping[int, Any]) -> Fault:
    """Seeds that ended at these values, estimated over all of them."""
    finals = {seed: {"eval/return": value} for seed, value in values.items()}
    return both(on_sweep(final_values=finals), estimated(num_seeds=len(values)))


def third_run(evidence: Evidence) -> Evidence:
    third = run(3)
    return replace(
        evidence,
        runs=(*evidence.runs, third),
        repeats=(*evidence.repeats, EQUAL),
        trace_repeats=(*evidence.trace_repeats, SAME_TRACE),
    )


def in_recipe(path: str, value: Any) -> Fault:
    return lambda evidence: replace(evidence, recipe=put(evidence.recipe, path, value))


def with_key(mapping_path: str, key: str, value: Any) -> Fault:
    """A fault under a key of the recipe that itself holds dots or slashes."""

    def fault(evidence: Evidence) -> Evidence:
        recipe = copy.deepcopy(dict(evidence.recipe or {}))
        if value is ...:
            recipe[mapping_path].pop(key, None)
        else:
            recipe[mapping_path][key] = value
        return replace(evidence, recipe=recipe)

    return fault


def with_(**changes: Any) -> Fault:
    return lambda evidence: replace(evidence, **changes)


def on_golden(**changes: Any) -> Fault:
    return lambda evidence: replace(evidence, golden=replace(evidence.golden, **changes))


def on_sweep(**changes: Any) -> Fault:
    return lambda evidence: replace(evidence, sweep=replace(evidence.sweep, **changes))


def used_elsewhere(**what: Any) -> Fault:
    """A run on this host, in an environment as installed, that used such code."""
    return both(
        in_run("run", "image.kind", "venv"),
        in_run("run", "installed", {"foreign": []}),
        in_run("run", "outside_code", what),
    )


def both(*faults: Fault) -> Fault:
    def fault(evidence: Evidence) -> Evidence:
        for one in faults:
            evidence = one(evidence)
        return evidence

    return fault


def one_run(evidence: Evidence) -> Evidence:
    return replace(evidence, runs=evidence.runs[:1], repeats=(), trace_repeats=())


def same_folder_twice(evidence: Evidence) -> Evidence:
    first = evidence.runs[0]
    again = replace(first, path=f"./{first.path}/", run=first.run._replace(run_id="another"))
    return replace(evidence, runs=(first, again))


def copied_folder(evidence: Evidence) -> Evidence:
    first = evidence.runs[0]
    return replace(evidence, runs=(first, replace(first, path="runs/cartpole/copy")))


NAN, INF = math.nan, math.inf
EXPECTED = "expected.eval/return"


def expecting(**entry: Any) -> Fault:
    return with_key("expected", "eval/return", {"value": 490.0, "rtol": 0.0, "atol": 10.0, **entry})


def ending_at(value: Any) -> Fault:
    return on_run(1, final_values=lambda old: {**old, "eval/return": value})


def over_window(value: Any, *, last: Any = 492.5, window: str = "mean_last_5", problem: str = "") -> Fault:
    """A result that is expected over a window, where the second run ended at ``last``."""
    read = {"eval/return": ExpectedWindow(window=window, value=value, problem=problem)}
    good = {"eval/return": ExpectedWindow(window="mean_last_5", value=490.0)}
    return both(
        expecting(window="mean_last_5"),
        on_run(0, windowed=good),
        on_run(1, windowed=read, final_values=lambda old: {**old, "eval/return": last}),
    )


def seeds_over_window(*values: Any, window: str = "mean_last_5", said: str = "mean_last_5") -> Fault:
    """A result that is expected over a window, with these numbers of the three seeds."""
    read = {
        seed: {"eval/return": ExpectedWindow(window=window, value=value)}
        for seed, value in zip((42, 43, 44), values, strict=True)
    }
    return both(expecting(window="mean_last_5"), on_sweep(windowed=read), estimated(window=said))


def checkpoint(name: str, **entry: Any) -> Fault:
    return on_run(1, checkpoints=lambda old: {**old, name: {**old.get(name, {}), **entry}})


def without_checkpoint(name: str) -> Fault:
    return on_run(1, checkpoints=lambda old: {key: value for key, value in old.items() if key != name})


def without_file(name: str) -> Fault:
    return on_run(1, files=lambda old: {key: value for key, value in old.items() if key != name})


def empty_file(name: str) -> Fault:
    return on_run(1, files=lambda old: {**old, name: 0})


def isolated(path: str, value: Any) -> Fault:
    return in_run("run", f"isolation.{path}", value)


def with_data(declared: Any, recorded: Any) -> Fault:
    return both(in_recipe("data", declared), in_runs("run", "data", recorded))


def with_step(record: Any, *, disjoint: Any = ..., shared: Any = ...) -> Fault:
    """A recipe with one prepared file, and what its runs recorded of the step, and of tables that overlap."""
    return both(
        with_data({"train": {"sha256": DATA, "prepared": "halve"}}, {"train": DATA}),
        in_recipe("prepare", {"halve": {"function": "clean:halve"}}),
        in_recipe("disjoint", disjoint),
        in_runs("run", "preparation", record),
        in_runs("run", "disjoint", shared),
    )


#: What a run records of a step that was run twice.
STEP = {"outputs": {"train": {"sha256": DATA, "bytes": 1}}, "preparations": 2, "differing": ""}
APART = [{"files": ["train", "test"], "key": []}]
SHARED = [{**APART[0], "num_duplicates": 3, "first": [["test", 3, "train", 7]]}]
DATASET = {"name": "train", "sha256": DATA, "steps": ["normalise"]}
#: A recipe of an unmodified program.
AS_COMMAND = in_recipe("command", ["python", "train.py", "{seed}"])
LOCAL = both(in_runs("run", "isolation", {"backend": "local"}), in_runs("run", "image.kind", "venv"))


def loader_workers(*began: str, drawn: bool = True, second: str = "", seeds: bool = False) -> Fault:
    """Two watched runs whose loader has a worker for each state of NumPy's generator that is given."""

    def processes(states: tuple[str, ...]) -> dict[str, Any]:
        name = "NumPy's global generator"
        entry = {"generator": name, "origin": "seed", "seed": "0", "file": "train.py", "line": 12}
        found: dict[str, Any] = {"0": {"seeds": [], "torch": {}}}
        for number, state in enumerate(states):
            place: dict[str, Any] = {"file": "train.py", "line": 30}
            place |= {"iterator": 77, "of": len(states), "worker": number}
            found[f"0.f{number}"] = {
                "parent": "0",
                "seeds": [entry] if seeds else [],
                "torch": {"worker": place, "generators": {name: {"began": state, "drawn": drawn}}},
            }
        return found

    return watched(processes(began), processes((*began[:-1], second) if second else began))


def watched(*processes: dict[str, Any]) -> Fault:
    """Runs of a command with ``instrument``, of whose processes the hook has seen this."""

    def fault(evidence: Evidence) -> Evidence:
        recipe = {**(evidence.recipe or {}), "command": ["python", "train.py"], "instrument": "light"}
        runs = tuple(
            replace(run, instrument={"processes": one})
            for run, one in zip(evidence.runs, processes, strict=False)
        )
        return replace(evidence, recipe=recipe, runs=runs)

    return fault


def ranks(*samples: str, parameters: str = "p", evaluates: bool = False, updates: int = 20) -> Fault:
    """Two watched runs of a rank for each digest of samples; all but the first have ``parameters``."""
    found: dict[str, Any] = {"0": {}}
    for number, one in enumerate(samples):
        made = [{"file": "train.py", "line": 9, "without_gradients": 5 if evaluates else 0}]
        fed = {"updates": updates, "parameters": "p" if not number else parameters}
        fed |= {"loaders": {"0": {"updates": updates, "samples": one}}}
        found[f"0.r{number}"] = {"parent": "0", "torch": {"loaders": made, "streams": fed}}
    return watched(found, found)


TWO_RANKS = {"world_size": 2, "samples": True, "alike": []}


def trainer_ranks(recorded: Mapping[str, Any] | None) -> Fault:
    """Runs of a trainer on two ranks, of which the second run recorded this."""
    asked = in_runs("run", "recipe_data", {"ranks": {"world_size": 2}})
    good = in_run("runtime", "ranks", TWO_RANKS, index=0)
    return both(asked, both(good, in_run("runtime", "ranks", recorded)))


def vector(*began: str, drawn: bool = True, processes: bool = False) -> Fault:
    """Two watched runs with a vector of an environment for each state that is given."""
    place = {"vector": "SyncVectorEnv", "file": "train.py", "line": 7}
    environments = [{"began": one, "drawn": drawn} for one in began]
    if not processes:
        found: dict[str, Any] = {"0": {"vectors": [{**place, "environments": environments}]}}
    else:
        players = enumerate(environments)
        found = {f"0.f{n}": {"parent": "0", "vector_worker": {**place, **e, "index": n}} for n, e in players}
    return watched(found, found)


FAULTS: dict[str, dict[str, Fault]] = {
    "distinct": {
        "two environments that are always equal": in_run(
            "runtime", "seeding.alike", [["environment[1]", "environment[5]"]]
        ),
        "eight rollouts that are one": in_runs(
            "runtime", "seeding.alike", [["rollout[0]", f"rollout[{n}]"] for n in range(1, 8)]
        ),
        "environments with other seeds in the second run": in_run("runtime", "seeding.in_use", {"e": [5]}),
        "workers with one NumPy seed": loader_workers("a", "b", "a", seeds=True),
        "workers with a copy of one generator": loader_workers("a", "a"),
        "a worker with another stream in the second run": loader_workers("a", "b", second="c"),
        "ranks that train on the same samples": ranks("a", "b", "a"),
        "ranks of a trainer with the same samples": trainer_ranks({**TWO_RANKS, "alike": [[0, 1, 17]]}),
        "ranks of a trainer whose samples no one recorded": trainer_ranks({**TWO_RANKS, "samples": False}),
        "ranks that the launcher did not record": trainer_ranks(None),
        "environments of a vector with one seed": vector("a", "b", "a"),
        "environments in processes with one seed": vector("a", "a", processes=True),
    },
    "repeatable": {
        "the runs differ": with_(repeats=(DIFFERENT,)),
        "the numbers are close, not equal": with_(repeats=(CLOSE,)),
        "nothing was compared": with_(repeats=(NOTHING,)),
        "records but no metric": with_(repeats=(replace(EQUAL, metrics_compared=0),)),
        "a torn line": with_(repeats=(TORN,)),
        "one run only": one_run,
        "no comparison": with_(repeats=()),
        "one comparison too many": with_(repeats=(EQUAL, EQUAL)),
        "only some records compared": with_(repeats=(replace(EQUAL, records_compared=48),)),
        "the first run is longer": on_run(0, num_records=50),
        "the second run is longer": on_run(1, num_records=50),
        "one folder twice": same_folder_twice,
        "a copied folder": copied_folder,
        "a run without a name": in_run("run", "run_id", ...),
        "a run with an empty name": in_run("run", "run_id", ""),
        "a run of another seed": in_run("run", "seed", 43),
        "both runs of another seed": in_runs("run", "seed", 43),
        "a seed in text": in_runs("run", "seed", "42"),
        "a seed that is a truth value": both(in_runs("run", "seed", True), with_(seed=1)),
        "runs of another recipe": in_runs("run", "recipe", "mountaincar"),
        "a recipe without a name": in_recipe("name", ...),
        "another program": in_run("run", "command", ["{python}", "other.py"]),
        "another lock": in_run("run", "image.lock_digest", IMAGE),
        "another trainer": in_run("run", "digests.trainer", IMAGE),
        "another configuration": in_run("config", "training.total_timesteps", 5),
        "an unfinished run": on_run(1, complete=False),
        "an exit code that is not 0": in_run("run", "exit_code", 1),
        "an exit code that is false": in_runs("run", "exit_code", False),
        "no outcome": in_run("run", "outcome", ...),
    },
    "equals_golden": {
        "other numbers": on_golden(comparison=DIFFERENT),
        "new seeds that are worse": both(
            on_golden(comparison=DIFFERENT),
            with_(ensemble=EnsembleEvidence(conclusion="REGRESSION", reason="worse")),
        ),
        "an ensemble of another margin": both(
            on_golden(comparison=DIFFERENT), with_(ensemble=EnsembleEvidence(problem="another margin"))
        ),
        "nothing compared": on_golden(comparison=NOTHING),
        "a torn line": on_golden(comparison=TORN),
        "close, but beyond the tolerance": on_golden(comparison=replace(CLOSE, within_tolerance=False)),
        "only some records compared": on_golden(comparison=replace(EQUAL, records_compared=48)),
        "a longer golden": on_golden(num_records=200),
        "no one counted the golden": on_golden(num_records=0),
        "the golden of another seed": in_golden(seed=43),
        "the golden of a seed in text": in_golden(seed="42"),
        "the golden of another recipe": in_golden(recipe="mountaincar"),
        "the golden of another platform": in_golden(platform="cuda-h200"),
        "a golden without provenance": on_golden(provenance=Provenance()),
        "neither run nor golden says which seed": both(in_golden(seed=None), in_runs("run", "seed", None)),
        "the golden of a seed with a fraction": in_golden(seed=42.0),
        "an unfinished run": on_run(0, complete=False),
        "no one looked whether a metric responds to the seed": AS_COMMAND,
        "no metric responds to the seed": both(
            AS_COMMAND, with_(seed_response=SeedResponse(why_not="no metric responds to the seed"))
        ),
        "a reason why none responds that is blank": both(
            AS_COMMAND, in_recipe("unresponsive", {"because": " "})
        ),
        "no run": with_(runs=()),
    },
    "trace_equal": {
        "other parameters": with_(trace_repeats=(OTHER_TRACE,)),
        "nothing compared": with_(trace_repeats=(replace(SAME_TRACE, records_compared=0),)),
        "only some updates compared": with_(trace_repeats=(replace(SAME_TRACE, records_compared=48),)),
        "traces never compared": with_(trace_repeats=()),
        "too many comparisons": with_(trace_repeats=(SAME_TRACE, SAME_TRACE)),
        "one run without a trace": on_run(1, trace_records=0, trace_digest=None),
        "an empty trace": on_run(1, trace_records=0),
        "a trace without a digest": on_run(1, trace_digest=None),
        "one run only": one_run,
        "other parameters than the golden's": on_golden(trace=OTHER_TRACE),
        "the golden's trace never compared": on_golden(trace=None),
        "nothing of the golden's trace compared": on_golden(trace=replace(SAME_TRACE, records_compared=0)),
        "the golden has a trace, the runs have none": both(
            on_run(0, trace_records=0, trace_digest=None), on_run(1, trace_records=0, trace_digest=None)
        ),
    },
    "headline_results": {
        "too low": ending_at(479.99),
        "too high": ending_at(500.01),
        "not a number": ending_at(NAN),
        "infinite": ending_at(INF),
        "text": ending_at("492.5"),
        "a truth value": both(
            expecting(value=1.0), on_run(0, final_values={"eval/return": 1}), ending_at(True)
        ),
        "nothing": ending_at(None),
        "never logged": on_run(1, final_values={}),
        "an infinite tolerance": expecting(atol=INF),
        "a tolerance that is not a number": expecting(rtol=NAN),
        "a negative tolerance": expecting(atol=-1.0, rtol=1.0),
        "a negative relative tolerance": expecting(atol=1000.0, rtol=-1.0),
        "no tolerance": expecting(atol=None),
        "an expectation in text": expecting(value="490"),
        "an expectation that is a bare number": with_key("expected", "eval/return", 490.0),
        "within the tolerance at the last value, not over the window": over_window(479.99, last=490.0),
        "a window that the run is too short for": over_window(
            None, problem="a run has 3 of the 5 values that it takes"
        ),
        "a window with a value that is not finite": over_window(NAN),
        "a window that ends at no number": over_window(490.0, last=NAN),
        "another window than the recipe's": over_window(490.0, window="mean_last_2"),
        "a window that no one read": expecting(window="mean_last_5"),
        "a window that is no name": both(over_window(490.0), expecting(window=5)),
        "nothing expected": in_recipe("expected", {}),
        "no section": in_recipe("expected", ...),
        "a list": in_recipe("expected", ["eval/return"]),
        "no run": with_(runs=()),
    },
    "unmodified": {
        "an override": with_(modified=("training.gamma=0.9",)),
        "an override that only run.json knows": in_run("run", "modified", ["training.gamma=0.9"]),
        "run.json does not say": in_run("run", "modified", ...),
        "run.json says nothing": in_run("run", "modified", None),
        "run.json says text": in_run("run", "modified", ""),
        "no run": with_(runs=()),
        "without the override of the run that is repeated": with_(reference_run=REPEATED_RUN),
        "one run without it": both(with_(reference_run=REPEATED_RUN), in_run("run", "modified", ["a=1"])),
        "another override than that": both(
            with_(reference_run=REPEATED_RUN), in_runs("run", "modified", ["a=2"])
        ),
        "an override more than that": both(
            with_(reference_run=REPEATED_RUN), in_runs("run", "modified", ["a=1", "b=2"])
        ),
        "another override was requested": both(
            with_(reference_run=REPEATED_RUN, modified=("a=2",)), in_runs("run", "modified", ["a=1"])
        ),
        "a repeated run, and no one says with what": both(
            with_(reference_run=REPEATED_RUN), in_runs("run", "modified", ...)
        ),
    },
    "versions_locked": {
        "no lock": in_run("run", "image.lock_digest", ...),
        "an empty digest": in_run("run", "image.lock_digest", ""),
        "half a digest": in_run("run", "image.lock_digest", LOCK[:40]),
        "no environment at all": in_run("run", "image", None),
        "another lock in run.json's digests": in_run("run", "digests.lock", IMAGE),
        "another lock in the record": in_run("environment", "image.lock_digest", IMAGE),
        "no packages": in_run("environment", "inside.packages", {}),
        "packages not recorded": in_run("environment", "inside.packages", ...),
        "packages as a list": in_run("environment", "inside.packages", ["torch"]),
        "a package without a version": in_run("environment", "inside.packages.numpy", ""),
        "a version that is a number": in_run("environment", "inside.packages.numpy", 2),
        "origins unknown": in_run("environment", "inside.sources", ...),
        "a version that is null": in_run("environment", "inside.packages.numpy", None),
        "another version than the lock's": in_run("environment", "inside.packages.numpy", "2.4.1"),
        "a package of the lock that is not there": in_run("environment", "inside.packages.torch", ...),
        "a package that the lock does not have": in_run("environment", "inside.packages.scipy", "1.14.0"),
        "a package from a source tree": in_run("environment", "inside.sources.torch", "folder, editable"),
        "a file that was not installed": in_run("run", "installed", FOREIGN),
        "installed files as text": in_run("run", "installed", {"foreign": ""}),
        "installed files as a list": in_run("run", "installed", []),
        "an environment that no one looked at": in_run("run", "image.kind", "venv"),
        "an environment of no kind": in_run("run", "image.kind", ...),
        "a command with another Python": both(
            in_run("run", "image.kind", "venv"),
            both(
                in_run("run", "installed", {"foreign": []}),
                in_run("run", "command", ["/usr/bin/python3", "train.py"]),
            ),
        ),
        "code from elsewhere": used_elsewhere(files={"/opt/helper.py": "sha256:1", "/usr/bin/python3": ""}),
        "code of which not all was seen": used_elsewhere(unknown="this system does not tell"),
        "no run": with_(runs=()),
    },
    "seeded": {
        "no record": on_run(1, runtime={}),
        "another seed inside": in_run("runtime", "seeding.seed", 43),
        "a seed in text": in_runs("runtime", "seeding.seed", "42"),
        "a seed that is true inside": both(
            in_runs("runtime", "seeding.seed", True), in_runs("run", "seed", 1)
        ),
        "a seed that is true outside": both(
            in_runs("runtime", "seeding.seed", 1), in_runs("run", "seed", True)
        ),
        "no seed anywhere": both(in_runs("runtime", "seeding.seed", None), in_runs("run", "seed", None)),
        "python never seeded": generator("python", ...),
        "numpy never seeded": generator("numpy", ...),
        "torch never seeded": generator("torch", ...),
        "a seed that is null": generator("torch", None),
        "one environment never seeded": generator("environment[7]", ...),
        "two environments with one seed": generator("environment[7]", 100),
        "other seeds than the first run's": generator("torch", 14),
        "an environment that was reset without its seed": seeds_in_use("environment[7]", [31415926]),
        "an environment that was reset without its seed once": seeds_in_use(
            "environment[7]", [107, 31415926]
        ),
        "an environment that was never seeded": seeds_in_use("environment[7]", [None]),
        "an environment with a generator put in": seeds_in_use("environment[7]", [-1]),
        "an environment with the seed of another": seeds_in_use("environment[7]", [100]),
        "a seed in use in text": seeds_in_use("environment[7]", ["107"]),
        "a seed in use that is no seed": seeds_in_use("environment[7]", [[107]]),
        "seeds in use as a number": seeds_in_use("environment[7]", 107),
        "seeds in use as a list": in_run("runtime", "seeding.in_use", [107]),
        "no generators": in_run("runtime", "seeding.generators", {}),
        "generators as a list": in_run("runtime", "seeding.generators", ["python", "numpy", "torch"]),
        "no environments promised": in_run("config", "environment.num_envs", 0),
        "a number of environments in text": in_run("config", "environment.num_envs", "8"),
        "no hash seed": in_run("run", "environment.PYTHONHASHSEED", ...),
        "a random hash seed": both(
            in_run("run", "environment.PYTHONHASHSEED", "random"),
            in_run("environment", "inside.variables.PYTHONHASHSEED", "random"),
        ),
        "a hash seed that is a number": in_run("run", "environment.PYTHONHASHSEED", 0),
        "a hash seed that the program did not see": in_run(
            "environment", "inside.variables.PYTHONHASHSEED", ...
        ),
        "a hash seed that the interpreter did not read": lacking("PYTHONHASHSEED"),
        "no one looked at the hash seed": in_run("runtime", "numerics.missing", ...),
        "no run": with_(runs=()),
    },
    "numerics_in_force": {
        "a variable that was not there": lacking("MKL_CBWR"),
        "another profile inside": in_run("runtime", "numerics.profile", "native"),
        "no profile inside": in_run("runtime", "numerics.profile", None),
        "another profile in run.json": in_run("run", "numerics", "native"),
        "another profile in the record": in_run("environment", "inside.numerics.profile", "native"),
        "an unknown profile asked for": in_recipe("numerics", "fastest"),
        "no profile asked for": in_recipe("numerics", ...),
        "the native profile asked for": in_recipe("numerics", "native"),
        "nothing compared with it": on_run(1, runtime={}),
        "no list of what is missing": in_run("runtime", "numerics.missing", None),
        "requested as a list": in_run("runtime", "numerics.requested", ["MKL_CBWR"]),
        "nothing requested": in_run("runtime", "numerics.requested", {}),
        "nothing reported": in_run("runtime", "numerics.in_force", {}),
        "a report that is null": on_report("torch.mkl_cbwr", None),
        "no version": in_run("runtime", "numerics.version", None),
        "a version that is true": in_run("runtime", "numerics.version", True),
        "a setting that was never requested": in_run("runtime", "numerics.requested.MKL_CBWR", ...),
        "another value requested": both(
            in_run("runtime", "numerics.requested.MKL_CBWR", "AVX512"),
            in_run("run", "environment.MKL_CBWR", "AVX512"),
        ),
        "a setting that the profile does not have": both(
            in_run("runtime", "numerics.requested.FAST", "1"), in_run("run", "environment.FAST", "1")
        ),
        "a setting that the host did not set": in_run("run", "environment.ATEN_CPU_CAPABILITY", ...),
        "a host that set nothing": in_run("run", "environment", {}),
        "a library that reports another kernel": in_run(
            "environment", "inside.torch.cpu_capability", "AVX512"
        ),
        "a library that reports more threads": in_run("environment", "inside.torch.threads", 2),
        "a library that reports nothing": in_run("environment", "inside.torch.mkl_cbwr", ...),
        "a feature that should be off": in_run(
            "environment", "inside.numpy.cpu_features.in_force", ["AVX2", "X86_V4"]
        ),
        "features unknown": in_run("environment", "inside.numpy.cpu_features", {}),
        "a GPU whose settings no one looked at": on_gpu(runtime__numerics__cuda=...),
        "a GPU of which another value was requested": on_gpu(
            runtime__numerics__cuda__requested__NVIDIA_TF32_OVERRIDE="1"
        ),
        "a GPU that the host was not told to keep out of TF32": on_gpu(
            run__environment__NVIDIA_TF32_OVERRIDE=...
        ),
        "a GPU on which products are TF32": on_gpu(
            environment__inside__torch__cuda_flags__matmul_allow_tf32=True
        ),
        "a GPU on which convolutions are TF32": on_gpu(
            environment__inside__torch__cuda_flags__cudnn_allow_tf32=True
        ),
        "a GPU whose kernels are picked by the clock": on_gpu(
            environment__inside__torch__cuda_flags__cudnn_benchmark=True
        ),
        "a GPU whose flags are not recorded": on_gpu(environment__inside__torch__cuda_flags=...),
        "a GPU whose kernels may add atomically": on_gpu(
            environment__inside__torch__flags__deterministic_algorithms=False
        ),
        "a GPU on which that is only warned of": on_gpu(
            environment__inside__torch__flags__deterministic_warn_only=True
        ),
        "no run": with_(runs=()),
    },
    "hardware_recorded": {
        "no CPU": in_run("environment", "host.cpu", {}),
        "no architecture": in_run("environment", "host.cpu.architecture", ...),
        "no model, and no reason": in_run("environment", "host.cpu.model", ...),
        "no model, and no list of what is missing": both(
            in_run("environment", "host.cpu.model", ...), in_run("environment", "missing", ...)
        ),
        "no memory": in_run("environment", "host.memory", {}),
        "no bytes of memory": in_run("environment", "host.memory.total_bytes", 0),
        "memory in text": in_run("environment", "host.memory.total_bytes", "8 GiB"),
        "no cores": in_run("environment", "host.cpu.logical", None),
        "true cores": in_run("environment", "host.cpu.logical", True),
        "no device": in_run("environment", "inside.device", {}),
        "no device asked for": in_run("run", "device", ...),
        "a TPU that fell back to the CPU": in_run("run", "device", "tpu"),
        "another platform than asked for": in_run("run", "platform_asked", "xla-cpu"),
        "asked for a GPU, got XLA on the CPU": both(
            in_run("run", "device", "cuda"), in_run("environment", "inside.device", {"kind": "xla-cpu"})
        ),
        "fell back to the CPU": in_run("run", "device", "cuda"),
        "a GPU without a name": both(
            in_run("run", "device", "cuda"), in_run("environment", "inside.device", {"kind": "cuda"})
        ),
        **{
            f"a GPU without its {name}": on_gpu(**{f"environment__inside__device__{name}": ...})
            for name in numerics.CUDA_FACTS
        },
        "a TPU without a name": both(
            in_run("run", "device", "tpu"), in_run("environment", "inside.device", {"kind": "tpu"})
        ),
        "no record": on_run(1, environment={}),
        "no run": with_(runs=()),
    },
    "environment_recorded": {
        "no record": on_run(1, environment={}),
        "no kernel": in_run("environment", "host.kernel", ...),
        "an empty kernel": in_run("environment", "host.kernel", ""),
        "no packages": in_run("environment", "inside.packages", {}),
        "nothing from inside": in_run("environment", "inside", {}),
        "no profile": in_run("environment", "inside.numerics", None),
        "no commit, and no reason": in_run("environment", "source.commit", None),
        "no list of what is missing": in_run("environment", "missing", ...),
        "no kernel, with a reason": both(
            in_run("environment", "host.kernel", ...),
            on_run(1, environment=lambda old: {**old, "missing": {"host.kernel": "not Linux"}}),
        ),
        "missing without a reason": in_run("environment", "missing.host", ""),
        "missing for no reason but spaces": in_run("environment", "missing.host", "  "),
        "missing because of null": in_run("environment", "missing.host", None),
        "no run": with_(runs=()),
    },
    "environment_compatible": {
        "another environment and different numbers": on_golden(comparison=DIFFERENT, fingerprint_equal=False),
        "another environment and a torn line": on_golden(comparison=TORN, fingerprint_equal=False),
        "another environment and a longer golden": on_golden(num_records=200, fingerprint_equal=False),
        "another environment and no comparison": on_golden(comparison=NOTHING, fingerprint_equal=False),
        "equal fingerprints of differing records": on_golden(
            environment_diff=[{"field": "inside.torch.version", "can_change_numbers": "yes"}]
        ),
        "a difference of unknown weight": on_golden(environment_diff=[{"field": "inside.torch.version"}]),
        "a golden without a fingerprint": in_golden(fingerprint="sha-1"),
        "a golden with an empty fingerprint": in_golden(fingerprint=""),
        "a run without a record": on_run(1, environment={}),
        "no run": with_(runs=()),
    },
    "config_saved": {
        "no configuration": on_run(1, config=None),
        "an empty one": on_run(1, config={}),
        "another one than the recipe's": on_run(1, config_differs=("training.gamma",)),
        "never compared": on_run(1, config_differs=None),
        "no file": without_file("config.yaml"),
        "an empty file": empty_file("config.yaml"),
        "no run": with_(runs=()),
    },
    "data_recorded": {
        "nothing declared": in_recipe("data", ...),
        "an empty list": in_recipe("data", []),
        "null": in_recipe("data", None),
        "other data was used": with_data([DATASET], {"train": IMAGE}),
        "nothing was recorded": with_data([DATASET], ...),
        "another name was recorded": with_data([DATASET], {"test": DATA}),
        "one run did not record it": both(with_data([DATASET], {"train": DATA}), in_run("run", "data", None)),
        "a word": in_recipe("data", "imagenet"),
        "data with a number for a name": with_data([{**DATASET, "name": 7}], {"train": DATA}),
        "data without a name": with_data([{**DATASET, "name": ""}], {"": DATA}),
        "data without a digest": with_data([{**DATASET, "sha256": None}], {"train": None}),
        "data with half a digest": with_data([{**DATASET, "sha256": DATA[:30]}], {"train": DATA[:30]}),
        "data without steps": with_data([{"name": "train", "sha256": DATA}], {"train": DATA}),
        "data that is a word": with_data(["train"], {"train": DATA}),
        "no file by name": with_data({}, {}),
        "another file by name": with_data({"train": {"sha256": DATA}}, {"train": IMAGE}),
        "a file by name was not recorded": with_data({"train": {"sha256": DATA}}, {}),
        "a file by name without a digest": with_data({"train": {"size": 1}}, {"train": DATA}),
        "two preparations differ": with_step(
            {"halve": {**STEP, "differing": "train differs from byte 7 on"}}
        ),
        "a step made another file": with_step({"halve": {**STEP, "outputs": {"train": {"sha256": IMAGE}}}}),
        "a step did not make the file": with_step({"halve": {**STEP, "outputs": {}}}),
        "a row in two splits": with_step({"halve": STEP}, disjoint=APART, shared=SHARED),
        "no one looked for rows in two splits": with_step({"halve": STEP}, disjoint=APART),
        "other splits were looked at": with_step(
            {"halve": STEP}, disjoint=APART, shared=[{**SHARED[0], "files": ["a", "b"], "num_duplicates": 0}]
        ),
        "a file by name that is a word": with_data({"train": DATA}, {"train": DATA}),
        "no run": both(with_data([DATASET], {"train": DATA}), with_(runs=())),
    },
    "checkpoints_complete": {
        "one is missing": without_checkpoint("checkpoint_40960.pt"),
        "the last is missing": without_checkpoint("checkpoint_100352.pt"),
        "the final model is missing": without_checkpoint("final_model.pt"),
        "none at all": on_run(1, checkpoints={}),
        "another digest": checkpoint("checkpoint_10240.pt", sha256_ok=False),
        "no digest": checkpoint("final_model.pt", sha256_ok=None),
        "a digest in text": checkpoint("final_model.pt", sha256_ok="True"),
        "does not load": checkpoint("checkpoint_10240.pt", loadable=False, reason="not a zip file"),
        "never loaded": checkpoint("final_model.pt", loadable=None),
        "a step that is not its name's": checkpoint("checkpoint_10240.pt", step=20480),
        "a step in text": checkpoint("checkpoint_10240.pt", step="10240"),
        "a boundary that is no step": on_run(1, update_steps=(None, *STEPS)),
        "no step": checkpoint("checkpoint_10240.pt", step=None),
        "an unlisted file": checkpoint("checkpoint_7.pt", step=7, sha256_ok=False, loadable=None),
        "no interval promised": in_run("config", "logging.save_interval", ...),
        "an interval of 0": in_run("config", "logging.save_interval", 0),
        "a negative interval": in_run("config", "logging.save_interval", -1),
        "an interval in text": in_run("config", "logging.save_interval", "10000"),
        "an interval beyond the end": in_run("config", "logging.save_interval", 200_000),
        "no end": in_run("config", "training.total_timesteps", None),
        "no update known": on_run(1, update_steps=()),
        "updates end too early": on_run(1, update_steps=STEPS[:-1]),
        "an update between": on_run(1, update_steps=(*STEPS, 10_001)),
        "no run": with_(runs=()),
    },
    "logs_complete": {
        "a torn line": on_run(1, metrics_problems=(odd("torn_line", "line 49 is torn"),)),
        "a problem of unheard gravity": on_run(1, metrics_problems=(odd("x", "odd", severity="fatal"),)),
        "a problem behind a warning": on_run(
            1, metrics_problems=(odd("uneven_steps", "odd", severity="warning"), odd("torn_line", "torn"))
        ),
        **{
            f"{kind}, of which the reader only warns": on_run(
                1, metrics_problems=(odd(kind, "not whole", severity="warning"),)
            )
            for kind in ("missing_step", "odd_step", "reordered_step", "no_final_newline")
        },
        "an empty file and nothing else": on_run(
            1, metrics_problems=(odd("empty_file", "empty"),), num_records=0
        ),
        "no one read the metrics": on_run(1, metrics_problems=None),
        "no records": on_run(1, num_records=0),
        "no metrics": on_run(1, metric_names=()),
        "ends early": on_run(1, last_step=98_304),
        "no last step": on_run(1, last_step=None),
        "a last step in text": on_run(1, last_step="100352"),
        "a last step that is not a number": on_run(1, last_step=NAN),
        "no promised end": in_run("config", "training.total_timesteps", ...),
        "a promised end of 0": in_run("config", "training.total_timesteps", 0),
        "no configuration": on_run(1, config=None),
        "no metrics file": without_file("metrics.jsonl"),
        "an empty metrics file": empty_file("metrics.jsonl"),
        "no timing": without_file("timing.jsonl"),
        "no standard output": without_file("stdout.log"),
        "no standard error": without_file("stderr.log"),
        "no run": with_(runs=()),
    },
    "expected_declared": {
        "nothing": in_recipe("expected", {}),
        "no section": in_recipe("expected", ...),
        "a list": in_recipe("expected", [1]),
        "a bare number": with_key("expected", "eval/return", 490.0),
        "no value": expecting(value=None),
        "no tolerance": expecting(atol=None),
        "a tolerance in text": expecting(rtol="0.1"),
        "a true tolerance": expecting(rtol=True),
        "an infinite tolerance": expecting(atol=INF),
        "a negative tolerance": expecting(rtol=-0.1),
        "a value that is not a number": expecting(value=NAN),
        "one declared, one not": with_key("expected", "eval/length", {"value": 490.0}),
    },
    "verification_available": {
        "no command": with_(rerun=""),
        "a blank command": with_(rerun="  "),
        "a command for another recipe": with_(rerun="make reproduce RECIPE=cartpole_tuned SEED=42"),
        "a command for a longer name": with_(rerun="make reproduce RECIPE=my-cartpole"),
        "a recipe without a name": in_recipe("name", ...),
        "a recipe with an empty name": both(in_recipe("name", ""), with_(rerun="make reproduce RECIPE=")),
    },
    "nondeterminism_declared": {
        "nothing said": in_recipe("nondeterminism", None),
        "no section": in_recipe("nondeterminism", ...),
        "text": in_recipe("nondeterminism", "none"),
        "a blank sentence": in_recipe("nondeterminism", ["threads", " "]),
        "a number": in_recipe("nondeterminism", [1]),
    },
    "pinned_image": {
        "another image ran": in_run("run", "isolation.image", DATA),
        "no one says which image ran": in_run("run", "isolation.image", ...),
        "no isolation": in_run("run", "isolation", ...),
        "an image by its tag": both(
            in_run("run", "image.reference", "reprokit/cpu:latest"),
            in_run("run", "isolation.image", "reprokit/cpu:latest"),
        ),
        "no reference": in_run("run", "image.reference", None),
        "no base": in_run("run", "image.base", None),
        "no image": in_runs("run", "image", None),
        "one in a container, one outside": in_run("run", "image.kind", "venv"),
        "another kind": in_runs("run", "image.kind", "chroot"),
        "no run": with_(runs=()),
    },
    "hardened": {
        "a network": isolated("network", "bridge"),
        "network unknown": isolated("network", ...),
        "a writable root": isolated("read_only_root", False),
        "root in text": isolated("read_only_root", "true"),
        "capabilities kept": isolated("capabilities.dropped", []),
        "only some dropped": isolated("capabilities.dropped", ["NET_RAW"]),
        "a capability added": isolated("capabilities.added", ["SYS_ADMIN"]),
        "capabilities unknown": isolated("capabilities", ...),
        "new privileges": isolated("no_new_privileges", False),
        "privileged": isolated("privileged", True),
        "privileged unknown": isolated("privileged", ...),
        "root": isolated("user", "0:0"),
        "root by name": isolated("user", "root"),
        "no user": isolated("user", ""),
        "no pids limit": isolated("pids_limit", None),
        "pids limit of 0": isolated("pids_limit", 0),
        "no memory limit": isolated("memory_bytes", None),
        "no init": isolated("init", False),
        "more to write to": isolated("writable", ["/run_dir", "/etc"]),
        "writable unknown": isolated("writable", ...),
        "a relaxation on a CPU": isolated("relaxations", ["gpu devices"]),
        "relaxations unknown": isolated("relaxations", ...),
        "an unknown device opened": both(
            in_run("run", "device", "npu"), isolated("relaxations", ["gpu devices"])
        ),
        "isolation unknown": in_run("run", "isolation", ...),
        "one run on the host": in_run("run", "isolation", {"backend": "local"}),
        "no run": with_(runs=()),
    },
    "source_clean": {
        "dirty": in_run("environment", "source.dirty", True),
        "no one looked": in_run("environment", "source.dirty", ...),
        "clean in text": in_run("environment", "source.dirty", "False"),
        "no commit": in_run("environment", "source.commit", None),
        "an empty commit": in_run("environment", "source.commit", ""),
        "no commit in any run": in_runs("environment", "source.commit", None),
        "an empty commit in every run": in_runs("environment", "source.commit", ""),
        "a commit that is a number": in_runs("environment", "source.commit", 7),
        "dirty, although it says that there is no repository": both(
            in_runs("environment", "source.dirty", True),
            on_run(0, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
            on_run(1, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
        ),
        "two commits": in_run("environment", "source.commit", "99999999"),
        "one run without a repository": both(
            in_run("environment", "source", {}),
            on_run(1, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
        ),
        "no record": on_run(1, environment={}),
        "no run": with_(runs=()),
    },
    "resume_equal": {
        "another number": on_resume(
            first={"where": "metrics.jsonl", "what": "loss at step 43008", "expected": 0.5, "actual": 0.25}
        ),
        "another checkpoint, and no one recorded where": on_resume(first={}),
        "the resumed run crashed": on_resume(failure="the resumed run did not finish: exit code 1"),
        "another program was resumed": on_resume(problem="digests is not that of the first run"),
        "nothing killed it": on_resume(signal=""),
        "killed before the checkpoint": on_resume(stopped_at=2048),
        "killed no one knows where": on_resume(stopped_at=None),
        "a step in text": on_resume(step="40960"),
        "it began anew": on_resume(first_resumed=2048),
        "it wrote nothing": on_resume(first_resumed=None),
        "no record compared": on_resume(records=0),
        "no update compared": on_resume(updates=0),
        "no checkpoint compared": on_resume(checkpoints=()),
        "the final model was not compared": on_resume(checkpoints=("checkpoint_51200.pt",)),
        "no record of a program compared": on_resume(stop_args=("--stop", "5"), records=0),
        "a resumed program wrote nothing": on_resume(stop_args=("--stop", "5"), first_resumed=None),
    },
    "unchanged_when_varied": {
        "one of them is guilty": on_varied(
            varied_run(1, "umask", "clock", difference=PARTED),
            varied_run(2, "umask", difference=PARTED),
            varied_run(3, "umask", difference=PARTED),
            varied_run(4),
            varied_run(5, "clock"),
        ),
        "two of them together are": on_varied(
            varied_run(1, "umask", "clock", difference=PARTED),
            varied_run(2, "umask"),
            varied_run(3, "clock"),
        ),
        "under one the run does not finish": on_varied(
            varied_run(1, "umask", failure="exit code 1"), varied_run(2, "clock")
        ),
        "only sometimes": on_varied(
            varied_run(1, "umask", "clock", difference=PARTED), varied_run(2, "umask", "clock")
        ),
        "with nothing varied as well": on_varied(
            varied_run(1, "umask", "clock", difference=PARTED), varied_run(2, difference=PARTED)
        ),
        "the watch alone changes the numbers": on_varied(
            varied_run(1, "umask", "clock", difference=PARTED, watched=True),
            varied_run(2, difference=PARTED, watched=True),
        ),
        "one was never made": on_varied(varied_run(1, "umask")),
        "one cannot be made": on_varied(varied_run(1, "umask"), unmade={"clock": "there is no clock"}),
        "one is held only": on_varied(held={}),
        "of another program": on_varied(varied_run(1, "umask", "clock", problem="digests is another")),
        "no record compared": on_varied(varied_run(1, "umask", "clock", records=0)),
        "no run at all": on_varied(runs=()),
    },
    "several_seeds": {
        "a seed is absent": on_sweep(final_values={42: {}, 43: {}, 45: {}}),
        "none finished": on_sweep(final_values={}),
        "a seed crashed": on_sweep(final_values={42: {}, 43: {}}, failures={44: "exit code 1"}),
        "a further seed crashed": on_sweep(failures={45: "exit code 1"}),
        "two further seeds crashed": on_sweep(failures={45: "exit code 1", 46: "killed"}),
        "all seeds gave the same metrics": on_sweep(metrics_digests=dict.fromkeys((42, 43, 44), "sha256:1")),
        "two of three gave the same metrics": on_sweep(
            metrics_digests={42: "sha256:1", 43: "sha256:1", 44: "sha256:2"}
        ),
        "metrics that no one compared": on_sweep(metrics_digests={}),
        "metrics of one seed that no one compared": on_sweep(
            metrics_digests={42: "sha256:1", 43: "sha256:2"}
        ),
        "two seeds": both(in_recipe("seeds", [42, 43]), on_sweep(final_values={42: {}, 43: {}})),
        "no seeds named": in_recipe("seeds", []),
        "no section of seeds": in_recipe("seeds", ...),
        "seeds of another kind": in_recipe("seeds", {"42": 1}),
        "seeds named in text": in_recipe("seeds", ["42", "43", "44"]),
        "seeds in text": both(
            in_recipe("seeds", ["42", "43", "44"]), on_sweep(final_values={"42": {}, "43": {}, "44": {}})
        ),
    },
    "statistics": {
        "no interval": on_sweep(intervals={}),
        "no estimate": estimated(estimate=None),
        "an estimate in text": estimated(estimate="491"),
        "a true estimate": estimated(low=True, estimate=True, high=True),
        "an infinite interval": estimated(high=INF),
        "an interval that is not a number": estimated(low=NAN),
        "an estimate outside its interval": estimated(estimate=500.0),
        "a reversed interval": estimated(low=497.0, high=485.0),
        "no method": estimated(method=""),
        "not over all seeds": estimated(num_seeds=2),
        "a number of seeds with a fraction": estimated(num_seeds=3.0),
        "number of seeds unknown": estimated(num_seeds=None),
        "over two seeds": on_finals({42: 490.0, 43: 491.0}),
        "over one seed": on_finals({42: 490.0}),
        "over no seed": on_finals({}),
        "one seed ended at no number": on_finals({42: 490.0, 43: NAN, 44: 491.0}),
        "one seed ended at infinity": on_finals({42: 490.0, 43: INF, 44: 491.0}),
        "one seed ended at a text": on_finals({42: 490.0, 43: "491", 44: 491.0}),
        "one seed never logged it": on_sweep(
            final_values={42: {"eval/return": 490.0}, 43: {}, 44: {"eval/return": 491.0}}
        ),
        "a seed crashed": on_sweep(failures={45: "exit code 1"}),
        "all seeds gave the same metrics": on_sweep(metrics_digests=dict.fromkeys((42, 43, 44), "sha256:1")),
        "metrics that no one compared": on_sweep(metrics_digests={}),
        "a coverage that no one measured": estimated(coverage={}),
        "a coverage in text": estimated(coverage="95 %"),
        "a coverage above 1": estimated(coverage={"normal": 95.0}),
        "the expected value above what the seeds support": with_key(
            "expected", "eval/return", {"value": 500.0, "rtol": 0.0, "atol": 2.0}
        ),
        "the expected value below what the seeds support": with_key(
            "expected", "eval/return", {"value": 400.0, "rtol": 0.1, "atol": 0.0}
        ),
        "an expected value that is no number": with_key("expected", "eval/return", {"value": NAN}),
        "called equal, and not": estimated(method="equal_values", low=None, high=None),
        "equal, and estimated elsewhere": both(
            on_finals(dict.fromkeys((42, 43, 44), 490.0)), estimated(method="equal_values")
        ),
        "all ended alike, elsewhere": both(
            on_finals(dict.fromkeys((42, 43, 44), 300.0)), estimated(method="equal_values", estimate=300.0)
        ),
        "a window that no one read": both(expecting(window="mean_last_5"), estimated(window="mean_last_5")),
        "an interval over another window": seeds_over_window(490.0, 491.0, 492.0, said="last"),
        "seeds read over another window": seeds_over_window(490.0, 491.0, 492.0, window="best_high"),
        "a seed without a number over the window": seeds_over_window(490.0, None, 492.0),
        "the expected value within the last values only": both(
            seeds_over_window(450.0, 451.0, 452.0),
            estimated(estimate=451.0, low=448.0, high=454.0, window="mean_last_5"),
        ),
        "nothing expected": in_recipe("expected", {}),
        "a second result without an interval": with_key("expected", "eval/length", {"value": 490.0}),
    },
}

# What must stay green where ``clean()`` alone does not show it: id → situation → what makes it.
GREEN: dict[str, dict[str, Fault]] = {
    "distinct": {
        "workers that draw different numbers": loader_workers("a", "b", "c"),
        "ranks with samples of their own": ranks("a", "b"),
        "ranks with the same samples and parts of a model": ranks("a", "a", parameters="q"),
        "ranks that evaluate on the same samples": ranks("a", "a", evaluates=True),
        "ranks whose samples could not be read": ranks("", ""),
        "ranks that were seen in one update only": ranks("a", "a", updates=1),
        "environments with seeds of their own": vector("a", "b"),
        "environments that draw nothing": vector("a", "a", drawn=False),
        "environments whose seed no one saw": vector("", "", drawn=False),
    },
    "repeatable": {"a third run": third_run, "no seed asked for": with_(seed=None)},
    "equals_golden": {
        "within tolerance": on_golden(comparison=CLOSE),
        "a program that responds to its seed": both(
            AS_COMMAND, with_(seed_response=SeedResponse(shown_by="1 of 1 metric respond"))
        ),
        "a program that says why it does not": both(
            AS_COMMAND, in_recipe("unresponsive", {"because": "its data is fixed"})
        ),
    },
    "trace_equal": {
        "a single update": both(
            *(on_run(index, trace_records=1) for index in (0, 1)),
            with_(trace_repeats=(replace(SAME_TRACE, records_compared=1),)),
            on_golden(trace=replace(SAME_TRACE, records_compared=1)),
        ),
        "no golden": with_(golden=None),
        "a golden within tolerance": on_golden(comparison=CLOSE, trace=OTHER_TRACE),
    },
    "headline_results": {
        "over a window": over_window(490.0),
        "within the tolerance over the window, not at the last value": over_window(490.0, last=300.0),
        "at the edge": ending_at(500.0),
        "a whole number": ending_at(490),
        "a relative tolerance": both(expecting(rtol=0.1, atol=0.0), ending_at(539.0)),
        "two results": both(
            with_key("expected", "losses/value", {"value": 1.5, "rtol": 0.0, "atol": 0.0}), ending_at(490)
        ),
    },
    "unmodified": {
        "the override of the run that is repeated": both(
            with_(reference_run=REPEATED_RUN), in_runs("run", "modified", ["a=1"])
        ),
        "a run without overrides is repeated": with_(reference_run=replace(REPEATED_RUN, overrides=())),
    },
    "versions_locked": {
        "the lock is not at hand": with_(locked=None),
        "a lock of no package, and none recorded": both(
            with_(locked={}),
            in_runs("environment", "inside.packages", {}),
            in_runs("environment", "inside.sources", {}),
        ),
        "a package from a file with a digest": in_run(
            "environment", "inside.sources.torch", "archive sha256:aa"
        ),
    },
    "resume_equal": {
        "a program without a trace": on_resume(updates=None),
        "no one timed it": on_resume(resumed_s=None),
        "killed at the checkpoint's own step": on_resume(stopped_at=40_960),
    },
    "unchanged_when_varied": {
        "one by one": on_varied(varied_run(1, "umask"), varied_run(2, "clock")),
        "all of them held": both(in_recipe("immune_to", ["network"]), on_varied(varied_run(1))),
    },
    "checkpoints_complete": {"updates in another order": on_run(1, update_steps=STEPS[::-1])},
    "logs_complete": {
        "uneven steps": on_run(1, metrics_problems=(odd("uneven_steps", "odd", severity="warning"),)),
        "ends where it must": on_run(1, last_step=100_000),
        "one record of one metric": on_run(1, num_records=1, metric_names=("loss",)),
        "one byte": on_run(1, files=lambda old: {**old, "metrics.jsonl": 1, "timing.jsonl": 1}),
        "one step promised": in_runs("config", "training.total_timesteps", 1),
    },
    "seeded": {
        "one environment that is not counted": both(
            in_runs("config", "environment.num_envs", ...), in_runs("runtime", "seeding.rank", 0)
        ),
        "no environment at all": both(
            in_runs("config", "environment", ...), in_runs("runtime", "seeding.in_use", {})
        ),
        "a run from before the seeds in use were recorded": in_runs("runtime", "seeding.in_use", ...),
        "environments that do not tell their seeds": seeds_in_use("environment[7]", ["unknown"]),
        "environments that the trace was not given": in_runs("runtime", "seeding.in_use", {}),
        "another setting was not in force": lacking("MKL_CBWR"),
    },
    "numerics_in_force": {
        "another version of the profile, by its own table": both(
            in_runs("runtime", "numerics.version", 99),
            in_runs("runtime", "numerics.requested", {"MKL_CBWR": "COMPATIBLE"}),
        ),
        "the native profile": both(
            in_recipe("numerics", "native"),
            in_runs("run", "numerics", "native"),
            in_runs("environment", "inside.numerics.profile", "native"),
            in_runs("runtime", "numerics.profile", "native"),
            in_runs("runtime", "numerics.requested", NATIVE),
            in_runs("environment", "inside.torch.cpu_capability", "AVX512"),
        ),
        "a GPU with all its settings": on_gpu(),
    },
    "hardware_recorded": {
        "no model, with a reason": both(
            in_runs("environment", "host.cpu.model", ...),
            on_run(0, environment=lambda old: {**old, "missing": {"host.cpu.model": "macOS"}}),
            on_run(1, environment=lambda old: {**old, "missing": {"host.cpu.model": "macOS"}}),
        ),
        "one core": in_run("environment", "host.cpu.logical", 1),
        "a GPU": on_gpu(),
        "a CPU beside a GPU": in_runs("environment", "host.gpus", [{"name": "NVIDIA H200"}]),
        "XLA on the CPU": both(
            in_runs("run", "device", "tpu"), in_runs("environment", "inside.device", {"kind": "xla-cpu"})
        ),
    },
    "environment_recorded": {
        "no repository, with a reason": both(
            in_runs("environment", "source", {}),
            on_run(0, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
            on_run(1, environment=lambda old: {**old, "missing": {"source.commit": "no repository"}}),
        ),
        "nothing missing": in_runs("environment", "missing", {}),
    },
    "environment_compatible": {
        "another environment, equal numbers": on_golden(
            fingerprint_equal=False,
            environment_diff=[
                {"field": f"inside.packages.p{i}", "can_change_numbers": "yes"} for i in range(7)
            ],
        ),
        "another environment, no one knows how": on_golden(fingerprint_equal=False),
        "a difference that changes no number": on_golden(
            environment_diff=[{"field": "host.kernel", "can_change_numbers": "no"}]
        ),
    },
    "data_recorded": {"the declared data": with_data([DATASET], {"train": DATA})},
    "config_saved": {"one byte": on_run(1, files=lambda old: {**old, "config.yaml": 1})},
    "statistics": {
        "over a window": seeds_over_window(490.0, 491.0, 492.0),
        "the expected value over the window only": both(
            seeds_over_window(490.0, 491.0, 492.0),
            on_sweep(final_values={seed: {"eval/return": 300.0 + seed} for seed in (42, 43, 44)}),
        ),
        "an interval of no width": estimated(low=491.0, high=491.0),
        "the expected value at the edge": with_key(
            "expected", "eval/return", {"value": 500.0, "rtol": 0.0, "atol": 3.0}
        ),
        "all ended alike": both(
            on_finals(dict.fromkeys((42, 43, 44), 490.0)),
            estimated(method="equal_values", estimate=490.0, low=None, high=None, coverage={}),
        ),
    },
    "nondeterminism_declared": {
        "none is known": in_recipe("nondeterminism", []),
        "two": in_recipe("nondeterminism", ["threads", "cuDNN"]),
    },
    "hardened": {
        "the smallest limits": both(
            in_runs("run", "isolation.pids_limit", 1), in_runs("run", "isolation.memory_bytes", 1)
        ),
        "the first user that is not root": in_runs("run", "isolation.user", "1:1"),
        "nothing to write to": in_runs("run", "isolation.writable", []),
        "GPU devices for a GPU run": both(
            in_runs("run", "device", "cuda"), in_runs("run", "isolation.relaxations", ["gpu devices"])
        ),
        "root of a rootless engine": both(
            in_runs("run", "isolation.user", "0:0"), in_runs("run", "isolation.rootless", True)
        ),
    },
}

# Where ``clean()`` itself has nothing to judge.
CLEAN: dict[str, Fault] = {"data_recorded": with_data([DATASET], {"train": DATA})}
