"""The steps of ActivationExplorer."""

from ..tools.story import Step

_USUAL = {"activation": 4, "beta": 1.0, "place": 100, "value": 1.5, "shift": -2, "look": "gate and units"}

STORY = (
    Step(
        "A unit is one number of the hidden layer: it draws the bent line f, shifted and scaled. Three of them add up "
        "to the thick line.",
        "Move β, how sharply f bends, to 0: f is straight then. What is the sum?",
        ("a line with corners", "a straight line", "0 everywhere"),
        1,
        "At β = 0, f is x/2. Straight lines add up to one, so two layers without a bend can do no more than one.",
        "Move β to its left end and look at the thick line.",
        {**_USUAL, "activation": 6, "beta": 20.0, "place": 90, "look": "two layers"},
        moves=("beta", "place"),
        show=({"beta": 3.0}, {"beta": 1.0}, {"beta": 0.25}, {"beta": 0.0}),
        without=("look", "gate", "units"),
    ),
    Step(
        "Drag along the curve. A straight line touches it there; the dotted curve f′ is the slope of that line.",
        "Where is gelu steepest?",
        ("x = 0", "x = 1.4", "x = 4"),
        1,
        "f′(1.4) = 1.129: there gelu rises faster than x itself.",
        "Where is the dotted curve highest?",
        _USUAL,
        moves=("place",),
        show=({"place": 80}, {"place": 94}, {"place": 108}, {"place": 140}, {"place": 108}),
        without=("look", "gate", "units"),
    ),
    Step(
        "A gated layer makes two numbers of its input: x opens a gate for v, and f(x) · v comes out. f is a sigmoid. "
        "Drag the grip v up and down, and run along the gate's curve.",
        "Can this gate move a value farther from 0?",
        ("yes", "no"),
        1,
        "f(x) lies between 0 and 1, so the product lies between 0 and v.",
        "Does the blue curve ever leave the room between 0 and the dashed line?",
        {**_USUAL, "activation": 7},
        moves=("place", "value"),
        show=({"place": 160}, {"value": 2.0}, {"value": -1.0}, {"value": 1.5}),
        without=("look", "units"),
    ),
    Step(
        "40 units of a hidden layer, each with 64 inputs. f is relu: point at units with an ×. The ticks under the "
        "curve are the unit's inputs.",
        "What is true of the inputs of every × unit?",
        ("their mean is 0", "all are below 0", "all are equal"),
        1,
        "There f is 0 and its slope is 0: no input of this unit sends a gradient back.",
        "Where do the ticks stand, left or right of 0?",
        {**_USUAL, "activation": 0, "place": 60},
        show=({"unit": 4}, {"unit": 10}, {"unit": 13}),
        without=("gate",),
    ),
    Step(
        "The same units with gelu, further left: the shift is −4. Drag the grip below the curve; compare with relu.",
        "How many units are dead now?",
        ("37, as with relu", "none, and all learn well", "none, but most slopes are flat"),
        2,
        "gelu is never exactly 0 there, but 88 % of its slopes are flat, which means below 0.05.",
        "Read “dead units” and “flat slopes” below.",
        {**_USUAL, "place": 20, "shift": -4},
        show=({"activation": 0}, {"activation": 4}),
        waits=("line", "signs"),
        without=("gate",),
    ),
    Step(
        "swish has a setting, β. Move it to its right end and watch “largest gap to ReLU” below.",
        "Which curve does swish turn into?",
        ("a straight line", "sigmoid", "relu"),
        2,
        "σ(βx) becomes a switch: 0 left of 0, and 1 right of it.",
        "Where does the thin line run, which is relu? And the curve, with β at its right end?",
        {**_USUAL, "activation": 6},
        moves=("beta", "place"),
        show=({"beta": 3.0}, {"beta": 6.0}, {"beta": 20.0}),
        without=("look", "gate", "units"),
    ),
)
