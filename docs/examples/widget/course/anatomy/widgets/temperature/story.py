"""The steps of TemperatureExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Lower the temperature. Point at a bar to see how its number is computed.",
        "Which word takes all in the end?",
        ("the one with the highest score", "the first one", "all share alike"),
        0,
        "Dividing by a small number makes the gaps between scores large.",
        "Look at the longest bar at temperature 0.1.",
        {"temperature": 1.0},
    ),
    Step(
        "Now the highest temperature.",
        "What do the bars become?",
        ("nearly alike", "all zero"),
        0,
        "All scores come near 0, and exp(0) = 1 for each.",
        "Compare the five numbers.",
        {"temperature": 10.0},
    ),
    Step(
        "At temperature 1 the scores are used as they are. Point at two bars and compare their formulas.",
        "What do the five formulas share?",
        ("the sum below", "the score above"),
        0,
        "Each divides by the same sum, so the bars add up to 1.",
        "Read what stands after ÷ Σ in the gray line.",
        {"temperature": 1.0},
    ),
    Step(
        "Now break it: give the widget your own softmax without the division by the sum.",
        "What do the bars of a right softmax add up to?",
        ("1", "5", "it depends on the temperature"),
        0,
        "A softmax shares out one whole, at every temperature.",
        "Add up the numbers beside the bars, here and at another temperature.",
        {"temperature": 2.0},
    ),
)
