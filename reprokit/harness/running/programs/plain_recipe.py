"""A plain command that is compared with a golden: judged as a recipe of that command, run as it is typed.

Nothing says which files such a program consists of, so what identifies it is its command line, with the
placeholders. The recipe stands in the run folder, so that whoever judges it again needs nothing else.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import recipes
from reprokit.core import fingerprint
from reprokit.core.environment_record import MachineFacts
from reprokit.core.records import digest
from reprokit.harness.running.numbers import recipe_digests
from reprokit.harness.running.plan import RunPlan
from reprokit.layout import CONFIG, RECIPE, SOURCE
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.records import environment_json
from reprokit.request import Request

_LONGEST_NAME = 64


def as_recipe(
    plan: RunPlan, command: Sequence[str], request: Request, *, golden: str, host: MachineFacts
) -> RunPlan:
    """The plan of a plain command as that of its recipe.

    Args:
        plan: Of the command.
        command: As it was typed.
        request: Patterns of metrics that are left out, and of output files that count.
        golden: The folder of goldens, as a suggested command names it.
        host: The environment record, with what the program's own Python says of itself.

    Raises:
        RecipeError: The command holds what no recipe may, such as a secret.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", plan.specs[0].recipe)[:_LONGEST_NAME]
    seed = plan.specs[0].seed
    text = _text(name, command, request, seed=seed, host=host)
    with tempfile.TemporaryDirectory(prefix="reprokit-command-") as folder:
        file = Path(folder) / name / RECIPE
        file.parent.mkdir()
        file.write_bytes(text)
        recipe = recipes.load(name, recipes_dir=Path(folder))
    packages = (host.get("plain_inside") or {}).get("packages") or {}
    facts = {
        **plan.facts,
        "golden_asked": golden,
        "recipe_digest": recipe.digest,
        "recipe_data": dict(recipe.plain),
        "training_config": dict(recipe.training_config),
        "program": {"command": plan.facts["plain_command"], "files": {}},
        "digests": _digests(recipe, command) | {"lock": digest(packages)},
    }
    files = {CONFIG: recipe.config_yaml().encode(), f"{SOURCE}/{name}/{RECIPE}": text}
    specs = tuple(replace(spec, recipe=name) for spec in plan.specs)
    return replace(plan, specs=specs, facts=facts, files={**plan.files, **files}, program=recipe.program)


def _digests(recipe: Recipe, command: Sequence[str]) -> dict[str, str]:
    return {**recipe_digests(recipe, files=()), "program": digest(list(command))}


def _text(name: str, command: Sequence[str], request: Request, *, seed: int, host: MachineFacts) -> bytes:
    """The recipe, as JSON, which is YAML too."""
    seen = environment_json.or_empty({"inside": host.get("plain_inside") or {}, "host": host})
    inside = fingerprint.platform_of(seen)
    platforms = dict.fromkeys([inside, *fingerprint.platforms_of_host(host)])
    because = "left out on request (--ignore-metric)"
    recipe = {
        "schema": 1,
        "name": name,
        "title": "A plain command",
        "variant": NO_VARIANT,
        "command": list(command),
        "seeds": [seed],
        "platforms": [platform for platform in platforms if platform != "unknown"],
        "volatile": [{"metric": pattern, "because": because} for pattern in request.ignore],
        **({"outputs": list(request.outputs)} if request.outputs else {}),
    }
    return f"{json.dumps(recipe, indent=2, ensure_ascii=False)}\n".encode()
