"""What a bundle says of itself to people (``README.md``) and to catalogues (RO-Crate 1.1 metadata).

Source: https://www.researchobject.org/ro-crate/specification/1.1/ ; the term ``sha256`` is that of the
Workflow Run RO-Crate profile.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from reprokit.features.bundles.bundled_data import FOLDER, BundledData
from reprokit.features.bundles.manifest import BundleManifest
from reprokit.features.bundles.subject import BundleSubject
from reprokit.features.bundles.writing import Packed
from reprokit.harness.running.plan import shell_line
from reprokit.layout import BUNDLE, PROGRAM, RECIPE, RECORD, SOURCE
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.records import run_json

_CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
]
_METADATA = "ro-crate-metadata.json"
_TYPES = {
    ".jsonl": "application/jsonl",
    ".yaml": "application/yaml",
    ".lock": "text/plain",
    ".toml": "application/toml",
}
_HOW_LOCAL = (
    "The recipe pins no environment: this runs the code in your own Python, **with your rights**. "
    "Read `source/` first."
)
_HOW_CONTAINED = (
    "The code runs in a container without network, which can write nothing but its results. With "
    "`--backend local` it would run with your rights."
)
_ARCHIVE_ITSELF = (
    "(A version that is not released is installed from its repository.) `reproduce` takes the archive itself "
    "and unpacks it; with `--keep FOLDER` it stays there, and `reprokit report verify REPORT --golden "
    "FOLDER/golden` can check the report of your own runs. A report in the archive can be judged again only "
    "where it was made: files of its runs are left out."
)
_LICENSES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING")
_WHAT = {
    "source": "the code that the numbers depend on, and the recipe that says what must repeat",
    "images": "the environment: its lock, its Dockerfile and its base",
    "vendored": "the packages of that environment, so that no network is needed",
    "package": "the reprokit that ran next to the training, whose runtime is part of the numbers",
    "data": "the data that the training reads, each file under its SHA-256",
    "golden": "the golden that new runs are compared with",
    "runs": "records of the runs",
    "reports": "the report",
}


def read_me(
    manifest: BundleManifest, recipe: Recipe, names: Sequence[str], data: Sequence[BundledData] = ()
) -> str:
    """The page that someone reads who opens the archive."""
    local = manifest.variant == NO_VARIANT
    command = ["reprokit", "reproduce", "FILE.tar.gz", "--sha256", "DIGEST"]
    command += ["--backend", "local"] if local else []
    tops = dict.fromkeys(name.partition("/")[0] for name in names)
    listed = [f"- `{top}/`: {_WHAT[top]}" for top in tops if top in _WHAT]
    return (
        "\n\n".join(
            (
                f"# Bundle: {manifest.recipe}",
                f"A {manifest.of} of the recipe `{manifest.recipe}` ({recipe.title}), seed {manifest.seed}, "
                f"made on {manifest.platform or 'an unknown platform'} with reprokit {manifest.tool}"
                + (f", at commit {manifest.commit}." if manifest.commit else "."),
                "To reproduce it, with DIGEST as its author published it, apart from this file:",
                f"```\npip install 'reprokit-verify[all]=={manifest.tool}'\n{shell_line(command)}\n```",
                _ARCHIVE_ITSELF,
                _HOW_LOCAL if local else _HOW_CONTAINED,
                "What is here:",
                "\n".join(listed),
                *(("Its data, and the licences that its authors state:", _data_lines(data)) if data else ()),
                "What is not:",
                "\n".join(f"- {one}" for one in manifest.left_out) or "- nothing, as far as is known",
                f"`{BUNDLE}` lists every file with its SHA-256.",
            )
        )
        + "\n"
    )


def _data_lines(data: Sequence[BundledData]) -> str:
    """A line a file: what it is called, where it is, its digest and its licence."""
    return "\n".join(
        f"- {one.source.name}: {f'`{one.place}`' if one.path else f'not in `{FOLDER}/`'}, "
        f"{one.source.num_bytes:,} bytes, {one.source.sha256}; {one.source.licence or 'no licence is stated'}"
        for one in data
    )


def ro_crate(
    manifest: BundleManifest,
    subject: BundleSubject,
    recipe: Recipe,
    files: Mapping[str, Packed],
    data: Sequence[BundledData] = (),
) -> bytes:
    """The metadata file: what every file is, and which run was made with what."""
    license_file = next(
        (f"{PROGRAM}/{license_}" for license_ in _LICENSES if f"{PROGRAM}/{license_}" in files), None
    )
    parts = [*sorted(files), BUNDLE]
    licences = {one.place: {"name": one.source.name, "license": one.source.licence} for one in data}
    graph: list[dict[str, Any]] = [
        {
            "@id": _METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": recipe.title,
            "description": f"What the recipe {manifest.recipe} (seed {manifest.seed}) is reproduced from: "
            "code, environment, golden and records.",
            "datePublished": subject.created_at,
            "license": {"@id": license_file} if license_file else "not stated by the authors of the code",
            "identifier": manifest.digests.get("recipe", ""),
            **({"version": manifest.commit} if manifest.commit else {}),
            "hasPart": [{"@id": name} for name in parts],
            "mentions": [{"@id": action["@id"]} for action in _actions(subject)],
        },
        {
            "@id": "#reprokit",
            "@type": "SoftwareApplication",
            "name": "reprokit",
            "softwareVersion": manifest.tool,
        },
        *({**_file(name, files.get(name), recipe), **licences.get(name, {})} for name in parts),
        *_actions(subject),
    ]
    return (json.dumps({"@context": _CONTEXT, "@graph": graph}, indent=2) + "\n").encode("ascii")


def _file(name: str, one: Packed | None, recipe: Recipe) -> dict[str, Any]:
    path = PurePosixPath(name)
    kind = _TYPES.get(path.suffix) or mimetypes.types_map.get(path.suffix) or "application/octet-stream"
    found: dict[str, Any] = {"@id": name, "@type": "File", "name": path.name, "encodingFormat": kind}
    if name == f"{SOURCE}/{recipe.name}/{RECIPE}":
        found |= {
            "@type": ["File", "SoftwareSourceCode"],
            "name": recipe.title,
            "programmingLanguage": "YAML",
        }
    if one is None:  # the manifest, which lists this file's digest
        return found
    return {**found, "contentSize": str(one.num_bytes), "sha256": one.sha256().removeprefix("sha256:")}


def _actions(subject: BundleSubject) -> Iterator[dict[str, Any]]:
    """The runs as actions: what ran, when, and where its metrics are."""
    for run in subject.runs:
        record = run_json.recorded(run)
        place = f"runs/{subject.recipe}/{run.name}"
        times = {"startTime": record.started_at, "endTime": record.ended_at}
        yield {
            "@id": f"#{run.name}",
            "@type": "CreateAction",
            "name": f"{subject.recipe}, seed {subject.seed}",
            "instrument": {"@id": f"{SOURCE}/{subject.recipe}/{RECIPE}"},
            "agent": {"@id": "#reprokit"},
            "result": {"@id": f"{place}/{RECORD}"},
            **{name: value for name, value in times.items() if value},
        }
