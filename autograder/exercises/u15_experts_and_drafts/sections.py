"""Positions of pictures: planes that turn by time, height or width."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference.rope import rotate_half
from autograder.reference.rope_sections import turn_by_sections


def by_index(x, positions, sections, base=10000.0):
    D = x.shape[-1]
    if sum(sections) != D // 2:
        raise ValueError("sections")
    wide = torch.promote_types(x.dtype, torch.float32)
    theta = base ** -(torch.arange(0, D, 2, dtype=wide) / D)
    axis = torch.arange(3).repeat_interleave(torch.tensor(sections))
    places = positions[axis]
    angles = places.permute(1, 2, 0).unsqueeze(1) * theta
    cos, sin = angles.cos(), angles.sin()
    x1, x2 = x.chunk(2, -1)
    first = x1 * cos - x2 * sin
    second = x2 * cos + x1 * sin
    return torch.cat([first, second], -1).to(x.dtype)


def by_pieces(x, positions, sections, base=10000.0):
    """Angles of one section after the other, as a list."""
    D = x.shape[-1]
    if 2 * sum(sections) != D:
        raise ValueError("sections")
    wide = torch.promote_types(x.dtype, torch.float32)
    theta = (1 / base ** (torch.arange(0, D, 2, dtype=wide) / D)).split(sections)
    parts = [place[:, None, :, None] * part for place, part in zip(positions, theta, strict=True)]
    angles = torch.cat(parts, -1).repeat(1, 1, 1, 2)
    return (x * angles.cos() + rotate_half(x) * angles.sin()).to(x.dtype)


MISTAKES = changes(
    by_index,
    """
time_alone: positions[axis] → positions[axis * 0]
    Every plane turns by the first position. Each section has its own: time, height, width.
backwards: positions[axis] → positions.flip(0)[axis]
    The sections are taken in the order width, height, time. It is the other way round.
