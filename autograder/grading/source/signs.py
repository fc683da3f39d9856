"""Finds signs of cheating in a submission's source: evidence for the instructor's report, with its line.

A sign is not a verdict: honest code may have some, and the score comes from the judge alone. The only exceptions are
exercises that forbid library built-ins: what their answers may call is read from the source (``calls.py``), and code
that can change the meaning of names (``evades_ban``) is one reason to leave the points to the instructor.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from anatomy.moved import MOVED

from .allowed import HARMLESS_DUNDERS
from .mentions import gather
from .parsing import hides, parsed, without_magics
from .scopes import Scope, bind
from .statements import Mention, Unit
from .techniques import EVASIONS, WORDS, Sign

__all__ = ["EVASIONS", "WORDS", "Sign", "evades_ban", "signs_of", "without_magics"]

Aliases = set[str]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

MAX_SIGNS = 40

_JUDGE = (
    "anatomy.judge",
    "anatomy.moved",
    "anatomy.notebook.checks",
    "anatomy.program.codec",
    "anatomy.program.records",
    "anatomy.program.runner",
)
_MODULES = {
    "judge": {*_JUDGE, *(old for old, new in MOVED.items() if new.startswith(_JUDGE)), "autograder", "nbgrader"},
    "ban": {
        "torch.library",
        "torch.overrides",
        "torch.utils._python_dispatch",
        "torch._C",
        "torch.ops",
        "torch.jit",
        "torch._ops",
        "torch._decomp",
        "torch._refs",
        "torch._dispatch",
        "torch._inductor",
        "torch.utils.cpp_extension",
    },
    "introspection": {"gc", "inspect", "ctypes", "dis", "types", "cffi"},
    "dynamic code": {"importlib", "runpy", "code", "codeop", "pickle", "marshal"},
    "notebook machinery": {"IPython", "ipykernel", "nbformat", "jupyter_client", "comm"},
    "network": {"socket", "urllib", "http", "requests", "ftplib", "smtplib", "ssl", "aiohttp", "httpx"},
    "processes": {
        "subprocess",
        "multiprocessing",
        "threading",
        "signal",
        "concurrent",
        "asyncio",
        "atexit",
        "faulthandler",
        "pty",
    },
    "grader's files": {"sqlite3", "sqlalchemy", "glob", "shutil", "pathlib"},
}
# The folder of the demonstrations' measured data; a plain container of attributes.
_HARMLESS = {"anatomy.records.assets_dir", "types.SimpleNamespace"}
_CALLS = {
    "dynamic code": {"exec", "eval", "compile", "__import__"},
    "introspection": {"globals", "locals", "vars"},
    "notebook machinery": {"get_ipython"},
    "grader's files": {"open"},
}
_ATTRIBUTES = {
    "introspection": {
        "_getframe",
        "currentframe",
        "__subclasses__",
        "__globals__",
        "__builtins__",
        "__closure__",
        "__code__",
        "f_back",
        "f_globals",
        "f_locals",
        "get_objects",
        "get_referrers",
        "settrace",
        "setprofile",
        "_current_frames",
        "modules",
        "__mro__",
        "__dict__",
        "user_ns",
    },
    "ban": {
        "_C",
        "ops",
        "decompose",
        "DisableTorchFunction",
        "DisableTorchFunctionSubclass",
        "_VariableFunctions",
        "Library",
        "TorchFunctionMode",
        "TorchDispatchMode",
        "jit",
        "_refs",
        "_decomp",
    },
    "notebook machinery": {
        "ast_transformers",
        "input_transformers",
        "input_transformers_cleanup",
        "run_cell",
        "do_execute",
        "displayhook",
        "display_formatter",
        "display_pub",
        "excepthook",
        "user_global_ns",
        "set_custom_exc",
        "register_magic_function",
    },
    "processes": {"_exit", "fork", "kill", "killpg", "abort", "system", "popen", "Thread", "execv", "setrlimit"},
    "grader's files": {"environ", "getenv", "listdir", "walk", "scandir", "chmod", "symlink"},
}
_METHODS = {
    "comparison": {
        "__eq__",
        "__torch_function__",
        "__torch_dispatch__",
        "__array__",
        "__array_ufunc__",
        "__class_getitem__",
        "__instancecheck__",
        "__reduce__",
        "__reduce_ex__",
        "__del__",
    }
}
_STRINGS = {
    "grader's files": (
        "solutions/",
        "../solutions",
        "autograder",
        "gradebook",
        "/proc",
        "submitted",
        ".secret",
        "assets/recordings",
        "/etc/",
        "/home",
        "/root",
        "ANATOMY_",
        "NBGRADER",
        "usercustomize",
        ".ipython",
    ),
    "forgery": ("manual_score", "grade_id", "nbgrader"),
}
_LIBRARIES = {
    "torch",
    "numpy",
    "np",
    "builtins",
    "IPython",
    "anatomy",
    "sys",
    "math",
    "nn",
    "F",
    "safetensors",
    "pickle",
    "json",
    "os",
    "time",
    "random",
}
# sys.modules and torch.ops are signs, but nn.ModuleDict().modules() and a student's own attribute ops are common.
_COMMON = {"modules", "ops", "jit", "system", "walk", "kill", "environ"}
# Source in which a name may stand for another one: only then is resolving names worth the time.
_ROUNDABOUT = re.compile(
    r"getattr|setattr|attrgetter|methodcaller|__(?!init__|name__|call__|len__|repr__|version__)|\bvars\b|\bcase\b|"
    r"metaclass|"
    r"\b(?:exec|eval|compile|globals|locals|format|type)\b|import_module|"
    r"\.\s*(?:sys|os|builtins|importlib|inspect|types|gc|ctypes|io|threading|subprocess|traceback|linecache|torch|pickle|"
    r"weakref|copyreg|warnings|modules)\b"
)
_SETTINGS = ("torch.backends", "os.environ", "numpy.random")  # honest notebooks set these
_READ = {
    "sys.version",
    "sys.version_info",
    "sys.executable",
    "sys.platform",
    "sys.maxsize",
    "sys.float_info",
    "sys.path",
}
_READ |= {"sys.getsizeof", "sys.stdout", "sys.stderr", "sys.byteorder", "sys.exit", "sys.argv"}
_PROTECTED = {"check", "evaluate", "isinstance", "type", "len", "print", "abs", "float", "all", "any"}


def signs_of(source: str, where: str) -> list[Sign]:
    """Signs in the source of the cell ``where``; none for a syntax error, because such a cell does not run.

    A cell that is too long or too deeply nested to be parsed is a sign.
    """
    tree = parsed(source)
    if tree is None:
        unclear = hides(source) or len(source) > 50_000
        return [Sign("dynamic code", "(a cell that cannot be parsed)", where)] if unclear else []
    lines = source.split("\n")
    found: dict[tuple[str, int], Sign] = {}
    for technique, line in chain(_walk(tree), _resolved(tree) if _ROUNDABOUT.search(source) else ()):
        evidence = lines[line - 1].strip()[:160] if line <= len(lines) else ""
        found.setdefault((technique, line), Sign(technique, evidence, f"{where}, line {line}"))
    return sorted(found.values(), key=lambda s: (list(WORDS).index(s.technique), s.where))[:MAX_SIGNS]


def evades_ban(signs: Iterable[Sign]) -> list[Sign]:
    """The signs among ``signs`` that could hide the use of a forbidden built-in."""
    return [s for s in signs if s.technique in EVASIONS]


def _walk(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(technique, line) of every sign in a cell."""
    aliases = _aliases(tree)
    for node in ast.walk(tree):
        techniques = _LOOK.get(type(node))
        if techniques is not None:
            yield from ((technique, getattr(node, "lineno", 1)) for technique in techniques(node, aliases))


