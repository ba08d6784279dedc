"""The project's folders, under the name that the harness uses.

They live in ``reprokit.project``, so that a verb that only lists files need not import the harness.
"""

from reprokit.project import Project

__all__ = ["Project"]
