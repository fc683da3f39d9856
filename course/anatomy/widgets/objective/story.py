"""The steps of ObjectiveLab: one sentence, and what each objective makes of it."""

from ..tools.story import Step

_EARLY = ("objective", "draw", "example")  # the three models and one word are enough at first
_ASIDE = ("draw", "cut")  # no question of the later steps rests on them

STORY = (
    Step(
        "Three models learn by predicting a word, “?”, from the blue ones. But a model that writes has nothing behind "
        "its next word yet. Tick “nothing follows yet”.",
        "Which model can still predict just as it learned to?",
        ("GPT", "BERT", "T5"),
        0,
        "GPT learned to go on from what comes before, and that is there when it writes, too. At “two”, BERT loses 7 "
        "of the 10 places that it sees, and T5 4 of 7.",
        "Tick “nothing follows yet”. A dashed arrow is missing then: which row has none?",
        {"objective": 0, "draw": 0, "place": 2, "cut": False},
        moves=("place", "cut"),
        show=({"cut": True},),
        waits=("line", "signs", "numbers"),
        without=(*_EARLY, "tally"),
    ),
    Step(
        "Now the text is complete, like a mail that is to be sorted. Drag “predicted word” from the end of the text "
        "to its start.",
        "Whose prediction rests on less and less?",
        ("GPT’s", "BERT’s", "both alike"),
        0,
        "At “home” GPT sees 9 words, at “cats” 4, at “one” none. BERT sees the 10 other places each time. That is why "
        "a model that only reads, for a search engine say, is often built like BERT.",
        "Compare the arrows of the two at “home”, “cats” and “one”.",
        {"objective": 1, "draw": 5, "place": 9, "cut": False},
        moves=("place",),
        show=({"place": 4}, {"place": 0}, {"place": 9}),
        waits=("line", "signs", "numbers"),
        without=(*_EARLY, "tally"),
    ),
    Step(
        "Without an orange word in its row, a model predicts nothing, so it learns nothing there. Drag “predicted "
        "word” through the text.",
        "Each needs 1,000 predictions. Who must read most texts like this?",
        ("GPT", "BERT", "T5"),
        1,
        "One text gives BERT 3 words to predict, T5 4, GPT 10. So BERT reads 334 of them, T5 250, GPT 100, and each "
        "costs computation for all its words.",
        "Count for each row the words at which something is orange.",
        {"objective": 0, "draw": 0, "place": 2, "cut": False},
        moves=("place",),
        show=({"place": 3}, {"place": 5}, {"place": 6}, {"place": 9}),
        waits=("signs", "numbers"),
        without=_EARLY,
    ),
    Step(
        "Below: T5’s input and answers. It is not told how long a blank ⟨0⟩ is. Move “predicted word” on.",
        "How does T5 say that a blank is full?",
        ("by the next ⟨number⟩", "by a [PAD]", "not at all"),
        0,
        "After “two” it must predict ⟨1⟩, which opens the next blank. So a blank may have any length. BERT reads one "
        "[M] for each hidden word: it is told how many are missing.",
        "Which token must it predict right after “two”, and which after “it”?",
        {"objective": 2, "draw": 0, "place": 10, "cut": False},
        moves=("place",),
        show=({"place": 11}, {"place": 14}, {"place": 15}),
        without=("objective", *_ASIDE),
    ),
    Step(
        "GLM hides what T5 hides. But for “two” it also sees “. then it”, which T5 does not see there. Move "
        "“predicted word” from its left end to the right.",
        "Why may GLM use these words?",
        ("it filled that blank first", "they are not hidden", "no reason"),
        0,
        "GLM fills its blanks in any order, here the second one first. So it learns to fill a blank from all that is "
        "there, before and behind it.",
        "In which order does the orange word move through the text?",
        {"objective": 3, "draw": 0, "place": 13, "cut": False},
        moves=("place",),
        show=({"place": 9}, {"place": 10}, {"place": 11}, {"place": 13}),
        without=("objective", *_ASIDE),
    ),
    Step(
        "GLM numbers each token twice: “position” is the place of its blank [M], one for the whole piece; “in blank” "
        "counts within the piece. Move “predicted word”: its numbers are bold.",
        "What would a “position” in the full text tell of a blank?",
        ("its length", "its words", "nothing"),
        0,
        "“cats” would have place 4 and “ran” 8: so 3 words are missing between them. Now they have 4 and 6, and the "
        "blank between them may have any length.",
        "Count the places from “cats” to “ran” in the text, and compare with their numbers in “position”.",
        {"objective": 3, "draw": 0, "place": 13, "cut": False},
        moves=("place",),
        show=({"place": 10}, {"place": 12}, {"place": 13}),
        without=("objective", *_ASIDE),
    ),
    Step(
        "BERT has a second task: does the second sentence come next, or is it a random one? Look at some “other "
        "pairs”, then choose “sentence order (ALBERT)”.",
        "Which clue gives a random sentence away?",
        ("its topic", "its length", "its full stop"),
        0,
        "Cats or money: so BERT need not learn how sentences follow one another. ALBERT swaps two neighbors instead. "
        "Their topic is one, and only the order can tell.",
        "Compare the second sentences of pairs 1, 2 and 4: what have only the random ones?",
        {"objective": 4, "draw": 1, "place": 0, "cut": False},
        moves=("objective", "draw"),
        show=({"draw": 3}, {"draw": 0}, {"objective": 5}, {"draw": 1}),
        waits=("line",),
    ),
    Step(
        "Your turn: between “one” and “cats” something is missing, of unknown length, and it must fit both sides. "
        "Switch the objective, and move “predicted word”.",
        "Which of the three has learned just that?",
        ("GPT", "BERT", "T5"),
        2,
        "T5 sees both sides of a blank and writes until it is full, and so does GLM. GPT sees no “cats”, BERT needs "
        "one [M] for each word. So GPT goes on, BERT reads, T5 and GLM fill in.",
        "Choose T5: what does it see of “cats”, and what stands in its encoder for the three words?",
        {"objective": 0, "draw": 2, "place": 0, "cut": False},
        moves=("objective", "place"),
        show=({"objective": 1, "place": 4}, {"objective": 2, "place": 10}, {"place": 12}),
        without=_ASIDE,
    ),
)
