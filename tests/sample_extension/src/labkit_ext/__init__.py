"""What our lab adds to reprokit: its queue, its log format and its habits."""

from reprokit.api.extensions import Extension, Verb

EXTENSION = Extension(
    log_formats={"lab": "labkit_ext.log_format:FORMAT"},
    rows={"loss_falls": "labkit_ext.row:ROW"},
    verbs={"lab-last": Verb(command="labkit_ext.verb:command", help="Print the last record of a run.")},
    variations={"lab_site": "labkit_ext.variation:VARIATION"},
    places={"pbs": "labkit_ext.place:open_place"},
    sections={"last_records": "labkit_ext.section:SECTION"},
    causes={"old_template": "labkit_ext.cause:CAUSE"},
)
