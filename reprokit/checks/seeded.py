"""Row ``seeded``: every generator had a seed that follows from the run's, the same in every run.

The runtime records (``runtime.json``: ``seeding``) the seeds that were handed out, and those that the
environments were found with after every update. Of an unmodified program with ``instrument: light`` the watch
recorded what every generator was seeded with, in these runs and in one with another seed
(``core.seed_following``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprokit.core.evidence import Evidence, RunEvidence, fact, is_integer
from reprokit.core.sampling import seed_following
from reprokit.core.verdicts.rows import Finding, counted, failed, failed_runs, not_applicable, passed, skipped

ID = "seeded"
TITLE = "Every random number generator is seeded"
ORDER = 70
ADVISORY = False
NEEDS_RECIPE = True
NEEDS_WATCH = True
NEEDS_WHOLE_RUNS = True

_LIBRARIES = ("python", "numpy", "torch")
_HASH_SEED = "PYTHONHASHSEED"
_UNKNOWN = "unknown"
_REMEDY = (
    "call run.seeding.seed_everything(), and reset each environment with its own seed of "
    "run.seeding.environment_seeds: env.reset(seed=…)"
)
_GIVE = "have that line take its seed from the one that the command is given ({seed})"
_RUN = "run it twice: `reprokit reproduce`"
_RELAX = "if what it draws never affects a number, relax the row `seeded` with that reason"
_MOST_SHOWN = 20


def check(evidence: Evidence) -> Finding:
    """Every run's record of seeds, and one record for all runs; of a watched program what the watch saw."""
    if (evidence.recipe or {}).get("instrument"):
        return _of_watched(evidence)
    if broken := failed_runs(evidence, _problem, _REMEDY):
        return broken
    first = evidence.runs[0]
    generators = fact(first.runtime, "seeding.generators")
    for run in evidence.runs[1:]:
        if fact(run.runtime, "seeding.generators") != generators:
            reason = f"{run.path}: its generators had different seeds from those of {first.path}"
            return failed(reason, "derive every seed from the run's with run.seeding.derive")
    number, hash_seed = _num_environments(first), first.run.environment.get(_HASH_SEED)
    environments = "1 environment" if number == 1 else f"{number} environments"
    what = f"seed {fact(first.runtime, 'seeding.seed')} went to python, numpy, torch and {environments}"
    what += _use(first, number or 0)
    return passed(f"{what}; {_HASH_SEED} was {hash_seed} before the start", generators=dict(generators))


def _of_watched(evidence: Evidence) -> Finding:
    runs = evidence.runs
    if not runs:
        return skipped("there is no run to look at", _RUN)
    wrong = list(seed_following.broken(runs))
    if wrong:
        return failed(wrong[0], _GIVE, all=wrong[:_MOST_SHOWN])
    lacking = list(seed_following.unseen(runs))
    if lacking:
        return skipped(f"not every generator could be seen: {lacking[0]}", _RELAX, all=lacking[:_MOST_SHOWN])
    sites = seed_following.sites_of(runs[0].instrument)
    if not sites:
        return not_applicable(_silent(seed_following.watched(runs)), _GIVE)
    other = runs[0].other_run.seed if runs[0].other_run else None
    kinds = dict.fromkeys(site[1] for site in sites)
    seeds = sum(map(len, sites.values()))
    reason = (
        f"{counted(seeds, 'seed')} of {', '.join(kinds)}: the same in every run with the seed "
        f"{runs[0].run.seed}, all others with the seed {other}"
    )
    lines = sorted({f"{file}:{line}" for _, _, file, line in sites})
    return passed(reason, lines=lines[:_MOST_SHOWN], other_seed=other)


def _silent(watched: Sequence[str]) -> str:
    """That nothing was seen to be seeded or drawn from, and where no one looked."""
    if not watched:  # a record of before
        return "the program seeds no generator and draws from none"
    what = "the program seeds and draws from none of the generators that are watched"
    return f"{what} ({', '.join(watched)}); others were not looked at"


def _problem(run: RunEvidence) -> str:
    return _seeds_problem(run) or _in_use_problem(run) or _hash_problem(run)


def _seeds_problem(run: RunEvidence) -> str:
    seed, asked = fact(run.runtime, "seeding.seed"), run.run.seed
    if not is_integer(seed) or seed != asked:
        return f"runtime.json has the seed {seed!r}, run.json {asked!r}"
    generators = fact(run.runtime, "seeding.generators")
    if not isinstance(generators, Mapping):
        return "runtime.json does not say which generators were seeded"
    number = _num_environments(run)
    if number is None:
        return f"config.yaml has {fact(run.config, 'environment.num_envs')!r} for environment.num_envs"
    environments = [f"environment[{index}]" for index in range(number)]
    unseeded = [name for name in (*_LIBRARIES, *environments) if not is_integer(generators.get(name))]
    if unseeded:
        return f"never seeded: {', '.join(unseeded)}"
    seeds = [generators[name] for name in environments]
    return "two environments have the same seed" if len(set(seeds)) < len(seeds) else ""


def _in_use_problem(run: RunEvidence) -> str:
    """An environment that was found with a seed that no one derived from the run's, or with another's."""
    in_use = fact(run.runtime, "seeding.in_use")
    if in_use is None:
        return ""  # written before the runtime looked
    if not isinstance(in_use, Mapping) or not all(isinstance(seeds, list) for seeds in in_use.values()):
        return "runtime.json does not say which seeds the environments used"
    derived = set(fact(run.runtime, "seeding.generators").values())
    used: dict[int, str] = {}
    for name, seeds in in_use.items():
        for seed in seeds:
            if seed == _UNKNOWN:
                continue
            if not is_integer(seed) or seed not in derived:
                return f"{name} {_otherwise(seed)}, not with the seed derived for it"
            if used.setdefault(seed, name) != name:
                return f"{name} used the seed of {used[seed]}"
    return ""


def _otherwise(seed: object) -> str:
    if seed is None:
        return "trained unseeded"
    if seed == -1:
        return "trained with a generator set by hand"
    return f"trained with the seed {seed!r}"


def _use(run: RunEvidence, number: int) -> str:
    """What is known of the seeds that the environments used, to follow their number."""
    in_use = fact(run.runtime, "seeding.in_use")
    if not number or not isinstance(in_use, Mapping):
        return ""
    shown = sum(bool(seeds) and _UNKNOWN not in seeds for seeds in in_use.values())
    if shown >= number:
        return ", which used it" if number == 1 else ", each of which used its own"
    return f" ({number - shown} of them do not show which seed they used)"


def _num_environments(run: RunEvidence) -> int | None:
    """How many environments train: one unless the configuration says otherwise, 0 without any."""
    section = fact(run.config, "environment")
    if not isinstance(section, Mapping):
        return 0
    number = section.get("num_envs", 1)
    return number if is_integer(number) and number > 0 else None


def _hash_problem(run: RunEvidence) -> str:
    given = run.run.environment.get(_HASH_SEED)
    if given is None or not given.isdecimal():
        return f"{_HASH_SEED} was {given!r} before the start, not a number"
    seen = fact(run.environment, f"inside.variables.{_HASH_SEED}")
    if seen != given:
        return f"{_HASH_SEED} was set to {given}, and the program saw {seen!r}"
    lacking = fact(run.runtime, "numerics.missing")
    if not isinstance(lacking, list):
        return f"runtime.json does not say whether {_HASH_SEED} was in force"
    because = [lack.get("why") for lack in lacking if fact(lack, "name") == _HASH_SEED]
    return f"{_HASH_SEED} was not in force: {because[0]}" if because else ""
