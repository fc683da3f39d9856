"""Templates for the files of a new exercise: complete, with a marker at each place that the author must fill in."""

MARK = "TODO(author)"

# Names of the mistakes in a new spec: placeholders, which the author must replace like the markers.
MISTAKES = ("first_mistake", "second_mistake", "third_mistake")

SPEC = '''"""TODO(author): what this exercise asks for, in a sentence."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call


def {target}(x):
    """TODO(author): what it computes, with shapes, or import it from autograder.reference."""
    raise NotImplementedError("TODO(author): the right answer, correct in float64 too")


EXERCISE = Exercise(
    id="{id}",
    title="TODO(author): a title of a few words",
    points=1,
    difficulty=1,
    minutes=5,
{extension}    reference={target},
    alternatives=[
        lambda x: x,  # TODO(author): a right answer written differently
    ],
    cases=[
        Case(
            "small",
            "TODO(author): what the smallest case shows, with its numbers",
            lambda g: call(torch.tensor([-1.0, 0.0, 2.0])),
        ),
        Case(
            "random",
            "TODO(author): what random inputs show; g draws them, in grading for each submission anew",
            lambda g: call(g.randn(3, 4)),
            weight=2,
        ),
        Case(
            "gradients",
            "TODO(author): what is trained through the result; leave this case out where nothing is",
            lambda g: call(g.randn(3, 4, dtype=torch.float64), grad=[0]),
        ),
    ],
    mutants=changes(
        {target},
        """
first_mistake: raise → return x  #
    TODO(author): a mistake that learners really make, and what to look at. Left of the arrow stands a piece of the
    right answer, right of it what these learners write.
second_mistake: raise → return -x  #
    TODO(author): another one.
third_mistake: raise → return 2 * x  #
    TODO(author): a third one.
""",
    ),
)
'''

SECTION = """# %% [markdown]
# ## {number}Extension: TODO(author): a heading
#
# TODO(author): what a learner has to know before the exercise. At most 100 words; a second cell may follow.

"""

PARTS = {
    "statement": """# %% [markdown] statement="{id}"
# TODO(author): what to write, with shapes, said once; title, minutes and points come from the spec.
""",
    "exercise": '''# %% exercise="{id}"
def {target}(x):
    """TODO(author): shapes, errors and the source paper."""
    ### BEGIN SOLUTION
    raise NotImplementedError("TODO(author): the answer; learners get this cell without it")
    ### END SOLUTION
''',
    "hints": """# %% [markdown] hints="{id}"
# 1. TODO(author): a nudge.
# 2. TODO(author): a plan.
# 3. TODO(author): nearly code.
""",
    "worth": """# %% [markdown] worth="{id}"
# TODO(author): one or two sentences worth knowing, shown when the check passes. 5 to 60 words.
""",
}
