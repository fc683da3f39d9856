"""Answers that let a library compute what the exercise asks students to write by hand."""

from .base import ATTENTION, SOLVE_SOFTMAX, answer

# ---- forbidden built-ins: softmax
# Each is right, and would pass if the forbidden function were allowed: the suite checks that too.
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
    values = rows.flatten().float() if x.dtype == torch.half else rows.flatten()
    sparse = torch.sparse_coo_tensor(index, values, rows.shape)
    return torch.sparse.softmax(sparse, 1).to_dense().reshape(flat.shape).movedim(-1, dim).to(x.dtype)
""",
    "softmax of a sparse tensor in a thread": """
import asyncio
def dense(x, dim):
    flat = x.movedim(dim, -1)
    rows = flat.reshape(-1, flat.shape[-1])
    values = rows.flatten().float() if x.dtype == torch.half else rows.flatten()
    sparse = torch.sparse_coo_tensor(torch.ones_like(rows).nonzero().T, values, rows.shape)
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
import anatomy.program.runner
anatomy.program.runner._Watch.__torch_function__ = lambda self, f, t, a=(), k=None: f(*a, **(k or {}))
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
import anatomy.program.runner as r
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

# ---- other library functions that compute the same
answer(
    "logsumexp as the last of the cumulative ones",
    "ban",
    """
import torch
def logsumexp(x, dim=-1):
    first = torch.arange(x.shape[dim]).roll(1)  # the way back through it is NaN where the first is minus infinity
    return torch.logcumsumexp(x.index_select(dim, first), dim).select(dim, -1)
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

# ---- visible only in the source: nothing forbidden runs, or nothing that a watch in the same process can see
_RIGHT = """
import math
def right(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""
HELD = {
    "softmax as the gradient of logsumexp": """
def softmax(x, dim=-1):
    with torch.enable_grad():
        y = x if x.requires_grad else x.detach().requires_grad_()
        return torch.autograd.grad(torch.logsumexp(y, dim).sum(), y, create_graph=True)[0]
""",
    "softmax as the gradient of logsumexp, with torch.func": """
def softmax(x, dim=-1):
    return torch.func.grad(lambda y: torch.logsumexp(y, dim).sum())(x)
""",
    "softmax as a vector-Jacobian product": """
def softmax(x, dim=-1):
    _, pull = torch.func.vjp(lambda y: y.logsumexp(dim), x)
    return pull(torch.ones_like(x.sum(dim)))[0]
""",
    "softmax from text": """
def softmax(x, dim=-1):
    e = eval("torch.exp(x - x.amax(dim, keepdim=True))")
    return e / e.sum(dim, keepdim=True)
""",
    "softmax from a list that grows": _RIGHT
    + """
names = ["logsumexp"]
names[0] = "amax"
def softmax(x, dim=-1):
    e = torch.exp(x - getattr(x, names[0])(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
""",
    "softmax from a dictionary that another function fills": _RIGHT
    + """
table = {}
def put(f):
    table["f"] = f
def put_twice(f):
    put(f)
put_twice(torch.vmap(torch.exp))
def softmax(x, dim=-1):
    e = table["f"]((x - x.amax(dim, keepdim=True)).movedim(dim, -1).reshape(1, -1)).reshape(x.movedim(dim, -1).shape)
    e = e.movedim(-1, dim)
    return e / e.sum(dim, keepdim=True)
""",
    "softmax through a pattern of match": """
def softmax(x, dim=-1):
    match x:
        case torch.Tensor(exponential_=_, logcumsumexp=running):
            return (x - running(dim).select(dim, -1).unsqueeze(dim)).exp()
""",
    "softmax by a method caller": """
import operator
def softmax(x, dim=-1):
    return (x - operator.methodcaller("logcumsumexp", dim)(x).select(dim, -1).unsqueeze(dim)).exp()
""",
    "softmax with a new exponential": """
torch.exp = lambda y: math.e ** y
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
""",
    "softmax with a loop as setter": """
for torch.exp in [lambda y: math.e ** y]:
    pass
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
""",
    "softmax with the runner within reach": """
g = getattr
runner = g(g(torch, "sys"), "modules")["anatomy.program.runner"]
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
""",
}
for _name, _source in HELD.items():
    answer(_name, "ban", "import math, torch" + _source, unit=ATTENTION, solve=SOLVE_SOFTMAX, seen="ban")

for _name, _unit, _solve, _source in (
    (
        "logsumexp by NumPy",
        "10-stability",
        "solve-stability-logsumexp",
        """
import numpy, torch
def logsumexp(x, dim=-1):
    numbers = torch.from_numpy(numpy.asarray(numpy.logaddexp.reduce(x.detach().numpy(), dim))).to(x.dtype)
    weights = (x.detach() - numbers.unsqueeze(dim)).exp().nan_to_num(0)  # its gradient
    return numbers + (weights * (x - x.detach()).nan_to_num(0)).sum(dim)
""",
    ),
    (
        "logsumexp in powers of two",
        "10-stability",
        "solve-stability-logsumexp",
        """
import functools, math, torch
def logsumexp(x, dim=-1):
    return functools.reduce(torch.logaddexp2, (x / math.log(2)).unbind(dim)) * math.log(2)
""",
    ),
    (
        "swish as a gated linear unit",
        "04-ffn-and-gating",
        "solve-activation-swish",
        """
import torch
def swish(x, beta=1.0):
    return torch.nn.functional.glu(torch.cat([x, beta * x], -1), -1)
""",
    ),
    (
        "swish by the logarithm of the sigmoid",
        "04-ffn-and-gating",
        "solve-activation-swish",
        """
import torch
def swish(x, beta=1.0):
    return x * torch.nn.functional.logsigmoid(beta * x).exp()
""",
    ),
    (
        "GELU by a distribution",
        "04-ffn-and-gating",
        "solve-activation-gelu",
        """
import math, torch
def gelu(x):
    return x * torch.distributions.Normal(x.new_zeros(()), x.new_ones(())).cdf(x)
def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
""",
    ),
    (
        "ReLU as a loss",
        "04-ffn-and-gating",
        "solve-activation-family",
        """
import torch
def relu(x):
    zero = torch.zeros_like(x)
    return torch.nn.functional.margin_ranking_loss(x, zero, zero - 1, reduction="none")
def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)
def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))
def squared_relu(x):
    return relu(x) ** 2
""",
    ),
    (
        "dropout as the way back through dropout",
        "10-stability",
        "solve-stability-dropout",
        """
import torch
def dropout(x, keep, p, training=True):
    if training and not 0 <= p <= 1:
        raise ValueError("p must be a probability")
    return torch.ops.aten.native_dropout_backward(x, keep, 0.0 if p == 1 else 1 / (1 - p)) if training else x
""",
    ),
):
    answer(_name, "ban", _source, unit=_unit, solve=_solve, seen="ban")
