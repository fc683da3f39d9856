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
        ["Cast it to bool"],
    ),
]
