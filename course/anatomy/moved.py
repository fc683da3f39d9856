"""Keeps modules importable by the names that they had in release 0.2.

For one release. Notebooks do not need this: the modules that their cells import stay at the top of the package.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

_ROOMS = {
    "system": "files installation printed stopped store texts translation",
    "program": "assets codec cotangents formula records runner symbolic torch_settings units",
    "judge": "compare diagnosis edits judging naming places probing relations verdict",
    "progress": "certificate certificate_page",
    "notebook": "cases checks claims predictions quizzes session setup",
    "app": "command doctor doctor_folders findings gallery lab workspace",
}
_RENAMED = {
    "advice": "judge.error_advice",
    "asking": "notebook.question",
    "carry": "app.carry_over",
    "contrast": "judge.common_input",
    "fingerprint": "app.build_stamp",
    "forms": "judge.wrong_form",
    "frames": "program.tracebacks",
    "laws": "program.distributions",
    "likeness": "judge.fingerprint_match",
    "loop": "notebook.after_check",
    "newer": "app.releases",
    "progress_page": "progress.page",
    "spelling": "judge.case_text",
}
_PACKAGE = __name__.rpartition(".")[0]
# {"anatomy.runner": "anatomy.program.runner"}; ``anatomy.progress``, which was a module, is a folder now
MOVED = {f"{_PACKAGE}.{old}": f"{_PACKAGE}.{new}" for old, new in _RENAMED.items()} | {
    f"{_PACKAGE}.{name}": f"{_PACKAGE}.{room}.{name}" for room, names in _ROOMS.items() for name in names.split()
}


class Moved(MetaPathFinder, Loader):
    """Finds modules by their old names. addresses: old name → new one."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self.addresses = addresses

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.addresses else None

    def exec_module(self, module: ModuleType) -> None:
        """Puts the new module into ``sys.modules``, from where the import machinery takes it: one module, two names."""
        sys.modules[module.__name__] = importlib.import_module(self.addresses[module.__name__])

    def get_code(self, fullname: str) -> CodeType:
        """For ``python -m``."""
        run = f"import runpy; runpy.run_module({self.addresses[fullname]!r}, run_name='__main__')"
        return compile(run, fullname, "exec")


def listen(addresses: Mapping[str, str] = MOVED) -> None:
    """Makes the old names importable; they win over files that are left over from an older release."""
    sys.meta_path.insert(0, Moved(addresses))
