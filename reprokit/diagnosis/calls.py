"""The first inexplicable calls of two runs: equal inputs, and another result or another state afterwards.

The main thread of a process that has the same place in both runs is compared in order. What other threads and
processes do falls to another one in each run: there calls are compared by what they were given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit.errors import CannotJudgeError

_SITE = re.compile(r"^(.*):(\d+):\d+(?:-\d+(?:\+-?\d+)?|:\w+)$", re.DOTALL)
_SAME = "="
#: How a digest ends of which a part could not be read.
_UNREAD = "?"
#: So many rounds of each loop and function are all watched, from the first on.
_FIRST_ROUNDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as the hook recorded it.

    Attributes:
        site: File, line and columns.
        hit: How often the site had been reached in its process, this time included.
        receiver: The digest of what it works on; "" where that is nothing.
        given: The digest of its arguments.
        made: The digest of its result.
        after: The digests of receiver and arguments afterwards.
        at: When it ended, nanoseconds of a clock that is the machine's.
        rounds: The last watched round before it: place and number.
        is_round: Whether it is no call: a watched round began, where ``made`` is the digest of variables.
    """

    site: str
    hit: int
    name: str
    receiver: str
    given: str
    made: str
    after: tuple[str, str]
    at: int
    rounds: tuple[str, int] | None = None
    is_round: bool = False

    @property
    def input(self) -> tuple[str, str]:
        return self.receiver, self.given

    @property
    def output(self) -> tuple[str, tuple[str, str]]:
        return self.made, self.after

    @property
    def unseen(self) -> bool:
        """Whether a part of what went in could not be read."""
        return any(one.endswith(_UNREAD) for one in self.input)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of one run.

    Attributes:
        ordered: Of each process with a place of its own its main thread's, in order.
        others: Of all other threads and processes.
    """

    ordered: Mapping[str, Sequence[Call]]
    others: Sequence[Call]

    @property
    def count(self) -> int:
        ordered = sum(not call.is_round for calls in self.ordered.values() for call in calls)
        return ordered + len(self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A line whose call cannot be explained by what it was given.

    Attributes:
        hidden: Whether what it works on was another one already, though no call before it explains that.
        elsewhere: Whether another thread or process makes it.
        unseen: Whether a part of what it was given could not be read.
    """

    site: str
    file: str
    line: int
    name: str
    at: int
    hidden: bool = False
    elsewhere: bool = False
    unseen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """Where two runs' calls differ.

    Attributes:
        candidates: In the order in which the first run came to them.
        first: The first call of any kind that differs; None where none does.
        since: The last watched round before the first difference, where not every one was watched.
        sampled: Whether not every round was watched.
        sampled_before: Whether that is so of rounds before the first difference.
        followers: Lines after the first candidate that were given the same, but what they work on was another
            one: should that candidate decide nothing, these are suspected next.
    """

    candidates: tuple[Candidate, ...] = ()
    followers: tuple[Candidate, ...] = ()
    first: Candidate | None = None
    since: tuple[str, int] | None = None
    sampled: bool = False
    sampled_before: bool = False


def read_calls(folder: Path) -> Calls:
    """The calls of a run, from the folder that the hook wrote; a ``CannotJudgeError`` where it is damaged."""
    ordered: dict[str, list[Call]] = {}
    others: list[Call] = []
    for path in sorted(folder.glob("calls-*.tsv")):
        process = path.stem.removeprefix("calls-")
        for main, call in _lines(path):
            if main and (process == "0" or ".r" in process):
                ordered.setdefault(process, []).append(call)
            elif not call.is_round:
                others.append(call)
    return Calls(ordered=ordered, others=others)


def _lines(path: Path) -> Iterator[tuple[bool, Call]]:
    """Each call, and whether the main thread made it."""
    rounds: tuple[str, int] | None = None
    try:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split("\t")
            if words[0] == "T":
                rounds = words[1], int(words[2])
                yield True, _round(words, rounds)
            elif len(words) == 11:
                yield words[1] == "0", _call(words, rounds)
    except (OSError, ValueError, IndexError) as error:
        fix = "run it again; the program must not write into the folder of its trace"
        raise CannotJudgeError(
            f"the record of calls is damaged: {error}", where=str(path), fix=fix
        ) from error


def _call(words: list[str], rounds: tuple[str, int] | None) -> Call:
    receiver, given, later = words[5], words[6], words[8]
    after = (receiver, given) if later == _SAME else tuple(later.split(",", 1))
    return Call(
        site=words[2],
        hit=int(words[3]),
        name=words[4],
        receiver=receiver,
        given=given,
        made=words[7],
        after=(after[0], after[1]),
        at=int(words[9]),
        rounds=rounds,
    )


def _round(words: list[str], rounds: tuple[str, int]) -> Call:
    return Call(
        site=words[1],
        hit=rounds[1],
        name="variables",
        receiver="",
        given="",
        made=words[3],
        after=("", ""),
        at=int(words[4]),
        rounds=rounds,
        is_round=True,
    )


