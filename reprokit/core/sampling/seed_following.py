"""Whether the seeds of an unmodified program's generators follow from the run's seed, by what the watch saw.

A seed follows where every run with the same seed gives the same generator the same seed, and a run with
another seed gives it another one. A generator is known by process, kind and the line that seeds it; of
a line that seeds several, none may have a seed that the other run has there too. Nothing else counts: a seed
that equals the run's by chance (``42`` where the run's is 42) is the same in the other run, and is
reported as constant.

``broken`` is what was seen to be otherwise, ``unseen`` what could not be seen. Where neither says anything,
every generator's seed follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprokit.core.evidence import RunEvidence, fact
from reprokit.core.verdicts.comparability import WITH_OTHER_SEED, identity, why_not_comparable

#: Process, kind of generator, file, line.
Site = tuple[str, str, str, int]

#: Compiled packages that have no generator of random numbers of their own, or only draw names and ports.
_WITHOUT_GENERATORS = frozenset(
    {"_cffi_backend", "_yaml", "brotli", "charset_normalizer", "contourpy", "cffi", "functorch", "google"}
    | {"greenlet", "h5py", "kiwisolver", "lz4", "markupsafe", "matplotlib", "ml_dtypes", "msgpack", "orjson"}
    | {"pandas", "psutil", "pyarrow", "pydantic_core", "regex", "rpds", "simplejson", "tornado", "torchgen"}
    | {"ujson", "wrapt", "yaml", "zmq", "zstandard", "_brotli"}
)
#: Programs that compute no number: they say what the system is.
_SYSTEM = frozenset({"git", "getconf", "hostname", "ldconfig", "lscpu", "nvidia-smi", "uname", "which"})


def sites_of(instrument: Mapping[str, Any]) -> dict[Site, list[str]]:
    """Generator → its seeds, in the order in which they were given."""
    found: dict[Site, list[str]] = {}
    for process, record in _processes(instrument):
        for entry in _entries(record, "seeds"):
            if entry.get("origin") == "seed":
                found.setdefault(_site(process, entry), []).append(str(entry.get("seed")))
    return found


def broken(runs: Sequence[RunEvidence]) -> Iterator[str]:
    """A sentence for each generator whose seed was seen not to follow, as the first run has them."""
    for run in runs:
        yield from (f"{run.path}: {one}" for one in _unseeded(run.instrument))
    first = sites_of(runs[0].instrument)
    for run in runs[1:]:
        theirs = sites_of(run.instrument)
        for site in dict.fromkeys([*first, *theirs]):
            if sorted(first.get(site, [])) != sorted(theirs.get(site, [])):
                yield f"{run.path}: {_place(site)} seeds {site[1]} differently than in {runs[0].path}"
    other = sites_of(fact(runs[0].other_seed, "instrument") or {})
    for site, seeds in first.items():
        if _is_constant(seeds, other.get(site, [])):
            yield f"{_place(site)} seeds {site[1]} with {_shown(seeds)}, whatever the run's seed is"


def _unseeded(instrument: Mapping[str, Any]) -> Iterator[str]:
    for _, record in _processes(instrument):
        for entry in _entries(record, "drawn_unseeded"):
            place = f"{_line(entry)} draws" if entry.get("file") else "something draws"
            yield f"{place} from {entry.get('generator')} before it is given a seed"
        for entry in _entries(record, "seeds"):
            if entry.get("origin") == "default" or (entry.get("origin") == "entropy" and entry.get("own")):
                yield f"{_line(entry)} makes {entry.get('generator')} without a seed"


def _is_constant(seeds: Sequence[str], other: Sequence[str]) -> bool:
    return bool(seeds) and Counter(seeds) == Counter(other)


def watched(runs: Sequence[RunEvidence]) -> tuple[str, ...]:
    """Whose generators were watched in every process, in words; () where a record does not say."""
    found = [_texts(record, "watched") for run in runs for _, record in _processes(run.instrument)]
    return tuple(found[0]) if found and all(one == found[0] for one in found) else ()


def unseen(runs: Sequence[RunEvidence]) -> Iterator[str]:
    """A sentence for each thing that no one could see, so that no seed is taken for one that follows."""
    for run in runs:
        yield from (f"{run.path}: {one}" for one in _unwatched(run.instrument))
    reason = _no_other_seed(runs[0])
    if reason:
        yield reason
        return
    instrument = fact(runs[0].other_seed, "instrument") or {}
    yield from (f"the run with another seed: {one}" for one in _unwatched(instrument))
    other = sites_of(instrument)
    for site, seeds in sites_of(runs[0].instrument).items():
        theirs = other.get(site, [])
        if len(theirs) != len(seeds):
            yield (
                f"{_place(site)} seeds {site[1]} {_times(len(seeds))}, and {_times(len(theirs))} in the run "
                "with another seed"
            )
        elif Counter(seeds) & Counter(theirs) and not _is_constant(seeds, theirs):
            common = ", ".join(sorted(Counter(seeds) & Counter(theirs))[:3])
            yield f"{_place(site)} seeds {site[1]} with {common} in the run with another seed too"


def _no_other_seed(run: RunEvidence) -> str:
    """Why there is no run with another seed to compare this one with; "" where there is one."""
    other, because = run.other_run, fact(run.other_seed, "run.incomplete_because")
    if other is None or other.seed is None:
        return "no run with another seed was made, which would show whose seeds follow"
    if other.seed == run.run.seed:
        return "the run that should have had another seed has the same one"
    if not other.completed or other.exit_code != 0 or because:
        why = because or other.message or "it is incomplete"
        return f"the run with the seed {other.seed} did not finish: {why}"
    objection = why_not_comparable(
        identity(run.run, config=None), identity(other, config=None), question=WITH_OTHER_SEED
    )
    return f"the run with the seed {other.seed}: {objection.reason}" if objection else ""


def _unwatched(instrument: Mapping[str, Any]) -> Iterator[str]:
    known = dict(_processes(instrument))
    if "0" not in known:
        yield "the program left no record of what it did: it ran without the watch, or was killed"
        return
    if instrument.get("is_python") is not True:
        yield "the recipe's command starts something other than Python, which was not watched"
    yield from without_record(instrument)
    for record in known.values():
        yield from _unwatched_in(record)


def without_record(instrument: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each process that was started, may compute, and left no record."""
    known = dict(_processes(instrument))
    started = {str(one.get("parent")) for one in known.values()} - {""}
    for lost in sorted(started - set(known)):
        yield f"process {lost} left no record"
    for record in known.values():
        for child in _entries(record, "children"):
            if child.get("name") not in known and child.get("what") not in _SYSTEM:
                yield f"{_line(child)} starts {child.get('what')}, which left no record"


