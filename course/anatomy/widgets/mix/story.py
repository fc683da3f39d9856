"""The steps of MixExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Each word has a number: cat 1, sat 5, mat 9. Drag the top of a bar, its weight: the triangle is the average.",
        "Which word has the largest share now?",
        ("cat", "sat", "mat"),
        2,
        "mat has 7 of 10 parts of the weight, so the average stands nearest to it.",
        "Compare the three bars at the right.",
        {"first": 1, "second": 2, "third": 7},
    ),
    Step(
        "Weights 1, 2, 3. Make each twice as large: 2, 4, 6.",
        "Where does the triangle go?",
        ("to the left", "it stays", "to the right"),
        1,
        "Only the shares count, and 2 of 12 is the same share as 1 of 6.",
        "Compare the average before and after all three changes.",
        {"first": 1, "second": 2, "third": 3},
        moves=("first", "second", "third"),
    ),
    Step(
        "cat and mat weigh the same, so the average is 5. Now raise sat, whose number is 5.",
        "Does the average change?",
        ("it rises", "it falls", "it stays at 5"),
        2,
        "A word whose number is the average pulls to neither side.",
        "Watch the triangle while you drag the middle bar.",
        {"first": 3, "second": 0, "third": 3},
        moves=("second",),
    ),
    Step(
        "All the weight is on mat. Try to push the triangle beyond 9.",
        "Can any weights do it?",
        ("yes", "no"),
        1,
        "With such weights an average stays between the smallest number and the largest.",
        "Raise the other two bars: which way does the triangle go?",
        {"first": 0, "second": 0, "third": 10},
        moves=("first", "second", "third"),
    ),
    Step(
        "Now break it: only sat has weight. Drag its bar down to 0.",
        "What is the average then?",
        ("0", "5", "there is none"),
        2,
        "The total weight is 0, and nothing can be divided by 0.",
        "Read the gray line: what is divided by what?",
        {"first": 0, "second": 1, "third": 0},
        moves=("second",),
    ),
    Step(
        "Attention is such an average: the token that reads gives each word a score, and softmax makes weights of "
        "them, which add up to 1.",
        "Which weights that add up to 1 have the same average as 1, 2, 7?",
        ("0.7, 0.2, 0.1", "0.33, 0.33, 0.33", "0.1, 0.2, 0.7"),
        2,
        "They are the shares of 1, 2, 7. AttentionExplorer shows where the scores come from.",
        "Read the shares at the end of the three rows of “Products”.",
        {"first": 1, "second": 2, "third": 7},
    ),
)
