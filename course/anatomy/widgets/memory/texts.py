"""What MemoryExplorer can be told: texts of up to three pairs of a key and a value, each with a number of its own.

Text 0 is empty. A pair p behind text n makes text PAIRS · n + p + 1, so the last pair can be taken away again.
"""

from ..tools.words import N_

KEYS = (N_("dog"), N_("parrot"), N_("puppy"))
PLACES = (N_("kitchen"), N_("garden"), N_("street"))
# Of length 1; the puppy's is at 0.8 of the dog's, and both are at right angles to the parrot's.
VECTORS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.8, 0.0, 0.6))
D = len(KEYS)
PAIRS = len(KEYS) * len(PLACES)
MOST = 3
DECAYS = (1.0, 0.5)
RATES = (1.0, 0.5)


def text_of(*pairs: tuple[int, int]) -> int:
    """The number of a text of (key, place) pairs."""
    number = 0
    for key, place in pairs:
        number = PAIRS * number + key * len(PLACES) + place + 1
    return number


def pairs_of(text: int) -> list[tuple[int, int]]:
    """The (key, place) pairs of the text with that number."""
    found: list[tuple[int, int]] = []
    while text:
        text, pair = divmod(text - 1, PAIRS)
        found.insert(0, divmod(pair, len(PLACES)))
    return found


# How many texts have each length: they follow each other in the order of their numbers.
COUNTS = tuple(PAIRS**length for length in range(MOST + 1))
TEXTS = sum(COUNTS)
