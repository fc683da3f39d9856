"""The course's settings: an instructor sets them in nbgrader_config.py, like ``c.Grading.attempts = "best"``."""

from collections.abc import Iterator

from anatomy.system.translation import ENGLISH, languages
from traitlets import Bool, Dict, Enum, Float, List, TraitError, TraitType
from traitlets.config import Config, Configurable


class Grading(Configurable):
    """The course's own settings. nbgrader's settings are in the same file, under nbgrader's classes."""

    attempts = Enum(
        ("last", "best"),
        "last",
        help="Which of a student's submissions of a unit counts: the last one, or the one with the most points.",
    ).tag(config=True)

    extensions = Enum(
        ("extra", "capped", "separate"),
        "extra",
        help="Points of extensions in `make export`: extra, so that a unit may have more than its maximum; capped, so "
        "that they make up for lost points up to the maximum; or separate, in a column of their own.",
    ).tag(config=True)

    follow_through = Bool(
        False,
        help="Where an exercise fails only because an earlier answer of the same notebook is missing or wrong, run it "
        "once more with the values of the course's own function in that place, and count what it then earns.",
    ).tag(config=True)

    written_answers = Bool(
        False,
        help="The written question of each unit has points, which a person gives in the formgrader. Off: it has none, "
        "and nothing waits for a person.",
    ).tag(config=True)


class Course(Configurable):
    """What of the course a class is asked for; ``autograder.notebooks.own_course`` applies it."""

    units = List(help="The units that students receive, in the order of your course; all of them if it is empty.").tag(
        config=True
    )

    points = Dict(
        help="Points of exercises that are worth something else in your course, by id; with 0 one is not asked for."
    ).tag(config=True)


class Class(Configurable):
    """The class as a whole: what is handed out to it, and what it gets back."""

    language = Enum(
        tuple(languages()),
        ENGLISH,
        help="Language of the notebooks and packages that are handed out, of the pages of submissions that name no "
        "language themselves, and of the class report.",
    ).tag(config=True)


class Release(Configurable):
    """What learners receive."""

    answers = Enum(
        ("wheel", "all", "none"),
        "wheel",
        help="Which packages hold the whole answers that a learner may look up after three hints and five tries: only "
        "the wheel, for learners by themselves; all, also the student package of `make release`; or none.",
    ).tag(config=True)


def refused(config: Config, *kinds: type[Configurable]) -> Iterator[str]:
    """One sentence for each invalid value that nbgrader_config.py gives to a setting of these classes."""
    for kind in kinds:
        for name, trait in kind.class_traits(config=True).items():
            given = config.get(kind.__name__, {})
            if name not in given:
                continue
            try:
                kind(config=Config({kind.__name__: {name: given[name]}}))
            except TraitError:
                what = repr(given[name])
                what = what if len(what) <= 60 else what[:59] + "…"
                yield f"nbgrader_config.py: c.{kind.__name__}.{name} is {what}; it can be {_allowed(trait)}."


def _allowed(trait: "TraitType[object, object]") -> str:
    if isinstance(trait, Enum):
        return " or ".join(map(repr, trait.values or ()))
    return {Bool: "True or False", Float: "a number", List: "a list", Dict: "a dict"}.get(type(trait), trait.info())
