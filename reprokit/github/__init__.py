"""GitHub as a place to answer: the comment on a pull request, from what a workflow run left.

It runs in a job of its own, with the right to write comments, and never runs code of the pull request.
"""

from reprokit.github.comment_on_run import Posted, comment_on_run

__all__ = ["Posted", "comment_on_run"]
