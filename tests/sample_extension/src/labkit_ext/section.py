"""A report section: the last record of every run."""

from reprokit.api import MetricsError, read_run
from reprokit.api.extensions import Section, SectionContent, SectionTable


def last_record(folder):
    """The last record of a run; empty where it has none."""
    try:
        return list(read_run(folder).records())[-1]
    except MetricsError:
        return {}


def write(judged, verdict):
    """A table with a row for each run."""
    records = {folder.name: last_record(folder) for folder in judged.runs}
    names = list(dict.fromkeys(name for record in records.values() for name in record))[:10]
    rows = [(run, *(record.get(name) for name in names)) for run, record in records.items()]
    return SectionContent(
        paragraphs=[f"Where each of the {len(records)} runs ended."],
        tables=[SectionTable(head=("Run", *names), rows=rows)],
    )


SECTION = Section(title="Last records", write=write)
