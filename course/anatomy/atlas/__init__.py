"""The atlas: what released Transformers are made of, each value with its source.

``models.json`` holds one row for each model. ``find("llama-2-7b")`` gives one, ``configuration("llama-2-7b")`` what
``Decoder(c)`` of unit 11 takes, ``difference(a, b)`` tells two apart in words, ``count(name, build)`` counts the
parameters of a model of yours without allocating them.
"""

from .counting import Count, closed_form, count
from .rows import NoConfiguration, Row, UnknownModel, configuration, find, lacking, models
from .words import difference, words

__all__ = [
    "Count",
    "NoConfiguration",
    "Row",
    "UnknownModel",
    "closed_form",
    "configuration",
    "count",
    "difference",
    "find",
    "lacking",
    "models",
    "words",
]
