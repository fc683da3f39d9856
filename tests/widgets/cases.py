"""Every widget, with a right function for it and the controls that a learner can reach."""

from anatomy.widgets import (
    AttentionExplorer,
    MixExplorer,
    PermutationExplorer,
    RopeExplorer,
    WavelengthExplorer,
)

from .learners import right_attention, right_average, right_frequencies, right_rope

# widget → (function, [(role, accessible name, trait, key that moves it)])
WIDGETS = {
    RopeExplorer: (right_rope, [
        ("slider", "query position m", "m", "ArrowRight"),
        ("slider", "key position n", "n", "ArrowLeft"),
        ("slider", "base of the angles", "base", "ArrowRight"),
        ("slider", "head dimension D", "dim", "ArrowLeft"),
    ]),
    MixExplorer: (right_average, [
        ("slider", "weight of cat", "first", "ArrowRight"),
        ("slider", "weight of sat", "second", "ArrowLeft"),
        ("slider", "weight of mat", "third", "End"),
    ]),
    WavelengthExplorer: (right_frequencies, [
        ("slider", "context length", "context", "PageUp"),
        ("slider", "base of the angles", "base", "ArrowUp"),
        ("slider", "head dimension D", "dim", "ArrowLeft"),
        ("slider", "plane to read i", "plane", "ArrowRight"),
    ]),
    AttentionExplorer: (right_attention, [
        ("slider", "query token", "query", "ArrowLeft"),
        ("combobox", "sentence", "sentence", "ArrowDown"),
        ("slider", "head", "head", "ArrowRight"),
        ("group", "scale of q·k", "scale", "ArrowRight"),
        ("group", "mask", "mask", "ArrowDown"),
    ]),
    PermutationExplorer: (right_attention, [
        ("slider", "order of the words", "order", "ArrowRight"),
        ("slider", "word to follow", "word", "Home"),
        ("group", "positions", "positions", "ArrowRight"),
    ]),
}

def make(widget, **state):
    return widget(WIDGETS[widget][0], **state)


def find(page, role, name):
    """The control itself; of radio buttons the one that is chosen, which is where the tab key lands."""
    control = page.get_by_role(role, name=name, exact=True)
    return control.locator("input:checked") if role == "group" else control
