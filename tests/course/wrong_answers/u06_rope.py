"""Wrong answers to unit 06."""

WRONG_ANSWERS = [
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
]
