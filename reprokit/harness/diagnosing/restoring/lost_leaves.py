"""Which of what is reachable a resumed run lost: shown by giving it what the whole run had there.

Both runs are walked at the same update. What differs is set, all of it first; where what follows then agrees
with the whole run, the smallest set that does is looked for. Nothing is named that was not tried.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit import diagnosis
from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram
from reprokit.harness.diagnosing.restoring.same_update import (
    Leaf,
    Recording,
    counted,
    differing,
    owner_of,
    recordings,
    same_updates,
)

Part = tuple[Leaf, ...]

_FIX = "save {what} with the checkpoint, and restore it on resuming"
_SHOWN = 3
#: So many sets that make a program go another way are left out, one after the other.
_MOST_LEFT = 3
_NUMBERS = {"generator", "array"}
#: What is likelier to be state is tried first.
_WEIGHTS = {"generator": 8.0, "array": 4.0, "list": 1.0, "value": 1.0}
#: What frameworks call to seed generators: such a line stands for one that no variable holds.
_SEEDS = {"manual_seed", "seed_everything", "set_seed", "seed", "set_random_seed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLeaves:
    """What the experiments show.

    Attributes:
        state: Paths of the leaves that have to be restored; or one that says of which object only its output
            tells.
    """

    cause: Cause
    state: tuple[str, ...]
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The runs that are known already, and how others are made and judged.

    Attributes:
        whole: An uninterrupted run; its updates were counted.
        resumed: The resumed one, likewise.
        given: How a run is resumed.
        agrees: Whether a resumed run has the whole run's records.
        goes_alike: Whether a run ends as the resumed run did, with records at the same steps.
        read_at: Where the checkpoint is read: file, line and function, if that is known.
    """

    whole: InstrumentedRun
    resumed: InstrumentedRun
    given: Conditions
    agrees: Callable[[InstrumentedRun], bool]
    goes_alike: Callable[[InstrumentedRun], bool]
    read_at: tuple[str, int, str] | None


