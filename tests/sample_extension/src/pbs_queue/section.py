"""A report section: at which place each run was made."""

from reprokit.api import Verdict, read_run
from reprokit.api.extensions import JudgedRuns, Section, SectionContent, SectionTable


def write(judged: JudgedRuns, verdict: Verdict) -> SectionContent:
    made = [(folder.name, str(read_run(folder).data.get("where") or "local")) for folder in judged.runs]
    return SectionContent(
        paragraphs=[f"{verdict} was judged from {len(made)} runs."],
        tables=[SectionTable(head=("Run", "Made at"), rows=tuple(made))],
    )


SECTION = Section(title="Where the runs were made", write=write)
