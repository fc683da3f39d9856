"""The steps of MixExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Each word has a value: cat 1, sat 5, mat 9. Its bar has a block for each unit of its weight. The triangle is "
        "the average of all blocks: drag the top of a bar.",
        "Raise cat’s weight from 1 to 2: where does the triangle go?",
        ("to the left", "it stays", "to the right"),
        0,
        "2 of 11 blocks are cat’s, where 1 of 10 was: from 7.4 the average falls to 6.8.",
        "Drag the first bar from 1 to 2.",
        {"first": 1, "second": 2, "third": 7},
        moves=("first",),
        show=({"first": 2},),
    ),
    Step(
        "Weights 1, 1, 2. Make each twice as large: 2, 2, 4.",
        "Where does the triangle go?",
        ("to the left", "it stays", "to the right"),
        1,
        "Only the shares count, and 2 of 8 is the same share as 1 of 4.",
        "The dotted triangle stays where the average began: change all three weights, then compare.",
        {"first": 1, "second": 1, "third": 2},
        moves=("first", "second", "third"),
        show=({"first": 2}, {"second": 2}, {"third": 4}),
    ),
    Step(
        "cat and mat weigh the same. Now give weight to sat, more and more.",
        "What does the average do?",
        ("it rises", "it falls", "it stays"),
        2,
        "sat’s value, 5, is the average already: a word at the triangle pulls to neither side.",
        "Drag the middle bar: does the triangle leave its dotted outline?",
        {"first": 3, "second": 0, "third": 3},
        moves=("second",),
        show=({"second": 3}, {"second": 6}, {"second": 10}),
    ),
    Step(
        "All the weight is on mat. Try to push the triangle beyond 9.",
        "Can any weights do it?",
        ("yes", "no"),
        1,
        "Weights are never negative here, so an average stays between the smallest value and the largest.",
        "Raise the other two bars: which way does the triangle go?",
        {"first": 0, "second": 0, "third": 10},
        moves=("first", "second", "third"),
        show=({"first": 4}, {"second": 6}),
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
        show=({"second": 0},),
    ),
    Step(
        "Attention is such an average: the token that reads gives each word a score, and softmax makes weights of "
        "them, which add up to 1.",
        "Which weights that add up to 1 have the same average as 2, 4, 4?",
        ("0.4, 0.4, 0.2", "0.3, 0.3, 0.4", "0.2, 0.4, 0.4"),
        2,
        "They are the shares of 2, 4, 4. AttentionExplorer shows where the scores come from.",
        "Read the three shares in the table: weight ÷ total.",
        {"first": 2, "second": 4, "third": 4},
        waits=("line", "numbers"),
    ),
)
