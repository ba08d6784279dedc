"""The verbs that there are, and the order in which they are listed."""

from __future__ import annotations

from reprokit.cli.named_extensions import of_extensions
from reprokit.feature import Heading, Verb, features

#: The verbs of the core; features bring theirs. Listing them imports no verb.
_CORE = {
    "reproduce": Verb(
        command="reprokit.cli.commands.reproduce:command",
        help="Train twice, compare the runs and the golden, give a verdict.",
        heading=Heading.START,
    ),
    "verify": Verb(
        command="reprokit.cli.commands.verify:command",
        help="Reproduce every recipe of this platform: the gate for CI.",
        heading=Heading.START,
    ),
    "diagnose": Verb(
        command="reprokit.cli.commands.diagnose:command",
        help="Find the line that makes two runs differ.",
        heading=Heading.START,
    ),
    "golden": Verb(
        command="reprokit.cli.commands.golden:command",
        help="List, show, diff, lint, promote, record, import goldens.",
        heading=Heading.RESULTS,
    ),
    "report": Verb(
        command="reprokit.cli.commands.report:command",
        help="Show a report, check it against its evidence, sign or export it.",
        heading=Heading.RESULTS,
    ),
    "diff": Verb(
        command="reprokit.cli.commands.diff:command",
        help="Compare metrics files or run folders, bit for bit by default.",
        heading=Heading.RESULTS,
    ),
    "run": Verb(
        command="reprokit.cli.commands.run:command",
        help="Run a recipe, or any command, once.",
        heading=Heading.MANY_RUNS,
    ),
    "runs": Verb(
        command="reprokit.cli.commands.runs:command",
        help="List, show, compare, repeat, prune and copy run folders.",
        heading=Heading.MANY_RUNS,
    ),
    "recipe": Verb(
        command="reprokit.cli.commands.recipe:command",
        help="Check recipes without running them; print their schema.",
        heading=Heading.ENVIRONMENT,
    ),
    "image": Verb(
        command="reprokit.cli.commands.image:command",
        help="Build, list, verify and lock the pinned environments.",
        heading=Heading.ENVIRONMENT,
    ),
    "data": Verb(
        command="reprokit.cli.commands.data:command",
        help="Fetch, list and verify the data that recipes declare.",
        heading=Heading.ENVIRONMENT,
    ),
    "env": Verb(
        command="reprokit.cli.commands.env:command",
        help="Record, compare and export environments; check this host.",
        heading=Heading.ENVIRONMENT,
    ),
    "help": Verb(
        command="reprokit.cli.commands.help:command",
        help="Show a page of the documentation, or list them.",
    ),
    "trace": Verb(
        command="reprokit.cli.commands.trace:command",
        help="Compare the recorded traces of two runs.",
        now="diff --trace",
    ),
    "capture": Verb(
        command="reprokit.cli.commands.capture:command",
        help="Record what can change numbers in this environment.",
        now="env capture",
    ),
}

#: In which order verbs stand below their heading; any other one comes after them.
ORDER = (
    *("init", "reproduce", "verify", "diagnose", "demo", "compare", "doctor"),
    *("golden", "report", "diff", "bisect", "bundle"),
    *("run", "runs", "sweep", "tune", "stats"),
    *("recipe", "image", "data", "env"),
)


def verbs() -> dict[str, Verb]:
    """Every verb of the core, of the features that are installed, and of the extensions that are loaded.

    Raises:
        UsageError: An extension brings one of a name that was there.
        ValueError: Two features bring one.
    """
    found = dict(_CORE)
    for feature in features():
        if twice := found.keys() & feature.verbs.keys():
            raise ValueError(
                f"two verbs are called {min(twice)}; one of them is of the feature {feature.name}"
            )
        found.update(feature.verbs)
    return {**found, **of_extensions(found)}
