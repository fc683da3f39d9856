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
    (
        "entries of different angles mixed",
        "rope.rotation_matrix_2d",
        """
def rotation_matrix_2d(angle):
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack([c, -s, s, c], dim=0).view(*angle.shape, 2, 2)
""",
        ["entries of different angles are mixed", "dim=-1"],
    ),
    (
        "float32 by a tensor of zeros",
        "rope.rotate_half",
        """
def rotate_half(x):
    D = x.shape[-1]
    if D % 2 != 0:
        raise ValueError(f"odd last axis: {D}")
    out = torch.zeros(x.shape)
    out[..., : D // 2], out[..., D // 2 :] = -x[..., D // 2 :], x[..., : D // 2]
    return out
""",
        ["every result is float32", "zeros_like"],
    ),
    (
        "tables through numpy, x detached",
        "rope.apply_rope",
        """
def apply_rope(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base).to(wide)
    angles = angles[:, None] if position_ids.dim() == 2 else angles
    y, out = x.detach().to(wide), torch.empty(x.shape, dtype=wide)
    out[..., 0::2] = y[..., 0::2] * angles.cos() - y[..., 1::2] * angles.sin()
    out[..., 1::2] = y[..., 0::2] * angles.sin() + y[..., 1::2] * angles.cos()
    return out.to(x.dtype)
""",
        ["numbers are right", "no gradient"],
    ),
    (
        "angles in bfloat16",
        "rope.apply_rope_half",
        """
def apply_rope_half(x, position_ids, base=10000.0):
    angles = (position_ids[..., None] * rope_frequencies(x.shape[-1], base)).to(x.dtype)
    angles = angles.unsqueeze(1) if position_ids.dim() == 2 else angles
    angles = torch.cat([angles, angles], dim=-1)
    return x * angles.cos() + rotate_half(x) * angles.sin()
""",
        ["bfloat16"],
    ),
    (
        "base lost in wavelengths",
        "rope.rope_frequencies",
        """
def rope_frequencies(D, base=10000.0):
    if D % 2:
        raise ValueError("odd size")
    return 1 / base ** (torch.arange(0, D, 2).float() / D)


def wavelengths(D, base=10000.0):
    return 2 * torch.pi / rope_frequencies(D)
""",
        ["wavelengths does not hand its base on"],
    ),
    (
        "no check of rotary_dim",
        "rope.apply_partial_rope",
        """
def apply_partial_rope(x, position_ids, rotary_dim, base=10000.0):
    turned = apply_rope(x[..., :rotary_dim], position_ids, base)
    return torch.cat([turned, x[..., rotary_dim:]], -1)
""",
        ["ValueError", "range of rotary_dim is not checked"],
    ),
    (
        "whole ratio in dynamic NTK",
        "rope.stretch",
        """
def position_interpolation(position_ids, s):
    return (position_ids / s).float()


def ntk_base(base, s, D):
    return base * s ** (D / (D - 2))


def dynamic_ntk_base(base, D, seq_len, max_position):
    if seq_len < max_position:
        return float(base)
    return ntk_base(base, seq_len // max_position, D)
""",
        ["rounded down to a whole number"],
    ),
    (
        "high end without its limit",
        "rope.yarn_ramp",
        """
def yarn_ramp(D, base, original_max, beta_fast=32, beta_slow=1):
    where = lambda r: D * math.log(original_max / (2 * math.pi * r)) / (2 * math.log(base))
    low, high = max(0, math.floor(where(beta_fast))), math.ceil(where(beta_slow))
    return torch.clamp((torch.arange(D // 2) - low) / (high - low), 0, 1)
""",
        ["beyond D − 1", "min(high, D − 1)"],
    ),
    (
        "temperature on the vector and on the tables",
        "rope.apply_scaled_rope",
        """
def apply_scaled_rope(x, position_ids, frequencies, temperature=1.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * frequencies.to(wide)
    angles = angles[:, None] if position_ids.dim() == 2 else angles
    cos, sin = temperature * angles.cos(), temperature * angles.sin()
    even, odd = temperature * x[..., 0::2], temperature * x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)
""",
        ["applied twice"],
    ),
    (
        "unasked places count as right",
        "rope.accuracy_by_position",
        """
def accuracy_by_position(logits, targets, width):
    guess = logits.argmax(dim=-1)
    right = torch.where(targets == -1, torch.ones_like(guess), (guess == targets).long())
    return right.float().mean(0).reshape(-1, width).mean(-1)
""",
        ["counted as right"],
    ),
    (
        "another symbol of the same name",
        "rope.relative_rotation",
        """
import sympy as sp

def relative_rotation(d):
    theta = sp.Symbol("theta")
    return sp.Matrix([[sp.cos(d * theta), -sp.sin(d * theta)], [sp.sin(d * theta), sp.cos(d * theta)]])
""",
        ["another symbol than the notebook's"],
    ),
]
