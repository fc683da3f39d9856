"""The patterns that SparseExplorer shows: which function makes each, from which sizes, in which layers."""

from typing import NamedTuple

T = 20
LAYERS = 8
GLOBALS = (0, 10, 15)  # the first n of them are global
WINDOWS = (2, 3, 4)  # of the hybrid's local layers; the recording holds their masks
SEED_DRAWS = "draws"  # name of the recorded random numbers, one per pair


class Kind(NamedTuple):
    """One entry of the list of patterns.

    counts: what its slider says, with {} for the size. masks: how many take turns in the layers. ahead: whether later
    keys are visible by design; else only earlier ones can ever be reached.
    """

    name: str
    function: str
    counts: str
    sizes: tuple[int, ...]
    masks: int = 1
    ahead: bool = False


KINDS = (
    Kind("full, causal", "", "", (0,)),
    Kind("window, causal", "local_causal_mask", "{} keys", (1, 2, 3, 4, 6, 8, 12)),
    Kind("window, symmetric", "local_symmetric_mask", "{} keys", (3, 5, 7, 9), ahead=True),
    Kind("blocks", "block_mask", "blocks of {}", (2, 3, 4, 5, 7, 10), ahead=True),
    Kind("window of 3 and global words", "longformer_mask", "{} global", tuple(range(1, len(GLOBALS) + 1)), ahead=True),
    Kind("random keys", "random_mask", "{} keys", (1, 2, 3, 4), ahead=True),
    Kind("window, global and random (BigBird)", "random_mask", "{} random", (1, 2, 3), ahead=True),
    Kind("strided: near and far in turn", "strided_masks", "stride {}", (2, 3, 4, 5, 6, 8), 2),
    Kind("fixed: own block and summaries in turn", "fixed_masks", "blocks of {}", (2, 3, 4, 5, 6, 8), 2),
    Kind("hybrid: 3 local, 1 full", "hybrid_layers", "window of {}", WINDOWS, LAYERS),
)


class Scene(NamedTuple):
    """A pattern at one size.

    first: place of its first mask among all masks. rules: when query i may look at key j, for the masks that take
    turns.
    """

    kind: int
    size: int
    first: int
    rules: tuple[str, ...]


def _rules(name, n):
    near = f"0 ≤ i − j < {n}"
    some = ", ".join(map(str, GLOBALS[:n]))
    return {
        "window, causal": (near,),
        "window, symmetric": (f"|i − j| ≤ {n // 2}",),
        "blocks": (f"⌊i/{n}⌋ = ⌊j/{n}⌋",),
        "window of 3 and global words": (f"|i − j| ≤ 1 or i or j is in {{{some}}}",),
        "random keys": ("drawn at random",),
        "window, global and random (BigBird)": ("|i − j| ≤ 1 or i or j is in {0} or drawn at random",),
        "strided: near and far in turn": (near, f"j ≤ i and (i − j) mod {n} = 0"),
        "fixed: own block and summaries in turn": (
            f"j ≤ i and ⌊i/{n}⌋ = ⌊j/{n}⌋",
            f"j ≤ i and j mod {n} = {n - 1}",
        ),
        "hybrid: 3 local, 1 full": (near, near, near, "j ≤ i"),
    }.get(name, ("j ≤ i",))


def _scenes():
    first = 0
    for k, kind in enumerate(KINDS):
        for size in kind.sizes:
            yield Scene(k, size, first, _rules(kind.name, size))
            first += kind.masks


SCENES = tuple(_scenes())
MASKS = SCENES[-1].first + KINDS[-1].masks
