"""Signs of cheating in a submission's source: evidence for the instructor's report, with the line it stands on.

A sign is no verdict: honest code may carry one, and the score comes from the judge alone. The one exception is an
exercise that forbids library built-ins: there the watch runs in the student's process, so code that can reach it
(``evades_ban``) leaves the answer's points to the instructor.
"""

import ast
from dataclasses import dataclass

MAX_SIGNS = 40
# Techniques that can blind the watch for forbidden built-ins.
EVASIONS = ("ban", "judge", "patching", "introspection", "dynamic code", "processes")


@dataclass(frozen=True)
class Sign:
    """technique: one of the keys of WORDS. evidence: the line, cut to 160 characters. where: cell id and line."""

    technique: str
    evidence: str
    where: str


WORDS = {
    "patching": "replaces functions of a library or of Python itself",
    "judge": "reaches for the course's checking code",
    "ban": "calls torch's internals, below the functions that an exercise may forbid",
    "introspection": "looks into the interpreter: frames, globals of others, live objects",
    "dynamic code": "builds code from text at run time",
    "notebook machinery": "reaches into IPython: hooks, transformers, display, output streams",
    "grader's files": "names files or variables of the grader",
    "network": "opens network connections",
    "processes": "starts processes or threads, sends signals, or ends the interpreter",
    "comparison": "defines objects that decide themselves what they are equal to, or tensor subclasses",
    "examples": "right on the examples of the check, wrong on every other input",
    "forgery": "changed marks, check cells or stored scores",
    "resources": "ran into the limits on time, memory or output",
    "reply": "answered the grader in a form that no honest answer has",
}

_MODULES = {
    "judge": {
        "anatomy.runner",
        "anatomy.judging",
        "anatomy.records",
        "anatomy.checks",
        "anatomy.codec",
        "anatomy.compare",
        "anatomy.verdict",
        "anatomy.diagnosis",
        "autograder",
        "nbgrader",
    },
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
# Where the measured data of the demonstrations lie; a plain holder of attributes.
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
_PROTECTED = {"check", "evaluate", "isinstance", "type", "len", "print", "abs", "float", "all", "any"}


def signs_of(source, where):
    """Signs in one cell's source, for the cell ``where``. Source that does not parse has none: it does not run."""
    try:
        tree = ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [Sign("dynamic code", "(a cell that cannot be parsed)", where)] if len(source) > 50_000 else []
    lines, found = source.split("\n"), {}
    for technique, node in _walk(tree):
        line = getattr(node, "lineno", 1)
        evidence = lines[line - 1].strip()[:160] if line <= len(lines) else ""
        found.setdefault((technique, line), Sign(technique, evidence, f"{where}, line {line}"))
    return sorted(found.values(), key=lambda s: (list(WORDS).index(s.technique), s.where))[:MAX_SIGNS]


def evades_ban(signs):
    """Signs among ``signs`` that could hide a forbidden built-in."""
    return [s for s in signs if s.technique in EVASIONS]


def without_magics(source):
    """Cell source that ast.parse takes: lines of magics and shell commands become ``pass``, in place."""
    kept = []
    for line in source.split("\n"):
        bare = line.lstrip()
        kept.append(line[: len(line) - len(bare)] + "pass" if bare.startswith(("%", "!", "?")) else line)
    return "\n".join(kept)


def _walk(tree):
    aliases = _aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from _module(name.name, node)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield from _module(f"{node.module or ''}.{name.name}", node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from ((t, node) for t, names in _CALLS.items() if node.id in names)
        elif isinstance(node, ast.Attribute):
            yield from ((t, node) for t, names in _ATTRIBUTES.items() if node.attr in names and not _innocent(node))
            if not isinstance(node.ctx, ast.Load) and _root(node) in aliases:
                yield "patching", node
        elif isinstance(node, ast.Call):
            yield from _call(node, aliases)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield from ((t, node) for t, names in _METHODS.items() if node.name in names)
            if node.name in _PROTECTED:
                yield "patching", node
            if isinstance(node, ast.ClassDef) and any(_text(b).endswith("Tensor") for b in node.bases):
                yield "comparison", node
        elif isinstance(node, ast.Name) and node.id in _PROTECTED:  # stored or deleted
            yield "patching", node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 2_000:
            yield from ((t, node) for t, words in _STRINGS.items() if any(w in node.value for w in words))
            if "\n" not in node.value and node.value in ("TorchFunctionMode", "_Watch", "serve"):
                yield "judge", node


def _module(name, node):
    if name in _HARMLESS:
        return
    for technique, modules in _MODULES.items():
        if any(name == m or name.startswith(m + ".") for m in modules):
            yield technique, node


def _call(node, aliases):
    name = _text(node.func)
    if name in ("setattr", "delattr") and node.args and _root(node.args[0]) in aliases:
        yield "patching", node
    if (
        name == "getattr"
        and len(node.args) > 1
        and not isinstance(node.args[1], ast.Constant)
        and _root(node.args[0]) in aliases
    ):
        yield "dynamic code", node
    if name.endswith((".update", ".setdefault")) and "__dict__" in name:
        yield "patching", node


def _aliases(tree):
    """Names under which libraries are known in a cell."""
    names = set(_LIBRARIES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name for a in node.names}
    return names


def _innocent(node):
    # nn.ModuleDict().modules() and x.T.ops of one's own are common; sys.modules and torch.ops are meant.
    return node.attr in ("modules", "ops", "jit", "system", "walk", "kill", "environ") and _root(node) not in (
        "sys",
        "torch",
        "os",
    )


def _root(node):
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _text(node):
    try:
        return ast.unparse(node)[:200]
    except (ValueError, RecursionError):
        return ""
