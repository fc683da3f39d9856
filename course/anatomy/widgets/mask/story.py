"""The steps of MaskExplorer: what goes wrong when a token sees too much, or nothing."""

from ..tools.story import Step

# Two texts of four words in one row of the batch: the second does not look at the first, but one cell was forgotten.
_PACKED = " ".join(f"{i},{j}" for i in range(4, 8) for j in range(4) if (i, j) != (4, 3))
# A window of two: each token looks at itself and at the one before.
_WINDOW = " ".join(f"{i},{j}" for i in range(8) for j in range(i - 1))

STORY = (
    Step(
        "Each row (query) must predict its next word from those in its filled cells. For row “two” that is “cats”. "
        "Click the white cell “cats” in this row, so that it sees it.",
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
        without=("mask", "layers"),
    ),
    Step(
        "One wrong cell again: “one” looks at “two”. A model has several layers, each with this mask. Choose other "
        "queries, and see on the right what reaches them.",
        "Which other queries see “two” too early?",
        ("none", "dog and saw", "all others"),
        1,
        "Both look at “one”, which has looked at “two” a layer before. So “saw” can copy its next word, “two”: one "
        "wrong cell spoils other rows, too.",
        "Choose dog, then saw: which inputs are filled at the bottom of the right picture?",
        {"mask": 0, "size": 4, "query": 0, "layers": 2, "painted": "0,3"},
        moves=("query",),
        show=({"query": 1}, {"query": 2}),
        waits=("line", "signs"),
    ),
    Step(
        "Texts of a batch get the same length by padding. Here three [pad] stand on the left, and none of them sees "
        "anything. Point at a cell of such a row.",
        "What are the weights of an empty row after softmax?",
        ("not a number", "all 0", "all equal"),
        0,
        "Each weight is exp(−∞) ÷ 0 = 0 ÷ 0. Such a NaN spreads from layer to layer, into the loss and into all "
        "gradients. So code must treat these rows apart.",
        "Softmax divides by the sum of the row. What is it, if every score is −∞?",
        {"mask": 3, "size": 4, "query": 3, "layers": 2, "painted": ""},
        moves=("query",),
        show=({"query": 1, "key": 0}, {"query": 2, "key": 1}),
        waits=("signs",),
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
        {"mask": 0, "size": 4, "query": 7, "layers": 2, "painted": _PACKED},
        moves=("layers",),
        show=({"layers": 1}, {"layers": 2}, {"layers": 3}),
        waits=("line", "signs"),
    ),
    Step(
        "A prompt is given as a whole. So its words may see each other in both directions: a prefix, here of 3 words. "
        "Move the size.",
        "What does a longer prefix cost?",
        ("words to learn from", "too good a loss", "nothing"),
        0,
        "What is given need not be predicted: with 3 words in the prefix, 5 are left to learn from, with 7 only one. "
        "In return each word of the prefix sees all of it.",
        "Move the size, and look at the last number under the right picture: out of how many?",
        {"mask": 4, "size": 3, "query": 0, "layers": 2, "painted": ""},
        moves=("size", "query"),
        show=({"size": 5}, {"size": 7}, {"size": 3}),
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
        waits=("line",),
    ),
    Step(
        "To save work, each token here sees only itself and the one before: a window of 2. Set more layers, and see "
        "how far back “.” reaches.",
        "How many layers would it take to reach “one”?",
        ("2", "4", "7"),
        2,
        "Each layer reaches one token further, and “one” stands 7 before “.”. So a narrow window saves work, and "
        "depth brings back the reach.",
        "How many more inputs are filled with each layer?",
        {"mask": 0, "size": 4, "query": 7, "layers": 1, "painted": _WINDOW},
        moves=("layers",),
        show=({"layers": 2}, {"layers": 3}, {"layers": 4}),
        waits=("line", "signs"),
    ),
)
