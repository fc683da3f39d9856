"""Shadows the package of this name, for the tests and all processes that they start; loads it when it is called.

jsonschema imports it for an address check that nothing in Jupyter uses, and importing it compiles grammars for two
seconds: in each kernel, server, grader and worker.
"""

import importlib
import sys
from pathlib import Path


def is_valid_syntax(*arguments, **options):
    """Calls the package's own function."""
    path, mine = list(sys.path), sys.modules.pop(__name__, None)
    sys.path = [p for p in path if Path(p).resolve() != Path(__file__).parent]
    try:
        return importlib.import_module(__name__).is_valid_syntax(*arguments, **options)
    finally:
        sys.path = path
        sys.modules[__name__] = mine or sys.modules[__name__]
