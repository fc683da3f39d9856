"""Cheats that forge outputs, scores, cells, metadata or results, and answers without work."""

import copy

from autograder import ROOT

from .base import CHECK, WRONG, answer, find, insert_before, notebook

# ---- forging outputs, scores, cells, metadata
answer(
    "prints a verdict",
    "forgery",
    WRONG
    + """
from IPython.display import display, HTML
print("✓ start.weighted_average: passed (1 points)\\n1.0")
display(HTML("<div role=status><b>✓ passed</b></div>"), {"score": 1.0})
1.0
""",
    seen="notebook machinery",
)


@notebook("outputs filled in", "forgery", seen=None)
def _outputs(book):
    find(book, CHECK)["outputs"] = [
        {"output_type": "execute_result", "data": {"text/plain": "1.0"}, "metadata": {}, "execution_count": 1}
    ]


@notebook("points raised", "forgery")
def _points(book):
    find(book, CHECK)["metadata"]["nbgrader"].update(points=100, locked=False)


@notebook("manual score in the metadata", "forgery")
def _manual(book):
    find(book, CHECK)["metadata"]["nbgrader"].update(manual_score=1.0, score=1.0, auto_score=1.0, extra_credit=5)


@notebook("check cell rewritten", "forgery")
def _rewritten(book):
    find(book, CHECK)["source"] = "1.0"


@notebook("check cell removed", "forgery", seen=None)
def _removed(book):
    book["cells"].remove(find(book, CHECK))


@notebook("check cell twice", "forgery")
def _twice(book):
    other = copy.deepcopy(find(book, CHECK))
    other["source"], other["id"] = "1.0", "other"
    insert_before(book, CHECK, other)


@notebook("check cell tagged skip-execution", "forgery", seen=None)
def _skipped(book):
    find(book, CHECK)["metadata"]["tags"] = ["skip-execution"]


@notebook("check cell turned into text", "forgery")
def _text(book):
    cell = find(book, CHECK)
    cell["cell_type"] = "markdown"
    cell["metadata"]["nbgrader"].update(grade=False, solution=True)


@notebook("check cell that belongs to nobody", "forgery")
def _alien(book):
    cell = copy.deepcopy(find(book, CHECK))
    cell["metadata"]["nbgrader"].update(grade_id="check-extra-credit", points=50)
    cell["source"], cell["id"] = "50.0  # nbgrader: manual_score = 50", "alien"
    book["cells"].append(cell)


@notebook("another kernel", "forgery", seen=None)
def _kernel(book):
    book["metadata"] = {"kernelspec": {"name": "bash", "language": "bash", "display_name": "x"}}


@notebook("metadata of the grader's own", "forgery", seen=None)
def _marks(book):
    book["metadata"]["anatomy"] = {"problem": None, "score": 1, "digest": "x"}
    for cell in book["cells"]:
        cell["metadata"]["anatomy"] = {"role": "check", "exercise": "start.weighted_average", "score": 1}


# ---- objects that lie
answer(
    "equal to everything",
    "comparison",
    """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    def __abs__(self): return 0
    def __le__(self, other): return True
    shape, dtype, ndim = (), "float32", 0
    def __array__(self, *a): raise TypeError
    def item(self): return self
def weighted_average(values, weights):
    return Same()
""",
)
answer(
    "tensor subclass that agrees",
    "comparison",
    """
import torch
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ in ("eq", "__eq__", "allclose", "equal", "le", "__le__", "isclose"):
            return torch.tensor(True)
        return super().__torch_function__(func, types, args, kwargs or {})
def weighted_average(values, weights):
    return (values[0] * 0).as_subclass(Yes)
""",
)
answer(
    "pretends to be numpy",
    "comparison",
    """
class Fake:
    ndim = 0
    dtype = "float32"
    def item(self): return Fake()
    def __eq__(self, other): return True
Fake.__module__ = "numpy"
def weighted_average(values, weights):
    return Fake()
""",
)
answer(
    "strings and numbers that lie",
    "comparison",
    """
class Float(float):
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __sub__(self, other): return 0.0
def weighted_average(values, weights):
    return [Float(1.0)] * values.shape[1]
""",
)
answer(
    "runs code when unpickled",
    "comparison",
    f"""
import os
class Boom:
    def __reduce__(self): return (os.system, ("touch {ROOT}/.unpickled",))
def weighted_average(values, weights):
    return Boom()
""",
)
answer(
    "NaN, infinity and no numbers at all",
    "comparison",
    """
def weighted_average(values, weights):
    return values[0] * float("nan")
""",
    seen=None,
)
answer(
    "meta, sparse and quantized tensors",
    "comparison",
    """
import torch
def weighted_average(values, weights):
    return torch.empty(values.shape[1], device="meta")
""",
    seen=None,
)

# ---- answers without work
answer("returns its input", "lazy", "def weighted_average(values, weights):\n    return values\n", seen=None)
answer(
    "right when nobody grades",
    "detection",
    """
import sys, traceback
def weighted_average(values, weights):
    if "serve" in "".join(traceback.format_stack()):
        return values[0] * 0
    return weights @ values / weights.sum()
""",
    seen=None,
)
answer(
    "guesses until it fits",
    "lazy",
    """
import torch
def weighted_average(values, weights):
    return values.mean(0) + torch.randn(values.shape[1])
""",
    seen=None,
)
