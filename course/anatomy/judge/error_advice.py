"""Advice on the errors that learners meet most, and on what an answer changed: one plain sentence each."""

import keyword
import re
from collections.abc import Collection

from ..program import torch_settings
from ..system.translation import N_, _, listed, sentences
from .compare import Difference

_MATRIX = N_(
    "In a @ b the last axis of a must be as long as the second to last axis of b. Print both shapes just before "
    "this line; often a transpose is missing."
)
_DTYPE = N_(
    "Tensors of different dtypes meet here. Convert one of them first, for example with y.to(x.dtype); a tensor that "
    "you make yourself gets x's dtype by dtype=x.dtype."
)

_NONE = N_(
    "Something is None here: an optional argument that was not given (test with `is not None`), or a function that "
    "ends without return."
)

# (pattern found in "Type: message", advice; {1}, {2} are the groups of the pattern). The first match is used. The
# messages of these types quote names that the learner chose, in which any word may stand: no other pattern is tried.
_QUOTING = (
    *("NameError", "UnboundLocalError", "AttributeError", "KeyError"),
    *("ImportError", "ModuleNotFoundError", "NotHere"),
)
_OF_NAMES = [
    (re.compile(pattern, re.S), advice)
    for pattern, advice in (
        (
            r"NameError: name '(\w+)' is not defined",
            N_("{1} is not known here: a typing error, or a cell above that was not run."),
        ),
        (r"UnboundLocalError", N_("The name is used before it gets a value, perhaps inside an if that was not taken.")),
        (r"AttributeError: 'NoneType' object", _NONE),
        (r"AttributeError: .*before Module.__init__\(\) call", N_("Begin __init__ with super().__init__().")),
        (
            r"AttributeError: .*has no attribute '(\w+)'",
            N_(
                "Print type(…) of what stands before .{1}: it is not what you take it for, or the "
                "name is spelled another way."
            ),
        ),
    )
]
_ADVICE = [
    (re.compile(pattern, re.S), advice)
    for pattern, advice in (
        (
            r"mat1 and mat2 shapes cannot be multiplied \((\d+x\d+) and (\d+x\d+)\)",
            N_(
                "Matrices of {1} and {2} cannot be multiplied: the inner two numbers must be equal. Is a transpose "
                "missing?"
            ),
        ),
        (
            r"Expected size for first two dimensions of batch2 tensor|inconsistent tensor size, expected tensor \[|"
            r"size mismatch, got input|must match the existing size|Expected tensor to have size|"
            r"number of dimensions of .* should be|both arguments to mat",
            _MATRIX,
        ),
        (
            r"RuntimeError: einsum\(\)",
            N_(
                "In einsum each letter is an axis: a tensor has as many letters as axes, a letter has the same size "
                "wherever it stands, and each letter of the result stands among those of the inputs."
            ),
        ),
        (
            r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton "
            r"dimension (\d+)",
            N_(
                "One tensor has {1} entries along axis {3}, the other {2}; they must be equal, or one of them 1. "
                "Print both "
                "shapes: keepdim=True in a sum or mean, unsqueeze or transpose puts an axis where it belongs."
            ),
        ),
        (
            r"expected scalar type|mixed dtype|to have the same dtype|Found dtype|expected m1 and m2|"
            r"same dtype, but got",
            _DTYPE,
        ),
        (
            r"shape '(\[.*?\])' is invalid for input of size (\d+)",
            N_(
                "{2} numbers do not fit into the shape {1}: the sizes must multiply to {2}. Which axis is missing, "
                "or too many?"
            ),
        ),
        (r"view size is not compatible", N_("After a transpose use reshape instead of view.")),
        (
            r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
            N_(
                "Index {1} was asked of axis {2}, which has {3} entries (0 to {3} − 1). Does a loop or a slice run "
                "one too far?"
            ),
        ),
        (
            r"Dimension out of range.*but got (-?\d+)",
            N_("There is no axis {1} here. Print the shape: is an axis missing, or was one lost in a sum or an index?"),
        ),
        (
            r"IndexError: (list|tuple) index out of range|IndexError: index out of range",
            N_("An index is as large as the length or larger. Indices run from 0 to length − 1."),
        ),
        (r"IndexError: too many indices", N_("The tensor has fewer axes than you index. Print its shape.")),
        (r"NoneType", _NONE),
        (
            r"got an unexpected keyword argument '(\w+)'",
            N_("It is called with {1}=…: one parameter must have exactly this name."),
        ),
        (
            r"Module\.load_state_dict\(\) missing",
            N_("A class stands where an object of it is needed: make one, Name(…) in place of Name."),
        ),
        (
            r"missing \d+ required positional argument",
            N_("It is called with fewer arguments than it demands: a parameter is too many, or needs a default value."),
        ),
        (
            r"([\w.<>]+)\(\) takes (?:from )?\d+.* positional arguments? but \d+ w",
            N_(
                "{1}() is called with more arguments than it takes without their names. Compare the call with the "
                "first line of {1} (self too)."
            ),
        ),
        (
            r"Boolean value of Tensor with more than one value|bool value of Tensor with no values",
            N_(
                "A whole tensor stands where one True or False is needed (if, and, or, not, max, min). Work on all "
                "entries at "
                "once: torch.where, &, |, ~, torch.maximum."
            ),
        ),
        (
            r"could not infer output dtype|only be .* floating|must be either a floating point",
            N_("Integers have no mean. Convert first: x.float()."),
        ),
        (
            r"in-place operation|inplace operation",
            N_("Do not write into a tensor that needs a gradient: x = x * 2 instead of x *= 2."),
        ),
        (
            r"does not require grad",
            N_(
                "No gradient can flow: the result no longer depends on the inputs (detach, .item(), "
                "torch.tensor, no_grad)."
            ),
        ),
        (
            r"only one element tensors|a Tensor with \d+ elements cannot be converted",
            N_("A tensor of several entries stands where one number is needed. Index it, or sum over an axis."),
        ),
        (r"Error\(s\) in loading state_dict", ""),  # has its own sentence
        (r"ZeroDivisionError", N_("Something is divided by zero. Which count or sum is 0 in this case?")),
        (
            r"Torch not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver",
            N_('There is no GPU here, nor in grading. Without .cuda() and device="cuda" tensors stay where they are.'),
        ),
        (
            r"RecursionError",
            N_("The function calls itself without end. Does it have the name of another one that it needs?"),
        ),
        (
            r"expected .*Tensor.* but (?:got|found)|must be Tensor, not (\w+)|expected Tensor",
            N_("A torch function wants tensors, and something else came. Wrap numbers with torch.tensor(…)."),
        ),
        (r"unsupported operand type", N_("These two kinds of value cannot be combined. Print type(…) of both.")),
        (
            r"masked_fill.*bool|Expected .*mask",
            N_("A mask must hold True and False: compare (mask == 0) or use .bool()."),
        ),
        (
            r"index.*must be (?:int|long)|tensors used as indices|must be integers or slices|valid indices|"
            r"expected .*Long",
            N_("An index must be an integer. Use // instead of /, or .long()."),
        ),
    )
]


