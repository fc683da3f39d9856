"""Answers that have a library compute what the exercise asks to be written by hand."""

from .base import ATTENTION, SOLVE_SOFTMAX, answer

# ---- forbidden built-ins (attention.softmax must be written by hand)
# Each of these is right, and would pass if what it calls were allowed: the suite checks that too.
FORBIDDEN = {
    "softmax by name": """
def softmax(x, dim=-1):
    return torch.softmax(x, dim)
""",
    "softmax as a module": """
def softmax(x, dim=-1):
    return torch.nn.Softmax(dim)(x)
""",
    "softmax under another name": """
words = ["soft", "max"]
def softmax(x, dim=-1):
    return getattr(x, "".join(words))(dim)
""",
    "softmax compiled": """
@torch.jit.script
def compiled(x: torch.Tensor, dim: int):
    return torch.softmax(x, dim)
def softmax(x, dim=-1):
    return compiled(x, dim)
""",
    "softmax as an operator": """
def softmax(x, dim=-1):
    return torch.ops.aten._softmax(x, dim, False)
""",
    "softmax through vmap": """
def softmax(x, dim=-1):
    flat = x.movedim(dim, -1)
    out = torch.vmap(lambda v: torch.softmax(v, -1))(flat.reshape(-1, flat.shape[-1]))
    return out.reshape(flat.shape).movedim(-1, dim)
""",
    "softmax through its logarithm": """
def softmax(x, dim=-1):
    return torch.log_softmax(x, dim).exp()
""",
    "softmax out of sight of the watch": """
def softmax(x, dim=-1):
    with torch._C.DisableTorchFunction():
        return torch.softmax(x, dim)
""",
    "softmax with the watch blinded": """
import anatomy.runner
anatomy.runner._Watch.__torch_function__ = lambda self, f, t, a=(), k=None: f(*a, **(k or {}))
def softmax(x, dim=-1):
    return torch.ops.aten.softmax.int.decompose(x, dim)
""",
    "softmax with the ban undone": """
import gc
def softmax(x, dim=-1):
    for o in gc.get_objects():
        if isinstance(o, torch.library.Library):
            o._destroy()
    with torch._C.DisableTorchFunction():
        return torch.softmax(x, dim)
""",
    "softmax in another process": """
import io, subprocess, sys
def softmax(x, dim=-1):
    file = io.BytesIO()
    torch.save(x, file)
    code = ("import sys, io, torch; x = torch.load(io.BytesIO(sys.stdin.buffer.read())); f = io.BytesIO(); "
            f"torch.save(torch.softmax(x, {dim}), f); sys.stdout.buffer.write(f.getvalue())")
    out = subprocess.run([sys.executable, "-c", code], input=file.getvalue(), capture_output=True).stdout
    return torch.load(io.BytesIO(out))
""",
    "a reply that hides what ran": """
import anatomy.runner as r
old = r.run
def run(*args, **kwargs):
    outcome, out = old(*args, **kwargs)
    return {**outcome, "used": []}, out
r.run = run
def softmax(x, dim=-1):
    with torch._C.DisableTorchFunction():
        return torch.ops.aten._softmax(x, dim, False)
""",
}
for _name, _source in FORBIDDEN.items():
    answer(_name, "ban", "import torch" + _source, unit=ATTENTION, solve=SOLVE_SOFTMAX,
           seen="processes" if "process" in _name else "ban")
