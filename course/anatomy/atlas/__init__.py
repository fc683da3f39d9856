"""The atlas: the architectures of released Transformers, each value with its source.

``models.json`` holds one row for each model. ``find("llama-2-7b")`` returns a row, ``configuration("llama-2-7b")`` the
argument of unit 11's ``Decoder(c)``, ``difference(a, b)`` describes in words how two models differ,
``against_published(name, build)`` counts the parameters of your own model without allocating them.
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