def _resolved(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(technique, line) of indirect signs: constant ``getattr``, aliases, module chains, ``match``, ``format``."""
    top = Scope(tree)
    units = [Unit("", statement) for statement in tree.body]
    try:
        bind(tree.body, top)
        # This ignores which lists grow: a false sign does no harm, since it is not an accusation.
        yield from (("dynamic code", unit.node.lineno) for unit in gather(units, top))
    except RecursionError:
        yield "dynamic code", 1
    for m in (m for unit in units for m in unit.mentions):
        yield from ((technique, m.line) for technique in _mentioned(m))


def _mentioned(m: Mention) -> Iterator[str]:
    root, *parts = m.name.split(".")
    if m.kind in ("library", "module", "library store"):
        yield from _module(m.name)
        for part in parts:
            if root in ("sys", "torch", "os") or part not in _COMMON:
                yield from _listed(part, _ATTRIBUTES)
            if part.startswith("__") and part not in HARMLESS_DUNDERS:
                yield "introspection"
        if root == "builtins":
            yield from _listed(parts[0] if parts else "", _CALLS)
        if m.kind == "library store" and root in _LIBRARIES and not m.name.startswith(_SETTINGS):
            yield "patching"
        if root in ("sys", "builtins", "importlib") and m.name not in _READ and not (root == "builtins" and parts):
            yield "introspection"
    elif m.kind in ("attribute", "own class", "own") and m.name not in _COMMON:
        yield from _listed(m.name, _ATTRIBUTES)
    elif m.kind == "odd" and (m.name in ("type", "attrgetter") or m.name.startswith("metaclass")):
        yield "dynamic code"
    elif m.kind == "odd" and m.name == "getattr" and m.owner == "library":
        yield "dynamic code"


def _import(node: ast.Import, aliases: Aliases) -> Iterator[str]:
    for name in node.names:
        yield from _module(name.name)


def _import_from(node: ast.ImportFrom, aliases: Aliases) -> Iterator[str]:
    for name in node.names:
        yield from _module(f"{node.module or ''}.{name.name}")


def _module(name: str) -> Iterator[str]:
    if name in _HARMLESS:
        return
    for technique, modules in _MODULES.items():
        if any(name == m or name.startswith(m + ".") for m in modules):
            yield technique


def _name(node: ast.Name, aliases: Aliases) -> Iterator[str]:
    if isinstance(node.ctx, ast.Load):
        yield from _listed(node.id, _CALLS)
    elif node.id in _PROTECTED:  # stored or deleted
        yield "patching"


def _attribute(node: ast.Attribute, aliases: Aliases) -> Iterator[str]:
    if not _innocent(node):
        yield from _listed(node.attr, _ATTRIBUTES)
    if not isinstance(node.ctx, ast.Load) and _root(node) in aliases and not _text(node).startswith(_SETTINGS):
        yield "patching"


def _call(node: ast.Call, aliases: Aliases) -> Iterator[str]:
    name, first = _text(node.func), _root(node.args[0]) if node.args else None
    if name in ("setattr", "delattr") and first in aliases:
        yield "patching"
    if name == "getattr" and first in aliases and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
        yield "dynamic code"
    if name.endswith((".update", ".setdefault")) and "__dict__" in name:
        yield "patching"


def _function(node: Function, aliases: Aliases) -> Iterator[str]:
    yield from _listed(node.name, _METHODS)
    if node.name in _PROTECTED:
        yield "patching"


def _class(node: ast.ClassDef, aliases: Aliases) -> Iterator[str]:
    yield from _function(node, aliases)
    if any(_text(base).endswith("Tensor") for base in node.bases):
        yield "comparison"


def _constant(node: ast.Constant, aliases: Aliases) -> Iterator[str]:
    text = node.value
    if not isinstance(text, str) or len(text) >= 2_000:
        return
    for technique, words in _STRINGS.items():
        if any(word in text for word in words):
            yield technique
    if text in ("TorchFunctionMode", "_Watch", "serve"):
        yield "judge"


# Type of node → function that yields the techniques of which a node is a sign.
_LOOK: dict[type[ast.AST], Callable[..., Iterator[str]]] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Constant: _constant,
}


def _listed(name: str, table: dict[str, set[str]]) -> Iterator[str]:
    return (technique for technique, names in table.items() if name in names)


def _aliases(tree: ast.Module) -> Aliases:
    """Names that refer to libraries in a cell."""
    names = set(_LIBRARIES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name for a in node.names}
    return names


def _innocent(node: ast.Attribute) -> bool:
    return node.attr in _COMMON and _root(node) not in (
        "sys",
        "torch",
        "os",
    )


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.AST) -> str:
    try:
        return ast.unparse(node)[:200]
    except (ValueError, RecursionError):
        return ""
