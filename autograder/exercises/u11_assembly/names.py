"""A checkpoint's weights under one's own names."""

import re
from typing import Any

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, refused
from autograder.reference.assembly.loading import rename

UNKNOWN = ["lm_head.weight", "score.weight"]
_LAYER = r"model\.layers\.(\d+)"
LLAMA = [
    (r"model\.embed_tokens\.(.*)", r"embeddings.tokens.\1"),
    (rf"{_LAYER}\.self_attn\.(.*)", r"blocks.\1.attention.\2"),
    (rf"{_LAYER}\.mlp\.(.*)", r"blocks.\1.ffn.\2"),
    (rf"{_LAYER}\.input_layernorm\.(.*)", r"blocks.\1.attention_norm.\2"),
    (rf"{_LAYER}\.post_attention_layernorm\.(.*)", r"blocks.\1.ffn_norm.\2"),
    (r"model\.norm\.(.*)", r"final_norm.\1"),
]


def by_compiling(state, rules):
    """All patterns compiled; a plan of names first, then the tensors."""
    compiled = [(re.compile(pattern), new) for pattern, new in rules]
    plan = {}
    for name in state:
        matches = [(m, new) for p, new in compiled if (m := p.fullmatch(name)) is not None]
        plan[name] = matches[0] if matches else None
    if None in plan.values():
        raise ValueError([name for name, found in plan.items() if found is None])
    wanted = {name: m.expand(new) for name, (m, new) in plan.items() if new is not None}
    if len(set(wanted.values())) < len(wanted):
        raise ValueError("two tensors would get one name")
    return {new: state[name] for name, new in wanted.items()}


def by_anchors(state, rules):
    """re.match with an end to the pattern, and a loop that breaks."""
    out, left = {}, []
    for name, tensor in state.items():
        for pattern, new in rules:
            if re.match(f"(?:{pattern})$", name):
                if new is not None:
                    new = re.sub(f"^(?:{pattern})$", new, name)
                    if new in out:
                        raise ValueError(f"{new} twice")
                    out[new] = tensor
                break
        else:
            left.append(name)
    if left:
        raise ValueError(", ".join(left))
    return out


def first_rule(name, rules):
    return next((r for r in rules if re.fullmatch(r[0], name)), None)


def one_after_another(state, rules):
    """Every rule is applied to what the one before made."""
    out, left = {}, []
    for name, tensor in state.items():
        new, is_dropped, found = name, False, False
        for pattern, template in rules:
            if re.fullmatch(pattern, new):
                found = True
                if template is None:
                    is_dropped = True
                    break
                new = re.sub(pattern, template, new)
        if not found:
            left.append(name)
        elif new in out:
            raise ValueError(new)
        elif not is_dropped:
            out[new] = tensor
    if left:
        raise ValueError(left)
    return out


