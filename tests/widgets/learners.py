"""A function that is not written yet, as a stub leaves it."""


def unfinished(*args, **kwargs):
    raise NotImplementedError("write me")
