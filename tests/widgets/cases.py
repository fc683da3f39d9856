"""Every widget as a learner meets it: right functions for it, stubs, and the controls that can be reached."""

import functools
from dataclasses import dataclass

from anatomy.widgets import (
    ActivationExplorer,
    AttentionExplorer,
    CacheCalculator,
    CacheStepper,
    GradientFlowExplorer,
    MaskExplorer,
    MixExplorer,
    NormExplorer,
    ObjectiveLab,
    PermutationExplorer,
    PositionExplorer,
    RopeExplorer,
    SoftmaxStabilityExplorer,
    SparseExplorer,
    WavelengthExplorer,
)
from anatomy.widgets.mask_scenes import KINDS as MASK_KINDS
from anatomy.widgets.position import NAMES as POSITION_NAMES
from anatomy.widgets.sparse_scenes import KINDS as SPARSE_KINDS
from anatomy.widgets.sparse_scenes import LAYERS

from autograder.recording.widgets import MASKS, OBJECTIVES, PATTERNS

from .cache_learners import right_bytes, right_step, right_turning
from .gradient_learners import WIRED
from .learners import right_attention, right_average, right_frequencies, right_rope, unfinished
from .position_learners import POSITIONS
from .several_learners import ACTIVATIONS, NORMS
from .stability_learners import RIGHT as STABLE


@dataclass(frozen=True)
class Case:
    """A widget, the arguments that hold right functions, and its controls.

    controls: (role, accessible name, trait, key that moves it[, state in which it can be moved])
    silent: traits that change the picture and leave the readout as it is
    crowded: states in which the drawing has the most to show
    drawn: the texts that must not overlap (letters at the tips of arrows may)
    """

    widget: type
    given: tuple
    controls: list
    silent: tuple = ()
    crowded: tuple = ({},)
    drawn: str = ".ta-svg text"

    def make(self, **state):
        return self.widget(*self.given, **state)

    @functools.cached_property
    def usual(self):
        """The widget in its first state, made once: the page has its own copy of the state."""
        return self.make()

    def stubs(self, **state):
        """The widget with functions that are not written yet."""
        given = self.given[0]
        return self.widget(dict.fromkeys(given, unfinished) if isinstance(given, dict) else unfinished, **state)


