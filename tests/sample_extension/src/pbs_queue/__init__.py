"""What a PBS cluster needs of reprokit."""

from reprokit.api.extensions import Extension, Verb

EXTENSION = Extension(
    verbs={"pbs-nodes": Verb(command="pbs_queue.verb:command", help="List the nodes that can run jobs.")},
    log_formats={"pbslog": "pbs_queue.log_format:FORMAT"},
    rows={"one_place": "pbs_queue.row:ROW"},
    variations={"pbs_job": "pbs_queue.variation:VARIATION"},
    places={"pbs": "pbs_queue.place:open_place"},
    sections={"pbs_jobs": "pbs_queue.section:SECTION"},
    causes={"job_number": "pbs_queue.cause:CAUSE"},
)
