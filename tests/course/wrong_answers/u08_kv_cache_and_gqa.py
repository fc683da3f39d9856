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
