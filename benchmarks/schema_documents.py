"""Every document that reprokit writes or prints as JSON: its form, its verbs, its file.

The tests compare all that they make verbs print with these (``tests/support/printed_json.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import schema_forms as forms
from json_schema import Changed, MapOf, OneOf, Plain

from reprokit import recipes
from reprokit.capture.forecast import Forecast
from reprokit.core import checklist, records
from reprokit.core.comparing import difference
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.provenance import Provenance
from reprokit.core.run_record import RunRecord
from reprokit.features.bisect.bisect import Bisection
from reprokit.features.bisect_packages.bisect_packages import PackageBisection
from reprokit.features.bundles.manifest import BundleManifest
from reprokit.features.checkpoints.convert import Converted
from reprokit.features.compare import answer as compared
from reprokit.features.compare.rounding.tolerance import Proposal
from reprokit.features.doctor.finding import HostFinding
from reprokit.features.github.comment_on_run import Posted
from reprokit.features.rebuild.builds import BuildComparison
from reprokit.features.rebuild.from_report import Rebuilt
from reprokit.features.statement.statement import Statement
from reprokit.features.tables.manifest import DataManifest
from reprokit.features.tune.studies import StudyData
from reprokit.golden.folder import GoldenRow
from reprokit.golden.lint import GoldenFinding
from reprokit.harness.curation.recipe_check import RecipeFinding
from reprokit.images.inventory import InventoryRow
from reprokit.reports.comparison_record import ComparisonRecord
from reprokit.reports.gate_record import GateRecord
from reprokit.runs.listing import RunSummary
from reprokit.runs.underway import RunUnderWay


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One schema.

    Attributes:
        name: Of its file, without ``.json``.
        verbs: Those whose ``--json`` prints it.
        file: What it is called on disk, "" for what is only printed.
        words: Whether numbers that are not finite are words.
        is_open: Whether it holds facts that no record names.
    """

    name: str
    title: str
    form: Any
    verbs: tuple[str, ...] = ()
    file: str = ""
    words: bool = False
    is_open: bool = False


def documents() -> tuple[Document, ...]:
    """All of them: first the files, by folder, then what is only printed."""
    return (*_files(), *_printed(), *_printed_of_features())


def _files() -> tuple[Document, ...]:
    recipe = Plain(recipes.editor_schema(recipes_dir=Path("recipes")))
    return (
        Document(name="recipe", title="recipe.yaml", form=recipe, file="recipe.yaml"),
        Document(
            name="run",
            title="run.json of a run folder",
            form=RunRecord,
            verbs=("run", "runs show"),
            file="run.json",
            is_open=True,
        ),
        Document(
            name="environment",
            title="environment.json of a run folder",
            form=EnvironmentRecord,
            verbs=("env capture",),
            file="environment.json",
            is_open=True,
        ),
        Document(
            name="provenance",
            title="provenance.json of a golden or an ensemble",
            form=Provenance,
            verbs=("golden show", "golden import"),
            file="provenance.json",
            is_open=True,
        ),
        Document(
            name="report",
            title="report.json",
            form=checklist.Report,
            verbs=("reproduce", "report show", "runs reproduce"),
            file="report.json",
            words=True,
        ),
        Document(name="gate", title="gate.json of verify --gate-file", form=GateRecord, file="gate.json"),
        Document(
            name="comparisons",
            title="comparisons.json of verify --compare-file",
            form=ComparisonRecord,
            file="comparisons.json",
        ),
        Document(
            name="compare-file",
            title="compare.json",
            form=Changed(
                compared.StoredAnswer,
                {"schema": int, "answer": forms.COMPARISON_JSON, "asked?": dict[str, Any]},
            ),
            file="compare.json",
        ),
        Document(
            name="diagnosis",
            title="diagnosis.json",
            form=OneOf(forms.DIAGNOSIS, forms.ACROSS),
            verbs=("diagnose",),
            file="diagnosis.json",
        ),
        Document(
            name="sweep-file",
            title="sweep.json",
            form=forms.SWEEP_FILE,
            file="sweep.json",
        ),
        Document(name="study-file", title="study.json", form=StudyData, file="study.json"),
        Document(name="bundle-file", title="bundle.json", form=BundleManifest, file="bundle.json"),
        Document(
            name="data-split", title="split.json", form=forms.SPLIT, verbs=("data split",), file="split.json"
        ),
        Document(
            name="data-export",
            title="manifest.json of exported data; of a converted table its files alone",
            form=forms.EXPORTED,
            verbs=("data export",),
            file="manifest.json",
        ),
    )


