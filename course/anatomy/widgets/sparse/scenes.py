"""The patterns that SparseExplorer shows: each with its function, sizes and layers."""

from typing import Any, NamedTuple

from ...system.translation import listed
from ..tools.words import N_, _

T = 20
LAYERS = 8
GLOBALS = (0, 10, 15)  # the first n of these are global
WINDOWS = (2, 3, 4)  # windows of the hybrid's local layers; the recording holds their masks
SEED_DRAWS = "draws"  # name of the recorded random numbers, one per pair
CHOSEN_BLOCK = 4  # keys in a block that is chosen


class Kind(NamedTuple):
    """One entry of the list of patterns.

    short: its name under a small picture. counts: its slider's label, with {n} for the size. masks: how many masks the
    layers use in turn. ahead: True if later keys are visible by design; else only earlier ones are reachable.
    """

    name: str
    short: str
    function: str
    counts: str
    sizes: tuple[int, ...]
    masks: int = 1
    ahead: bool = False


KINDS = (
    Kind(N_("full, causal"), N_("full"), "", "", (0,)),
    Kind(N_("window, causal"), N_("window"), "local_causal_mask", N_("{n} keys"), (1, 2, 3, 4, 6, 8, 12)),
    Kind(N_("window, symmetric"), N_("2 sides"), "local_symmetric_mask", N_("{n} keys"), (3, 5, 7, 9), ahead=True),
    Kind(N_("blocks"), N_("blocks"), "block_mask", N_("blocks of {n}"), (2, 3, 4, 5, 7, 10), ahead=True),
    Kind(
        N_("window of 3 and global tokens"),
        N_("global"),
        "longformer_mask",
        N_("{n} global"),
        tuple(range(1, len(GLOBALS) + 1)),
        ahead=True,
    ),
    Kind(N_("random keys"), N_("random"), "random_mask", N_("{n} keys"), (1, 2, 3, 4), ahead=True),
    Kind(
        N_("window, global and random (BigBird)"), N_("BigBird"), "random_mask", N_("{n} random"), (1, 2, 3), ahead=True
    ),
    Kind(N_("strided: near and far in turn"), N_("strided"), "strided_masks", N_("stride {n}"), (2, 3, 4, 5, 6, 8), 2),
    Kind(
        N_("fixed: own block and summaries in turn"),
        N_("fixed"),
        "fixed_masks",
        N_("blocks of {n}"),
        (2, 3, 4, 5, 6, 8),
        2,
    ),
    Kind(N_("hybrid: 3 local, 1 full"), N_("hybrid"), "hybrid_layers", N_("window of {n}"), WINDOWS, LAYERS),
    Kind(N_("chosen keys: the best by scores"), N_("chosen"), "best_visible", N_("{n} keys"), (1, 2, 3, 4, 6), LAYERS),
    Kind(
        N_("chosen blocks: own and best (MoBA)"), N_("MoBA"), "block_choice", N_("{n} of 5 blocks"), (1, 2, 3), LAYERS
    ),
)


class Scene(NamedTuple):
    """A pattern at one size.

    first: index of its first mask among all masks. told: the rules of the masks used in turn, each with its values.
    """

    kind: int
    size: int
    first: int
    told: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """Conditions for query i to look at key j, for each of the masks used in turn."""
        return tuple(
            _(rule).format(**{k: f"{{{listed(v)}}}" if k == "places" else v for k, v in values.items()})
            for rule, values in self.told
        )


_EARLIER, _NEAR = "j ≤ i", "0 ≤ i − j < {n}"
_GLOBAL = N_("|i − j| ≤ 1 or i or j is in {places}")
_BEST = N_("j ≤ i and its score is one of the {n} best")
_OWN_OR_BEST = N_("j ≤ i and its block is i's own or one of the {n} best")
_BIG_BIRD = N_("|i − j| ≤ 1 or i or j is in {places} or drawn at random")


def _rules(name, n):
    near, earlier = (_NEAR, {"n": n}), (_EARLIER, {})
    return {
        "window, causal": (near,),
        "window, symmetric": (("|i − j| ≤ {n}", {"n": n // 2}),),
        "blocks": (("⌊i/{n}⌋ = ⌊j/{n}⌋", {"n": n}),),
        "window of 3 and global tokens": ((_GLOBAL, {"places": GLOBALS[:n]}),),
        "random keys": ((N_("drawn at random"), {}),),
        "window, global and random (BigBird)": ((_BIG_BIRD, {"places": GLOBALS[:1]}),),
        "strided: near and far in turn": (near, (N_("j ≤ i and (i − j) mod {n} = 0"), {"n": n})),
        "fixed: own block and summaries in turn": (
            (N_("j ≤ i and ⌊i/{n}⌋ = ⌊j/{n}⌋"), {"n": n}),
            (N_("j ≤ i and j mod {n} = {last}"), {"n": n, "last": n - 1}),
        ),
        "hybrid: 3 local, 1 full": (near, near, near, earlier),
        "chosen keys: the best by scores": ((_BEST, {"n": n}),),
        "chosen blocks: own and best (MoBA)": ((_OWN_OR_BEST, {"n": n - 1}),),
    }.get(name, (earlier,))


def _scenes():
    first = 0
    for k, kind in enumerate(KINDS):
        for size in kind.sizes:
            yield Scene(k, size, first, _rules(kind.name, size))
            first += kind.masks


SCENES = tuple(_scenes())
MASKS = SCENES[-1].first + KINDS[-1].masks
