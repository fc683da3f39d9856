"""Finds the kernels that compute a forbidden built-in, whatever name or wrapper calls them.

``anatomy.program.runner`` watches torch's Python functions. That misses compiled code (``torch.jit``) and calls that go
straight to an operator (``torch.ops``, ``torch._C``). These all end at the operator itself, which therefore refuses
during a question (see asked.py).

The refusal happens in the student's process, where a determined student can undo it: it explains, it does not decide.
The decision is made outside, from the source of the answer (autograder.grading.source.calls).
"""

import re
from collections.abc import Iterable
from functools import cache

import torch
from anatomy.program.runner import Outcome, forbidden_names


@cache
def operators_behind(name: str) -> list[str]:
    """Names of the ATen operators, variants and fused forms included, that compute a built-in such as ``softmax``."""
    stem = name.removesuffix("_attention").lstrip("_")
    heads = (name, stem, "_" + stem, "native_" + stem, "_fused_" + stem, "_masked_" + stem, "_native_" + stem)
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        space, _, operator = full.partition("::")
        base = operator.partition(".")[0]
        # A prefix with a separator: _scaled_dot_product_flash_attention counts, hardsigmoid does not.
        if space == "aten" and "backward" not in base and (base in heads or base.startswith(f"_{stem}_")):
            found.append(operator)
    return sorted(found)


def ban_of(forbidden: Iterable[str]) -> dict[str, list[str]]:
    """dict of a forbidden name → operators, for ``asked.refuse_operators``; names without an operator are left out."""
    return {n: operators_behind(n) for n in sorted(forbidden_names(forbidden)) if operators_behind(n)}


_REFUSED = re.compile(r"(\w{1,60}) is not allowed in this exercise")


def note_refusals(outcome: Outcome, forbidden: Iterable[str]) -> None:
    """Adds to ``outcome["used"]`` the names refused to the student's code (compiled code adds lines to the message)."""
    for result in outcome["results"]:
        for name in _REFUSED.findall(result["raises"][1]) if "raises" in result else ():
            if name in forbidden_names(forbidden) and name not in outcome["used"]:
                outcome["used"].append(name)
