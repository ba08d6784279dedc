"""Answers on GitHub: the comment on a pull request, from what a workflow run left.

It runs in a job of its own, with the right to write comments, and never runs code of the pull request.
"""