RUN = {"grow": "as in a training run", "step": 4}
UNLABELED = ".ta-svg text:not(.ta-strong)"
CASES = {
    case.widget.__name__: case
    for case in [
        Case(
            RopeExplorer,
            (right_rope,),
            [
                ("slider", "query position m", "m", "ArrowRight"),
                ("slider", "key position n", "n", "ArrowLeft"),
                ("slider", "base of the angles", "base", "ArrowRight"),
                ("slider", "head dimension D", "dim", "ArrowLeft"),
            ],
            drawn=UNLABELED,
        ),
        Case(
            MixExplorer,
            (right_average,),
            [
                ("slider", "weight of cat", "first", "ArrowRight"),
                ("slider", "weight of sat", "second", "ArrowLeft"),
                ("slider", "weight of mat", "third", "End"),
            ],
            drawn=UNLABELED,
        ),
        Case(
            WavelengthExplorer,
            (right_frequencies,),
            [
                ("slider", "context length", "context", "PageUp"),
                ("slider", "base of the angles", "base", "ArrowUp"),
                ("slider", "head dimension D", "dim", "ArrowLeft"),
                ("slider", "plane to read i", "plane", "ArrowRight"),
            ],
            drawn=UNLABELED,
        ),
        Case(
            AttentionExplorer,
            (right_attention,),
            [
                ("slider", "query token", "query", "ArrowLeft"),
                ("combobox", "sentence", "sentence", "ArrowDown", {"mask": "causal"}),
                ("slider", "head", "head", "ArrowRight"),
                ("group", "scale of q·k", "scale", "ArrowRight"),
                ("group", "mask", "mask", "ArrowDown"),
            ],
            drawn=UNLABELED,
        ),
        Case(
            PermutationExplorer,
            (right_attention,),
            [
                ("slider", "order of the words", "order", "ArrowRight"),
                ("slider", "word to follow", "word", "Home"),
                ("group", "positions", "positions", "ArrowRight"),
            ],
            drawn=UNLABELED,
        ),
        Case(
            NormExplorer,
            (NORMS,),
            [
                ("slider", "scale", "scale", "ArrowRight"),
                ("slider", "shift", "shift", "ArrowLeft"),
                ("slider", "ε", "eps", "End"),
            ],
            drawn=UNLABELED,
        ),
        Case(
            GradientFlowExplorer,
            (WIRED,),
            [
                ("combobox", "wiring", "wiring", "ArrowDown"),
                ("combobox", "compare with", "other", "ArrowDown"),
                ("slider", "number of layers", "depth", "ArrowRight"),
                ("slider", "width d", "width", "ArrowRight"),
                ("slider", "seed", "seed", "ArrowRight"),
            ],
            crowded=({}, {"wiring": 4, "depth": 96}),
        ),
        Case(
            ActivationExplorer,
            (ACTIVATIONS,),
            [
                ("combobox", "activation", "activation", "ArrowDown"),
                ("slider", "input x", "place", "ArrowRight"),
                ("slider", "β of swish", "beta", "ArrowLeft", {"activation": "swish"}),
                ("slider", "value branch", "value", "Home"),
                ("slider", "shift of all units", "shift", "ArrowRight", {"activation": "relu", "shift": -4}),
            ],
            drawn=UNLABELED,
        ),
        Case(
            PositionExplorer,
            (POSITIONS,),
            [
                ("combobox", "scheme", "scheme", "ArrowDown"),
                ("slider", "variant", "variant", "ArrowRight"),
                ("slider", "query position", "query", "ArrowLeft"),
            ],
            crowded=tuple({"scheme": i} for i in range(len(POSITION_NAMES))),
        ),
        Case(
            MaskExplorer,
            (MASKS,),
            [
                ("combobox", "mask", "mask", "ArrowDown"),
                ("slider", "query", "query", "ArrowRight"),
                ("slider", "size", "size", "ArrowLeft", {"mask": "prefix LM", "size": 5}),
                ("slider", "layers", "layers", "End"),
            ],
            crowded=tuple({"mask": i} for i in range(len(MASK_KINDS))),
        ),
        Case(
            ObjectiveLab,
            (OBJECTIVES,),
            [
                ("combobox", "objective", "objective", "ArrowDown"),
                ("slider", "place", "place", "ArrowRight"),
                ("slider", "random draw", "draw", "End", {"objective": "blank_infilling"}),
            ],
            crowded=tuple({"objective": i} for i in range(len(OBJECTIVES))),
        ),
        Case(
            CacheCalculator,
            (right_bytes,),
            [
                ("combobox", "model", "model", "ArrowDown"),
                ("combobox", "attention", "kind", "ArrowDown"),
                ("combobox", "layers", "stack", "End"),
                ("combobox", "GPU", "gpu", "ArrowUp"),
                ("slider", "tokens per user", "tokens", "ArrowRight"),
                ("slider", "users", "users", "ArrowLeft"),
                ("group", "bytes per number", "itemsize", "ArrowRight"),
            ],
            crowded=({}, {"users": 1024}, {"model": 11, "users": 1}, {"model": 13, "gpu": 5, "users": 8}),
        ),
        Case(
            CacheStepper,
            (right_step, right_turning),
            [
                ("group", "look at", "view", "ArrowRight"),
                ("combobox", "chunk plan", "plan", "ArrowDown"),
                ("checkbox", "5", "plan", "Space"),
                ("slider", "step", "step", "ArrowRight"),
                ("group", "store", "store", "ArrowRight"),
                ("group", "positions", "origin", "ArrowRight", {"view": 1, "step": 2}),
            ],
            crowded=(
                {},
                {"store": 1, "plan": [1] * 8, "step": 7},
                {"store": 2, "plan": [8], "step": 0},
                {"view": 1, "origin": 1, "store": 2, "plan": [5, 3], "step": 1},
            ),
        ),
        Case(
            SparseExplorer,
            (PATTERNS,),
            [
                ("combobox", "pattern", "pattern", "ArrowDown"),
                ("slider", "size", "size", "ArrowRight"),
                ("slider", "query", "query", "ArrowLeft"),
                ("slider", "layers", "layers", "ArrowRight"),
            ],
            crowded=tuple({"pattern": i, "layers": n} for i in range(len(SPARSE_KINDS)) for n in (1, LAYERS)),
        ),
        Case(
            SoftmaxStabilityExplorer,
            (STABLE,),
            [
                ("group", "scores grow", "grow", "ArrowRight"),
                ("slider", "factor", "factor", "ArrowLeft"),
                ("slider", "step of the run", "step", "ArrowRight", RUN),
                ("slider", "soft cap c", "cap", "ArrowLeft"),
                ("slider", "gain of QK-norm", "gain", "ArrowRight"),
                ("slider", "λ of z-loss", "coefficient", "End"),
                ("group", "curves show", "quantity", "ArrowRight"),
            ],
            silent=("coefficient", "quantity"),
            crowded=({}, {"factor": 36, "coefficient": 1.0, "gain": 8.0}, {**RUN, "step": 19}),
        ),
    ]
}


def find(page, role, name):
    """The control itself; of radio buttons the one that is chosen, which is where the tab key lands."""
    control = page.get_by_role(role, name=name, exact=True)
    return control.locator("input:checked") if role == "group" else control


def settle(page):
    """Two frames: one for the drawing that was asked for, one for it to be on the screen."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def trait(page, name):
    return page.evaluate("(name) => model.get(name)", name)


def said(page):
    """What a screen reader hears."""
    return page.locator(".ta [aria-live=polite]").text_content()


def words(page):
    """The verdicts beside the numbers."""
    return page.locator(".ta-word").all_text_contents()
