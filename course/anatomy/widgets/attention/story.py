"""The steps of AttentionExplorer."""

from ..tools.story import Step

# Start of the story: “well” is the query, and no score is moved.
WELL = {
    "sentence": 0,
    "layer": 2,
    "head": 0,
    "query": 4,
    "scale": "1/√D",
    "mask": "causal",
    "moved": -1,
    "nudge": 0,
}
LATER = ("scale", "mask")  # whose controls come with the steps that need them
STORY = (
    Step(
        "Point at a word of the sentence: it becomes the query, and the words that it attends to turn blue.",
        "Where does “well” (token 4) look most?",
        ("at “him”", "at “very”", "at itself"),
        1,
        "“very” gets 0.50 of its weight, “well” itself 0.41.",
        "Click on “well” and read the bars.",
        WELL,
        show=({"key": 2}, {"key": 4}, {"key": 3}),
        waits=("line", "numbers"),
        without=LATER,
    ),
    Step(
        "A score says how well a key fits the query. Drag the round grip on the bar of “well”: all weights follow.",
        "It rises by 2: what do the other weights do?",
        ("shrink by the same factor", "only “very” shrinks", "stay"),
        0,
        "Each becomes 0.28 of what it was: the sum below the fraction grows for all of them alike.",
        "Bring the score to 4.1 + 2.0. Then point at “very” and at “him”: each says what it was multiplied by.",
        {**WELL, "moved": 4},
        moves=("nudge",),
        show=({"nudge": 5}, {"nudge": 10}, {"nudge": 20}, {"key": 3}, {"key": 2}),
        without=LATER,
    ),
    Step(
        "Point along the small maps: each one is a head of the model, at work on the same sentence.",
        "Which head looks at the word before?",
        ("layer 0, head 0", "layer 2, head 0", "layer 3, head 1"),
        1,
        "Its dark cells stand one step left of the diagonal: that key comes just before the query.",
        "Look for a map whose dark cells stand one step left of the diagonal, on which a word looks at itself.",
        {**WELL, "sentence": 2, "layer": 0},
        moves=("layer", "head"),
        show=({"head": 1}, {"layer": 2, "head": 1}, {"head": 0}),
        without=LATER,
    ),
    Step(
        "Scale “none”: scores aren’t divided by √D; a query has D = 40 numbers. Switch “none” and “1/√D”.",
        "How are the weights of “well” without a scale?",
        ("more even", "more extreme", "the same"),
        1,
        "“very” rises from 0.50 to 0.78: differences between scores are 6.3 times as large, and exp turns them into "
        "ratios.",
        "Compare the longest bar with and without the scale.",
        {**WELL, "scale": "none"},
        moves=("scale",),
        show=({"scale": "1/√D"}, {"scale": "none"}),
        waits=("line",),
        without=("mask",),
    ),
    Step(
        "The padding mask hides the filler behind the sentence, and nothing else.",
        "What is empty now?",
        ("two columns", "two rows", "the part above the diagonal"),
        0,
        "No query reads the two <pad>. They still ask, so their rows are full, and nobody uses them.",
        "Look for the dots: are they below each other or side by side?",
        {**WELL, "mask": "padding"},
        show=({"key": 5}, {"key": 6}, {"key": 7}),
    ),
    Step(
        "Now break it: without a mask every word may look ahead, which this model never learned.",
        "Does “I” still look at itself alone?",
        ("yes", "no"),
        1,
        "0.30 of its weight goes to the full stop, which comes later. In training that would be cheating.",
        "Read the first row up to its right end.",
        {**WELL, "query": 0, "mask": "none"},
        show=({"key": 0}, {"key": 2}, {"key": 5}),
        waits=("line",),
    ),
)
