"""Wrong answers as learners write them, a module per unit: the source of an answer cell, and what its message must say.

``python -m autograder.messages --examples`` prints what a learner reads for each. A cell runs with torch, math, nn, F
and the reference answers of its unit's earlier exercises. Each module's ``WRONG_ANSWERS`` lists (title, exercise,
source of the answer cell, phrases that the text must contain).
"""
