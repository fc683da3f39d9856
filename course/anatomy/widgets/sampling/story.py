"""The steps of SamplingExplorer."""

from ..tools.story import Step
from ..tools.words import N_

_PLAIN = {"prompt": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}

STORY = (
    Step(
        N_("Lower the temperature step by step to 0. Point at a bar to see how its number is computed."),
        N_("Which token is left at temperature 0?"),
        (N_("a random one"), N_("the likeliest one"), N_("all ten, equally")),
        1,
        N_(
            "The temperature divides the model’s scores (logits). A small one widens their gaps, until one token has "
            "everything: greedy decoding."
        ),
        N_("Look at the longest bar at temperature 0."),
        _PLAIN,
        moves=("temperature",),
        show=({"temperature": 0.5}, {"temperature": 0.25}, {"temperature": 0.0}),
        without=("top_k", "top_p", "draw"),
    ),
    Step(
        N_("Now raise the temperature to 4 and watch the bar at the bottom, all other tokens together."),
        N_("How probable are the tokens beyond the ten, taken together?"),
        (N_("less than a tenth"), N_("about a half"), N_("more than nine tenths")),
        2,
        N_("Each is unlikely, but there are more than a thousand: together they win, and most draws would be of them."),
        N_("Read the number of the last bar at temperature 4."),
        _PLAIN,
        moves=("temperature",),
        show=({"temperature": 2.0}, {"temperature": 4.0}),
        without=("top_k", "top_p", "draw", "sum"),
    ),
    Step(
        N_("Top-k cuts all but the k likeliest tokens. Turn it down to 5, and watch “·gl”, now 0.348."),
        N_("What becomes of the probabilities of the five that stay?"),
        (N_("they stay as they were"), N_("all become equal"), N_("all grow by one factor")),
        2,
        N_("What is left is divided by its sum, so that it adds up to 1 again: “·gl” grows from 0.348 to 0.513."),
        N_("Read the number of “·gl” with top-k at all and at 5."),
        _PLAIN,
        moves=("top_k",),
        show=({"top_k": 10}, {"top_k": 5}, {"top_k": 0}, {"top_k": 5}),
        without=("temperature", "top_p", "draw"),
    ),
    Step(
        N_(
            "Top-p keeps the likeliest tokens until their probabilities add up to it (dotted line). Guess from the "
            "small charts, then turn it to 0.9."
        ),
        N_("After which text does it keep most tokens?"),
        (N_("“I am very”"), N_("“She was”"), N_("“I do not know wh”")),
        1,
        N_(
            "Where the model is unsure, reaching 0.9 takes many tokens: 188. Where it is nearly sure, one is enough. "
            "Top-k keeps 5 after each text."
        ),
        N_("Turn top-p to 0.9, and read in the small charts how many tokens can come."),
        _PLAIN | {"prompt": 2},
        moves=("prompt", "top_p"),
        show=({"top_p": 0.99}, {"top_p": 0.9}, {"prompt": 1}),
        without=("temperature", "draw", "sum"),
    ),
    Step(
        N_(
            "“Draw” drops a random number on the strip, where each token is as wide as its probability. The lower bars "
            "count the draws: press “Draw 100” several times."
        ),
        N_("What do the lower bars do?"),
        (
            N_("they stay as far away"),
            N_("they come closer to the upper bars"),
            N_("the first one takes all"),
        ),
        1,
        N_("A single draw is chance. Of many draws, each token gets about the share that its probability says."),
        N_("Compare the two bars of each token after one press and after ten."),
        _PLAIN,
        show=({"drawn": 1}, {"drawn": 100}, {"drawn": 500}, {"drawn": 1000}),
        without=("top_k", "top_p"),
    ),
    Step(
        N_("At top-p 0.5, “·gl” (now 0.348) and “·sure” (0.177) are left. Guess, then turn top-p to 0.5 and draw."),
        N_("How often is “·gl” then drawn in 1,000 draws?"),
        (N_("about 350 times"), N_("about 500 times"), N_("about 660 times")),
        2,
        N_("Draws follow the probabilities after the cut. A token that is cut has exactly 0 and is never drawn."),
        N_("At top-p 0.5, press “Draw 100” ten times, and read how often “·gl” was drawn."),
        _PLAIN,
        moves=("top_p",),
        show=({"top_p": 0.5}, {"drawn": 100}, {"drawn": 1000, "token": 0}),
    ),
)
