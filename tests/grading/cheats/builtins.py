"""Answers that have a library compute what the exercise asks to be written by hand."""

from .base import ATTENTION, SOLVE_SOFTMAX, answer

# ---- forbidden built-ins: softmax
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
    "softmax of a sparse tensor": """
def softmax(x, dim=-1):
    flat = x.movedim(dim, -1)
    rows = flat.reshape(-1, flat.shape[-1])
    index = torch.ones_like(rows).nonzero().T  # zeros count as entries, too
    sparse = torch.sparse_coo_tensor(index, rows.flatten().float(), rows.shape)
    return torch.sparse.softmax(sparse, 1).to_dense().reshape(flat.shape).movedim(-1, dim).to(x.dtype)
""",
    "softmax of a sparse tensor in a thread": """
import asyncio
def dense(x, dim):
    flat = x.movedim(dim, -1)
    rows = flat.reshape(-1, flat.shape[-1])
    sparse = torch.sparse_coo_tensor(torch.ones_like(rows).nonzero().T, rows.flatten().float(), rows.shape)
    return torch.sparse.softmax(sparse, 1).to_dense().reshape(flat.shape).movedim(-1, dim).to(x.dtype)
def softmax(x, dim=-1):
    return asyncio.new_event_loop().run_until_complete(asyncio.to_thread(dense, x, dim))
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
old = r.run_program
def run(*args, **kwargs):
    outcome, out = old(*args, **kwargs)
    return {**outcome, "used": []}, out
r.run_program = run
def softmax(x, dim=-1):
    with torch._C.DisableTorchFunction():
        return torch.ops.aten._softmax(x, dim, False)
""",
}
for _name, _source in FORBIDDEN.items():
    answer(
        _name,
        "ban",
        "import torch" + _source,
        unit=ATTENTION,
        solve=SOLVE_SOFTMAX,
        seen="processes" if "process" in _name else "ban",
    )

# ---- other functions of the library that compute the same
answer(
    "logsumexp as the last of the cumulative ones",
    "ban",
    """
import torch
def logsumexp(x, dim=-1):
    return torch.logcumsumexp(x, dim).select(dim, -1)
""",
    unit="10-stability",
    solve="solve-stability-logsumexp",
)
answer(
    "RMSNorm as a response norm of one window",
    "ban",
    """
import torch
def rms_norm(x, weight, eps=1e-6):
    d = x.shape[-1]
    width = 2 * d - 1  # every window then holds all of x
    y = torch.nn.functional.local_response_norm(x.reshape(-1, d, 1), width, alpha=width / d, beta=0.5, k=eps)
    return weight * y.reshape(x.shape)
""",
    unit="02-normalization",
    solve="solve-norm-rms_norm",
)
answer(
    "leaky ReLU as a PReLU",
    "ban",
    """
import torch
def relu(x):
    return leaky_relu(x, 0.0)
def leaky_relu(x, slope=0.01):
    return torch.nn.functional.prelu(x, torch.tensor(slope, dtype=x.dtype))
def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.nn.functional.celu(x))
def squared_relu(x):
    return relu(x) ** 2
""",
    unit="04-ffn-and-gating",
    solve="solve-activation-family",
)
