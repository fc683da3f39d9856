"""The words of MergeExplorer, and the steps of its story."""

from ..tools.story import Step
from ..tools.words import N_

# Frequent and rare, with a space in front and without, misspelled, and with characters of several bytes.
WORDS = (
    " Elizabeth",
    " elizabeth",
    " happiness",
    "happiness",
    " believe",
    " beleive",
    " banana",
    " Mississippi",
    " acknowledged",
    " café",
    "中文",
    " 1811",
)
ALL = max(len(word.encode()) for word in WORDS) - 1  # more merges than this change no word


def _at(word, done):
    return {"word": WORDS.index(word), "done": done}


STORY = (
    Step(
        N_("Each merge that training learned has a number, which the list gives. A tile is a byte, “·” the space."),
        N_("What brings e + t to the front?"),
        (N_("its place"), N_("its low number"), N_("its frequency here")),
        1,
        N_("Merge 83 was learned before the others here, and merges go in that order, wherever their pairs stand."),
        N_("Compare the bars of the list: whose is the shortest?"),
        _at(" Elizabeth", 0),
        moves=("done",),
        show=({"pair": 0}, {"pair": 7}, {"done": 1}),
        waits=("line",),
    ),
    Step(
        N_("In this word, a + n occurs twice and · + b once. Press “Next merge” to see which is joined first."),
        N_("Does it matter how often a pair occurs in this word?"),
        (N_("yes, a + n is joined first"), N_("no, · + b is joined first")),
        1,
        N_(
            "The trainer counted pairs in its whole text. Encoding counts nothing and only follows its merges in order."
        ),
        N_("Compare the numbers of · + b and of a + n in the list."),
        _at(" banana", 0),
        moves=("done",),
        show=({"pair": 2}, {"pair": 0}, {"done": 1}),
        waits=("line",),
    ),
    Step(
        N_("All merges are done, and two tokens are left. Choose ·Elizabeth, with a capital letter: it is one token."),
        N_("Why does the name fall into two tokens when it begins with a small letter?"),
        (N_("it has more bytes"), N_("a merge is still to come"), N_("no merge joins ·e and lizabeth")),
        2,
        N_("The novels always write the name with a capital E, so the trainer never met that pair."),
        N_("Look for the number of the only pair that is left in the list."),
        _at(" elizabeth", ALL),
        show=({"word": 0}, {"word": 1}, {"pair": 0}),
        waits=("line",),
    ),
    Step(
        N_("This word has no space in front, as at the beginning of a text. Now choose ·happiness, which has one."),
        N_("Which of the two needs more tokens?"),
        (N_("the one without the space"), N_("the one with the space"), N_("both need the same")),
        0,
        N_("Nearly every word of the novels follows a space, so the trainer made whole words with a space in front."),
        N_("Read the number of tokens below the picture for both words."),
        _at("happiness", ALL),
        moves=("word",),
        show=(
            {"word": WORDS.index(" happiness")},
            {"word": WORDS.index("happiness")},
            {"word": WORDS.index(" happiness")},
        ),
    ),
    Step(
        N_("Some letters are more than one byte, as the brace shows. Point at the tiles of é, and then choose 中文."),
        N_("How many tokens does é cost?"),
        (N_("one token"), N_("two tokens"), N_("none, it is unknown")),
        1,
        N_("é is the bytes 195 and 169, and no merge joins them: the training text has no é, and so no such pair."),
        N_("Count the tiles below the brace."),
        _at(" café", ALL),
        show=({"row": 1, "byte": 4}, {"row": 1, "byte": 5}),
    ),
)
