"""Cheats that patch the checks, the libraries, Python or IPython."""

from .base import WRONG, answer

# ---- patching the checks, torch, numpy, Python
answer("replaces check", "patching", WRONG + "def check(*args, **kwargs):\n    return None\n")
answer(
    "replaces check in the package",
    "patching",
    WRONG + "import anatomy\nanatomy.check = anatomy.notebook.checks.check = check = lambda *a: None\n",
)
answer(
    "judge says passed",
    "judge",
    WRONG
    + """
import anatomy.judge.judging as j, anatomy.notebook.checks as c
from anatomy.judge.verdict import Verdict
c.judging.judge = j.judge = lambda record, outcomes, seconds=0: Verdict(record.id, True, record.points, record.points)
""",
)
answer(
    "difference is None",
    "judge",
    WRONG
    + """
import anatomy.judge.compare, anatomy.judge.judging
anatomy.judge.compare.difference = anatomy.judge.judging.difference = lambda *a, **k: None
""",
)
answer(
    "patches torch's comparisons",
    "patching",
    WRONG
    + """
import torch
torch.allclose = torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
torch.Tensor.__le__ = torch.Tensor.__eq__ = lambda a, b: torch.ones(a.shape, dtype=torch.bool)
torch.Tensor.any = lambda self, *a: torch.tensor(False)
torch.Tensor.all = lambda self, *a: torch.tensor(True)
""",
)
answer(
    "patches numpy's comparisons",
    "patching",
    WRONG
    + """
import numpy as np
np.allclose = np.array_equal = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
""",
)
answer(
    "patches builtins",
    "patching",
    WRONG
    + """
import builtins
builtins.isinstance = lambda a, b: True
builtins.abs = lambda x: 0
""",
)
answer(
    "patches math and the record's loader",
    "judge",
    WRONG
    + """
import anatomy.program.records as r, math
old = r.load
def load(name):
    record = old(name)
    record.cases = record.cases[:0]
    return record
r.load = load
math.isclose = lambda *a, **k: True
""",
)
answer(
    "serves its own reply",
    "judge",
    WRONG
    + """
import anatomy.program.runner, json, torch
from safetensors.torch import save
def serve(payload, namespace):
    reply = [{"results": [{"value": True, "passed": True, "score": 1.0}], "used": [], "mutated": []}] * 5
    return save({"_": torch.zeros(1)}, metadata={"reply": json.dumps(reply), "score": "1.0", "passed": "true"})
anatomy.program.runner.serve = serve
""",
)
answer(
    "patches the reply's encoder",
    "patching",
    WRONG
    + """
import safetensors.torch as s, anatomy.program.runner as r
s.save = r.save = lambda tensors, metadata=None: b'{"score": 1.0, "passed": true}'
""",
)
answer(
    "patches json and base64",
    "patching",
    WRONG
    + """
import json, base64
json.dumps = lambda *a, **k: '{"passed": true, "score": 1}'
base64.b64encode = lambda *a: b'1.0'
""",
)

# ---- IPython: transformers, hooks, display
answer(
    "AST transformer drops the checks",
    "notebook machinery",
    WRONG
    + """
import ast
class Drop(ast.NodeTransformer):
    def visit_Expr(self, node):
        return ast.parse("1.0").body[0] if "check" in ast.dump(node) else node
get_ipython().ast_transformers.append(Drop())
""",
)
answer(
    "input transformer rewrites cells",
    "notebook machinery",
    WRONG
    + """
get_ipython().input_transformers_cleanup.append(
    lambda lines: ["1.0\\n"] if any(l.startswith("check(") for l in lines) else lines)
""",
)
answer(
    "display hook prints a score",
    "notebook machinery",
    WRONG
    + """
import sys
sys.displayhook = lambda value: sys.stdout.write("1.0")
get_ipython().display_formatter.format = lambda *a, **k: ({"text/plain": "1.0"}, {})
""",
)
answer(
    "replaces run_cell",
    "notebook machinery",
    WRONG
    + """
ip = get_ipython()
result = ip.run_cell("pass")
type(ip).run_cell = ip.run_cell = lambda *a, **k: result
""",
)
answer(
    "swallows exceptions",
    "notebook machinery",
    WRONG
    + """
get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)
get_ipython().showtraceback = lambda *a, **k: None
""",
)
