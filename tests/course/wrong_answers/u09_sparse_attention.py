"""Wrong answers to unit 09."""

WRONG_ANSWERS = [
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
        ["right ones and zeros", ".bool()"],
    ),
    (
        "w keys to each side",
        "sparse.local",
        """
def local_causal_mask(T, w):
    if w < 1:
        raise ValueError("w")
    return torch.ones(T, T).bool().tril().triu(1 - w)

def local_symmetric_mask(T, w):
    if w < 1 or w % 2 == 0:
        raise ValueError("w")
    return torch.ones(T, T).bool().tril(w - 1).triu(1 - w)
""",
        ["w − 1 keys to each side", "(w − 1)/2"],
    ),
    (
        "negative odd windows let through",
        "sparse.local",
        """
def local_causal_mask(T, w):
    if w == 0:
        raise ValueError("empty window")
    d = torch.arange(T)[:, None] - torch.arange(T)
    return (d >= 0) & (d < w)

def local_symmetric_mask(T, w):
    if w % 2 == 0:
        raise ValueError("even window")
    return (torch.arange(T)[:, None] - torch.arange(T)).abs() <= w // 2
""",
        ["Negative numbers of keys", "below 1"],
    ),
    (
        "a window of one refused for no distance",
        "sparse.receptive_field",
        """
def causal_reach(w, n_layers):
    return n_layers * (w - 1) + 1

def symmetric_reach(r, n_layers):
    return 2 * r * n_layers + 1

def layers_needed(w, distance):
    if w < 2:
        raise ValueError("such a window never moves")
    return math.ceil(distance / (w - 1))
""",
        ["refused even for a distance of 0", "0 layers"],
    ),
    (
        "window longer than the text not cut",
        "sparse.local_attention",
        """
def local_attention(q, k, v, w):
    T = q.shape[2]
    n = -(-T // w)
    cut = lambda x, front: F.pad(x, (0, 0, front, n * w - T)).unflatten(2, (-1, w))
    k, v = (torch.cat([b[:, :, :-1], b[:, :, 1:]], dim=3) for b in (cut(k, w), cut(v, w)))
    i = torch.arange(n * w).view(n, w, 1)
    j = ((torch.arange(n)[:, None] - 1) * w + torch.arange(2 * w))[:, None]
    mask = (j <= i) & (i - j < w) & (j >= 0)
    scores = (cut(q, 0) @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v).flatten(2, 3)[:, :, :T]
""",
        ["numbers are right", "w = min(w, T)"],
    ),
    (
        "keys and values detached in blocks",
        "sparse.local_attention",
        """
def local_attention(q, k, v, w):
    T, out = q.shape[2], torch.zeros(*q.shape[:3], v.shape[3], dtype=v.dtype)
    for start in range(0, T, w):
        end, first = min(T, start + w), max(0, start - w)
        d = torch.arange(start, end)[:, None] - torch.arange(first, end)
        with torch.no_grad():
            scores = q[:, :, start:end] @ k[:, :, first:end].mT / math.sqrt(q.shape[-1])
            weights = scores.masked_fill((d < 0) | (d >= w), -math.inf).softmax(-1)
            out[:, :, start:end] = weights @ v[:, :, first:end]
    return out
""",
        ["no gradient"],
    ),
    (
        "plan with the default every",
        "sparse.hybrid",
        """
def hybrid_layers(n_layers, w, every=4):
    if every <= 0:
        raise ValueError("every")
    return [(w, True) if n % every else (None, False) for n in range(1, n_layers + 1)]

def cached_tokens(T, n_layers, w, every=4):
    return sum(T if window is None else min(T, window) for window, _ in hybrid_layers(n_layers, w))
""",
        ["whatever `every` says", "hybrid_layers(n_layers, w, every)"],
    ),
    (
        "last place refused",
        "sparse.global_local",
        """
def longformer_mask(T, w, tokens):
    if any(t not in range(T - 1) for t in tokens):
        raise ValueError("outside")
    chosen = torch.tensor([t in tokens for t in range(T)])
    return local_symmetric_mask(T, w) | chosen | chosen[:, None]
""",
        ["last word is refused", "T − 1"],
    ),
    (
        "topk of more keys than there are",
        "sparse.random",
        """
def random_mask(draws, keys, allowed):
    places = draws.masked_fill(~allowed, math.inf).topk(keys, dim=1, largest=False).indices
    return torch.zeros_like(allowed).scatter(1, places, True) & allowed
""",
        ["topk fails", "at most draws.shape[-1]"],
    ),
    (
        "ways counted as integers",
        "sparse.reach",
        """
def reach(layers):
    own = torch.eye(len(layers[0])).long()
    ways = own
    for mask in layers:
        ways = (mask.long() | own) @ ways
    return ways > 0
""",
        ["outgrow the integers", "after every layer"],
    ),
    (
        "masks instead of gradients",
        "sparse.gradient_reach",
        """
def gradient_reach(x, layers):
    own = torch.eye(len(x), dtype=torch.bool)
    reached = own
    for mask in layers:
        reached = ((mask | own).float() @ reached.float()).bool()
    return reached
""",
        ["what the masks allow", "Ask the Jacobian"],
    ),
    (
        "softmax down the queries",
        "sparse.gather",
        """
def neighbor_index(mask):
    lists = [row.nonzero().flatten() for row in mask]
    index = torch.nn.utils.rnn.pad_sequence(lists, batch_first=True)
    return index, torch.arange(index.shape[1]) < torch.tensor([[len(keys)] for keys in lists])

def gather_attention(q, k, v, index, valid):
    scores = torch.einsum("bhtd,bhtnd->bhtn", q, k[:, :, index]) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~valid, -math.inf).softmax(-2).nan_to_num()
    return torch.einsum("bhtn,bhtnd->bhtd", weights, v[:, :, index])
""",
        ["softmax runs down the queries", "last axis"],
    ),
]
