"""What the feature ``machines`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="machines",
    subverbs={
        "golden": {"record": "reprokit.features.machines.verb:record"},
        "runs": {
            "attach": "reprokit.features.machines.verb:attach",
            "carry-out": "reprokit.features.machines.verb:carry_out",
        },
    },
    extends={
        "sweep": "reprokit.features.machines.options:SWEEP",
        "verify": "reprokit.features.machines.options:VERIFY",
    },
    offers={"other_machines": "reprokit.features.machines.sweep_on_machines:SweepOnMachines"},
)
