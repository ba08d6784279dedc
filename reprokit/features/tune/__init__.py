"""Tuning: settings drawn as a pure function of seed and trial number, a run each, the best of them reported.

Optuna is imported by ``samplers``, ``one_at_a_time``, ``pruning`` and ``in_optuna`` alone, and these only
where a search needs them: it is an extra.
"""
