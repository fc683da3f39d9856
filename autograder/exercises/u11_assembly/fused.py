"""GPT-2's checkpoint as nn.Linear stores it: transposed, and three matrices out of one."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference.assembly.loading import CONV1D, PARTS, unfuse


def in_two_steps(state):
    """First all matrices are turned, then the fused ones are cut."""
    out = {n: t.T if n.endswith(tuple(f"{c}.weight" for c in CONV1D)) else t for n, t in state.items()}
    for name in [n for n in out if "c_attn" in n]:
        whole = out.pop(name)
        if whole.shape[0] % 3:
            raise ValueError("three parts of different sizes")
        for i, rows in enumerate(whole.tensor_split(3)):
            out[name.replace("c_attn", PARTS[i])] = rows
    return out


def by_columns(state):
    """Cut along the last axis, then turned piece by piece."""
    out = {}
    for name, tensor in state.items():
        pieces = {name: tensor}
        if ".c_attn." in name:
            d, rest = divmod(tensor.shape[-1], 3)
            if rest:
                raise ValueError(name)
            pieces = {name.replace("c_attn", p): tensor[..., i * d : (i + 1) * d] for i, p in enumerate(PARTS)}
        is_conv = name.endswith(".weight") and any(f".{c}." in name for c in CONV1D)
        out.update({n: t.permute(1, 0) if is_conv else t for n, t in pieces.items()})
    return out


def layer(g: Source, number: int, d: int, d_ff: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """The tensors of one layer of GPT-2."""
    sizes = {
        "ln_1": (d,),
        "attn.c_attn": (d, 3 * d),
        "attn.c_proj": (d, d),
        "ln_2": (d,),
        "mlp.c_fc": (d, d_ff),
        "mlp.c_proj": (d_ff, d),
    }
    state = {}
    for name, shape in sizes.items():
        state[f"h.{number}.{name}.weight"] = g.randn(*shape, dtype=dtype)
        state[f"h.{number}.{name}.bias"] = g.randn(shape[-1], dtype=dtype)
    return state


def _by_hand(g: Source) -> Program:
    weight = torch.arange(12.0).reshape(2, 6)
    return call({"h.0.attn.c_attn.weight": weight, "h.0.attn.c_attn.bias": torch.arange(6.0)})


def _model(g: Source) -> Program:
    state = {"wte.weight": g.randn(7, 4), "wpe.weight": g.randn(5, 4)}
    for number in range(2):
        state |= layer(g, number, 4, 6, torch.float64)
    return call({**state, "ln_f.weight": g.randn(4), "ln_f.bias": g.randn(4)})


MISTAKES = changes(
    unfuse,
    """
every_projection: layer in CONV1D → layer.endswith(("proj", "c_attn", "c_fc"))
    Any layer whose name ends in proj is transposed. Only c_attn, c_proj and c_fc are Conv1D.
only_the_weight: if len(tensor) % 3: → if tensor.ndim > 1 and len(tensor) % 3:
    Only the weight of c_attn has to divide by three here. A bias that does not raises ValueError as well.
not_transposed: tensor = tensor.T → pass ; if len(tensor) % 3: → if False: ; tensor.chunk(3) → tensor.chunk(3, dim=-1)
    The matrices are cut and named, but they still lie as Conv1D has them, (d_in, d_out). nn.Linear wants (d_out,
    d_in): transpose.
reshaped: tensor.T → tensor.reshape(tensor.shape[1], -1)
    Matrices are reshaped to (d_out, d_in), which cuts the same row of numbers anew. Swap the axes: .T.
cut_rows_first: layer in CONV1D → layer in ("c_proj", "c_fc") ; len(tensor) % 3 → tensor.shape[-1] % 3
; strict=True → strict=False ; = piece → = piece.T if name.endswith("weight") else piece
    c_attn is cut along its first axis before it is turned. That axis holds the inputs; queries, keys and values lie
    side by side along the last.
all_turned: layer in CONV1D → "ln_" not in name
    Embeddings are transposed as well. Only Conv1D's layers lie the other way: c_attn, c_proj and c_fc.
c_proj_forgotten: layer in CONV1D → layer in ("c_attn", "c_fc")
    c_proj is not transposed. Both of them, in attention and in the feed-forward layer, are Conv1D.
