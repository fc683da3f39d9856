"""The grader's code inside a student's process. Sent as text, so it must not import anything from this package.

Nothing here decides anything: a student's code can rewrite it all, and its answers are only claims to be judged.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch  # imported at run time only where needed: a whole notebook may not need it


def answer(payload: bytes, student_ns: Mapping[str, Any], bans: Sequence[Mapping[str, Sequence[str]] | None]) -> bytes:
    """Replies of ``anatomy.program.runner.serve`` to several requests, one after the other.

    payload: the requests, each as 8 bytes of length and its bytes. bans: for each request the operators to refuse, in
    the form that ``refuse_operators`` takes. Each reply is 8 bytes of length, then ``+`` and serve's bytes, or ``-``
    and the name of the exception that prevented an answer.
    """
    import torch
    from anatomy.program.runner import serve

    torch.set_default_device(None)  # a cell may have set one, but the inputs are not on it
    replies, at = [], 0
    for ban in bans:
        size = int.from_bytes(payload[at : at + 8], "little")
        request, at = payload[at + 8 : at + 8 + size], at + 8 + size
        library = refuse_operators(ban) if ban else None
        try:
            reply = b"+" + serve(request, student_ns)
        except BaseException as error:
            # torch has no exception class of its own for a failed allocation.
            full = type(error) is RuntimeError and "allocate memory" in str(error)
            name = "MemoryError" if full else type(error).__name__
            reply = b"-" + name.encode("utf-8", "replace")
        finally:
            if library is not None:
                library._destroy()
        replies += [len(reply).to_bytes(8, "little"), reply]
    return b"".join(replies)


def refuse_operators(operators: Mapping[str, Sequence[str]]) -> "torch.library.Library":
    """Replaces ATen operators with ones that raise; returns the library, which the caller must keep alive.

    operators: dict of a forbidden name → the operators that compute it.
    """
    import warnings

    import torch

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about overridden kernels, which are the point here
        for name, behind in operators.items():

            def refuse(*args, name=name, **kwargs):
                raise RuntimeError(f"{name} is not allowed in this exercise")

            for operator in behind:
                for key in ("CPU", "AutogradCPU", "SparseCPU"):
                    try:
                        library.impl(operator, refuse, key, allow_override=True)
                    except RuntimeError:  # operators of other backends only
                        pass
    return library


def run_cells(sources: Sequence[str], marker: str) -> None:
    """Runs notebook cells one after the other in the current shell and prints a line with ``marker`` after each.

    One request for a whole notebook costs one fork of the process instead of one per cell.
    """
    import json
    import sys
    import traceback

    from IPython import get_ipython

    shell = get_ipython()
    for number, source in enumerate(sources):
        ran = shell.run_cell(source, store_history=False)
        error, about = ran.error_before_exec or ran.error_in_exec, None
        if error is not None:
            try:
                text = str(error)[:2_000]
            except BaseException:
                text = ""
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
            lines = [f"line {f.lineno}, in {f.name}: {f.line}"[:300] for f in frames[-6:]]
            about = [type(error).__name__, text, "\n".join(lines)]
        sys.stdout.write(f"\n{marker} {number} {json.dumps(about)}\n")
