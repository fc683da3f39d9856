"""The steps of ObjectiveLab."""

from ..tools.story import Step

STORY = (
    Step(
        "Three models must guess the word at “?” from what is blue. Guess it yourself, once from each row.",
        "Who must guess it without “cats”?",
        ("GPT", "BERT", "T5"),
        0,
        "It sees the 3 words before, as when it writes on; “a” would do, too. BERT sees all 10 other places, T5 sees "
        "7 words.",
        "Find “cats” in each row: is it blue or gray?",
        {"objective": 0, "draw": 0, "place": 2},
        show=tuple({"place": n} for n in range(3)),
        waits=("line", "signs", "numbers"),
        without=("draw", "example"),
    ),
    Step(
        "BERT sees both sides, but some words are hidden from it (dashed in the text). “hide others” draws new ones.",
        "From how many of its 11 tokens does BERT learn?",
        ("3", "10", "11"),
        0,
        "Only the hidden ones, 15 % of a long text: here BERT reads 11 tokens to learn from 3. GPT reads 10 and learns "
        "from all 10: a text goes further.",
        "Move “predicted word” from end to end: it stops only where BERT must predict.",
        {"objective": 1, "draw": 0, "place": 3},
        moves=("place",),
        show=({"place": 6}, {"place": 7}, {"place": 3}),
        waits=("signs",),
    ),
    Step(
        "T5 leaves one ⟨number⟩ for each hidden span. A decoder writes the spans, token by token; a [PAD] starts it.",
        "What of the decoder's row does its token 1 see?",
        ("nothing", "tokens 0 and 1", "all of it"),
        1,
        "The encoder's row is blue as a whole, the decoder's only up to the frame.",
        "Look at the blue tokens in the row “decoder reads”.",
        {"objective": 2, "draw": 0, "place": 10},
        show=({"place": 9}, {"place": 10}),
        waits=("line",),
    ),
    Step(
        "GLM hides what T5 hides, fills the blanks in any order and sees those filled before. Each begins with [S]. A "
        "token has two positions: one in the text, one in its blank.",
        "Which positions in the text do the last “[S]” and the “two” behind it have?",
        ("3 and 3", "13 and 14", "0 and 1"),
        0,
        "Both have the position of their blank [M], which is 3; “in blank” counts them.",
        "Read the row “position” under the last two tokens.",
        {"objective": 3, "draw": 0, "place": 13},
        moves=("place",),
        show=({"place": 12}, {"place": 13}, {"place": 14}),
    ),
    Step(
        "Pairs of sentences: the model must tell if the second is the next one or a random one. Point along the row.",
        "Which token must tell it?",
        ("[CLS]", "each [SEP]", "every word"),
        0,
        "Only [CLS] has a label, “random”: one answer for 13 tokens read.",
        "Point at each token of the row “model reads”: under which of them does something turn orange?",
        {"objective": 4, "draw": 1, "place": 5},
        moves=("place",),
        show=tuple({"place": n} for n in (2, 5, 8, 12, 0)),
        waits=("line", "signs"),
    ),
    Step(
        "Your turn: switch between T5 and GLM, which always hide the same tokens.",
        "Which reads fewer tokens for them?",
        ("T5", "GLM"),
        1,
        "15 instead of 16, whatever is hidden: T5's decoder starts from a [PAD].",
        "Compare “tokens read” below the picture.",
        {"objective": 3, "draw": 2, "place": 9},
        moves=("objective", "draw"),
        show=({"objective": 2}, {"objective": 3}),
    ),
)
