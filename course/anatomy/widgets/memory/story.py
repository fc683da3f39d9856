"""The steps of MemoryExplorer."""

from ..tools.story import Step
from .texts import text_of

DOG, PARROT, PUPPY = range(3)
KITCHEN, GARDEN, STREET = range(3)
_ONCE, _TWICE = text_of((DOG, KITCHEN)), text_of((DOG, KITCHEN), (DOG, GARDEN))
_ALIKE = text_of((DOG, KITCHEN), (PUPPY, GARDEN))
_THREE = text_of((DOG, KITCHEN), (PARROT, GARDEN), (PARROT, STREET))
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
        without=("products", "keys", "asked", "more", "checks"),
    ),
    Step(
        "Back to the dog in the kitchen. The delta rule first reads what is held: kitchen 1, garden 0. It writes only "
        "what is missing to the new place: kitchen 0, garden 1. Press “garden” again.",
        "What is missing for kitchen and garden?",
        ("0 and 1", "−1 and 1", "1 and 1"),
        1,
        "0 − 1 = −1 takes the kitchen away, and 1 − 0 = 1 brings the garden: the new place overwrites the old one.",
        "At the bottom, in the first rows: what it adds minus what it removes.",
        {**_USUAL, "text": _ONCE},
        moves=("text",),
        show=({"text": _TWICE}, {"cell": 1, "rule": 1}, {"cell": 0, "rule": 1}),
        without=("asked", "more"),
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
        without=("more", "checks"),
    ),
    Step(
        "The puppy's key (0.8, 0, 0.6) is much like the dog's. Only the dog's place was written; nobody has said where "
        "the puppy is. Ask for the puppy.",
        "What do the memories answer?",
        ("nothing", "kitchen, with 0.8", "kitchen, with 1"),
        1,
        "0.8 · 1 + 0 + 0.6 · 0 = 0.8, the product of both keys. Each place that was written counts as much as its key "
        "is like the one asked for: attention, without a softmax.",
        "Choose “puppy” above, and read the bars.",
        {**_USUAL, "text": _ONCE},
        moves=("asked",),
        show=({"asked": PUPPY}, {"place": 0, "rule": 0}, {"place": 0, "rule": 1}),
        without=("more", "checks"),
    ),
    Step(
        "The dog is in the kitchen. Tell both memories that the puppy is in the garden: its write takes away all that "
        "the delta rule reads for the puppy, 0.8 of the kitchen.",
        "How much of the dog's kitchen is left in the delta rule's memory?",
        ("1", "0.36", "0.2"),
        1,
        "It removed the puppy's key times 0.8. The dog's key is 0.8 like it, so the dog loses 0.8 · 0.8: "
        "1.00 − 0.64 = 0.36. The garden has 0.80. Keys that are alike disturb each other.",
        "Press “garden” in the puppy's row, and read the bars under “correcting”.",
        {**_USUAL, "text": _ONCE},
        moves=("text",),
        show=({"text": _ALIKE}, {"place": 0, "rule": 1}),
        without=("more",),
    ),
    Step(
        "Three pairs were written, the dog's first. A decay of 0.5 halves all that a memory holds before each write. "
        "Set the decay to 0.5.",
        "How much of the dog's kitchen does the memory that adds still hold?",
        ("1", "0.5", "0.25"),
        2,
        "Two writes came after it, 0.5 · 0.5 = 0.25. What is old fades, whether it is wrong by now or not.",
        "Read the bars under “adding”.",
        {**_USUAL, "text": _THREE, "more": True},
        moves=("decay",),
        show=({"decay": 0.5}, {"cell": 0, "rule": 0}, {"place": 0, "rule": 0}),
        without=("asked", "checks"),
    ),
)
