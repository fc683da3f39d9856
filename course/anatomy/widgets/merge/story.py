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
        N_(
            "A tile is a byte, “·” the space. The list gives each pair of neighbors the number of its merge: training "
            "learned merge 0 first, then 1, and so on."
        ),
        N_("Which pair is joined first?"),
        (N_("· + E, leftmost"), N_("e + t, lowest number"), N_("t + h, highest number")),
        1,
        N_(
            "Training learned merge 83 before the other merges here, and merges go in that order, wherever pairs stand."
        ),
        N_("Press “Next merge”: which two tiles become one?"),
        _at(" Elizabeth", 0),
        moves=("done",),
        show=({"done": 1}, {"pair": 0}, {"done": 2}),
        waits=("line", "numbers"),
        without=("word", "own", "counted"),
    ),
    Step(
        N_("Training read Jane Austen’s novels. Here a + n occurs twice, · + b once, yet · + b has the lower number."),
        N_("Why did training learn · + b earlier?"),
        (N_("it stands earlier here"), N_("the novels have it more often"), N_("a space always goes first")),
        1,
        N_("Training takes the most frequent pair each time: · + b, counted 29,862 times; later a + n, 15,360 times."),
        N_("Compare the numbers at the right of the list."),
        _at(" banana", 0),
        moves=("done",),
        show=({"pair": 0}, {"pair": 2}),
        waits=("line", "numbers"),
        without=("word", "own"),
    ),
    Step(
        N_("All merges are done; none joins these two tokens. Choose ·Elizabeth, with a capital E: it is one token."),
        N_("Why did training learn no merge for ·e + lizabeth?"),
        (N_("the token would be too long"), N_("the novels never write it so"), N_("the merges ran out before")),
        1,
        N_("The novels always write the name with a capital E, so training never met that pair."),
        N_("·Elizabeth has as many bytes and was learned as merge 574 of 1,024. What is different?"),
        _at(" elizabeth", ALL),
        show=({"word": 0}, {"word": 1}, {"pair": 0}),
        waits=("line",),
        without=("own",),
    ),
    Step(
        N_("This word has no space in front, as at the beginning of a text. Now choose ·happiness, which has one."),
        N_("Which of the two needs more tokens?"),
        (N_("the one without the space"), N_("the one with the space"), N_("both need the same")),
        0,
        N_("Nearly every word of the novels follows a space, so training made whole words with a space in front."),
        N_("Read the number of tokens below the picture for both words."),
        _at("happiness", ALL),
        moves=("word",),
        show=(
            {"word": WORDS.index(" happiness")},
            {"word": WORDS.index("happiness")},
            {"word": WORDS.index(" happiness")},
        ),
        without=("own",),
    ),
    Step(
        N_("The novels have no é, so no merge joins its two bytes. Choose 中文, then try words of your own."),
        N_("What do the two characters of 中文 need?"),
        (N_("one token"), N_("two tokens"), N_("six tokens")),
        2,
        N_("Each is three bytes that no merge joins. A text in a script that training never met needs many tokens."),
        N_("Choose 中文, and count the tiles of the last row."),
        _at(" café", ALL),
        moves=("word",),
        show=({"row": 1, "byte": 4}, {"row": 1, "byte": 5}, {"word": WORDS.index("中文")}),
    ),
)