def find_lost_leaves(
    lab: InstrumentedProgram, pair: Pair, *, at_kinds: Collection[str] = ()
) -> LostLeaves | None:
    """What was lost, by experiments; None where the state cannot be walked or they show nothing.

    Args:
        lab: Makes the runs.
        pair: Those that there are.
        at_kinds: Kinds of updates to look at; all where it is empty.
    """
    found_at = same_updates(pair.whole.traced, pair.resumed.traced)
    at = {kind: number for kind, number in found_at.items() if not at_kinds or kind in at_kinds}
    if not at:
        return None
    lab.progress.phase("which state differs at the update where the resumed run begins?")
    ran = lab.run("whole-state", replace(pair.given, words=(), state={"record": at}))
    if not lab.equal(pair.whole, ran):
        return None
    ours, theirs = recordings(ran.traced), recordings(pair.resumed.traced)
    both = [kind for kind in at if kind in ours and kind in theirs]
    for kind in both:
        asked = _Asked(lab=lab, pair=pair, kind=kind, whole=ours[kind], resumed=theirs[kind])
        found = asked.smallest(differing(ours[kind], theirs[kind]))
        if found is not None:
            return found
    return _of_compiled_code([theirs[kind] for kind in both])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Whether what follows agrees with the whole run, and whether the run goes as the resumed one did."""

    agrees: bool
    alike: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    lab: InstrumentedProgram
    pair: Pair
    kind: str
    whole: Recording
    resumed: Recording
    answers: dict[frozenset[str], _Answer] = field(default_factory=dict)

    def smallest(self, leaves: Sequence[Leaf]) -> LostLeaves | None:
        """The smallest set of leaves that makes what follows agree; None where all of them do not.

        Names and lists of a framework's own may fit no other run: numbers are tried without them as well,
        and then all but what makes the program go another way, such as where it began to count.
        """
        if self.whole.problem or not leaves:
            return None
        numbers = [leaf for leaf in leaves if leaf.kind in _NUMBERS]
        left: Sequence[Leaf] = ()
        enough = next((some for some in (leaves, numbers) if some and self.tried([some])), None)
        if enough is None:
            left = self._misleading(leaves)
            enough = [leaf for leaf in leaves if leaf not in left]
            if not (left and enough and self.tried([enough])):
                return None
        leaves = enough
        groups: dict[str, list[Leaf]] = {}
        for leaf in leaves:
            groups.setdefault(owner_of(leaf, self.whole, self.resumed), []).append(leaf)
        kept, least = _least([tuple(group) for group in groups.values()], self.tried, weight=_likely)
        parts: Sequence[Part] = [part for group in kept for part in _alike(group)]
        if len(parts) > len(kept):
            parts, least_parts = _least(parts, self.tried, weight=_likely)
            least = least and least_parts
        found = [leaf for part in parts for leaf in part]
        rest = [leaf for leaf in leaves if leaf not in found]
        alone = not rest or self.tried([rest]) is False
        known = [] if least else ["the budget ended before every smaller set was tried"]
        if not alone:
            known.append("what else differs, restored without these, makes what follows agree as well")
        known += [
            f"the program goes another way with `{leaf.path}` of the whole run, which was left"
            for leaf in left
        ]
        return LostLeaves(
            cause=self._cause(found, confidence="high" if alone and least else "medium", least=least),
            state=tuple(leaf.path for leaf in found),
            known=tuple(known),
        )

    def _misleading(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        """Those with which the program makes other updates or writes other records than the resumed run.

        Of each such set the smallest is left out, until the rest go as the resumed run did.
        """
        found: list[Leaf] = []
        for _ in range(_MOST_LEFT):
            rest = [leaf for leaf in leaves if leaf not in found]
            if not rest or self._misleads([(leaf,) for leaf in rest]) is not True:
                break
            parts, least = _least([(leaf,) for leaf in rest], self._misleads, weight=_unlikely)
            if not least:
                break
            found += [leaf for part in parts for leaf in part]
        return found

    def _misleads(self, groups: Sequence[Sequence[Leaf]]) -> bool | None:
        answer = self._answered(groups)
        return None if answer is None else not answer.alike

    def tried(self, groups: Sequence[Sequence[Leaf]]) -> bool | None:
        """Whether what follows agrees where these are set; None where the budget is used up."""
        answer = self._answered(groups)
        return None if answer is None else answer.agrees

    def _answered(self, groups: Sequence[Sequence[Leaf]]) -> _Answer | None:
        leaves = [leaf for group in groups for leaf in group]
        asked = frozenset(leaf.steps for leaf in leaves)
        if asked not in self.answers:
            if self.lab.spent:
                return None
            self.answers[asked] = self._put_in(leaves)
        return self.answers[asked]

    def _put_in(self, leaves: Sequence[Leaf]) -> _Answer:
        put = {
            "kind": self.kind,
            "from": str(self.whole.folder.resolve()),
            "steps": {one.steps: one.source or one.steps for one in leaves},
        }
        ran = self.lab.run("state-put-in", replace(self.pair.given, state={"put": put}))
        as_many = self._as_many(ran)
        return _Answer(agrees=as_many and self.pair.agrees(ran), alike=as_many and self.pair.goes_alike(ran))

    def _as_many(self, ran: InstrumentedRun) -> bool:
        """Whether it made as many updates as the resumed run: one that was set back made more."""
        one, other = (
            {kind: len(places) for kind, places in counted(side.traced).items()}
            for side in (ran, self.pair.resumed)
        )
        return one == other

    def _cause(self, found: Sequence[Leaf], *, confidence: str, least: bool) -> Cause:
        """What was lost, where it is made; where it may be less than that, where the checkpoint is read."""
        named = ", ".join(f"`{leaf.path}`" for leaf in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        are = "is" if len(found) == 1 else "are"
        read_at = None if least else self.pair.read_at
        file, line, function = read_at or self._line(found[0])
        it = "it" if len(found) == 1 else "them"
        return Cause(
            category="resume_state",
            file=file,
            line=line,
            function=function,
            what=f"{named}{more} {are} not restored; with the whole run's in place what follows is equal",
            fix=_FIX.format(what=it),
            confidence=confidence,
        )

    def _line(self, leaf: Leaf) -> tuple[str | None, int | None, str | None]:
        """Where the object is made or loaded in the resumed run."""
        name, file, function, begins = leaf.root
        stack = self.resumed.stack
        here = next((one for one in stack if one[0] == file and one[2] == function), None)
        line = made_at(file, name, within=begins, before=here[1]) if file and here else 0
        if file and not line:
            line = made_at(file, name, within=begins, before=0)
        if line:
            return file, line, function
        seeded = next((found for one in stack[::-1] if (found := _seeded_at(one[0]))), None)
        if not leaf.root[0] and seeded:
            return seeded[0], seeded[1], None
        return self.pair.read_at or (stack[0] if stack else (None, None, None))


def _least(
    parts: Sequence[Part],
    tried: Callable[[Sequence[Part]], bool | None],
    *,
    weight: Callable[[Part], float],
) -> tuple[Sequence[Part], bool]:
    """The smallest set of parts that is enough, as all are together; and whether every set was tried."""

    def enough(held: tuple[Part, ...]) -> bool:
        answer = tried(held)
        if answer is None:
            raise _SpentError
        return answer

    try:
        return diagnosis.isolate(parts, enough=enough, weight=weight), True
    except _SpentError:
        return parts, False


class _SpentError(Exception):
    """No further run can be made."""


def _likely(part: Part) -> float:
    return max(_WEIGHTS[leaf.kind] for leaf in part)


def _unlikely(part: Part) -> float:
    return 1 / _likely(part)


def _alike(group: Part) -> list[Part]:
    """Leaves of one object by their last name: all `exp_avg` of an optimizer stand or fall together."""
    found: dict[str, list[Leaf]] = {}
    for leaf in group:
        found.setdefault(re.split(r"(?=[.\[])", leaf.path)[-1], []).append(leaf)
    return [tuple(one) for one in found.values()]


def _of_compiled_code(sides: Sequence[Recording]) -> LostLeaves | None:
    """The object whose compiled code holds what was lost: all else was set, or is equal."""
    for side in sides:
        trained = [(path, kind) for path, kind in side.opaque if kind.rpartition(".")[2] == "Booster"]
        if not trained:
            continue
        path, kind = trained[-1]  # the one whose update it is: its frame is the innermost
        file, line, function = side.stack[0] if side.stack else (None, None, None)
        return LostLeaves(
            cause=Cause(
                category="resume_state",
                file=file,
                line=line,
                function=function,
                what=f"what compiled code holds of `{path}` ({kind}) is not restored; nothing that is "
                "reachable from Python makes what follows equal, only its output tells",
                fix="train to the end in one run, or without what it draws at random",
                confidence="medium",
            ),
            state=(f"{path}: state of its compiled code, not reachable from Python, only its output tells",),
        )
    return None


def made_at(file: str, name: str, *, within: int, before: int) -> int:
    """The last line that gives a variable a value in its own function; 0 where none does.

    Args:
        file: The program's.
        name: The variable.
        within: The first line of the function; 0 for the module itself.
        before: Lines from this one on do not count, unless it is 0.
    """
    tree = _parsed(file)
    if tree is None:
        return 0
    scope: ast.AST = tree
    if within:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        inner = [one for one in ast.walk(tree) if isinstance(one, kinds)]
        begins = [(min([one.lineno, *(mark.lineno for mark in one.decorator_list)]), one) for one in inner]
        scope = next((one for line, one in begins if line == within), tree)
    lines = [
        node.lineno
        for node in _of_scope(scope)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    lines += [node.lineno for node in _of_scope(scope) if isinstance(node, ast.arg) and node.arg == name]
    return max((line for line in lines if not before or line < before), default=0)


def _of_scope(scope: ast.AST) -> list[ast.AST]:
    """The nodes of a module or function, without those of functions and classes within."""
    found, left = [], list(ast.iter_child_nodes(scope))
    while left:
        node = left.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            left += ast.iter_child_nodes(node)
    return found


def _seeded_at(file: str) -> tuple[str, int] | None:
    tree = _parsed(file)
    lines = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
        in _SEEDS
    ]
    return (file, max(lines)) if lines else None


def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
