"""A recipe over seeds, or a sweep, as Indexed Jobs of Kubernetes: one pod a run, each a ``reprokit run``.

The manifest is written and validated here, and handed to no cluster. Source:
https://kubernetes.io/docs/concepts/workloads/controllers/job/ (backoffLimitPerIndex, podFailurePolicy).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprokit import recipes
from reprokit.errors import UsageError
from reprokit.harness.sweeping.asked import parse_seeds
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.runs import sweeps

_PINNED = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_USER = 65532
_RUNS = "/runs"
_CONTAINER = "train"
#: Wrong usage, and what cannot be judged: the next attempt would end alike.
_USELESS_TO_TRY_AGAIN = (2, 4)
_TRIES = 2


def export_kubernetes(
    name: str,
    *,
    project: Project,
    seeds: str | None,
    settings: Sequence[str],
    image: str,
    claim: str,
    folder: str,
) -> dict[str, Any]:
    """The manifest of a recipe of a project; ``folder`` is where the project lies in the image.

    Raises:
        RecipeError: The recipe, or a setting, is wrong.
        UsageError: Wrong seeds, or an image that is not named by its digest.
    """
    recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=settings)
    chosen = parse_seeds(seeds)(recipe.seeds)
    return kubernetes_job(recipe, chosen, image=image, claim=claim, project=folder)


def export_sweep(record: Path, *, project: Project, image: str, claim: str, folder: str) -> dict[str, Any]:
    """The manifests of all members of a sweep: a List of Jobs, one for each recipe with its settings.

    Args:
        record: The sweep's ``sweep.json``, or its folder.
        project: Where its recipes are.
        image: As of ``kubernetes_job``.
        claim: As of ``kubernetes_job``.
        folder: Where the project lies in the image.

    Raises:
        ReportError: It is no record of a sweep.
        RecipeError: A recipe, or a setting, is wrong by now.
        UsageError: The image is not named by its digest.
    """
    seeds: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for member in sweeps.read(record):
        chosen = seeds.setdefault((member.recipe, member.settings), [])
        if member.seed not in chosen:  # machines of several kinds may have run it
            chosen.append(member.seed)
    jobs = []
    for number, ((name, settings), chosen) in enumerate(seeds.items()):
        recipe = recipes.load(name, recipes_dir=project.recipes_dir, overrides=settings)
        job = kubernetes_job(recipe, chosen, image=image, claim=claim, project=folder)
        if len(seeds) > 1:
            job["metadata"]["name"] += f"-{number}"
        jobs.append(job)
    return {"apiVersion": "v1", "kind": "List", "items": jobs}


def kubernetes_job(
    recipe: Recipe, seeds: Sequence[int], *, image: str, claim: str, project: str = "/project"
) -> dict[str, Any]:
    """The manifest of a Job (``batch/v1``) that makes one run a seed.

    Args:
        recipe: What is run, overrides applied.
        seeds: One an index, in this order.
        image: With the tool, the project and the environment of the recipe in it, by digest.
        claim: The PersistentVolumeClaim that run folders go to.
        project: The project's folder in the image.

    Raises:
        UsageError: The image is not named by its digest.
    """
    if not _PINNED.fullmatch(image):
        raise UsageError(
            "the image is not named by its digest", where=f"--image {image}", expected="NAME@sha256:<64 hex>"
        )
    memory = f"{max(1, round(recipe.limits.memory_gib * 1024))}Mi"
    needs = {"cpu": "1", "memory": memory}
    timeout_s = recipe.limits.timeout_s
    container = {
        "name": _CONTAINER,
        "image": image,
        "command": list(_command(recipe, seeds)),
        "workingDir": project,
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108
        "resources": {"requests": needs, "limits": dict(needs)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "runs", "mountPath": _RUNS},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "runs", "persistentVolumeClaim": {"claimName": claim}},
            {"name": "scratch", "emptyDir": {}},
        ],
    }
    if timeout_s:
        pod["activeDeadlineSeconds"] = int(timeout_s) + 300  # to make ready and to close; the run has its own
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": _name(recipe), "labels": {"app.kubernetes.io/managed-by": "reprokit"}},
        "spec": {
            "completionMode": "Indexed",
            "completions": len(seeds),
            "parallelism": len(seeds),
            "backoffLimitPerIndex": _TRIES,
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    {
                        "action": "FailIndex",
                        "onExitCodes": {
                            "containerName": _CONTAINER,
                            "operator": "In",
                            "values": list(_USELESS_TO_TRY_AGAIN),
                        },
                    },
                ]
            },
            "template": {"spec": pod},
        },
    }


def _command(recipe: Recipe, seeds: Sequence[int]) -> tuple[str, ...]:
    """The seed of an index, and the run of it; the shell only picks the seed, so TERM reaches the tool."""
    settings = [word for text in recipe.asked for word in ("--set", text)]
    words = ["reprokit", "run", recipe.name, *settings, "--backend", "local", "--runs-dir", _RUNS]
    picked = " ".join(map(str, seeds))
    script = f'set -- {picked}; shift "$JOB_COMPLETION_INDEX"; exec {shlex.join(words)} --seed "$1"'
    return ("/bin/sh", "-c", script)


def _name(recipe: Recipe) -> str:
    """A name that Kubernetes takes: RFC 1123, at most 63 letters, room for index and pod."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", recipe.name.lower()).strip("-")
    return f"reprokit-{cleaned[:40].strip('-')}"