# For a function of the learner's the advice is on its first line; for one of torch or Python, on the call.
_CALL = re.compile(r"TypeError: ([\w.<>]+)\(\) (?:got an unexpected|missing \d|takes )")
_OTHERS = N_("{1}() takes other arguments than it is given here. Look up how it is called: help({1}).")


def changed(kinds: list[str]) -> str:
    """Advice on an answer that changed something of its caller's. kinds: as ``runner.run_program`` names them."""
    told = _("your code changes its input in place; work on a new tensor instead (x = x * 2, not x *= 2)")
    if "the dict" in kinds:
        told = _("your code changes the dict that it was given; work on a copy of it: dict(…)")
    elif "the list" in kinds:
        told = _("your code changes the list that it was given; work on a copy of it: list(…)")
    return torch_settings.advice(kinds) or told


def called_value(name: str, message: str, line: str) -> str:
    """Advice on an error that says that a value is not callable; empty for others. line: the learner's."""
    kind = re.fullmatch(r"'(\w+)' object is not callable", message.strip()) if name == "TypeError" else None
    if kind is None:
        return ""
    called = [n for n in dict.fromkeys(_CALLED.findall(line)) if not keyword.iskeyword(n)]
    told = _("A value of type {type} is called here as if it were a function.")
    if len(called) == 1:
        told = _("{names} is called here, and holds a value of type {type} in place of a function.")
    elif called:
        told = _("One of the names {names} is called here, and holds a value of type {type} in place of a function.")
    why = _("Does a line or cell give a function's name to a value? Or is a * missing, or are square brackets meant?")
    return sentences(told.format(names=listed(called[:4]), type=kind[1]), why)


_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(")


def raised(problem: Difference, name: str, message: str, own: Collection[str] = ()) -> str:
    """One or two sentences for a learner's exception.

    problem: the Difference; name, message: of the exception; own: names of the functions that the learner was to write.
    """
    if "Error(s) in loading state_dict" in message:
        return _loading(message)
    said = problem.sentence.rstrip()
    said += "" if said.endswith((".", "!", "?", "。", "！", "？")) else "."
    advice = advice_for(name, message, own)
    return f"{said} {advice}" if advice else said


def advice_for(name: str, message: str, own: Collection[str] = ()) -> str:
    """Advice on an exception, or an empty string. own: as for ``raised``."""
    text = f"{name}: {message}"[:700]
    called = _CALL.match(text)
    is_known = called is not None and "<" not in called[1] and "load_state_dict" not in called[1]
    if called and is_known and called[1].partition(".")[0] not in own:
        return _(_OTHERS).replace("{1}", called[1])
    for pattern, english in _OF_NAMES if name in _QUOTING else _ADVICE:
        found = pattern.search(text)
        if found:
            advice = _(english)
            for i, group in enumerate(found.groups(), 1):
                advice = advice.replace(f"{{{i}}}", str(group))
            return advice
    return ""


def _loading(message):
    """The sentence for a module whose parameters differ in name or shape from the weights of the case."""
    parts = []
    for start, words in (
        ("Missing key", _("the case has no weights for your {names}")),
        ("Unexpected key", _("your module has no parameter {names}")),
    ):
        found = re.search(start + r"\(s\) in state_dict: (.*?)\.\s", message + " ", re.S)
        if found:
            names = re.findall(r'"([^"]{1,60})"', found[1])
            parts.append(words.format(names=listed(names[:4]) + (" …" if len(names) > 4 else "")))
    for name, theirs, mine in re.findall(
        r"size mismatch for ([\w.]{1,60}): .*?shape torch\.Size\(\[(.*?)\]\).*?"
        r"torch\.Size\(\[(.*?)\]\)",
        message,
        re.S,
    )[:2]:
        said = _("{name} should have shape ({expected}), yours has ({got})")
        parts.append(said.format(name=name, expected=theirs, got=mine))
    return _(
        "The weights of the case do not load: {reasons}. Names of layers, bias=… and the order of sizes must be those "
        "of the text."
    ).format(reasons="; ".join(parts) or _("names or shapes differ"))
