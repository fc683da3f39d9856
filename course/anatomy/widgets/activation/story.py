"""The steps of ActivationExplorer."""

from ..tools.story import Step

_USUAL = {
    "activation": 0,
    "beta": 1.0,
    "place": 60,
    "value": 1.5,
    "shift": -2,
    "look": "gate and units",
    "w1": 2,
    "w2": -4,
    "w3": 3,
}
_WEIGHTS = ("w1", "w2", "w3")

STORY = (
    Step(
        "Each unit of a layer draws the bent line f, shifted, times its weight: the number on its grip. Three of them "
        "add up to the thick line. β says how sharply f bends.",
        "Move β to 0: f is straight. Drag the grips. What can the sum be now?",
        ("a line with corners", "only a straight line", "only 0"),
        1,
        "At β = 0, f is x/2, and straight lines add up to a straight line: without a bend, two layers do no more than "
        "one.",
        "Move β to its left end, then drag the grips: does the thick line ever turn?",
        {**_USUAL, "activation": 6, "beta": 20.0, "place": 90, "look": "two layers"},
        moves=("beta", "place", *_WEIGHTS),
        show=({"beta": 3.0}, {"beta": 1.0}, {"beta": 0.0}, {"w2": 1}, {"w3": -2}, {"w2": -4}, {"w3": 3}),
        without=("look", "gate", "units", "hill"),
    ),
    Step(
        "So bends are needed, and they add up. f is relu: each unit turns the line at a place of its own. Drag the "
        "grips until the thick line covers the dashed hill.",
        "When is the sum flat to the right of the hill?",
        ("when the weights add up to 0", "when the last weight is 0", "when no weight is negative"),
        0,
        "There each unit's slope is its weight, and slopes add up: 2 − 4 + 2 = 0. More units come close to any curve.",
        "Leave the left unit at 2, and take −4 and then 2 for the others. What do the three add up to?",
        {**_USUAL, "look": "two layers", "place": 90, "w2": 0, "w3": 0},
        moves=("place", *_WEIGHTS),
        show=({"w2": -2}, {"w2": -4}, {"w3": 1}, {"w3": 2}),
        without=("look", "gate", "units"),
    ),
    Step(
        "To learn, a unit must know how its output changes if its input moves a little. That is the slope, f′: how "
        "steep the black line is. Drag x along the curve of relu.",
        "What can a unit learn from an input left of 0?",
        ("nothing", "to give less", "as much as right of 0"),
        0,
        "The slope there is 0: a small change of x changes nothing, so no gradient comes back.",
        "Drag x to −2. How steep is the black line?",
        {**_USUAL, "place": 120},
        moves=("place",),
        show=({"place": 100}, {"place": 84}, {"place": 60}, {"place": 40}),
        without=("look", "gate", "units"),
    ),
    Step(
        "40 relu units; each has one input x in each of 64 texts. Too large a step moved all to the left. × marks a "
        "dead unit, whose f is 0 for all 64. Point at one: the ticks are its inputs.",
        "Can more training with these inputs wake it?",
        ("yes, slowly", "no"),
        1,
        "All its inputs lie where the slope is 0. No gradient reaches its weights, so they stay as they are.",
        "Point at an ×. Do its ticks stand left or right of 0, and what is the slope there?",
        {**_USUAL},
        moves=("place",),
        show=({"unit": 4}, {"unit": 10}, {"unit": 13}),
        without=("look", "gate"),
    ),
    Step(
        "The same inputs. Choose gelu in place of relu, and then swish, which is called SiLU with β = 1. Hatched is "
        "where the slope is flat, which means below 0.05 in size.",
        "Does that wake the dead units?",
        ("no", "yes, the same inputs teach them again", "only if the inputs move right"),
        1,
        "These have a slope left of 0, too, to about −2 or −4. None is dead; 42 % of gelu's slopes are flat, 18 % of "
        "swish's.",
        "Choose gelu at “activation”. Is there still an × among the units?",
        {**_USUAL},
        moves=("activation", "place"),
        show=({"activation": 4}, {"activation": 6}),
        without=("look", "gate"),
    ),
    Step(
        "A gated unit multiplies the gate f(x) by a value v x. Here both are straight. Drag the grip v up.",
        "Straight units add up to a line. And this product?",
        ("a line, too", "a corner", "a parabola"),
        2,
        "x/2 · v x is v x²/2: no bend is needed. A sum of bends only comes close to it.",
        "Drag the grip v up to 2 and follow the blue curve on both sides of 0.",
        {**_USUAL, "activation": 6, "beta": 0.0, "place": 110, "value": 0.0},
        moves=("place", "value"),
        show=({"value": 0.5}, {"value": 1.0}, {"value": 2.0}),
        without=("look", "units"),
    ),
    Step(
        "Which f for the gate? Sigmoid stands here. Compare the blue product with the dashed value, then choose swish: "
        "with β = 1 this is SwiGLU, as in LLaMA's FFN.",
        "Which gate can make a value larger?",
        ("sigmoid only", "swish only", "both"),
        1,
        "A sigmoid is between 0 and 1: it lets less through. swish grows with x, so it can also multiply what passes.",
        "Choose swish and drag x to the right end. Is the blue curve now beyond the dashed line?",
        {**_USUAL, "activation": 7, "place": 110, "value": 1.0},
        moves=("activation", "place", "value"),
        show=({"place": 120}, {"activation": 6}),
        without=("units",),
    ),
)
