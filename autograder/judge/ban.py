"""Makes the kernels of forbidden built-ins refuse, below Python: whatever name or wrapper calls them.

``anatomy.runner`` watches torch's Python functions. That misses compiled code (``torch.jit``) and calls that go
straight to an operator (``torch.ops``, ``torch._C``). The operator itself is out of their reach.

The refusal runs in the student's process, where a determined student can undo it: it detects, it does not prove.
The grader's search for signs of tampering (autograder.grading.signs) is the second half.
"""

import inspect
import re
from functools import cache

import torch


def refuse_operators(operators):
    """Replaces ATen operators by ones that raise; returns the library that must be kept alive.

    operators: dict of a forbidden name → the operators behind it. Runs in the student's process, from its source
    text: it may use nothing of this module.
    """
    import warnings

    import torch

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is overridden is the point
        for name, behind in operators.items():
            def refuse(*args, name=name, **kwargs):
                raise RuntimeError(f"{name} is not allowed in this exercise")

            for operator in behind:
                for key in ("CPU", "AutogradCPU"):
                    try:
                        library.impl(operator, refuse, key, allow_override=True)
                    except RuntimeError:  # operators of other backends only
                        pass
    return library


@cache
def operators_behind(name):
    """Names of the ATen operators, variants and fused forms included, that compute a built-in such as ``softmax``."""
    stem = name.removesuffix("_attention").lstrip("_")
    heads = (name, stem, "_" + stem, "native_" + stem, "_fused_" + stem, "_masked_" + stem)
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        space, _, operator = full.partition("::")
        base = operator.partition(".")[0]
        # A prefix with a separator: _scaled_dot_product_flash_attention counts, hardsigmoid does not.
        if space == "aten" and "backward" not in base and (base in heads or base.startswith(f"_{stem}_")):
            found.append(operator)
    return sorted(found)


@cache
def guarded(code, forbidden):
    """``code`` for ``Session.ask`` that runs with the forbidden operators refusing. forbidden: tuple of names."""
    operators = {n: operators_behind(n) for n in sorted(forbidden)}
    if not any(operators.values()):
        return code
    return f"{inspect.getsource(refuse_operators)}\n_kept = refuse_operators({operators!r})\n{code}"


_REFUSED = re.compile(r"(\w{1,60}) is not allowed in this exercise")


def note_refusals(outcome, forbidden):
    """Adds to ``outcome["used"]`` the names whose refusal the student's code ran into (compiled code adds lines)."""
    for result in outcome["results"]:
        for name in _REFUSED.findall(result["raises"][1]) if "raises" in result else ():
            if name in forbidden and name not in outcome["used"]:
                outcome["used"].append(name)
