"""The steps of SamplingExplorer."""

from ..tools.story import Step
from ..tools.words import N_

_PLAIN = {"prompt": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}

STORY = (
    Step(
        N_("Lower the temperature step by step to 0. Point at a bar to see how its number is computed."),
        N_("Which token is left at temperature 0?"),
        (N_("the one with the largest logit"), N_("a random one"), N_("all ten share alike")),
        0,
        N_("Dividing by a small number widens the gaps between logits, until one token has everything: greedy."),
        N_("Look at the longest bar at temperature 0."),
        _PLAIN,
        moves=("temperature",),
    ),
    Step(
        N_("Now raise the temperature to 4 and watch the bar at the bottom, all other tokens together."),
        N_("How probable are the tokens beyond the ten, taken together?"),
        (N_("more than nine tenths"), N_("about a half"), N_("less than a tenth")),
        0,
        N_("Each is unlikely, but there are more than a thousand: together they win, and the text falls apart."),
        N_("Read the number of the last bar at temperature 4."),
        _PLAIN,
        moves=("temperature",),
    ),
    Step(
        N_("Set top-k to 5 at temperature 1 and go through the three prompts."),
        N_("How many tokens can come after “I do not know wh”, where the model is nearly sure?"),
        (N_("five, as after every prompt"), N_("one"), N_("all of them")),
        0,
        N_("Top-k keeps the same number everywhere, whether the model is sure or not."),
        N_("Read how many tokens can come."),
        _PLAIN | {"top_k": 5},
        moves=("prompt",),
    ),
    Step(
        N_("Take top-k away, set top-p to 0.9 and go through the three prompts again."),
        N_("Which cut keeps more tokens where the model is unsure?"),
        (N_("top-p"), N_("top-k"), N_("both the same")),
        0,
        N_("Top-p keeps as many as it takes to reach 0.9: one where the model is sure, dozens where it is not."),
        N_("Compare how many tokens can come after “She was” and after “I do not know wh”."),
        _PLAIN | {"top_p": 0.9},
        moves=("prompt",),
    ),
)
