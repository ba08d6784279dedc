"""Logs of training programs, whatever they are written in, as records that can be compared.

One module ``from_….py`` is one format, found by its name; the others put sources together:

- ``sources`` finds the metrics in a run folder and who reads them, - ``comparing`` compares two files or
sources, ``run_folders`` everything in two run folders, - ``summaries`` reads one source from end to end: what
it holds, and its curves.

    >>> compare(Path("golden/metrics.jsonl"), Path("runs/x/metrics.jsonl")).identical
    True
"""

from reprokit.adapters.clock_hints import machine_metrics
from reprokit.adapters.columns import MetricColumns, read_columns
from reprokit.adapters.comparing import compare, compare_first, compare_sources, whole_records
from reprokit.adapters.divergence_context import around
from reprokit.adapters.folders.canonical import CanonicalMetrics, canonical_records
from reprokit.adapters.folders.content import holds_numbers
from reprokit.adapters.folders.run_folders import Pair, compare_paths, compare_runs, no_metrics, pair_runs
from reprokit.adapters.foreign_log import ForeignLog, compare_at_steps, read_foreign
from reprokit.adapters.log_shape import shape_of
from reprokit.adapters.of_extensions import LogFormat
from reprokit.adapters.reading import Adapter, MetricsSource, MetricsSummary, Reading, Series
from reprokit.adapters.sources import adapter_named, adapters, find, find_all, is_by_content, source_of
from reprokit.adapters.summaries import (
    fits_no_metric,
    ignored_metrics,
    must_fit,
    names_in,
    read_from,
    read_series,
    series_of_pairs,
    summarise,
)

__all__ = [
    "Adapter",
    "CanonicalMetrics",
    "ForeignLog",
    "LogFormat",
    "MetricColumns",
    "MetricsSource",
    "MetricsSummary",
    "Pair",
    "Reading",
    "Series",
    "adapter_named",
    "adapters",
    "around",
    "canonical_records",
    "compare",
    "compare_at_steps",
    "compare_first",
    "compare_paths",
    "compare_runs",
    "compare_sources",
    "find",
    "find_all",
    "fits_no_metric",
    "holds_numbers",
    "ignored_metrics",
    "is_by_content",
    "machine_metrics",
    "must_fit",
    "names_in",
    "no_metrics",
    "pair_runs",
    "read_columns",
    "read_foreign",
    "read_from",
    "read_series",
    "series_of_pairs",
    "shape_of",
    "source_of",
    "summarise",
    "whole_records",
]
