"""A function that is not written yet, like the stub of an exercise."""


def unfinished(*args, **kwargs):
    raise NotImplementedError("write me")