def _printed() -> tuple[Document, ...]:
    def said(verb: str, title: str, form: Any, *further: str, **more: Any) -> Document:
        return Document(
            name=verb.replace(" --", "-").replace(" ", "-"),
            title=title,
            form=form,
            verbs=(verb, *further),
            **more,
        )

    return (
        said("verify", "What a gate says", forms.VERDICTS, words=True),
        said(
            "diff",
            "Two logs, or run folders, compared",
            OneOf(difference.Comparison, *forms.OF_TRACES),
            words=True,
        ),
        said("report verify", "Whether a report stands", OneOf(forms.AUDIT, forms.COMPARISON_AUDIT)),
        said("recipe check", "What is wrong with recipes, by name", MapOf([RecipeFinding])),
        said("recipe schema", "A JSON Schema of recipe.yaml", forms.FOREIGN, is_open=True),
        said("golden list", "The goldens", [GoldenRow]),
        said("golden tolerance", "Tolerances that rounding needs", Proposal),
        said("golden lint", "What is wrong with goldens", [GoldenFinding]),
        said("golden diff", "What a new golden changes", forms.MOVED, words=True),
        said(
            "golden promote",
            "provenance.json, or with --stale what moved",
            OneOf(forms.STALE, Provenance),
            is_open=True,
        ),
        said(
            "golden record",
            "What machines made of a golden",
            forms.MACHINE_ROWS,
        ),
        said("runs list", "The runs", [RunSummary]),
        said("runs compare", "Runs next to each other", forms.RUNS_COMPARED, words=True),
        said("runs prune", "What is removed, and what is kept", forms.RUNS_REMOVED),
        said("runs push", "Where a run was copied to", {"exit_code": forms.CODE, "run": str, "url": str}),
        said("runs verify", "Whether a run is whole", {"exit_code": forms.CODE, **forms.WHOLE}),
        said("runs watch", "The runs that are under way", [RunUnderWay]),
        said("data list", "The data that recipes declare", [forms.SOURCE_STATE], "data fetch", "data verify"),
        said("data prepare", "The steps of a preparation", [forms.STEP]),
        said("env diff", "How two environments differ", forms.ENV_DIFF),
        said("env check", "How an environment here would differ", Changed(Forecast, {"same": bool})),
        said("env export", "The files that rebuild an environment", forms.ENV_EXPORT),
        said("image build", "The environment that was made", records.Realisation),
        said("image vendor", "Where everything for a build was collected", {"manifest": str}),
        said("image list", "The environments that are built", [InventoryRow]),
        said("image prune", "What is removed, and what is kept", forms.IMAGES_REMOVED),
        said("image show", "CycloneDX and SLSA documents of an image", forms.IMAGE_SHOWN),
        said("help", "The pages, or one of them", OneOf({"topic": str, "text": str}, MapOf(forms.PAGE))),
    )


def _printed_of_features() -> tuple[Document, ...]:
    def said(verb: str, title: str, form: Any, *further: str, **more: Any) -> Document:
        return Document(
            name=verb.replace(" --", "-").replace(" ", "-"),
            title=title,
            form=form,
            verbs=(verb, *further),
            **more,
        )

    return (
        said("compare", "What comes of comparing two sides", forms.COMPARISON_JSON),
        said("sweep", "The members of a sweep", {**forms.SWEEP, **forms.SWEEP_ASKED}),
        said("runs attach", "The same of one that is found again", {**forms.SWEEP, **forms.SWEEP_FOUND}),
        said("stats", "Results over seeds", forms.STATISTICS, words=True),
        said(
            "tune",
            "A search, or with --show-space its space",
            forms.TUNED,
        ),
        said(
            "bisect", "The commits or packages that changed the numbers", OneOf(Bisection, PackageBisection)
        ),
        said("bundle", "What was bundled, or checked", forms.BUNDLED),
        said("demo", "The demonstration's report and diagnosis", forms.DEMO, words=True),
        said("doctor", "Whether this host is ready", {"ready": bool, "findings": [HostFinding]}),
        said("init", "What was found of a program", forms.INIT),
        said(
            "runs convert",
            "Where a run was written for a tracker",
            {"written": str, "tags": dict[str, str]},
        ),
        said("runs learning", "Whether a training learns", forms.LEARNING),
        said(
            "runs checkpoint verify",
            "Whether checkpoints are whole",
            {"exit_code": forms.CODE, "files": [forms.CHECKPOINT]},
        ),
        said("runs checkpoint show", "What a checkpoint holds", forms.CHECKPOINT_SHOWN),
        said("runs checkpoint diff", "How two checkpoints differ", forms.CHECKPOINTS_COMPARED),
        said("runs checkpoint convert", "What came of a conversion", Converted),
        said("data show", "What tables hold, by name", MapOf(DataManifest)),
        said("data diff", "How two tables differ", forms.ROWS),
        said("data check-splits", "Rows that stand in several tables", forms.SHARED_ROWS),
        said("image lock", "Which versions moved", {"agrees": bool, "moved": forms.TEXTS}),
        said("image verify", "Whether builds are equal", Changed(BuildComparison, {"identical": bool})),
        said("image rebuild", "Whether a rebuilt image is the same", Changed(Rebuilt, {"identical": bool})),
        said("env numerics check", "How operations round here", forms.ROUNDING, is_open=True),
        said("env numerics claims", "What repeats show of PyTorch's claims", forms.FOREIGN, is_open=True),
        said("report comment", "A comment for a pull request", OneOf({"markdown": str}, Posted)),
        said("report sign", "Where the signature lies", {"report": str, "signature": str}),
        said("report export", "A reproducibility statement", Statement),
        said(
            "verify --cpu",
            "What emulated CPUs compute",
            {"exit_code": forms.CODE, "answers": [forms.CPU_ANSWER]},
        ),
        said(
            "verify --on",
            "What machines say",
            {**forms.MACHINE_ROWS, "page": str},
        ),
        said("verify --selftest-only", "What was planted, and what was found", forms.SCORE),
        said("runs export k8s", "Manifests of Kubernetes", forms.FOREIGN, is_open=True),
    )