c_fc_forgotten: layer in CONV1D → layer in ("c_attn", "c_proj")
    c_fc is not transposed. It is a Conv1D as well.
c_attn_alone: layer in CONV1D → layer == "c_attn"
    Only c_attn is transposed. c_proj and c_fc are Conv1D as well.
biases_whole: layer != "c_attn" → not name.endswith("c_attn.weight")
    The bias of c_attn is not cut. It has three parts, as the matrix has: one for each of q, k and v.
key_first: zip(PARTS, → zip(("k_proj", "q_proj", "v_proj"),
    Queries and keys are exchanged. c_attn holds queries, keys and values, in this order.
values_first: zip(PARTS, → zip(("v_proj", "q_proj", "k_proj"),
    The parts are named v, q, k. c_attn holds queries, keys and values, in this order.
values_before_keys: zip(PARTS, → zip(("q_proj", "v_proj", "k_proj"),
    Keys and values are exchanged. c_attn holds queries, keys and values, in this order.
alternately: tensor.chunk(3) → [tensor[i::3] for i in range(3)]
    Every third row goes to the queries. In GPT-2 all queries come first, then all keys, then all values: cut three
    blocks.
fused_kept: zip(PARTS, tensor.chunk(3) → zip((*PARTS, "c_attn"), (*tensor.chunk(3), tensor)
    c_attn is still there beside its parts. A strict load_state_dict knows no such name: leave it out.
prefix_lost: name.replace("c_attn", part) → f"{part}.{name.split('.')[-1]}"
    The parts are called q_proj.weight and so on, without their layer. Replace c_attn in the name, and keep the
    rest.
short_names: zip(PARTS, → zip(("q", "k", "v"),
    The parts are called q, k and v. Asked for are q_proj, k_proj and v_proj.
old_names: name.replace("c_attn", part) → f"{name}.{part}"
    The part's name stands behind the old one. It takes the place of c_attn: h.0.attn.q_proj.weight.
others_dropped: return out → return {n: t for n, t in out.items() if "_proj" in n or "c_" in n}
    Tensors of other layers are left out. Norms and embeddings pass through as they are.
unequal_accepted: if len(tensor) % 3: → if False:
    A c_attn whose columns do not divide by three was accepted. Raise ValueError: chunk makes parts of different
    sizes.
unchanged: out: State = {} → return dict(state)
    Nothing was changed. Transpose the weights of c_attn, c_proj and c_fc, and cut c_attn into three.
in_float32: tensor.T → tensor.T.float()
    The matrices are turned into float32. Pass on every dtype as it came.
""",
)

EXERCISE = Exercise(
    id="assembly.fused",
    title="GPT-2's matrices",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=unfuse,
    alternatives=[in_two_steps, by_columns],
    cases=[
        Case("by hand", "numbers 0 to 11 in two rows of six: three matrices of 2 × 2, three biases of 2", _by_hand),
        Case(
            "other layers",
            "one layer, d = 5, feed-forward 10: biases, norms, both c_proj; an out_proj, which is no Conv1D",
            lambda g: call({**layer(g, 3, 5, 10), "h.3.attn.out_proj.weight": g.randn(5, 5)}),
        ),
        Case(
            "model", "a whole model in two precisions: embeddings are no Conv1D, and are not turned", _model, weight=2
        ),
        Case(
            "no three parts",
            "a c_attn with 8 columns: ValueError",
            lambda g: call({"h.0.attn.c_attn.weight": g.randn(2, 8)}),
            weight=0.5,
        ),
        Case(
            "no three biases",
            "a c_attn with 9 columns and 8 biases: ValueError",
            lambda g: call({"h.0.attn.c_attn.weight": g.randn(2, 9), "h.0.attn.c_attn.bias": g.randn(8)}),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
a checkpoint is converted once, before anything is trained
    gradient of unfuse
""",
    equivalent="""
a checkpoint is converted before anything is trained: its tensors carry no gradient
    a5aeb95709 solution, result: return out: result detach
    c357b433d5 alternative in_two_steps, result: return out: result detach
    5f262fcd2d alternative by_columns, result: return out: result detach
the other tensor of such a layer is its bias, and .T leaves one axis as it is
    1cb95fd6cb solution, clause: layer in ('c_attn', 'c_proj', 'c_fc') and name.endswith('weight') without name.endswi…
    283b4275bf solution, call: name.endswith('weight') → name
""",
)
