"""TemperatureExplorer with a right function, and its control."""

from anatomy.widgets import TemperatureExplorer

from ..case import Case


def right_softmax(x, dim):
    e = x.exp()
    return e / e.sum(dim, keepdim=True)


CASE = Case(TemperatureExplorer, (right_softmax,), [("slider", "temperature", "temperature", "ArrowRight")])
