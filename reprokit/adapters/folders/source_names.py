"""Names of sources without what is new in every run: times, hosts, process ids and random ids.

>>> lasting("outputs/2026-11-22/12-34-56/metrics.csv")
'outputs/{date}/{time}/metrics.csv'
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DATE = r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_COMPACT_DATE = r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_HOUR, _SIXTY = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_TIME = rf"{_HOUR}[-:_.]{_SIXTY}[-:_.]{_SIXTY}"
#: Each is put in for a part of one folder's or file's name. These are ids that sort in no order.
_IDS = (
    (r"(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])", "{id}"),  # a UUID
    (r"(?<![0-9a-z])[0-9a-f]{32}(?![0-9a-z])", "{id}"),  # a run of MLflow
    (r"^\d{18}$", "{id}"),  # an experiment of MLflow
    (rf"^((?:offline-)?run-{_COMPACT_DATE}_\d{{6}}-).+$", r"\1{id}"),  # a run of W&B, and its file
    (r"^run-.+\.wandb$", "run-{id}.wandb"),
    (r"(_)[0-9a-f]{5,8}(_\d{5}_)", r"\1{id}\2"),  # a trial of Ray Tune, whose number stays
    (rf"({_DATE}_{_TIME})[0-9a-z_]{{8}}$", r"\1"),  # an experiment of RLlib, called by tempfile
    (r"^tmp[0-9a-z_]{8}$", "tmp{id}"),  # Python's tempfile
    (r"(?<![a-z])(pid[-_=]?)\d+", r"\1{pid}"),
)
#: These sort by time.
_TIMES = (
    (rf"^(?:{_MONTHS})[0-3]\d_{_TIME}_.+$", "{time}_{host}"),  # TensorBoard's SummaryWriter
    (rf"(?<!\d){_DATE}[T_ -]{_HOUR}[-:_.]?{_SIXTY}[-:_.]?{_SIXTY}(?:[.,_-]\d{{3,9}})?(?!\d)Z?", "{time}"),
    (rf"(?<!\d){_COMPACT_DATE}[-_T]?{_HOUR}{_SIXTY}{_SIXTY}(?!\d)", "{time}"),
    (rf"(?<!\d)(?:{_DATE}|{_COMPACT_DATE})(?!\d)", "{date}"),
    (rf"(?<![\d])(?<!\d[-:_.]){_TIME}(?![-:_.]?\d)", "{time}"),
    # Seconds since 1970 in the years 2017 to 2033, whole or with a fraction, or milliseconds and finer.
    (r"(?<![\d.])1[5-9]\d{8}(?:\.\d+|\d{3}|\d{6}|\d{9})?(?![\d.]*\d)", "{time}"),
)


def lasting(name: str) -> str:
    """The name with placeholders for what is new in every run."""
    return _replaced(_replaced(name, _IDS), _TIMES)


def in_order_begun(named: Iterable[tuple[str, int]]) -> list[int]:
    """Which of several sources of one lasting name was begun first, and so on: their positions.

    Args:
        named: The name of each as it is, and when its file was last written, in nanoseconds.
    """
    keys = [(_replaced(name, _IDS), written_ns, name) for name, written_ns in named]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _replaced(name: str, rules: Iterable[tuple[str, str]]) -> str:
    parts = name.split("/")
    for pattern, placeholder in rules:
        parts = [re.sub(pattern, placeholder, part) for part in parts]
    return "/".join(parts)
