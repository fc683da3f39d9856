"""The imports between Python files of this repository, read from the sources without running them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

# Top-level package → its folder. Sources of units belong to no package: they import, but are never imported.
PACKAGES = {"autograder": "autograder", "anatomy": "course/anatomy", "benchmarks": "benchmarks", "tests": "tests"}
_DOTTED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
_IMPORTING = re.compile(rf"\bfrom (?:{'|'.join(PACKAGES)})[\w.]* import \w+(?: as \w+)?(?:, \w+(?: as \w+)?)*")


class Imports:
    """The graph of imports; all files are paths from the root with ``/``.

    A name imported from a package's ``__init__`` counts as imported from the module that defines it: a file that
    imports ``anatomy.check`` depends on ``anatomy/notebook/checks.py`` and on the text of the ``__init__``, but not on
    everything else that the ``__init__`` imports.
    """

    def __init__(self, root: Path, extra: Iterable[str] = ()) -> None:
        """``extra``: deleted files to include."""
        self.root = root
        found = (p for folder in (*PACKAGES.values(), "solutions") for p in (root / folder).rglob("*.py"))
        self.files = {p.relative_to(root).as_posix() for p in found if "__pycache__" not in p.parts} | set(extra)
        self._texts: dict[str, str] = {}
        self._passed_on: dict[str, dict[str, tuple[ast.ImportFrom, str]]] = {}

    def dependents(self, files: Iterable[str]) -> set[str]:
        """These files and all files that import them, directly or not."""
        files = set(files)
        found, todo = set(), [*files, *(who for path in files for who in self._graph[1][path])]
        while todo:
            path = todo.pop()
            if path not in found:
                found.add(path)
                todo += self._graph[0][path]
        return found

    def stated(self, path: str) -> set[str]:
        """The files whose modules a file imports in a statement, at the top or inside a function."""
        nodes = [n for n in ast.walk(self._tree(path)) if isinstance(n, ast.Import | ast.ImportFrom)]
        names = set().union(*(self._of_statement(path, node) for node in nodes))
        return {self._modules[name] for name in names - {None}}

    def naming(self, path: str) -> set[str]:
        """The Python files whose text names a file, or the folder that contains it."""
        *folders, name = Path(path).parts
        words = [name, *(f'"{folder}"' for folder in folders[-1:])]
        return {p for p in self.files if any(w in self._text(p) for w in words)}

    def says(self, path: str, word: str) -> bool:
        """Whether a file contains a word."""
        return re.search(rf"\b{re.escape(word)}\b", self._text(path)) is not None

    def _text(self, path):
        if path not in self._texts:
            file = self.root / path
            self._texts[path] = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        return self._texts[path]

    def _tree(self, path):
        """The parsed file. It isn't kept: the trees of all files are millions of objects."""
        try:
            return ast.parse(self._text(path))
        except SyntaxError:  # IPython's syntax or unfinished code: use imports at the start of a line
            lines = re.findall(r"^(?:from [\w.]+ import [\w, *]+|import [\w., ]+)$", self._text(path), flags=re.M)
            return ast.parse("\n".join(lines))

    def _passes_on(self, path):
        """dict name that an ``__init__`` imports → (the statement, its name there)."""
        if path not in self._passed_on:
            nodes = [n for n in ast.walk(self._tree(path)) if isinstance(n, ast.ImportFrom)]
            pairs = [(a.asname or a.name, (node, a.name)) for node in nodes for a in node.names]
            self._passed_on[path] = dict(reversed(pairs))
        return self._passed_on[path]

    @cached_property
    def _modules(self):
        """dict module name → path; if a module became a package, the path that exists."""
        ordered = sorted(self.files, key=lambda path: (self.root / path).exists())
        return {name: path for path in ordered if (name := _module_name(path))}

    @cached_property
    def _graph(self):
        """(path → files that depend on it, ``__init__`` → files that import something through it)."""
        importers, passing = defaultdict(set), defaultdict(set)
        for path in self.files:
            for name in self._imported(path):
                for ancestor in _ancestors(name):
                    if ancestor in self._modules:
                        passing[self._modules[ancestor]].add(path)
                importers[self._modules[name]].add(path)
        return importers, passing

    def _imported(self, path):
        """Names of the modules that a file imports, or names in a string (code for another process, a command)."""
        tree, found = self._tree(path), set()
        # Imports inside a fixture of the common conftest are not needed by every test.
        nodes = tree.body if path == "tests/conftest.py" else list(ast.walk(tree))
        described = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}  # docstrings
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= self._of_statement(path, node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
                found |= {self._longest(word) for word in _DOTTED.findall(node.value)}
                for line in _IMPORTING.findall(node.value):
                    found |= self._of_statement(path, ast.parse(line).body[0])
        return found - {None}

    def _of_statement(self, path, node):
        if isinstance(node, ast.Import):
            return {self._longest(a.name) for a in node.names}
        return {self._home(self._source(path, node), a.name) for a in node.names}

    def _source(self, path, node):
        """The absolute name of the module that a ``from … import`` imports from."""
        if not node.level:
            return node.module
        name = (_module_name(path) or "").split(".")
        package = name if path.endswith("__init__.py") else name[:-1]
        return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])

    def _longest(self, name):
        """The module that a dotted name begins with, None if it is not in this repository."""
        return next((n for n in (name, *_ancestors(name)) if n in self._modules), None)

    def _home(self, source, name):
        """The module in which ``name``, imported from ``source``, is defined."""
        if f"{source}.{name}" in self._modules:
            return f"{source}.{name}"
        path = self._modules.get(source)
        if path is not None and path.endswith("__init__.py"):
            if name in self._passes_on(path):
                node, own = self._passes_on(path)[name]
                return self._home(self._source(path, node), own) or source
        return self._longest(source)


def _module_name(path):
    for package, folder in PACKAGES.items():
        if path.startswith(folder + "/"):
            parts = path.removeprefix(folder + "/").removesuffix(".py").split("/")
            return ".".join([package, *parts]).removesuffix(".__init__")
    return None


def _ancestors(name):
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]
