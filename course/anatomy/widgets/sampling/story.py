"""The steps of SamplingExplorer."""

from ..tools.story import Step
from ..tools.words import N_

_PLAIN = {"prompt": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}

STORY = (
    Step(
        N_("Lower the temperature step by step to 0. Point at a bar to see how its number is computed."),
        N_("Which token is left at temperature 0?"),
        (N_("a random one"), N_("the one with the largest score"), N_("all ten share alike")),
        1,
        N_(
            "Dividing by a small number widens the gaps between scores (logits), until one token has everything: "
            "greedy."
        ),
        N_("Look at the longest bar at temperature 0."),
        _PLAIN,
        moves=("temperature",),
        show=({"temperature": 0.5}, {"temperature": 0.25}, {"temperature": 0.0}),
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
        without=("sum",),
    ),
    Step(
        N_("Top-k is 5: only the five likeliest tokens stay. The small charts show it after each of the three texts."),
        N_("How many tokens can come after “I do not know wh”, where the model is nearly sure?"),
        (N_("one"), N_("five"), N_("all of them")),
        1,
        N_("Top-k keeps the same number everywhere, whether the model is sure or not."),
        N_("Count the bars in its small chart, and read the number above them."),
        _PLAIN | {"top_k": 5},
        moves=("prompt",),
        show=({"prompt": 1}, {"prompt": 2}),
        waits=("line", "signs"),
        without=("sum",),
    ),
    Step(
        N_("Now top-p is 0.9: tokens stay until their sum, uncut, reaches 0.9. Compare the charts."),
        N_("Which cut keeps more tokens where the model is unsure?"),
        (N_("top-k"), N_("both the same"), N_("top-p")),
        2,
        N_("Top-p keeps as many as it takes to reach 0.9: 1 where the model is sure, 188 after “She was”."),
        N_("Above the chart of “She was”, compare how many can come now with how many top-k left."),
        _PLAIN | {"top_p": 0.9},
        moves=("prompt",),
        show=({"prompt": 2}, {"prompt": 1}),
        without=("sum",),
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
    ),
    Step(
        N_("Top-p is 0.5. Move a dial, and the draws begin anew. Press “Draw 100” as often as you like."),
        N_("How often is “·good” drawn?"),
        (N_("as often as all others"), N_("seldom, but sometimes"), N_("never")),
        2,
        N_("The cut has made its probability exactly 0, and what is left was scaled up to 1 again."),
        N_("Read the numbers beside the bar of “·good”."),
        _PLAIN | {"top_p": 0.5},
        show=({"drawn": 100}, {"drawn": 1000, "token": 9}),
    ),
)
