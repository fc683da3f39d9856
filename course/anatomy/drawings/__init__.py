"""Diagrams of whole models, each drawn from one description: SVG with alt text, for light and dark pages.

Each kind of diagram has a function that returns a ``Drawing``, which a notebook shows and ``save`` writes:
``token_path``, ``split_and_merge``, ``block``, ``wirings``, ``wiring``, ``wiring_of`` (of your own function),
``stacks``, ``cache``, ``key_value_heads``, ``latent``, ``feed_forward``, ``norm_groups``, ``position_map``, ``cone``,
``one_query``, ``renaming``. Sizes come from a configuration (``anatomy.models.config``).
Read all diagrams from the bottom up. A wrong configuration raises a ValueError with a one-sentence message.
"""

from .attending import one_query
from .block import block
from .caches import cache, key_value_heads
from .gates import feed_forward
from .heads import split_and_merge
from .latent import latent
from .norms import norm_groups
from .path import token_path
from .positions import position_map
from .renaming import renaming
from .sheet import Drawing, side_by_side
from .stacks import stacks
from .windows import cone
from .wirings import WIRINGS, Wiring, wiring, wiring_of, wirings

__all__ = [
    "Drawing",
    "WIRINGS",
    "Wiring",
    "block",
    "cache",
    "cone",
    "feed_forward",
    "key_value_heads",
    "latent",
    "norm_groups",
    "one_query",
    "position_map",
    "renaming",
    "side_by_side",
    "split_and_merge",
    "stacks",
    "token_path",
    "wiring",
    "wiring_of",
    "wirings",
]
