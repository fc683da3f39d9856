"""The steps of ObjectiveLab."""

from ..tools.story import Step

STORY = (
    Step(
        "Point at another word, or move the place: blue is what it sees, orange what it must predict.",
        "What does place 3 see?",
        ("all 10 words", "places 0 to 3", "only “two”"),
        1,
        "GPT reads from left to right: its own word and those before it.",
        "Count the blue tokens up to the frame.",
        {"objective": 0, "draw": 0, "place": 3},
    ),
    Step(
        "BERT sees both sides, and hides some words from itself (dashed in the text). Draw again.",
        "How many places have something to predict?",
        ("3", "10", "11"),
        0,
        "Only the hidden ones. The same text gave GPT 10 predictions.",
        "Count the tokens in the row “must predict”.",
        {"objective": 1, "draw": 0, "place": 3},
    ),
    Step(
        "T5 leaves one ⟨number⟩ for each hidden span. A decoder writes the spans, word by word.",
        "What of the decoder's row does its place 1 see?",
        ("nothing", "places 0 and 1", "all of it"),
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
        "Both stand where their blank [M] stands, in place 3; “in blank” counts them.",
        "Read the row “position” under the last two tokens.",
        {"objective": 3, "draw": 0, "place": 13},
    ),
    Step(
        "Pairs of sentences: the model must tell if the second is the next one or a random one.",
        "How many terms does the loss of this pair have?",
        ("1", "2", "13"),
        0,
        "Only [CLS] has a label: one answer for 13 tokens read.",
        "Move the place: where does anything turn orange?",
        {"objective": 4, "draw": 1, "place": 0},
        moves=("place",),
    ),
    Step(
        "Your turn: switch between T5 and GLM, which hide the same words in each draw.",
        "Which reads fewer tokens for them?",
        ("T5", "GLM"),
        1,
        "15 instead of 16 in every draw: T5's decoder starts from a [PAD].",
        "Compare “tokens read” below the picture.",
        {"objective": 3, "draw": 2, "place": 9},
        moves=("objective", "draw"),
    ),
)
