"""The steps of ObjectiveLab."""

from ..tools.story import Step

STORY = (
    Step(
        "Three models learn from one sentence. Point at a word: arrows come from what each sees to predict it.",
        "Who sees the fewest words to predict “two”?",
        ("GPT", "BERT", "T5"),
        0,
        "Only the 3 words before it. BERT looks at all 10 other places, and T5 at the 7 words that it did not hide.",
        "Count the arrows in each row.",
        {"objective": 0, "draw": 0, "place": 2},
    ),
    Step(
        "BERT sees both sides, and hides some tokens from itself (dashed in the text). Draw again.",
        "How many tokens must it predict?",
        ("3", "10", "11"),
        0,
        "Only the hidden ones. The same text gave GPT 10 predictions.",
        "Count the tokens in the row “must predict”.",
        {"objective": 1, "draw": 0, "place": 3},
    ),
    Step(
        "T5 leaves one ⟨number⟩ for each hidden span. A decoder writes the spans, token by token.",
        "What of the decoder's row does its token 1 see?",
        ("nothing", "tokens 0 and 1", "all of it"),
        1,
        "The encoder's row is blue as a whole, the decoder's only up to the frame.",
        "Look at the blue tokens in the row “decoder reads”.",
        {"objective": 2, "draw": 0, "place": 10},
    ),
    Step(
        "GLM writes both parts in one row. Each blank begins with [S] and has two rows of positions.",
        "Which positions have the last “[S]” and “two”?",
        ("3 and 3", "13 and 14", "0 and 1"),
        0,
        "Both have the position of their blank [M], which is 3; “in blank” counts them.",
        "Read the row “position” under the last two tokens.",
        {"objective": 3, "draw": 0, "place": 13},
    ),
    Step(
        "Pairs of sentences: the model must tell if the second is the next one or a random one.",
        "How many terms does the loss of this pair have?",
        ("1", "2", "13"),
        0,
        "Only [CLS] has a label: one answer for 13 tokens read.",
        "Walk along the tokens: where does anything turn orange?",
        {"objective": 4, "draw": 1, "place": 0},
        moves=("place",),
    ),
    Step(
        "Your turn: switch between T5 and GLM, which hide the same tokens in each draw.",
        "Which reads fewer tokens for them?",
        ("T5", "GLM"),
        1,
        "15 instead of 16 in every draw: T5's decoder starts from a [PAD].",
        "Compare “tokens read” below the picture.",
        {"objective": 3, "draw": 2, "place": 9},
        moves=("objective", "draw"),
    ),
)
