"""The steps of AttentionExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Point at a word of the sentence: it becomes the query, and the words that it attends to turn blue.",
        "Where does “well” (token 4) look most?",
        ("at “him”", "at “very”", "at itself"),
        1,
        "“very” gets 0.50 of its weight, “well” itself 0.41.",
        "Click on “well” and read the bars.",
        {"sentence": 0, "layer": 2, "head": 0, "query": 4, "scale": "1/√D", "mask": "causal"},
    ),
    Step(
        "Point at the cells of row “him”. Under the causal mask a word sees itself and the words before it.",
        "How many words may “him” look at?",
        ("1", "3", "8"),
        1,
        "“I”, “like” and itself. A dot marks each later word: its score is −∞.",
        "Count the cells of the row that show a number.",
        {"sentence": 0, "layer": 2, "head": 0, "query": 2, "scale": "1/√D", "mask": "causal"},
    ),
    Step(
        "Point along the small maps: each one is a head of the model, at work on the same sentence.",
        "Which head looks at the word before?",
        ("layer 0, head 0", "layer 2, head 0", "layer 3, head 1"),
        1,
        "Its dark cells stand one step left of the diagonal: that key comes just before the query.",
        "On the diagonal a word looks at itself. You want the cells one step to the left.",
        {"sentence": 2, "layer": 0, "head": 0, "query": 4, "scale": "1/√D", "mask": "causal"},
    ),
    Step(
        "Scale “none”: the scores are no longer divided by √40. Switch between “none” and “1/√D”.",
        "How are the weights of “well” without a scale?",
        ("more even", "more extreme", "the same"),
        1,
        "“very” rises from 0.50 to 0.78: exp makes more of each difference when scores are large.",
        "Compare the longest bar with and without the scale.",
        {"sentence": 0, "layer": 2, "head": 0, "query": 4, "scale": "none", "mask": "causal"},
    ),
    Step(
        "The padding mask hides the filler behind the sentence, and nothing else.",
        "What is empty now?",
        ("two columns", "two rows", "the part above the diagonal"),
        0,
        "No query reads the two <pad>. They still ask, so their rows are full, and nobody uses them.",
        "Look for the dots: are they below each other or side by side?",
        {"sentence": 0, "layer": 2, "head": 0, "query": 4, "scale": "1/√D", "mask": "padding"},
    ),
    Step(
        "Now break it: without a mask every word may look ahead, which this model never learned.",
        "Does “I” still look at itself alone?",
        ("yes", "no"),
        1,
        "0.30 of its weight goes to the full stop, which comes later. In training that would be cheating.",
        "Read the first row up to its right end.",
        {"sentence": 0, "layer": 2, "head": 0, "query": 0, "scale": "1/√D", "mask": "none"},
    ),
)
