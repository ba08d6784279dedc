"""Modules imported from bytes in memory, which were verified before; the disk is not asked again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

from reprokit.extensions.installed import VerifiedExtension


class VerifiedFinder(MetaPathFinder):
    """Finds the modules of one extension; whatever else lies in its package cannot be imported."""

    def __init__(self, extension: VerifiedExtension) -> None:
        self._extension = extension
        self._loader = VerifiedLoader(extension)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """See ``MetaPathFinder``; a name of the package that was not verified is an error, not a miss."""
        if fullname.partition(".")[0] != self._extension.named.package:
            return None
        if fullname not in self._extension.modules:
            raise ModuleNotFoundError(
                f"{fullname} is not in the RECORD of {self._extension.named.label}", name=fullname
            )
        is_package = fullname in self._extension.packages
        spec = ModuleSpec(
            fullname,
            self._loader,
            origin=self._extension.modules[fullname][0],
            is_package=is_package,
        )
        spec.has_location = True
        return spec  # `__path__` is empty: nothing is looked for in a folder


class VerifiedLoader(InspectLoader):
    """Compiles what was verified; byte-code caches are neither read nor written."""

    def __init__(self, extension: VerifiedExtension) -> None:
        self._extension = extension

    def get_source(self, fullname: str) -> str:
        """The source, for tracebacks."""
        return self._extension.modules[fullname][1].decode("utf-8", "replace")

    def get_code(self, fullname: str) -> CodeType:
        """The source, compiled."""
        file, source = self._extension.modules[fullname]
        return compile(source, file, "exec", dont_inherit=True)

    def is_package(self, fullname: str) -> bool:
        """Whether it is a package."""
        return fullname in self._extension.packages


def put_first(extension: VerifiedExtension) -> VerifiedFinder:
    """Have the modules of an extension imported from memory, before anything on the path is asked."""
    finder = VerifiedFinder(extension)
    sys.meta_path.insert(0, finder)
    return finder


def forget(extension: VerifiedExtension, finder: VerifiedFinder) -> None:
    """Take its modules and its finder away again."""
    sys.meta_path[:] = [one for one in sys.meta_path if one is not finder]
    for name in [name for name in sys.modules if name.partition(".")[0] == extension.named.package]:
        del sys.modules[name]
