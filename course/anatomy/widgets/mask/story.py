"""The steps of MaskExplorer: what goes wrong when a token sees too much, or nothing."""

from ..tools.story import Step

_NO_SIZE = ("sizes",)  # where the mask has one size, or its size is not asked about

STORY = (
    Step(
        "Each row (query) predicts the word that follows it, from the words in its filled cells: row “two” predicts "
        "“cats”. Click the white cell “cats” in row “two”, so that it sees it.",
        "The loss falls. Will it write better, too?",
        ("yes, it learned more", "no, it only copies"),
        1,
        "“cats” is read off and costs nothing: 1.78 instead of 2.08. But when the model writes, its next word does "
        "not stand anywhere yet, and it has not learned to find it.",
        "Click the cell: what of the answer must the model still find out by itself?",
        {"mask": 0, "size": 4, "query": 3, "layers": 2, "painted": ""},
        moves=("painted",),
        show=({"painted": "3,4"},),
        waits=("line", "signs"),
        without=("mask", "layers", *_NO_SIZE),
    ),
    Step(
        "One wrong cell again: “one” looks at “two”. A model has several layers, each with this mask. Choose other "
        "queries, and see on the right what reaches them.",
        "Which other queries see “two” too early?",
        ("none", "dog and saw", "all others"),
        1,
        "Both look at “one”, which has looked at “two” a layer before. So “saw” can copy its next word, “two”: one "
        "wrong cell spoils other rows, too.",
        "Choose one query after another: for which is “two” filled at the bottom of the right picture?",
        {"mask": 0, "size": 4, "query": 0, "layers": 2, "painted": "0,3"},
        moves=("query",),
        show=({"query": 1}, {"query": 2}),
        waits=("line", "signs"),
        without=_NO_SIZE,
    ),
    Step(
        "Padding gives the texts of a batch one length: here by three [pad], which see nothing. The score of a white "
        "cell becomes −∞ before softmax. Point at a cell of a [pad] row.",
        "What are the weights of an empty row after softmax?",
        ("not a number", "all 0", "all equal"),
        0,
        "Each weight is exp(−∞) ÷ 0 = 0 ÷ 0. Such a NaN spreads from layer to layer, into the loss and into all "
        "gradients. A way out: let each [pad] see itself, and leave it out of the loss.",
        "Softmax divides by the sum of the row. What is it, if every score is −∞?",
        {"mask": 3, "size": 4, "query": 3, "layers": 2, "painted": ""},
        moves=("query",),
        show=({"query": 1, "key": 0}, {"query": 2, "key": 1}),
        waits=("signs",),
        without=_NO_SIZE,
    ),
    Step(
        "Instead of padding: two texts in one row, “one dog saw two” and “cats and ran .”. The second must not see "
        "the first. But one cell was forgotten: “cats” sees “two”.",
        "How much of the first text can reach “.”?",
        ("nothing", "only “two”", "all of it"),
        2,
        "With 3 layers: “two” gathers its text in the first, “cats” takes it from “two” in the second, “.” from "
        "“cats” in the third. One forgotten cell joins the texts.",
        "Set more layers, and look at the filled inputs on the right.",
        {"mask": 11, "size": 4, "query": 7, "layers": 2, "painted": "4,3"},
        moves=("layers",),
        show=({"layers": 1}, {"layers": 2}, {"layers": 3}),
        waits=("line", "signs"),
        without=_NO_SIZE,
    ),
    Step(
        "A prompt is given as a whole. So its words may see each other in both directions: a prefix, here of 3 words. "
        "Move the size.",
        "What does a longer prefix cost?",
        ("words to learn from", "too good a loss", "nothing"),
        0,
        "What is given need not be predicted: with 3 words in the prefix, 5 are left to learn from, with 7 only one. "
        "In return each word of the prefix sees all of it.",
        "Move the size, and read above the loss: the mean over how many words?",
        {"mask": 4, "size": 3, "query": 0, "layers": 2, "painted": ""},
        moves=("size", "query"),
        show=({"size": 5}, {"size": 7}, {"size": 3}),
        without=("layers",),
    ),
    Step(
        "GLM fills blanks: part A is the text with blanks [M]; part B has the missing pieces, and its [S] must "
        "predict “dog”. Let A see B: click row [M], column “dog”. Then choose query [S].",
        "Why must part A not see part B?",
        ("[S] could copy “dog”", "B is padding", "A gets too long"),
        0,
        "[S] sees all of A, so “dog” reaches it by way of [M] in the second layer: a leak on a detour.",
        "After your click, is “dog” among the filled inputs of [S]?",
        {"mask": 10, "size": 0, "query": 7, "layers": 2, "painted": ""},
        moves=("query", "painted"),
        show=({"query": 1}, {"painted": "1,8"}, {"query": 7}, {"key": 8, "level": 0}),
        waits=("line", "signs"),
        without=_NO_SIZE,
    ),
    Step(
        "A window of 2: each token sees only itself and the one before. That is 15 pairs to compute instead of 36. "
        "Set more layers, and see how far back “.” reaches.",
        "How many layers does it take to reach “one”?",
        ("2", "4", "7"),
        2,
        "Each layer reaches one token further, and “one” stands 7 before “.”. So a narrow window saves work, and "
        "depth brings back the reach.",
        "How many more inputs are filled with each layer?",
        {"mask": 12, "size": 4, "query": 7, "layers": 1, "painted": ""},
        moves=("layers",),
        show=({"layers": 2}, {"layers": 3}, {"layers": 5}, {"layers": 7}),
        waits=("line", "signs"),
        without=_NO_SIZE,
    ),
)
