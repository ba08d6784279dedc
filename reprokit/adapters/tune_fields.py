"""What Ray Tune adds to every result by itself: times, hosts, process ids and the configuration, no metrics.

Source: ray/tune/result.py and ray/air/constants.py of Ray 2.

>>> is_added("time_total_s"), is_added("config/lr"), is_added("episode_return_mean")
(True, True, False)
"""

from __future__ import annotations

STEP = "training_iteration"
#: By these together, and a step, a table or record is known as one of Tune's.
SIGNATURE = frozenset({STEP, "time_this_iter_s", "time_total_s", "hostname", "node_ip", "pid"})

_ADDED = frozenset(
    {
        *("date", "timestamp", "time_this_iter_s", "time_total_s", "time_since_restore", "pid", "hostname"),
        *("node_ip", "trial_id", "experiment_id", "experiment_tag", "config", "checkpoint_dir_name"),
    }
)


def is_added(name: str) -> bool:
    """Whether a field, whose names are joined with ``/``, is none that the program reported."""
    return name.partition("/")[0] in _ADDED
