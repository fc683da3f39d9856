"""Exceptions of ``tests/exercises/test_arguments.py``, a module for each unit."""

import importlib
import pkgutil
from typing import Any


def gathered(name: str) -> dict[str, Any]:
    """The table ``name`` of all units as one."""
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return {exercise: told for module in modules for exercise, told in getattr(module, name).items()}
