"""A page for each exercise whose check can be pressed without installing anything."""

from anatomy.program import units
from anatomy.system.translation import ENGLISH, language, said, speaking

from autograder.languages import catalogues
from autograder.site import press

from ..words import _


def pages() -> dict[str, str]:
    """The pages, in the language in use where the exercise's unit is translated, else in English."""
    return {chosen.page: _page(chosen) for chosen in press.CHOSEN}


def _page(chosen: press.Chosen) -> str:
    spoken = catalogues.path_of(language(), chosen.unit).exists()
    with speaking(language() if spoken else ENGLISH):
        return _text(chosen)


def _text(chosen: press.Chosen) -> str:
    unit, exercise = units.exercise(chosen.id)
    title = _("Press check: {title}").format(title=said(chosen.id, exercise["title"]))
    lead = _(
        "Here are answers to an exercise of [unit {number}]({unit}), some right and some wrong. Choose one, read it, "
        "and guess what the check will say. Then press *Check*. The verdict is the package's own, and the widget below "
        "it shows what that answer computes."
    ).format(number=unit[:2], unit=f"../units/{unit}.ipynb")
    given = ""
    if chosen.given:
        names = ", ".join(f"`{name}`" for name in chosen.given)
        given = _("An answer may call {names}, from an earlier exercise; here it is right.").format(names=names)
    return f"# {title}\n\n{lead}\n\n{given}\n\n{{{{press:{chosen.id}}}}}\n"