in_turn: axis = torch.arange(3).repeat_interleave(torch.tensor(sections)) → axis = torch.arange(D // 2) % 3
    The planes are dealt out in turn: time, height, width, time, …. Here a section is a row of neighboring planes.
frequencies_anew: axis = → theta = torch.cat([theta[:n] for n in sections]); axis =
    Each section starts with the fastest frequency again. Frequencies run on across the sections, as in one head.
smaller_heads: (torch.arange(0, D, 2, dtype=wide) / D) → torch.cat([torch.arange(n) / max(n, 1) for n in sections])
    Each section has the frequencies of a head of its own. Compute those of the whole head, and only then choose
    positions.
added: positions[axis] → positions.sum(0, keepdim=True).expand(D // 2, -1, -1)
    The three positions are added, so places that differ get the same angle. Each plane turns by one of the three.
neighbors: chunk(2, -1) → unflatten(-1, (-1, 2)).unbind(-1)
; torch.cat([first, second], -1) → torch.stack([first, second], -1).flatten(-2)
    Neighbors are paired. Here plane i is the numbers i and i + D/2.
clockwise: - x2 * sin → + x2 * sin ; + x1 * sin → - x1 * sin
    The planes turn backwards: the first half is x₁·cos − x₂·sin, the second x₂·cos + x₁·sin.
exchanged: cos, sin = → sin, cos =
    Cosine and sine are exchanged: at position 0 nothing should turn.
base_ignored: base ** → 10000.0 **
    The base is fixed at 10,000. Use the argument.
exponent: torch.arange(0, D, 2, dtype=wide) / D → torch.arange(D // 2, dtype=wide) / D
    The exponent is −i/D for plane i. It is −2i/D.
ids_ignored: positions[axis] → torch.arange(x.shape[-2]).expand(D // 2, x.shape[0], -1)
    The positions are counted 0, 1, 2, …. Take them from the argument.
first_text: places.permute(1, 2, 0) → places.permute(1, 2, 0)[:1]
    Every text gets the positions of the first one. positions has a row for each text: angles are (B, 1, T, D/2).
turned_twice: first = x1 * cos - x2 * sin → first = x1 = x1 * cos - x2 * sin
    The second half is made from a first half that is turned already. Compute both from the old halves.
halves_exchanged: [first, second] → [second, first]
    The two turned halves are exchanged. x₁·cos − x₂·sin comes first.
promoted: .to(x.dtype) →
    The result is wider than x. Convert it back to x.dtype.
low_precision: .unsqueeze(1) * theta → .unsqueeze(1).to(x.dtype) * theta.to(x.dtype)
; cos, sin = → angles = angles.to(wide); cos, sin =
    The angles are computed in x's dtype, and bfloat16 keeps 8 bits, so that they are off by whole turns. Use float32
    for angles.
single_precision: torch.promote_types(x.dtype, torch.float32) → torch.float32
    A float64 input is computed in float32. Use torch.promote_types(x.dtype, torch.float32).
too_few_accepted: sum(sections) != D // 2 → sum(sections) > D // 2
; positions[axis] → torch.cat([positions[axis], 0 * positions[:1].expand(D // 2 - len(axis), -1, -1)])
    Sections with fewer planes than the head were accepted. Raise a ValueError.
too_many_accepted: sum(sections) != D // 2 → sum(sections) < D // 2 ; positions[axis] → positions[axis[: D // 2]]
    Sections with more planes than the head were accepted. Raise a ValueError.
""",
)


def by_hand(g: Source) -> Program:
    """A token at time 3, height 5, width 7; (1, 0) in each plane."""
    x = torch.tensor([1.0, 1, 1, 1, 0, 0, 0, 0]).reshape(1, 1, 1, 8)
    return call(x, torch.tensor([3, 5, 7]).reshape(3, 1, 1), (2, 1, 1))


def pictures(g: Source) -> Program:
    """Two texts with their own positions, and sections of three different sizes."""
    return call(g.randn(2, 3, 5, 12), g.integers(0, 90, 3, 2, 5), (1, 3, 2))


def text(g: Source) -> Program:
    """The same position three times, in sections of one kind and another: both are RoPE."""
    x, places = g.randn(1, 2, 4, 8), g.integers(0, 60, 1, 1, 4).expand(3, -1, -1)
    return Program().call(x, places, (2, 1, 1)).call(x, places, (1, 1, 2))


EXERCISE = Exercise(
    id="positions.sections",
    title="Positions of pictures",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=turn_by_sections,
    alternatives=[by_index, by_pieces],
    cases=[
        Case("by hand", "time 3, height 5, width 7 and four planes: angles 3, 0.3, 0.05 and 0.007", by_hand),
        Case("pictures", "two texts with their own positions, sections of 1, 3 and 2 planes", pictures, weight=2),
        Case("text", "the same position three times, in other sections: RoPE as ever", text),
        Case(
            "other base",
            "some base between 50 and 500, and a section without planes",
            lambda g: call(
                g.randn(2, 1, 3, 8), g.integers(1, 90, 3, 2, 3), (2, 0, 2), base=g.number(50, 500, digits=1)
            ),
        ),
        Case(
            "far in bfloat16",
            "bfloat16 at positions above 1,000, with angles in float32",
            lambda g: call(g.randn(1, 2, 3, 6, dtype=torch.bfloat16), g.integers(1001, 1099, 3, 1, 3), (1, 1, 1)),
            rounding=4,
        ),
        Case(
            "float64",
            "float64 goes in and comes out, with all its digits",
            lambda g: call(g.randn(2, 1, 3, 6, dtype=torch.float64), g.integers(100, 900, 3, 2, 3), (1, 1, 1)),
        ),
        Case(
            "gradients",
            "a gradient flows back to x",
            lambda g: call(g.randn(2, 2, 3, 8), g.integers(1, 20, 3, 2, 3), (1, 2, 1), grad=[0]),
        ),
        Case(
            "too few",
            "sections of 1, 1 and 1 planes for a head of 8: ValueError",
            lambda g: call(g.randn(1, 1, 2, 8), g.integers(0, 9, 3, 1, 2), (1, 1, 1)),
            weight=0.5,
        ),
        Case(
            "too many",
            "sections of 2, 2 and 1 planes for a head of 8: ValueError",
            lambda g: call(g.randn(1, 1, 2, 8), g.integers(0, 9, 3, 1, 2), (2, 2, 1)),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the wider of two dtypes does not depend on their order
    5af4d9441a solution, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
    c7fbee2e82 alternative by_index, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
    80d2715489 alternative by_pieces, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
half of an even number is whole
    86d8e69784 solution, arithmetic: D // 2 → D / 2
    3ba1139a91 solution, arithmetic: D // 2 rounded up
    4039d7b7b9 alternative by_index, arithmetic: D // 2 → D / 2
    fcba40d374 alternative by_index, arithmetic: D // 2 rounded up
D is even, so the last step ends before D − 1, too
    ec3b59bc17 solution, window: D - 1 in torch.arange(0, D, 2, dtype=wide)
    ddedcc29b6 alternative by_index, window: D - 1 in torch.arange(0, D, 2, dtype=wide)
    4135c55ff2 alternative by_pieces, window: D - 1 in torch.arange(0, D, 2, dtype=wide)
there are three positions and three sections in all calls
    a4ae4be818 alternative by_pieces, keyword: zip(positions, theta, strict=True) without strict=True
    c49c4236e0 alternative by_pieces, flag: True → False in strict=True
""",
)
