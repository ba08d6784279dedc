"""A variation: the variables that PBS sets have other values."""

from reprokit.api.extensions import NamedVariation, Variation

VARIATION = NamedVariation(
    says="the job id that PBS gives",
    makes=Variation(
        category="environment",
        fix="do not let a number depend on PBS_JOBID",
        environment={"PBS_JOBID": "4711.elsewhere", "PBS_JOBNAME": "elsewhere"},
    ),
)
