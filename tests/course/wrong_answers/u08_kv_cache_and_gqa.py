"""Wrong answers to unit 08."""

WRONG_ANSWERS = [
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
        "counts calls for tokens",
        "cache.append",
        """
class KVCache:
    def __init__(self, B, G, capacity, D):
        self.length = 0
        self.keys, self.values = torch.zeros(B, G, capacity, D), torch.zeros(B, G, capacity, D)

    def append(self, keys, values):
        end = self.length + keys.shape[2]
        if end > self.keys.shape[2]:
            raise ValueError("full")
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = values
        self.length = self.length + 1
        return self.keys[:, :, :end], self.values[:, :, :end]
""",
        ["keys.shape[2]"],
    ),
    (
        "masks the weights",
        "cache.step",
        """
def cached_attention(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
    return weights.tril(k.shape[2] - q.shape[2]) @ v, (k, v)
""",
        ["after the softmax", "before the softmax"],
    ),
    (
        "starts behind the chunk",
        "cache.rotary_offset",
        """
def rotate(x, positions):
    turn = torch.polar(torch.ones(len(positions)), positions.float())
    return torch.view_as_real(torch.view_as_complex(x.contiguous()) * turn)

def cached_attention(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    hidden = torch.ones(q.shape[2], k.shape[2]).triu(k.shape[2] - q.shape[2] + 1).bool()
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ v, (k, v)

def rotary_step(q, k, v, past=None):
    T = q.shape[2]
    at = torch.arange(T) if past is None else torch.arange(T, 2 * T)
    return cached_attention(rotate(q, at), rotate(k, at), v, past)
""",
        ["length of the new chunk"],
    ),
    (
        "nothing is repeated",
        "cache.grouped",
        """
def repeat_kv(x, n):
    return x.repeat_interleave(n, dim=1)

def grouped_attention(q, k, v, mask=None):
    if q.shape[1] % k.shape[1]:
        raise ValueError("heads")
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v
""",
        ["not repeated"],
    ),
    (
        "a mask for each head on groups",
        "cache.grouped",
        """
def repeat_kv(x, n):
    return x.repeat_interleave(n, dim=1)

def grouped_attention(q, k, v, mask=None):
    B, H, T, D = q.shape
    G = k.shape[1]
    if H % G:
        raise ValueError("heads")
    scores = torch.einsum("bgntd,bgsd->bgnts", q.reshape(B, G, H // G, T, D), k) / math.sqrt(D)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.einsum("bgnts,bgsd->bgntd", scores.softmax(-1), v).reshape(B, H, T, -1)
""",
        ["(B, H, T, S)"],
    ),
    (
        "nobody without weights",
        "cache.users",
        """
def users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    if not all(n > 0 for n in (memory_bytes, weight_bytes, bytes_per_token, tokens_per_user)):
        raise ValueError("positive")
    return max(0, (memory_bytes - weight_bytes) // bytes_per_token // tokens_per_user)
""",
        ["only negative ones"],
    ),
    (
        "hands out its buffer",
        "cache.rolling",
        """
class RollingCache:
    def __init__(self, B, G, window, D):
        self.window, self.n = window, 0
        self.keys, self.values = torch.zeros(2, B, G, 2 * window, D)

    def append(self, keys, values):
        T, old = keys.shape[2], min(self.n, self.window - 1)
        if old + T > self.keys.shape[2]:
            more = (*keys.shape[:2], T, keys.shape[3])
            self.keys = torch.cat([self.keys, torch.zeros(more)], 2)
            self.values = torch.cat([self.values, torch.zeros(more)], 2)
        for buffer, new in ((self.keys, keys), (self.values, values)):
            buffer[:, :, :old] = buffer[:, :, self.n - old : self.n].clone()
            buffer[:, :, old : old + T] = new
        self.n = old + T
        return self.keys[:, :, : self.n], self.values[:, :, : self.n]
""",
        ["slices of the cache's own buffer"],
    ),
    (
        "one block more than full ones",
        "cache.paged",
        """
def blocks_needed(length, block):
    return 1 + length // block

def slot_of(table, t, block):
    return table[t // block], t % block

def gather(pool, table, length):
    return torch.cat([pool[b] for b in table], dim=1)[:, :length]
""",
        ["exactly"],
    ),
    (
        "zeros with scale 1",
        "cache.quantize",
        """
def quantize(x, dim, bits=8):
    if not 2 <= bits <= 8:
        raise ValueError("bits")
    scale = x.abs().amax(dim, keepdim=True) / (2 ** (bits - 1) - 1)
    scale = scale.masked_fill(scale == 0, 1.0)
    return (x / scale).round().to(torch.int8), scale

def dequantize(codes, scale):
    return (codes * scale).float()
""",
        ["slice of zeros"],
    ),
    # What no fingerprint knows.
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
]
