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
        show=({"temperature": 0.5}, {"temperature": 0.25}, {"temperature": 0.0}),
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
        show=({"temperature": 2.0}, {"temperature": 4.0}),
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
        show=({"prompt": 1}, {"prompt": 2}),
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
        show=({"prompt": 2}, {"prompt": 1}),
    ),
    Step(
        N_("Press “Draw 100” several times. The lower bars show how often each token was drawn."),
        N_("What do the lower bars do?"),
        (
            N_("they come closer to the upper bars"),
            N_("they stay as far away"),
            N_("the first one takes all"),
        ),
        0,
        N_("A single draw is chance. Of many draws, each token gets about the share that its probability says."),
        N_("Compare the two bars of each token after one press and after ten."),
        _PLAIN,
        show=({"drawn": 100}, {"drawn": 200}, {"drawn": 500}, {"drawn": 1000}),
    ),
    Step(
        N_("Top-p is 0.7. Move a dial, and the draws begin anew. Press “Draw 100” as often as you like."),
        N_("How often is “·good” drawn?"),
        (N_("never"), N_("seldom, but sometimes"), N_("as often as all others")),
        0,
        N_("The cut has made its probability exactly 0, and what is left was scaled up to 1 again."),
        N_("Read the numbers beside the bar of “·good”."),
        _PLAIN | {"top_p": 0.7},
        show=({"drawn": 100}, {"drawn": 1000, "token": 9}),
    ),
)
