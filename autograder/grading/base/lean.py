"""Imports nbgrader without the parts of it that only a Jupyter server uses, which take half of its time.

``nbgrader/__init__.py`` imports four server extensions, and they the whole of nbconvert, its exchange and its
applications. Here each of the four is a name at first, and imported if a server asks for it.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGE = "nbgrader"
LATER = tuple(
    f"{PACKAGE}.server_extensions.{name}"
    for name in ("assignment_list", "course_list", "validate_assignment", "formgrader")
)
LOAD = "load_jupyter_server_extension"  # what nbgrader takes from each of them


class Lean(MetaPathFinder, Loader):
    """Finds nbgrader once, and then gets out of the way."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != PACKAGE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self.loader, spec.loader = spec.loader, self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Runs nbgrader's own ``__init__.py`` with names in place of the server extensions."""
        module.__loader__ = module.__spec__.loader = self.loader  # type: ignore[union-attr]
        names = {name: _later(name) for name in LATER if name not in sys.modules}
        sys.modules.update(names)
        try:
            self.loader.exec_module(module)
        finally:
            for name in names:
                del sys.modules[name]


def _later(name: str) -> ModuleType:
    """A module that has nothing but the function ``LOAD``, which imports the real one."""
    module = ModuleType(name)
    setattr(module, LOAD, lambda app: getattr(importlib.import_module(name), LOAD)(app))
    return module


def install() -> None:
    """From now on, the first import of nbgrader in this process is lean."""
    if PACKAGE not in sys.modules and not any(isinstance(f, Lean) for f in sys.meta_path):
        sys.meta_path.insert(0, Lean())
