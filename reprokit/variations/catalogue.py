"""The table of variations, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reprokit.variations import by_place
from reprokit.variations.variation import RunPlace, Variation, VariationNotMade

#: Turkish letters I are not English ones. The first that the system has and that differs is set: a program
#: that asks for one that is not there ends. Where there are no languages, ASCII stands against `C.UTF-8`.
_LOCALES = ("tr_TR.UTF-8", "de_DE.UTF-8", "en_US.UTF-8", "C.UTF-8", "C")


class CatalogueRow(NamedTuple):
    """A variation: its name in recipes and options, what it changes in words, and what makes it."""

    name: str
    says: str
    #: One that is the same anywhere, or a function of the place.
    makes: Variation | Callable[[RunPlace], Variation | VariationNotMade]

    def vary(self, there: RunPlace) -> Variation | VariationNotMade:
        """The change, or why it cannot be made there."""
        return self.makes if isinstance(self.makes, Variation) else self.makes(there)


CATALOGUE = (
    CatalogueRow("hash_seed", "Python's hash seed", by_place.hash_seed),
    CatalogueRow(
        "host_name",
        "the host's name",
        Variation(
            category="environment",
            fix="derive the value from the seed",
            vary=("host_name",),
            environment={"HOSTNAME": "localhost"},  # another name that resolves to this host
        ),
    ),
    CatalogueRow(
        "cpu_count",
        "the number of cores that the program sees",
        Variation(category="environment", fix="make the number of workers a setting", vary=("cpu_count",)),
    ),
    CatalogueRow(
        "directory_order",
        "the order of directory listings",
        Variation(category="file_order", fix="sort what is listed", vary=("directory_order",)),
    ),
    CatalogueRow(
        "completion_order",
        "the order in which tasks complete",
        Variation(
            category="concurrency",
            fix="take results in the order in which they were asked for",
            vary=("completion_order",),
        ),
    ),
    CatalogueRow(
        "clock",
        "the date",
        Variation(
            category="clock",
            fix="count steps instead of seconds; take a seed from a setting",
            vary=("clock",),
        ),
    ),
    CatalogueRow("time_zone", "the time zone", by_place.time_zone),
    CatalogueRow(
        "locale",
        "the locale",
        Variation(
            category="environment",
            fix="sort and format without the locale",
            start=("--locale", ",".join(_LOCALES)),
            shows={"LC_ALL": _LOCALES},
            differs=("locale",),
        ),
    ),
    CatalogueRow("user_and_home", "the home folder and the user's name", by_place.user_and_home),
    CatalogueRow("temporary_folder", "the folder for temporary files", by_place.temporary_folder),
    CatalogueRow(
        "working_folder",
        "the path of the working folder",
        Variation(category="environment", fix="do not let a number depend on it", vary=("working_folder",)),
    ),
    CatalogueRow("run_folder", "the path of the run folder", by_place.run_folder),
    CatalogueRow("threads", "the number of threads of the numeric libraries", by_place.threads),
    CatalogueRow(
        "environment_noise",
        "variables that mean nothing",
        Variation(
            category="environment",
            fix="read only the variables that are meant",
            environment={"REPROKIT_NOISE": "x" * 97, "NOISE": "1", "ZZ_NOISE": ""},
        ),
    ),
    CatalogueRow(
        "umask",
        "the umask",
        Variation(
            category="environment",
            fix="set the mode of the files that matter",
            start=("--umask", "077,027"),  # only the owner may read, or where that is so, the group too
            shows={"umask": ("077", "027")},
            differs=("umask",),
        ),
    ),
    CatalogueRow(
        "process_id",
        "the process id",
        Variation(
            category="process_identity",
            fix="derive the value from the seed",
            start=("--processes", "37"),  # as on a host that has run more programs
            differs=("process_id",),
        ),
    ),
    CatalogueRow("memory_pattern", "what freshly allocated memory holds", by_place.memory_pattern),
    CatalogueRow(
        "address_layout", "where the system puts libraries, heap and stack", by_place.address_layout
    ),
    CatalogueRow("network", "whether there is a network", by_place.network),
    CatalogueRow("cpu_affinity", "the cores that the program may run on", by_place.cpu_affinity),
    CatalogueRow("load", "what else the machine is busy with", by_place.load),
    CatalogueRow("leftovers", "what earlier runs left", by_place.leftovers),
    CatalogueRow("cpu_model", "the CPU model", by_place.cpu_model),
    CatalogueRow("gpu_index", "which of the GPUs computes, and their order", by_place.gpu_index),
    CatalogueRow("compile_autotune", "which kernels torch.compile chooses", by_place.compile_autotune),
    CatalogueRow("compiler", "whether torch.compile compiles", by_place.compiler),
    CatalogueRow(
        "batch_composition",
        "how many rows are computed together",
        # Rows of a batch in two parts where no gradient is taken: who serves batches that are put together by
        # chance gets other numbers where a row's result depends on how many are computed with it.
        Variation(
            category="nonportable_numerics",
            fix="compute rows in batches of one size, filled up where there are fewer",
            vary=("batch_composition",),
            seldom="it matters where batches are put together by chance",
        ),
    ),
)
