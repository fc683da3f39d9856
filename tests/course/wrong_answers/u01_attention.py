"""Wrong answers to unit 01."""

WRONG_ANSWERS = [
    (
        "keepdim forgotten",
        "attention.softmax",
        """
def softmax(x, dim=-1):
    e = torch.exp(x - x.max())
    return e / e.sum(dim=dim)
""",
        ["keepdim=True"],
    ),
    (
        "(values, indices) of max",
        "attention.softmax",
        """
def softmax(x, dim=-1):
    e = torch.exp(x - x.max(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
""",
        ["returns two tensors", "amax"],
    ),
    (
        "dim ignored",
        "attention.softmax",
        """
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)
""",
        ["whatever dim says"],
    ),
    (
        "reshape for transpose",
        "attention.scaled_dot_product",
        """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1) @ v
""",
        ["Swap the axes"],
    ),
    (
        "scaled after the softmax",
        "attention.scaled_dot_product",
        """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1) / math.sqrt(q.shape[-1]) @ v
""",
        ["Divide the scores, before"],
    ),
    (
        "mask always used",
        "attention.scaled_dot_product",
        """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1) @ v
""",
        ["mask is None there", "if mask is None"],
    ),
    (
        "second function unfinished",
        "attention.split_heads",
        """
def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        raise ValueError("n_heads must divide d_model")
    return x.view(B, T, n_heads, -1).transpose(1, 2)

def merge_heads(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).view(B, T, H * D)
""",
        ["Use reshape", "merge_heads"],
    ),
    (
        "layers with names of their own",
        "attention.multi_head",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, d_model, bias=bias)
        self.wv = nn.Linear(d_model, d_model, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = (split_heads(p, self.n_heads) for p in (self.wq(x), self.wk(context), self.wv(context)))
        return self.wo(merge_heads(scaled_dot_product_attention(q, k, v, mask)))
""",
        ["no parameter k_proj.weight", "wq.weight"],
    ),
    (
        "super().__init__ forgotten",
        "attention.multi_head",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        self.q_proj = nn.Linear(d_model, d_model)

    def forward(self, x, context=None, mask=None):
        return x
""",
        ["super().__init__()"],
    ),
    (
        "batch forgotten in the pairs",
        "attention.cost",
        """
def attention_parameters(d_model, bias=True):
    return 4 * d_model * d_model + (4 * d_model if bias else 0)

def attention_flops(B, T, S, d_model, H):
    if d_model % H:
        raise ValueError("heads")
    return 4 * B * (T + S) * d_model**2 + 4 * T * S * d_model
""",
        ["Each of the B sentences"],
    ),
    # What no fingerprint knows.
    (
        "keys ignored",
        "attention.scaled_dot_product",
        """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores[..., :1].expand(*scores.shape[:-1], k.shape[-2]) * torch.arange(k.shape[-2])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1) @ v
""",
        ["does not depend on k at all"],
    ),
    (
        "numpy in the middle",
        "attention.softmax",
        """
import numpy as np

def softmax(x, dim=-1):
    a = x.detach().numpy()
    e = np.exp(a - a.max(axis=dim, keepdims=True))
    return torch.from_numpy(e / e.sum(axis=dim, keepdims=True))
""",
        ["no gradient"],
    ),
    (
        "log-softmax",
        "attention.softmax",
        """
def softmax(x, dim=-1):
    shifted = x - x.amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()
""",
        ["logarithms of the weights"],
    ),
    (
        "the mask only without a context",
        "attention.multi_head",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, context=None, mask=None):
        if context is None:
            k, v = self.k_proj(x), self.v_proj(x)
        else:
            k, v, mask = self.k_proj(context), self.v_proj(context), None
        q, k, v = (split_heads(p, self.n_heads) for p in (self.q_proj(x), k, v))
        return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)))
""",
        ["Where a context is given the mask is dropped"],
    ),
    (
        "keys reshaped",
        "attention.scaled_dot_product",
        """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / math.sqrt(k.shape[-1])
    if mask is None:
        return softmax(scores) @ v
    return masked_softmax(scores, mask) @ v
""",
        ["mixes the keys"],
    ),
    (
        "divided by the root after the softmax",
        "attention.scaled_dot_product",
        """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1)
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)
    return weights / q.shape[-1] ** 0.5 @ v
""",
        ["comes after the softmax"],
    ),
    (
        "a float count",
        "attention.cost",
        """
def attention_parameters(d_model, bias=True):
    return 4 * d_model * d_model + (4 * d_model if bias else 0)

def attention_flops(B, T, S, d_model, H):
    if d_model % H:
        raise ValueError("H must divide d_model")
    D = d_model / H
    return 4 * B * (T + S) * d_model**2 + 4 * B * H * T * S * D
""",
        ["right but a float", "Divide with //"],
    ),
    (
        "rounded to float32 on the way",
        "attention.softmax",
        """
def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).float().exp()
    return (e / e.sum(dim, keepdim=True)).to(x.dtype)
""",
        ["the precision of float32", "Leave out .float()"],
    ),
]
