"""The steps of PermutationExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Attention reads all words and gives each a row of numbers, drawn as colors. “dog” and “man” swap places: in "
        "lane A after attention, in lane B before it.",
        "Where will the results of the two lanes differ?",
        ("at “dog” and “man”", "in all rows", "nowhere"),
        2,
        "For this attention “the man bites the dog” is “the dog bites the man” with its rows moved: who bites is lost.",
        "Compare the two maps on the right, row by row.",
        {"order": "dog ↔ man", "positions": False, "word": 1},
        moves=("word",),
        show=({"order": "as written"}, {"order": "dog ↔ man"}, {"word": 4}),
        waits=("line", "signs", "numbers"),
        without=("positions", "orders"),
    ),
    Step(
        "The sentence as written: “the” stands at places 0 and 3. In f(x), the output of attention, its "
        "second row is covered.",
        "Will the second row equal the first?",
        ("yes", "only in some numbers", "no"),
        0,
        "Attention knows which words are there, and not at which place.",
        "Compare the two rows of f(x) cell by cell.",
        {"order": "as written", "positions": False, "word": 0},
        moves=("word",),
        show=({"word": 3}, {"word": 0}),
        waits=("line", "signs", "numbers"),
        without=("positions", "orders"),
    ),
    Step(
        "Drag “bites” in lane B to other places; each drag starts from the sentence as written. “Next order” moves "
        "more words at once.",
        "What does a new order change about the output of “bites”?",
        ("only its numbers", "only its row", "both"),
        1,
        "Its numbers are the same in every order; only their row changes.",
        "Follow the framed row, and read its number below “difference”.",
        {"order": "as written", "positions": False, "word": 2},
        moves=("order", "word"),
        show=tuple(
            {"order": order}
            for order in ("bites ↔ the", "bites: 2 → 4", "bites: 2 → 5", "backward", "shuffled", "shuffled again")
        ),
        without=("positions",),
    ),
    Step(
        "All words have moved, and now each place adds a position vector of its own to the word that stands there.",
        "In how many rows will the results differ now?",
        ("none", "two", "all six"),
        2,
        "Each word stands at another place, so its query, key and value are different.",
        "Read the numbers below “difference”.",
        {"order": "backward", "positions": True, "word": 4},
        show=({"positions": False}, {"positions": True}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "“dog” and “man” swap places again, now with position vectors. The other four words stay where they were.",
        "Will the results differ in the row of “bites”?",
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
