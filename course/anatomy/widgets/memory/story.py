"""The steps of MemoryExplorer."""

from ..tools.story import Step
from .texts import text_of

DOG, PARROT, PUPPY = range(3)
KITCHEN, GARDEN, STREET = range(3)
_ONCE, _TWICE = text_of((DOG, KITCHEN)), text_of((DOG, KITCHEN), (DOG, GARDEN))
_ALIKE = text_of((DOG, KITCHEN), (PUPPY, GARDEN))
_THREE = text_of((DOG, KITCHEN), (PARROT, STREET), (PUPPY, GARDEN))
_USUAL = {"text": _TWICE, "asked": DOG, "decay": 1.0, "rate": 1.0, "more": False}

STORY = (
    Step(
        "Two memories know that the dog is in the kitchen. It walks into the garden: press “garden” in the dog's row.",
        "Where is the dog, says the memory that adds?",
        ("in the kitchen", "in the garden", "in both"),
        2,
        "It only ever adds, so the old place stays beside the new one.",
        "Press the cell, then read the bars under “adding”.",
        {**_USUAL, "text": _ONCE},
        moves=("text",),
        show=({"text": _TWICE},),
    ),
    Step(
        "The delta rule first reads what the memory holds for the dog: kitchen 1, garden 0. It writes only what is "
        "missing from that to the new place: kitchen 0, garden 1.",
        "What does it write for kitchen and garden?",
        ("0 and 1", "−1 and 1", "1 and 1"),
        1,
        "0 − 1 = −1 takes the kitchen away, and 1 − 0 = 1 brings the garden: the new place overwrites the old one.",
        "In the matrices at the bottom, subtract what it removes from what it adds.",
        _USUAL,
        show=({"cell": 0, "rule": 1}, {"cell": 1, "rule": 1}),
        waits=("line",),
    ),
    Step(
        "A key is three numbers. The parrot's (0, 1, 0) and the dog's (1, 0, 0) are at right angles: their product is "
        "0. Tell both memories that the parrot is in the street.",
        "What changes in what is read for the dog?",
        ("nothing", "the street is added", "it all becomes weaker"),
        0,
        "The parrot is written into the middle row, and the dog reads the first.",
        "Press “street” in the parrot's row, and watch the bars.",
        _USUAL,
        moves=("text",),
        show=({"text": text_of((DOG, KITCHEN), (DOG, GARDEN), (PARROT, STREET))},),
    ),
    Step(
        "The puppy's key (0.8, 0, 0.6) is much like the dog's. Nobody has said where the puppy is; only the dog's "
        "place was written. Now they are asked for the puppy.",
        "What do the memories answer?",
        ("nothing", "kitchen, with 0.8", "kitchen, with 1"),
        1,
        "0.8 · 1 + 0 + 0.6 · 0 = 0.8: whoever is alike gets a share. To add and to read so is attention without a "
        "softmax.",
        "Read the bars: each is a sum over one column.",
        {**_USUAL, "text": _ONCE, "asked": PUPPY},
        show=({"place": 0, "rule": 0}, {"place": 0, "rule": 1}),
        waits=("line",),
    ),
    Step(
        "Now the memories were told that the puppy is in the garden. Asked for it, the delta rule says “garden” alone. "
        "Ask for the dog.",
        "What did that cost the dog?",
        ("nothing", "of the kitchen, 0.36 is left", "the kitchen is gone"),
        1,
        "The puppy's write took away the 0.8 of the kitchen that it read, and 0.8 of that was the dog's: 1 − 0.64 = "
        "0.36. So the dog is now in the garden, with 0.80.",
        "Choose “dog” above, and read the bars under “correcting”.",
        {**_USUAL, "text": _ALIKE, "asked": PUPPY},
        moves=("asked",),
        show=({"asked": DOG}, {"place": 0, "rule": 1}),
    ),
    Step(
        "With a decay of 0.5, all that a memory holds is halved before each write. Three pairs were written, the dog's "
        "first.",
        "How much of the dog's kitchen does the memory that adds still hold?",
        ("1", "0.5", "0.25"),
        2,
        "Two writes came after it, 0.5 · 0.5 = 0.25. What is old fades, whether it is wrong by now or not.",
        "Read the bars under “adding”.",
        {**_USUAL, "text": _THREE, "decay": 0.5, "more": True},
        show=({"cell": 0, "rule": 0}, {"place": 0, "rule": 0}),
        waits=("line",),
    ),
)
