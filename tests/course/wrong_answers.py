"""Wrong answers as learners write them: the source of an answer cell, and what its message must say.

``python -m autograder.messages --examples`` prints what a learner reads for each. A cell runs with torch, math, nn, F
and the reference answers of its unit's earlier exercises.
"""

# (title, exercise, source of the answer cell, phrases that the text must contain)
WRONG_ANSWERS = [
    (
        "prints in place of returning",
        "start.weighted_average",
        """
def weighted_average(values, weights):
    print(weights @ values / weights.sum())
""",
        ["is None: is a return missing? print only shows"],
    ),
    (
        "numpy habits",
        "start.weighted_average",
        """
import numpy as np
def weighted_average(values, weights):
    return np.average(values.numpy(), axis=0, weights=weights.numpy())
""",
        ["numpy array", "torch.from_numpy"],
    ),
    (
        "other parameter names",
        "start.weighted_average",
        """
def weighted_average(vals, w):
    return w @ vals / w.sum()
""",
        ["rename vals to values and w to weights"],
    ),
    (
        "multiplies instead of @",
        "start.weighted_average",
        """
def weighted_average(values, weights):
    return (values * weights).sum(0) / weights.sum()
""",
        ["In another case", "Print both shapes"],
    ),
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
        ["None here", "is not None"],
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
        ["do not fit", "k_proj"],
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
    (
        "epsilon as a floor",
        "norm.layer_norm",
        """
def layer_norm(x, weight, bias, eps=1e-5):
    c = x - x.mean(-1, keepdim=True)
    return weight * c / torch.sqrt((c**2).mean(-1, keepdim=True).clamp(min=eps)) + bias
""",
        ["under the root"],
    ),
    (
        "torch's unbiased variance",
        "norm.layer_norm",
        """
def layer_norm(x, weight, bias, eps=1e-5):
    return weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) + bias
""",
        ["d − 1"],
    ),
    (
        "in place",
        "norm.rms_norm",
        """
def rms_norm(x, weight, eps=1e-6):
    x /= torch.sqrt((x**2).mean(-1, keepdim=True) + eps)
    return weight * x
""",
        ["changes its input in place"],
    ),
    (
        "two of three gradients",
        "norm.backward",
        """
def layer_norm_backward(grad, x, weight, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt((centered**2).mean(-1, keepdim=True) + eps)
    x_hat = centered * inverse
    dweight = (grad * x_hat).flatten(0, -2).sum(0)
    return dweight, grad.flatten(0, -2).sum(0)
""",
        ["has 2 items, expected 3"],
    ),
    (
        "bfloat16 left as it is",
        "norm.half_precision",
        """
def rms_norm_half(x, weight, eps=1e-6):
    work = x.float() if x.dtype == torch.float16 else x
    normed = work * torch.rsqrt((work**2).mean(-1, keepdim=True) + eps)
    return normed.to(x.dtype) * weight
""",
        ["Cast the weight"],
    ),
    (
        "first residual missing",
        "placement.post_and_pre",
        """
def post_ln(x, sublayer, norm):
    return norm(sublayer(x))

def pre_ln(x, sublayer, norm):
    return x + sublayer(norm(x))
""",
        ["residual"],
    ),
    (
        "beta turned over",
        "placement.deepnorm",
        """
def deepnorm(x, sublayer, norm, alpha):
    return norm(alpha * x + sublayer(x))

def deepnorm_scale(n_layers):
    if n_layers < 1:
        raise ValueError("no layers")
    return (2 * n_layers) ** 0.25, (2 * n_layers) ** -0.25

def deepnorm_scale_encoder_decoder(n_encoder, n_decoder):
    if n_encoder < 1 or n_decoder < 1:
        raise ValueError("no layers")
    root = (n_encoder**4 * n_decoder) ** (1 / 16)
    return (0.81 * root, 0.87 / root), ((3 * n_decoder) ** 0.25, (12 * n_decoder) ** -0.25)
""",
        ["1/α"],
    ),
    (
        "an if on a tensor",
        "activation.family",
        """
def relu(x):
    return x if x > 0 else 0 * x

def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)

def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))

def squared_relu(x):
    return x.clamp(min=0) ** 2
""",
        ["torch.where"],
    ),
    (
        "the spread, as floats",
        "ffn.paired_difference",
        """
def paired_difference(a, b):
    d = (a - b).tolist()
    mean = sum(d) / len(d)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in d) / (len(d) - 1))
""",
        ["spread of single runs"],
    ),
    (
        "everything kept but the check",
        "ffn.matched_width",
        """
def matched_width(d_model, multiple_of=1):
    width = 8 * d_model // 3
    return math.ceil(width / multiple_of) * multiple_of
""",
        ["ValueError"],
    ),
    (
        "cos before sin",
        "position.sinusoidal",
        """
def sinusoid(positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd")
    f = base ** (-torch.arange(0, d_model, 2) / d_model)
    a = positions[..., None] * f
    return torch.stack([a.cos(), a.sin()], dim=-1).flatten(-2)
""",
        ["even features are sines"],
    ),
    (
        "pairs put together by cat",
        "rope.apply_rope",
        """
def apply_rope(x, position_ids, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base)
    if position_ids.dim() == 2:
        angles = angles[:, None]
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1).to(x.dtype)
""",
        ["Put each pair back together"],
    ),
    (
        "no axis for the heads",
        "rope.apply_rope",
        """
def apply_rope(x, position_ids, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(x.dtype)
""",
        ["axis for the heads"],
    ),
    (
        "sees one word ahead",
        "mask.causal",
        """
def causal_attention(q, k, v):
    T, D = q.shape[-2:]
    may = torch.ones(T, T).tril(1).bool()
    scores = (q @ k.transpose(-2, -1) / math.sqrt(D)).masked_fill(~may, -math.inf)
    return scores.softmax(-1) @ v
""",
        ["sees the next one"],
    ),
    (
        "counts from the first word",
        "mask.causal_padding",
        """
def causal_padding_mask(real, T=None):
    S = real.shape[1]
    return real[:, None, None, :] & causal_mask(S if T is None else T, S)

def position_ids(real):
    first = real.long().argmax(-1, keepdim=True)
    return (torch.arange(real.shape[1]) - first).clamp(min=0)
""",
        ["causal_padding_mask passes everything; the mistake is in position_ids"],
    ),
    (
        "targets not shifted",
        "objective.next_token",
        """
def next_token_pairs(ids):
    if ids.shape[1] < 2:
        raise ValueError("too short")
    return ids[:, :-1], ids[:, 1:]

def next_token_loss(logits, ids, real=None):
    nll = F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none").view(ids.shape)
    return nll.mean() if real is None else nll[real].mean()
""",
        ["drop the last logits"],
    ),
    (
        "wraps round",
        "cache.append",
        """
class KVCache:
    def __init__(self, B, G, capacity, D):
        self.length, self.capacity = 0, capacity
        self.keys, self.values = torch.zeros(B, G, capacity, D), torch.zeros(B, G, capacity, D)

    def append(self, keys, values):
        for t in range(keys.shape[2]):
            at = self.length % self.capacity
            self.keys[:, :, at], self.values[:, :, at] = keys[:, :, t], values[:, :, t]
            self.length += 1
        n = min(self.length, self.capacity)
        return self.keys[:, :, :n], self.values[:, :, :n]
""",
        ["raise a ValueError"],
    ),
    (
        "larger of the two lengths",
        "cache.bytes",
        """
def kv_bytes_per_token(n_layers, n_kv_heads, head_dim, itemsize=2):
    return 2 * n_layers * n_kv_heads * head_dim * itemsize

def encoder_decoder_bytes(n_decoder, n_heads, head_dim, source, target, itemsize=2):
    return kv_bytes_per_token(n_decoder, n_heads, head_dim, itemsize) * max(source, target)
""",
        ["longer of the two"],
    ),
    (
        "repeats by tiling",
        "cache.grouped",
        """
def repeat_kv(x, n):
    return x.repeat(1, n, 1, 1)

def grouped_attention(q, k, v, mask=None):
    H, G = q.shape[1], k.shape[1]
    if H % G:
        raise ValueError("heads")
    k, v = k.repeat_interleave(H // G, 1), v.repeat_interleave(H // G, 1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v
""",
        ["repeat_interleave"],
    ),
    (
        "one key too many",
        "sparse.local",
        """
def local_causal_mask(T, w):
    if w < 1:
        raise ValueError("w")
    d = torch.arange(T)[:, None] - torch.arange(T)
    return (d >= 0) & (d <= w)

def local_symmetric_mask(T, w):
    if w < 1 or w % 2 == 0:
        raise ValueError("w")
    return (torch.arange(T)[:, None] - torch.arange(T)).abs() <= w // 2
""",
        ["i − j < w"],
    ),
    (
        "mask as numbers",
        "sparse.block",
        """
def block_mask(T, block):
    if block < 1:
        raise ValueError("block")
    mask = torch.zeros(T, T)
    for i in range(0, T, block):
        mask[i:i + block, i:i + block] = 1
    return mask
""",
        ["Cast it to bool"],
    ),
    (
        "clamped for safety",
        "stability.logsumexp",
        """
def logsumexp(x, dim=-1):
    return torch.log(torch.exp(x.clamp(max=80.0)).sum(dim=dim))
""",
        ["an input holds numbers beyond 60"],
    ),
    (
        "calls itself",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if cap <= 0:
        raise ValueError("cap")
    return soft_cap(x / cap, 1.0) * cap

def soft_capped_weights(scores, cap, mask=None):
    return soft_cap(scores, cap).softmax(-1)
""",
        ["calls itself without end"],
    ),
    (
        "mask before the cap",
        "stability.soft_cap",
        """
def soft_cap(x, cap):
    if cap <= 0:
        raise ValueError("cap")
    return cap * torch.tanh(x / cap)

def soft_capped_weights(scores, cap, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(soft_cap(scores, cap), dim=-1)
""",
        ["mask"],
    ),
    (
        "a list where a number is asked for",
        "stability.spike",
        """
def spike_height(losses):
    return [loss - min(losses[:i + 1]) for i, loss in enumerate(losses)]
""",
        ["Return one number"],
    ),
    # What no fingerprint knows.
    (
        "half a term in one of three gradients",
        "norm.backward",
        """
def layer_norm_backward(grad, x, weight, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt((centered**2).mean(-1, keepdim=True) + eps)
    x_hat = centered * inverse
    g = grad * weight
    dx = inverse * (g - g.mean(-1, keepdim=True) - 0.5 * x_hat * (g * x_hat).mean(-1, keepdim=True))
    return dx, (grad * x_hat).flatten(0, -2).sum(0), grad.flatten(0, -2).sum(0)
""",
        ["the second and third are always right", "the first is not"],
    ),
    (
        "one wrong function of four",
        "activation.family",
        """
def relu(x):
    return x.clamp(min=0)

def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)

def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * torch.exp(x.clamp(max=0)) - 1.5)

def squared_relu(x):
    return relu(x) ** 2
""",
        ["relu, leaky_relu and squared_relu pass everything; the mistake is in elu"],
    ),
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
        "wrong only where it should be zero",
        "position.shift_matrix",
        """
def shift_matrix(k, d_model, base=10000.0):
    M = torch.ones(d_model, d_model)
    for i in range(d_model // 2):
        angle = k * base ** (-2 * i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        M[2 * i:2 * i + 2, 2 * i:2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return M
""",
        ["only where 0 is expected"],
    ),
    (
        "wrong with an offset",
        "position.alibi",
        """
def alibi_slopes(n_heads):
    if n_heads < 1:
        raise ValueError("n_heads")
    P = 2 ** int(math.log2(n_heads))
    first = [2 ** (-8 * h / P) for h in range(1, P + 1)]
    return torch.tensor(first + [2 ** (-4 * h / P) for h in range(1, 2 * (n_heads - P), 2)])

def alibi_bias(slopes, T, S, offset=0):
    i, j = torch.arange(T)[:, None] + offset, torch.arange(S)
    return -slopes[:, None, None] * (i - j).abs() + (i - j > 3) * 0.5
""",
        ["alibi_slopes passes everything; the mistake is in alibi_bias"],
    ),
    (
        "the loop runs one too far",
        "stability.spike",
        """
def spike_height(losses):
    return max(losses[i + 1] - min(losses[:i + 1]) for i in range(len(losses)))
""",
        ["Indices run from 0 to length − 1"],
    ),
    (
        "detached",
        "mask.causal",
        """
def causal_attention(q, k, v):
    T, D = q.shape[-2:]
    may = torch.ones(T, T).tril().bool()
    scores = (q @ k.transpose(-2, -1) / math.sqrt(D)).masked_fill(~may, -math.inf)
    return scores.softmax(-1).detach() @ v.detach()
""",
        ["cut off from its inputs"],
    ),
    (
        "an object for the class",
        "cache.append",
        """
class _Cache:
    pass

KVCache = _Cache()
""",
        ["without parentheses"],
    ),
    (
        "a function for the class",
        "ffn.gated",
        """
def GatedFeedForward(d_model, d_ff, activation):
    return nn.Linear(d_model, d_model)
""",
        ["should be a class"],
    ),
    (
        "the table lies on its side",
        "position.learned",
        """
class LearnedPositions(nn.Module):
    def __init__(self, max_positions, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(d_model, max_positions))

    def forward(self, position_ids):
        return self.weight.T[position_ids]
""",
        ["weight should have shape (3, 2), yours has (2, 3)"],
    ),
]
