"""Which kinds of values ``run.json`` has: a record of another form is damaged, and nothing in it is believed.

Every reader may then take a value for what its key says. A key that is not listed may hold anything.

    >>> misfit({"seed": "42"})
    'seed'
"""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType
from typing import Any

from reprokit.layout import RANKS_ALLOWED

#: A type; None; the whole numbers of a range; several forms, of which one must fit; the form of every item of
#: a list; of every value of an object (under ``...``), or of those that are named.
Form = type | None | range | tuple["Form", ...] | list["Form"] | Mapping[str | EllipsisType, "Form"]

_TEXT, _SECONDS = (str, None), (float, None)
_TEXTS: Form = {...: str}
_IMAGE: Form = {
    **dict.fromkeys(("variant", "kind", "reference", "digest", "python", "lock_digest", "base"), _TEXT),
    "device_needs": dict,
}
_FORM: Mapping[str, Form] = {
    **dict.fromkeys(("schema", "attempt"), int),
    "seed": (float, None),  # 42.0 is another seed than 42, and is called so
    **dict.fromkeys(("exit_code", "signal"), (int, str, None)),
    **dict.fromkeys(("recipe", "run_id", "device", "backend", "state", "numerics", "backend_asked"), _TEXT),
    **dict.fromkeys(("outcome", "message", "remedy", "started_at", "ended_at"), _TEXT),
    **dict.fromkeys(("recipe_digest", "mounted_digest"), _TEXT),
    "command": [str],
    "modified": [str],
    "outputs": [str],
    "output_digests": _TEXTS,
    "left_in_output": [str],
    "folders_asked": [str],
    "has_make": bool,
    "bundle": ({...: str}, None),
    "plain_command": ([str], None),
    "environment": _TEXTS,
    "image": (_IMAGE, None),
    "limits": (dict, None),
    "digests": ({...: _TEXT}, None),
    "recipe_data": ({"ranks": ({"world_size": RANKS_ALLOWED}, None)}, None),
    **dict.fromkeys(("training_config", "installed", "isolation", "varied", "resumed_from"), (dict, None)),
    "program": ({"files": _TEXTS}, None),
    "shared": {...: [str]},
    **dict.fromkeys(("sources", "volatile", "volatile_idle", "left_because", "left_by_earlier_runs"), _TEXTS),
    "metrics_problem": ({...: _TEXT}, None),
    "where": str,
    "machine": _TEXTS,
    "owner": ({"pid": int, "started": float, "boot": float}, None),
    "duration_s": _SECONDS,
}


def misfit(record: Mapping[str, Any]) -> str:
    """The first key whose value is of another form; "" where there is none."""
    return next(
        (name for name, form in _FORM.items() if name in record and not _fits(record[name], form)), ""
    )


def _fits(value: Any, form: Form) -> bool:
    if isinstance(form, tuple):
        return any(_fits(value, one) for one in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(one, form[0]) for one in value)
    if isinstance(form, Mapping):
        others = form.get(..., object)
        return isinstance(value, dict) and all(
            _fits(one, form.get(name, others)) for name, one in value.items()
        )
    if form is None or form is object:
        return form is object or value is None
    if isinstance(value, bool):
        return form is bool
    kinds = int if isinstance(form, range) else (int, float) if form is float else form
    return isinstance(value, kinds) and not (isinstance(form, range) and value not in form)
