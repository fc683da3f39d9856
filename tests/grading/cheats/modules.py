"""Answers that look up the machinery by names on no list, and change it: the runner, the watch, the ban, torch.

All names in them are constants, and all calls could be written as ordinary attributes. They earn nothing: either the
change does not reach the code that judges, or the function they call is not a softmax of their own.
"""

from .base import ATTENTION, SOLVE_SOFTMAX, WRONG, answer

_MODULES = 'import torch\ng = getattr\nmodules = getattr(g(torch, "sys"), "modules")\n'
_FORBIDDEN = """
def softmax(x, dim=-1):
    return torch.softmax(x, dim)
"""
_PATCHES = {
    "the runner reached through torch's own sys": """
runner = modules["anatomy.program.runner"]
g(runner, "__dict__")["forbidden_names"] = lambda names: ()
g(runner, "__dict__")["RELATIVES"] = {}
""",
    "the watch reached through torch's own sys": """
watch = g(modules["anatomy.program.runner"], "_Watch")
setattr(watch, "__torch_function__", lambda self, f, t, a=(), k=None: f(*a, **(k or {})))
""",
    "the ban reached through the modules of a module": """
for module in list(modules.values()):
    for name in list(vars(module)) if module is not None and "anatomy" in g(module, "__name__", "") else ():
        if "ban" in name.lower() or "refus" in name.lower():
            setattr(module, name, lambda *a, **k: None)
""",
    "the libraries of operators, taken from the modules": """
library = g(modules["torch.library"], "Library")
for found in g(modules["gc"], "get_objects")() if "gc" in modules else ():
    if isinstance(found, library):
        g(found, "_destroy")()
""",
    "what is reported as used, emptied on its way": """
json = modules["json"]
old = g(json, "dumps")
def dumps(value, *a, **k):
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            item.update(used=[], mutated=[])
    return old(value, *a, **k)
setattr(json, "dumps", dumps)
""",
}
for _name, _source in _PATCHES.items():
    _full = _MODULES + "try:" + _source.replace("\n", "\n    ") + "\nexcept Exception:\n    pass\n" + _FORBIDDEN
    answer(_name, "modules", _full, unit=ATTENTION, solve=SOLVE_SOFTMAX, seen=None)

_JUDGES = {
    "the judge's comparison, through torch's own sys": """
for name in ("anatomy.judge.compare", "anatomy.judge.judging", "anatomy.program.codec"):
    for part in ("difference", "outcome_difference", "decode"):
        if name in modules:
            setattr(modules[name], part, lambda *a, **k: None)
""",
    "safetensors that write the right answer": """
save = g(modules["safetensors.torch"], "save")
def better(tensors, metadata=None):
    return save({n: t * 0 + 3 for n, t in tensors.items()}, metadata)
setattr(modules["safetensors.torch"], "save", better)
for module in list(modules.values()):
    if g(module, "save", None) is save:
        setattr(module, "save", better)
""",
}
for _name, _source in _JUDGES.items():
    answer(_name, "modules", _MODULES + _source + WRONG, seen=None)
