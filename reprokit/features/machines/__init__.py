"""Runs on other machines: of a Ray or Slurm cluster, for sweeps, goldens and gates.

``place`` says what an engine has to do; ``ray`` and ``slurm`` do it. ``on_this_machine`` is what runs there.
"""