def _unwatched_in(record: Mapping[str, Any]) -> Iterator[str]:
    for entry in _entries(record, "libraries"):
        yield f"{_line(entry)} loads {entry.get('library')}: where it draws numbers from is not seen"
    for entry in _entries(record, "seeds"):
        if entry.get("origin") == "restored":
            yield f"{_line(entry)} restores {entry.get('generator')} from elsewhere"
        elif entry.get("origin") == "entropy" and not entry.get("own"):
            yield f"{_line(entry)}, a library's line, makes {entry.get('generator')} without a seed"
    yield from (*_texts(record, "unseen"), *_texts(record, "not_watched"))
    if record.get("num_seeds_left_out"):
        yield f"{record.get('num_seeds_left_out')} more seeds than are recorded"
    limits = record.get("limits")
    yield from _unwatched_libraries(limits if isinstance(limits, Mapping) else {})


def _unwatched_libraries(limits: Mapping[str, Any]) -> Iterator[str]:
    for name in _texts(limits, "frameworks"):
        yield f"{name} is imported: its generators are not seen"
    own = sorted(set(_texts(limits, "extensions")) - _WITHOUT_GENERATORS)
    if own:
        yield f"compiled code of {', '.join(own)}: where it draws numbers from is not seen"
    if kernels := _texts(limits, "kernels"):
        yield f"kernels of its own ({', '.join(kernels)}): where they draw numbers from is not seen"


def _processes(instrument: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = instrument.get("processes")
    for name, record in sorted(found.items()) if isinstance(found, Mapping) else ():
        if isinstance(record, Mapping):
            yield str(name), record


def _entries(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = record.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _texts(record: Mapping[str, Any], name: str) -> list[str]:
    found = record.get(name)
    return [str(one) for one in found] if isinstance(found, list) else []


def _site(process: str, one: Mapping[str, Any]) -> Site:
    line = one.get("line")
    return process, str(one.get("generator")), str(one.get("file")), line if isinstance(line, int) else 0


def _place(site: Site) -> str:
    return f"{site[2]}:{site[3]}"


def _line(one: Mapping[str, Any]) -> str:
    return f"{one.get('file')}:{one.get('line')}"


def _shown(seeds: Sequence[str]) -> str:
    different = list(dict.fromkeys(seeds))
    return ", ".join(different[:3]) + (f" and {len(different) - 3} more" if different[3:] else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
