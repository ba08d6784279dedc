"""What a program left in a run folder, without what the harness writes there.

>>> files_of_program(Path("runs/x"), skipped=NOT_METRICS)
[PurePosixPath('output/log.txt')]
"""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from reprokit import compressed, file_tree, layout
from reprokit.file_tree import Kind
from reprokit.layout import RECORD, TIMING, TRACE

#: What is never compared as metrics, by contract: durations, and the trace, which is judged elsewhere.
NOT_METRICS = frozenset({TIMING, TRACE})
#: Whether a run is of a plain command → its folders without metrics. Such a command may write anything.
_NO_METRICS_OF = {
    None: frozenset[str](),
    True: frozenset({"output"}),
    False: frozenset({"output", "source", "checkpoints"}),
}
#: What the harness writes into a folder that holds its record, next to the metrics.
_OURS = frozenset(
    {
        *(
            RECORD,
            layout.ENVIRONMENT,
            layout.RUNTIME,
            layout.INSTRUMENT,
            layout.OTHER_SEED,
            layout.MANIFEST,
            layout.MARKER,
        ),
        *(layout.STDOUT, layout.STDERR, layout.SBOM, layout.IMAGE_PROVENANCE),
    }
)


_NAMES = frozenset(
    name.lower()
    for name in (
        *(*_OURS, *NOT_METRICS, layout.METRICS, layout.CONFIG, layout.PLACES, layout.PROVENANCE),
        *(layout.REPORT, layout.ENSEMBLE_LINES, layout.COMPARISON, layout.BUNDLE, layout.SWEEP, layout.STUDY),
    )
)


def skipped_in(run_dir: Path) -> Collection[str]:
    """Names directly in a run folder of what is never compared as metrics."""
    return NOT_METRICS | _NO_METRICS_OF[is_of_plain_command(run_dir)]


def files_of_program(run_dir: Path, *, skipped: Collection[str]) -> list[PurePath]:
    """The plain files of a run folder that the harness did not write."""
    ours = _OURS if (run_dir / RECORD).exists() else frozenset()
    entries = file_tree.walk(run_dir, skipped={*skipped, *ours})
    return [PurePath(entry.name) for entry in entries if entry.kind is Kind.FILE]


def is_ours(name: str) -> bool:
    """Whether a file is called as one that the harness writes, compressed or not."""
    plain = name.lower().removesuffix(compressed.SUFFIX)
    return plain in _NAMES or fnmatchcase(plain, "trace.rank*.jsonl")


def is_of_plain_command(run_dir: Path) -> bool | None:
    """Whether a run is of a plain command; None where its record cannot be read."""
    try:
        return b'"plain_command"' in (run_dir / RECORD).read_bytes()
    except OSError:
        return None
