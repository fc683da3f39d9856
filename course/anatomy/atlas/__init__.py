"""The atlas: what released Transformers are made of, each value with its source.

``models.json`` holds one row for each model. ``find("llama-2-7b")`` gives one, ``configuration("llama-2-7b")`` what
``Decoder(c)`` of unit 11 takes, ``difference(a, b)`` tells two apart in words, ``against_published(name, build)``
counts the parameters of a model of yours without allocating them.
"""

from .counting import Count, against_published, closed_form
from .rows import NoConfiguration, Row, UnknownModel, configuration, find, lacking, models
from .words import difference, words

__all__ = [
    "Count",
    "NoConfiguration",
    "Row",
    "UnknownModel",
    "closed_form",
    "configuration",
    "against_published",
    "difference",
    "find",
    "lacking",
    "models",
    "words",
]
