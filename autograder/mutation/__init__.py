"""Mutation testing of the exercises: does every small mistake in a right answer fail?

Right answers (the solution in the text, and the alternatives of the spec) are changed in one place, by operators that
programmers know and by those of the field: a lost keepdim, an eps outside the root, a result that is detached. Each
changed answer is judged on the public cases and on freshly drawn ones. What passes is a survivor: either a case is
missing, or the change is no mistake; then ``equivalent`` in the spec says why, in a line.

Run ``python -m autograder.mutation --unit 02-normalization`` (``make mutate UNIT=…``); see ``__main__``.
"""
