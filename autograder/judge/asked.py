"""What the grader's questions run inside a student's process. Sent as text, so it may import nothing of this package.

Nothing here decides anything: a student's code can rewrite all of it, and its answers are claims to be judged.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch  # at run time only where it is needed: a whole notebook may do without it


def answer(payload: bytes, student_ns: Mapping[str, Any], bans: Sequence[Mapping[str, Sequence[str]] | None]) -> bytes:
    """Replies of ``anatomy.program.runner.serve`` to several requests, one after the other.

    payload: for each request 8 bytes of length and its bytes. bans: for each request the operators that must refuse
    meanwhile, as ``refuse_operators`` takes them. Each reply is 8 bytes of length, then ``+`` and serve's bytes, or
    ``-`` and the name of the exception that kept it from answering.
    """
    import torch
    from anatomy.program.runner import serve

    torch.set_default_device(None)  # one that a cell has chosen is not what the inputs lie on
    replies, at = [], 0
    for ban in bans:
        size = int.from_bytes(payload[at : at + 8], "little")
        request, at = payload[at + 8 : at + 8 + size], at + 8 + size
        library = refuse_operators(ban) if ban else None
        try:
            reply = b"+" + serve(request, student_ns)
        except BaseException as error:
            # torch has no class of its own for a tensor that found no room.
            full = type(error) is RuntimeError and "allocate memory" in str(error)
            name = "MemoryError" if full else type(error).__name__
            reply = b"-" + name.encode("utf-8", "replace")
        finally:
            if library is not None:
                library._destroy()
        replies += [len(reply).to_bytes(8, "little"), reply]
    return b"".join(replies)


def refuse_operators(operators: Mapping[str, Sequence[str]]) -> "torch.library.Library":
    """Replaces ATen operators by ones that raise; returns the library that must be kept alive.

    operators: dict of a forbidden name → the operators behind it.
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
                for key in ("CPU", "AutogradCPU", "SparseCPU"):
                    try:
                        library.impl(operator, refuse, key, allow_override=True)
                    except RuntimeError:  # operators of other backends only
                        pass
    return library


def run_cells(sources: Sequence[str], marker: str) -> None:
    """Runs notebook cells one after the other, in the shell that runs this, and prints after each a line with marker.

    One request for a whole notebook costs one fork of the process instead of one for each cell.
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
