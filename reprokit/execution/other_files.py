"""Which files of other runs, and of a tree that is not its own, a program on this host may not open, and did.

>>> opened({"opened": [["read", "/p/runs/train/1/log", "/usr/bin/cp"]], "unknown": ""}, tree)
{'files': ['/p/runs/train/1/log']}
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reprokit.core.records import OtherTree, RunSpec
from reprokit.execution.code_elsewhere import OURS

_MOST_NAMED = 2_000
#: That of the system; a program of one's own may have any name.
_GIT = re.compile(r"/(?:usr/(?:local/)?)?(?:bin/git|lib(?:exec)?/git-core/[\w-]+)")
#: What of ``OtherTree.left`` was opened, where that is known of all; and what else that is as new. Both for
#: who makes the runs, and in no record.
LEFT, CHANGED = "left", "changed"


def watched_for(spec: RunSpec, *, run_dir: Path) -> dict[str, Any] | None:
    """What the guard looks for, as ``OtherRuns`` takes it; None for nothing."""
    tree = spec.other_tree
    if tree is None or tree.unwatched:
        return None
    return {
        "trees": [tree.root] if tree.files else [],
        "runs": list(tree.runs),
        "written": {**asdict(tree.written), "files": sorted(tree.written.files)},
        "left": sorted(tree.left),
        "left_since": tree.left_since,
        "lists": tree.lists,
        "searched": [*_searched(spec)] if tree.lists else [],
        "allowed": [str(run_dir), *(mount.path for mount in spec.mounts), *_named(spec, tree)],
    }


def opened(facts: Mapping[str, Any], tree: OtherTree) -> dict[str, Any]:
    """Files of another tree or run that a program opened: ``files``; ``unknown``: why there may be more.

    A folder that it listed is one too, with a slash at its end; not one that git listed, which looks for
    files that it does not know. With ``LEFT``, where all is known, those of its earlier runs; with
    ``CHANGED`` what was changed while these were under way.
    """
    if tree.unwatched:
        return {"files": [], "unknown": tree.unwatched}
    if "opened" not in facts:
        return {"files": [], "unknown": "the guard of the program was ended before it could say"}
    root, runs = os.path.realpath(tree.root), tuple(f"{os.path.realpath(one)}/" for one in tree.runs)
    ours = tuple(map(os.path.realpath, OURS))  # the tool may be started from that tree
    read = sorted(
        {
            path
            for what, path, program in facts["opened"]
            if what == "read" and not path.startswith(ours) and not _is_git_at_golden(path, program)
        }
    )
    written = tuple(f"{os.path.realpath(one)}/" for one in tree.written.folders)
    known = {*tree.written.files, *map(os.path.realpath, tree.written.files)}
    files = [
        path
        for path in sorted(set(read) - (tree.left - known))
        if path.startswith((*runs, *written)) or path in known or os.path.relpath(path, root) in tree.files
    ]
    folders = {os.path.dirname(path) for path in known}  # noqa: PTH120
    folders |= {os.path.normpath(f"{root}/{above}") for name in tree.files for above in _folders_of(name)}
    listed = {path for what, path, who in facts["opened"] if what == "listed" and not _GIT.fullmatch(who)}
    files += [
        f"{path}/"
        for path in sorted(listed)
        if not path.startswith(ours) and (path.startswith((*runs, *written)) or path in folders)
    ]
    unknown = str(facts["unknown"])
    changed = sorted({path for what, path, _ in facts["opened"] if what == "left"})
    told = {
        "files": files[:_MOST_NAMED],
        **({"unknown": unknown} if unknown else {}),
        **({CHANGED: changed} if changed else {}),
    }
    return {**told, LEFT: sorted(tree.left.intersection(read))} if tree.left and not unknown else told


def _folders_of(name: str) -> Iterator[str]:
    """The folders above a file of a tree; "." is the tree."""
    while name := name.rpartition("/")[0]:
        yield name
    yield "."


def _searched(spec: RunSpec) -> Iterator[str]:
    """Where the Python of a command looks for modules first: every program lists that."""
    yield spec.working_dir or os.curdir
    for word in spec.command:
        path = os.path.join(spec.working_dir or "", word)  # noqa: PTH118
        if os.path.isfile(path):  # noqa: PTH113
            yield os.path.dirname(path)  # noqa: PTH120


def _is_git_at_golden(path: str, program: str) -> bool:
    """Whether git looks at a golden, as `git status` does in a new clone: many libraries ask it."""
    return bool(_GIT.fullmatch(program)) and (Path(path).parent / "provenance.json").is_file()


def _named(spec: RunSpec, tree: OtherTree) -> Iterator[str]:
    """What of single runs the command or a variable of its own names: that is declared, not searched for.

    A link is not, since it can lead to the newest run.
    """
    folders = [os.path.realpath(folder) for folder in tree.runs]
    for word in (*spec.command, *spec.environment.values()):
        for text in {word, word.partition("=")[2]} - {""}:
            path = os.path.normpath(os.path.join(spec.working_dir or "", text))  # noqa: PTH118  (no loop of links)
            real = os.path.realpath(path)
            below = [Path(real).relative_to(one).parts for one in folders if real.startswith(f"{one}/")]
            if any(len(parts) > 1 and Path(path).parts[-len(parts) :] == parts for parts in below):
                yield real
