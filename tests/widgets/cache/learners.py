"""The cache's size as learners write it."""


def right_bytes(n_layers, n_kv_heads, head_dim, itemsize=2):
    return 2 * n_layers * n_kv_heads * head_dim * itemsize
