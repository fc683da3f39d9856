"""The steps of PermutationExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Attention turns each word into a row of numbers; each looks at all words, no mask. Dog and man swap places: "
        "after attention in lane A, before it in lane B.",
        "Where do the results of the two lanes differ?",
        ("at “dog” and “man”", "in all rows", "nowhere"),
        2,
        "For this attention “the man bites the dog” is “the dog bites the man” with its rows moved: who bites is lost.",
        "Compare the two maps on the right, row by row.",
        {"order": "dog ↔ man", "positions": False, "word": 1},
        moves=("word",),
        show=({"order": "as written"}, {"order": "dog ↔ man"}, {"word": 4}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "The sentence as written, with “the” at places 0 and 3. Point at both rows of f(x), the first map of lane A.",
        "Are the two rows equal?",
        ("yes", "no"),
        0,
        "Attention knows which words are there, and not at which place.",
        "Compare the two rows cell by cell.",
        {"order": "as written", "positions": False, "word": 0},
        moves=("word",),
        show=({"word": 3}, {"word": 0}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "Drag a word of lane B to any place; each drag starts from the sentence as written. “Next order” moves more "
        "words at once. Try to find an order that makes a difference.",
        "Which order makes a difference?",
        ("one that moves a single word", "one that moves all words", "none"),
        2,
        "The output of a word is the same in every order; only its row changes.",
        "Is there ever a number other than 0 below “difference”?",
        {"order": "as written", "positions": False, "word": 2},
        moves=("order", "word"),
        show=tuple(
            {"order": order}
            for order in ("bites ↔ the", "bites: 2 → 4", "bites: 2 → 5", "backward", "shuffled", "shuffled again")
        ),
    ),
    Step(
        "All words have moved, and now each place adds a position vector of its own to the word that stands there.",
        "How many rows differ now?",
        ("none", "two", "all six"),
        2,
        "Each word stands at another place, so its query, key and value are different.",
        "Read the numbers below “difference”.",
        {"order": "backward", "positions": True, "word": 4},
        show=({"positions": False}, {"positions": True}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "Dog and man swap places again, now with position vectors. The other four words stay where they were.",
        "Does the row of “bites” differ now?",
        ("no, it has not moved", "yes"),
        1,
        "It attends to dog and man, and their keys and values hold other positions now. So order counts: who bites can "
        "be told.",
        "Look at the third number below “difference”, with and without position vectors.",
        {"order": "dog ↔ man", "positions": True, "word": 2},
        show=({"positions": False}, {"positions": True}),
        waits=("line", "signs", "numbers"),
    ),
)