def inexplicable(first: Calls, second: Calls) -> Unlike:
    """The lines whose calls cannot be explained, in the order in which the first run came to them."""
    found: dict[str, Candidate] = {}
    differs: list[Candidate] = []
    followers: dict[str, Candidate] = {}
    since = None
    for process, calls in first.ordered.items():
        pairs = _paired(calls, second.ordered.get(process, ()))
        for before, one, other in pairs:
            if one is None or other is None:
                break
            if not differs and not found:
                since = before.rounds if before else None
            _judge(one, other, found, differs)
            if found and one.site not in found and one.receiver and one.given == other.given:
                followers.setdefault(one.site, _candidate(one, hidden=True))
    begun = _first_moments(first.others)
    for one_of_many in _elsewhere(first.others, second.others):
        candidate = replace(one_of_many, at=begun[one_of_many.site])  # what waits for it ends later
        found.setdefault(candidate.site, candidate)
        differs.append(candidate)
    candidates = sorted(found.values(), key=lambda one: one.at)
    starts = min(differs, key=lambda one: one.at, default=None)
    thinned = [
        call.at
        for calls in first.ordered.values()
        for call in calls
        if call.is_round and call.hit >= _FIRST_ROUNDS
    ]
    return Unlike(
        candidates=tuple(candidates),
        followers=tuple(sorted(followers.values(), key=lambda one: one.at)),
        first=starts,
        since=since,
        sampled=bool(thinned),
        sampled_before=starts is not None and any(at < starts.at for at in thinned),
    )


def makers(calls: Calls, one: Candidate) -> tuple[Candidate, ...]:
    """The lines that made or worked on what a call works on, before it, the last first.

    Only where that cannot be read: else their own results or what they left show whether they differ.
    """
    for made in calls.ordered.values():
        at = next((number for number, call in enumerate(made) if call.site == one.site), None)
        if at is None or not made[at].receiver.endswith(_UNREAD):
            continue
        same = made[at].receiver
        earlier = [call for call in made[:at] if same in {call.receiver, call.made, call.after[0]}]
        found = {call.site: _candidate(call) for call in reversed(earlier) if call.site != one.site}
        return tuple(found.values())
    return ()


def first_of(calls: Calls, sites: Collection[str]) -> Candidate | None:
    """The first call that ended at one of these sites; None where there is none."""
    every = [call for made in (*calls.ordered.values(), calls.others) for call in made if call.site in sites]
    first = min(every, key=lambda call: call.at, default=None)
    return None if first is None else _candidate(first)


def _first_moments(calls: Iterable[Call]) -> dict[str, int]:
    """When each site was first passed."""
    found: dict[str, int] = {}
    for call in calls:
        found[call.site] = min(call.at, found.get(call.site, call.at))
    return found


def _judge(one: Call, other: Call, found: dict[str, Candidate], differs: list[Candidate]) -> None:
    """Take up two calls at the same place of two runs that are not alike."""
    if one.is_round:
        pass
    elif one.input == other.input:
        found.setdefault(one.site, _candidate(one))
    elif one.given == other.given and not differs:
        found.setdefault(one.site, _candidate(one, hidden=True))
    differs.append(_candidate(one))


def _paired(
    first: Sequence[Call], second: Sequence[Call]
) -> Iterator[tuple[Call | None, Call | None, Call | None]]:
    """Calls at the same place that are not alike, and the last one before that was; until the runs part."""
    before: Call | None = None
    for one, other in zip(first, second, strict=False):
        if one.site != other.site:
            yield before, None, None
            return
        if one.output == other.output:
            before = one  # what went in may differ: this call washes it out
        else:
            yield before, one, other


def _elsewhere(first: Iterable[Call], second: Iterable[Call]) -> Iterator[Candidate]:
    """Calls of other threads and processes with equal inputs and other outputs; named once a line.

    Where a line was given nothing alike in the two runs but what it works on, that holds a state of its own.
    """
    one, other = _by_input(first), _by_input(second)
    told: set[str] = set()
    for key, (call, made) in one.items():
        if call.site in told or key not in other:
            continue
        if not (made <= other[key][1] or other[key][1] <= made):
            told.add(call.site)
            yield _candidate(call, elsewhere=True)
    seen, theirs = _by_arguments(one), _by_arguments(other)
    for arguments, (call, receivers) in seen.items():
        if call.site in told or arguments not in theirs or not call.receiver:
            continue
        if not receivers & theirs[arguments][1]:
            told.add(call.site)
            yield _candidate(call, elsewhere=True, hidden=True)


_Key = tuple[str, str, str]


def _by_input(calls: Iterable[Call]) -> dict[_Key, tuple[Call, Counter[object]]]:
    found: dict[_Key, tuple[Call, Counter[object]]] = {}
    for call in calls:
        key = (call.site, call.receiver, call.given)
        found.setdefault(key, (call, Counter()))[1][call.output] += 1
    return found


def _by_arguments(
    calls: Mapping[_Key, tuple[Call, Counter[object]]],
) -> dict[tuple[str, str], tuple[Call, set[str]]]:
    found: dict[tuple[str, str], tuple[Call, set[str]]] = {}
    for (site, receiver, given), (call, _) in calls.items():
        found.setdefault((site, given), (call, set()))[1].add(receiver)
    return found


def _candidate(call: Call, *, hidden: bool = False, elsewhere: bool = False) -> Candidate:
    file, line = place_of(call.site)
    return Candidate(
        site=call.site,
        file=file,
        line=line,
        name=call.name,
        at=call.at,
        hidden=hidden,
        elsewhere=elsewhere,
        unseen=call.unseen,
    )


def place_of(site: str) -> tuple[str, int]:
    """File and line of a site."""
    found = _SITE.match(site)
    return (found[1], int(found[2])) if found else (site, 0)
