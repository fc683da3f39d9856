"""Facts from the published configurations of named models: counts and behavior, recorded with transformers' classes."""

from collections.abc import Sequence
from typing import Any

from ..system.columns import aligned
from ..system.labels import label
from ..system.translation import _
from . import recorded as _recorded


def recorded() -> dict[str, dict[str, Any]]:
    """Returns model → its facts in ``assets/experiments/named_models.json``, merged with the findings of its ``probe``.

    ``published`` parameters and their ``source``, ``counted`` ones, ``layers``, ``norm`` and so on. Raises
    MissingRecording if the file is missing.
    """
    models = _recorded("named_models")["models"]
    return {name: {**model, **model.get("probe", {})} for name, model in models.items()}


def table(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Lines of text, one per model under a line of headings, aligned: ``print(*table(…), sep="\\n")``.

    Args:
        names: models, as ``recorded()`` calls them. columns: facts to show of each; a dash where a model does not have
            that fact.

    Raises:
        KeyError: a model that was not recorded, or a column that no recorded model has.
    """
    models = recorded()
    for column in columns:
        if not any(column in model for model in models.values()):
            raise KeyError(f"no model says anything about {column!r}")
    rows = [[_("model"), *(label(c.replace("_", " ")) for c in columns)]]
    rows += [[name, *(_shown(models[name].get(column)) for column in columns)] for name in names]
    # Numbers are aligned to the right, words to the left.
    right = [
        all(
            isinstance(models[n].get(c), (int, float, type(None))) and not isinstance(models[n].get(c), bool)
            for n in names
        )
        for c in columns
    ]
    return aligned(rows, [False, *right])


def _shown(value):
    match value:
        case None:
            return "–"
        case bool():
            return _("yes") if value else _("no")
        case int():
            return f"{value:,}"
        case _:
            return label(str(value))