def checkpoint(g: Source, layers: int, d: int, more: Any = (), dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """Tensors under LLaMA's names, few of each kind, and under those of ``more``."""
    names = ["model.embed_tokens.weight", "model.norm.weight", *more]
    for n in range(layers):
        names += [f"model.layers.{n}.{part}.weight" for part in ("self_attn.q_proj", "mlp.up_proj", "input_layernorm")]
    return {name: g.randn(d, dtype=dtype) for name in names}


def _drawn(g: Source) -> str:
    """A word that no rule was written for."""
    return "".join(g.choice("bcdfghklmnprst") + g.choice("aeiou") for _ in range(4))


def _word(g: Source) -> Program:
    a, b, c = _drawn(g), _drawn(g), _drawn(g)
    state = {f"{a}.0.weight": g.randn(2), f"{a}.10.weight": g.randn(3), f"{b}.weight": g.randn(2)}
    return call(state, [(rf"{a}\.(\d+)\.(.*)", rf"{c}.\1.\2"), (rf"{b}\.(.*)", r"head.\1")])


def _first_rule(g: Source) -> Program:
    rules = [
        (r"model\.layers\.(\d+)\.self_attn\.q_norm\.(.*)", r"blocks.\1.attention.q_gain.\2"),
        *LLAMA,
        (r"model\.layers\.(\d+)\.self_attn\.q_proj\.(.*)", r"never.\1.\2"),
    ]
    return call(checkpoint(g, 2, 3, ["model.layers.1.self_attn.q_norm.weight"]), rules)


def _whole_name(g: Source) -> Program:
    """Two names of which one holds the other."""
    state = {"norm.weight": g.randn(2), "first.norm.weight": g.randn(3), "norm.weight_scale": g.randn(4)}
    rules = [(r"norm\.weight", "final_norm.weight"), (r"(.*)_scale", r"scales.\1"), (r"first\.(.*)", r"blocks.0.\1")]
    return call(state, rules)


def _in_turn(g: Source) -> Program:
    """What one rule makes another would match."""
    state = {"a.weight": g.randn(2), "d.weight": g.randn(3)}
    return call(state, [(r"a\.(.*)", r"b.\1"), (r"b\.(.*)", r"c.\1"), (r"d\.(.*)", r"a.\1")])


def _left_out(g: Source) -> Program:
    """A tied head, which a later rule would rename; then what each layer stores besides its weights."""
    head = checkpoint(g, 1, 2, ["lm_head.weight"], torch.float16)
    program = call(head, [(r"lm_head\.weight", None), *LLAMA, (r"lm_head\.(.*)", r"head.\1")])
    more = [f"model.layers.{n}.self_attn.rotary_emb.inv_freq" for n in range(2)]
    return program.call(checkpoint(g, 2, 3, more), [(r".*\.inv_freq", None), *LLAMA])


MISTAKES = [
    *changes(
        rename,
        r"""
copied: renamed[new] = tensor → renamed[new] = tensor.clone()
    Each tensor is copied, which takes the memory of a second model. Put the same tensor under its new name.
old_names_taken: if new in renamed: → if new in renamed or new in state:
    A new name that was an old one is refused. Names may change places: only two tensors that would get the same new
    name raise ValueError.
unmatched_kept: unmatched.append(name) → renamed[name] = tensor
    A name that no rule matches is kept as it is. Raise ValueError with all such names, so that whoever loads a
    checkpoint hears of them.
unmatched_dropped: unmatched.append(name) →
    A name that no rule matches is dropped in silence. Raise ValueError with all such names: only None in a rule
    leaves a tensor out.
first_alone: unmatched.append(name) → raise ValueError(f"no rule for {name}")
    The error is raised at the first name that no rule matches, so its text has that one alone. Gather all such
    names, and raise it after the loop.
untold: f"no rule for {', '.join(unmatched)}" → "a name has no rule"
    The error does not say which names no rule matches. Put all of them into its text.
overwritten: if new in renamed: → if False:
    Two tensors get one name, and the second overwrites the first. Raise ValueError where the new name is taken.
last_rule: in rules if → in reversed(rules) if
    Of two rules that match, the last one is taken. The first one counts: stop at it.
search: re.fullmatch → re.search ; match.expand(template) → match.re.sub(template, name)
    A pattern is looked for anywhere in a name. It must match the whole name: re.fullmatch.
start_only: re.fullmatch → re.match ; match.expand(template) → match.re.sub(template, name)
    A pattern only has to match the beginning of a name. It must match to the end: re.fullmatch.
""",
    ),
    Mutant(
        "in_turn",
        one_after_another,
        "A name that was renamed goes through the later rules again. The first rule that matches decides alone.",
    ),
    *changes(
        rename,
        r"""
template: match.expand(template) → template
    The new name is the rule's text as it stands, with the marks for groups still in it. Let re.sub(pattern, new,
    name) put in what they matched.
none_as_name: if template is None: → if False: ; match.expand(template) → match.expand(str(template))
    None in a rule becomes the name None. It leaves the tensor out of the result.
none_keeps: if template is None: → if False:
; match.expand(template) → name if template is None else match.expand(template)
    Where a rule says None, the tensor keeps its old name. None leaves it out.
none_unmatched: if (m := → if new and (m :=
    Rules with None are skipped, so their tensors fall through to other rules or to the error. None leaves a tensor
    out.
first_digit: match.expand(template) → re.sub(r"(?<=\d)\d", "", match.expand(template))
    Of a layer's number the first digit is left. What a group matched belongs into the new name as it is.
copied_to_float: renamed[new] = tensor → renamed[new] = tensor.float()
    The names are right, but tensors are turned into float32. Pass them on as they are.
parameters: renamed[new] = tensor → renamed[new] = torch.zeros_like(tensor)
    The names are right, but the tensors are not the ones that came. Pass them on as they are.
pairs: return renamed → return list(renamed.items())
    The names are right, but they come as a list of pairs. Return a dict: new name → tensor.
names_only: return renamed → return dict(zip(state, renamed))
    The result leads from old names to new ones. Return the tensors: new name → tensor.
in_place: renamed: State = {} → renamed = state ; in state.items(): → in list(state.items()):
; match, template = found → match, template = found; del state[name]
    The given dict itself is changed. Fill a new one: the caller may need the old names once more.
key_error: ValueError(f"{name} → KeyError(f"{name} ; ValueError(f"no → KeyError(f"no
    The right thing is refused, but with KeyError. Raise ValueError.
unchanged: renamed: State = {} → return dict(state)
    Every tensor keeps its old name. Patterns are regular expressions: find the first that matches with
    re.fullmatch(pattern, name), and make the new name with re.sub.
""",
    ),
]

EXERCISE = Exercise(
    id="assembly.names",
    title="Other names, same weights",
    points=2,
    difficulty=3,
    minutes=9,
    reference=rename,
    alternatives=[by_compiling, by_anchors],
    cases=[
        Case("one rule", "two layers and a head under drawn names; layer 10 keeps its number", _word),
        Case(
            "checkpoint",
            "a LLaMA of three layers in float64: every name by its rule",
            lambda g: call(checkpoint(g, 3, 4, dtype=torch.float64), LLAMA).within(
                entries=0, because="the tensors themselves get new names"
            ),
            weight=2,
        ),
        Case("first rule", "a name that two rules match goes by the first of them", _first_rule),
        Case("whole name", "norm.weight is no part of first.norm.weight: a pattern matches a whole name", _whole_name),
        Case(
            "in turn",
            "a rule makes b of a, others c of b and a of d: no name is renamed twice, and a is free",
            _in_turn,
        ),
        Case(
            "left out",
            "None in place of a new name leaves the tensor out: a tied head in float16, then two buffers",
            _left_out,
        ),
        Case(
            "unmatched",
            "two names that no rule matches: ValueError, and its text has both",
            lambda g: refused(checkpoint(g, 1, 2, UNKNOWN), LLAMA, tells=UNKNOWN),
        ),
        Case(
            "two become one",
            "both copies of an embedding would be embeddings.tokens.weight: ValueError",
            lambda g: call(
                checkpoint(g, 1, 2, ["shared.weight"]), [*LLAMA, (r"shared\.(.*)", r"embeddings.tokens.\1")]
            ),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
a checkpoint is converted once, before anything is trained
    gradient of rename
""",
    equivalent="""
a checkpoint is converted before anything is trained: its tensors carry no gradient
    d1dbde52c7 solution, result: return renamed: result detach
    63ddc1a6ab alternative by_compiling, result: return {new: state[name] for name, new in wanted.items()}: result det…
    ed9ad8d81b alternative by_anchors, result: return out: result detach
""",
)
