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
    """A pattern at one size; ``first`` is the place of its first mask among all masks."""

    kind: int
    size: int
    first: int


def _scenes():
    first = 0
    for k, kind in enumerate(KINDS):
        for size in kind.sizes:
            yield Scene(k, size, first)
            first += kind.masks


SCENES = tuple(_scenes())
MASKS = SCENES[-1].first + KINDS[-1].masks
