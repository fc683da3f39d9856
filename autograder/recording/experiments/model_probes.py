"""Finds properties of ``transformers``' models from their behavior: probes small random models with hooks.

Everything works on a model with few layers and random weights in float64, so that a property holds exactly or not at
all. Norms keep their initial weights (1 and 0), because they are what is probed.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

R = TypeVar("R")
Run = Callable[[nn.Module, Tensor], Any]  # runs a model on token ids
T, VOCAB = 7, 50
NOT_SCALED = "1"


@dataclasses.dataclass(frozen=True)
class Places:
    """Names of a block's submodules: the one that reads the attention's input, the output maps of attention and FFN.

    heads: "separate" maps for q and k, "thirds" of one map, or one map with q, k and v "interleaved" by head.
    """

    attention_in: str = "self_attn.q_proj"
    attention_out: str = "self_attn.o_proj"
    ffn_out: str = "mlp.down_proj"
    key: str = "self_attn.k_proj"
    heads: str = "separate"


GPT = Places("attn.c_attn", "attn.c_proj", "mlp.c_proj", "attn.c_attn", "thirds")
PLACES = {
    "OpenAIGPTModel": GPT,
    "GPT2LMHeadModel": GPT,
    "OPTForCausalLM": Places("self_attn.q_proj", "self_attn.out_proj", "fc2"),
    "BertModel": Places("attention.self.query", "attention.output.dense", "output.dense", "attention.self.key"),
    "T5ForConditionalGeneration": Places(
        "layer.0.SelfAttention.q",
        "layer.0.SelfAttention.o",
        "layer.{last}.DenseReluDense.wo",
        "layer.0.SelfAttention.k",
    ),
    "BloomForCausalLM": Places(
        "self_attention.query_key_value",
        "self_attention.dense",
        "mlp.dense_4h_to_h",
        "self_attention.query_key_value",
        "interleaved",
    ),
    "DebertaModel": Places(
        "attention.self.in_proj", "attention.output.dense", "output.dense", "attention.self.in_proj", "interleaved"
    ),
    "CLIPModel": Places("self_attn.q_proj", "self_attn.out_proj", "mlp.fc2"),
    "DeepseekV3ForCausalLM": Places("self_attn.q_a_proj", "self_attn.o_proj", "mlp.down_proj", ""),
}


def places(model: nn.Module, block: Any) -> Places:
    """The Places of a model's class, with the index of a T5 block's last sublayer filled in."""
    found = PLACES.get(type(model).__name__, Places())
    last = len(block.layer) - 1 if type(block).__name__ == "T5Block" else ""
    return dataclasses.replace(found, ffn_out=found.ffn_out.format(last=last))


def count(model: nn.Module) -> int:
    """Number of parameters; a tied matrix counts once."""
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())


def stacks(model: nn.Module) -> dict[str, nn.ModuleList]:
    """Name → blocks of each stack of layers: the outermost module lists."""
    lists = {n: m for n, m in model.named_modules() if isinstance(m, nn.ModuleList)}
    return {n: m for n, m in lists.items() if not any(n.startswith(f"{outer}.") for outer in lists)}


def cross_attention_modules(model: nn.Module) -> int:
    """Number of attention modules whose names say that they attend to a different stack."""
    words = ("encdecattention", "crossattention", "cross_attn", "encoder_attn")
    return sum(n.rsplit(".", 1)[-1].lower() in words for n, _ in model.named_modules())


def position_scheme(model: nn.Module) -> str:
    """How positions enter the model, as far as the names of its modules show it."""
    names = " ".join(n for n, _ in model.named_modules()).lower()
    signs = {
        "relative_attention_bias": "learned bias per distance",
        "rel_embeddings": "relative vectors",
        "rotary": "rotary",
        "wpe": "learned table",
        "position_embedding": "learned table",
        "embed_positions": "learned table",
        "positions_embed": "learned table",
    }
    return next(
        (scheme for sign, scheme in signs.items() if sign in names),
        "alibi" if hasattr(model.base_model, "build_alibi_tensor") else "none",
    )


def randomized(model: nn.Module, seed: int = 0) -> nn.Module:
    """The model in float64 with matrices drawn so that every layer keeps the scale of its input; in eval mode."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data = torch.randn(parameter.shape, generator=generator) / math.sqrt(parameter.shape[-1])
    return model.double().eval()


def tokens(seed: int = 1) -> Tensor:
    """Token ids (1, T) without special tokens."""
    return torch.randint(5, VOCAB, (1, T), generator=torch.Generator().manual_seed(seed))


def call(model: Any, ids: Tensor, **options: Any) -> Any:
    """Runs the model on token ids (1, T); T5's decoder and CLIP's text stack get the same ids."""
    kind = type(model).__name__
    if kind == "CLIPModel":
        return model.text_model(input_ids=ids, **options)
    if kind.startswith("T5"):
        return model(input_ids=tokens(2), decoder_input_ids=ids, **options)
    if "rotary" in position_scheme(model):
        options.setdefault("attention_mask", torch.ones_like(ids))
    return model(input_ids=ids, **options)


def main_stack(model: nn.Module) -> nn.ModuleList:
    """The stack that reads the ids in ``call``: CLIP's text encoder, otherwise the last stack."""
    found = stacks(model)
    return found.get("text_model.encoder.layers") or list(found.values())[-1]


def through(model: nn.Module, block: nn.Module, ids: Tensor | None = None, run: Run | None = None) -> Tensor:
    """Output of a block within a run of the model, (1, T, d_model)."""
    found = []
    keep = lambda _, __, out: found.append(out if isinstance(out, torch.Tensor) else out[0])
    handle = block.register_forward_hook(keep)
    with torch.no_grad():
        (run or call)(model, tokens() if ids is None else ids)
    handle.remove()
    return found[0]


def sees_future(model: nn.Module, block: nn.Module, run: Run | None = None) -> bool:
    """Whether a change of the last token changes the stack's output at the first position."""
    ids = tokens()
    other = ids.clone()
    other[0, -1] = 5 + (other[0, -1] - 4) % (VOCAB - 5)
    first, changed = (through(model, block, i, run)[:, 0] for i in (ids, other))
    return bool((first - changed).abs().max() > 1e-12)


def edit(module: nn.Module, change: Callable[[Tensor], Tensor], before: bool = False) -> RemovableHandle:
    """Hook that replaces a module's input (``before``) or output; returns its handle."""
    if before:

        def replaced(_, args, kwargs):
            if args:
                return (change(args[0]), *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": change(kwargs["hidden_states"])}

        return module.register_forward_pre_hook(replaced, with_kwargs=True)
    return module.register_forward_hook(lambda _, __, out: change(out))


def with_edits(function: Callable[[], R], *edits: Any) -> R:
    """Calls ``function()`` with these edits active."""
    handles = [edit(*e) for e in edits]
    try:
        return function()
    finally:
        for handle in handles:
            handle.remove()


def norm_placement(model: nn.Module, block: nn.Module, run: Run | None = None) -> str:
    """Where a block normalizes: "post", "pre", "inside" (only the sublayer's result) or "pre+post" (both).

    Asks three questions. If the sublayers output zeros, does the block still normalize the stream? If the stream is ten
    times as large, does the attention's input stay the same? If the attention's output is ten times as large, does the
    contribution to the stream stay the same?
    """
    at = places(model, block)
    reads, writes = (block.get_submodule(n) for n in (at.attention_in, at.attention_out))
    ffn: Any = block.get_submodule(at.ffn_out)
    others = [m for n, m in block.named_modules() if n.endswith("EncDecAttention.o")]
    stream = (
        torch.randn(
            1,
            T,
            ffn.weight.shape[0] if isinstance(ffn, nn.Linear) else ffn.nf,
            dtype=torch.float64,
            generator=torch.Generator().manual_seed(3),
        )
        * 2
        + 0.5
    )
    given = lambda factor: (block, lambda x: factor * stream, True)
    silent = [(m, torch.zeros_like) for m in (writes, ffn, *others)]
    out = functools.partial(through, model, block, run=run)

    def read():
        found = []
        handle = reads.register_forward_pre_hook(lambda _, args: found.append(args[0]))
        out()
        handle.remove()
        return found[0]

    near = lambda a, b: bool((a - b).abs().max() < 1e-3 * b.abs().max())
    passes = near(with_edits(out, given(1), *silent), stream)
    same_input = near(with_edits(read, given(10)), with_edits(read, given(1)))
    louder = with_edits(out, given(1), *silent[1:], (writes, lambda x: 10 * x))
    same_output = near(louder, with_edits(out, given(1), *silent[1:]))
    if not passes:
        return "post"
    return {(True, False): "pre", (False, True): "inside", (True, True): "pre+post"}[same_input, same_output]


def norm_kind(block: nn.Module) -> str:
    """ "LayerNorm" if adding a constant to all entries changes nothing, else "RMSNorm"."""
    norm = next(m for _, m in block.named_modules() if "norm" in type(m).__name__.lower())
    x = torch.randn(3, norm.weight.numel(), dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    return "LayerNorm" if (norm(x + 5) - norm(x)).abs().max() < 1e-4 else "RMSNorm"


def scores(model: nn.Module, block: nn.Module, ids: Tensor) -> tuple[Tensor, Tensor, int]:
    """(q·k of the first block without any factor, log of its attention weights, head dim); tensors are (H, T, T)."""
    at = places(model, block)
    found: dict[str, Tensor] = {}
    handles = [
        block.get_submodule(n).register_forward_hook(
            functools.partial(lambda name, _, __, out: found.setdefault(name, out), n)
        )
        for n in {at.attention_in, at.key}
    ]
    # All positions 0, so that rotary models rotate nothing.
    still = {"position_ids": torch.zeros_like(ids)} if "rotary" in position_scheme(model) else {}
    with torch.no_grad():
        result = call(model, ids, output_attentions=True, **still)
    for handle in handles:
        handle.remove()
    weights = (result.decoder_attentions if hasattr(result, "decoder_attentions") else result.attentions)[0][0]
    heads = weights.shape[0]
    q, k = found[at.attention_in][0], found[at.key][0]
    if at.heads == "thirds":
        q, k, _ = q.chunk(3, dim=-1)
    if at.heads == "interleaved":
        q, k = (part.flatten(1) for part in q.view(T, heads, 3, -1).unbind(2)[:2])
    q = q.view(T, heads, -1).transpose(0, 1)
    k = k.view(T, -1, q.shape[-1]).transpose(0, 1)
    return q @ k.repeat_interleave(heads // k.shape[0], 0).transpose(1, 2), weights.log(), q.shape[-1]


def centered(x: Tensor, seen: Tensor) -> Tensor:
    """Rows of x (H, T, T) minus their mean over the seen pairs, 0 elsewhere: the part that affects a softmax."""
    x = torch.where(seen, x, 0.0)
    return torch.where(seen, x - x.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True), 0.0)


def score_factor(model: nn.Module, block: nn.Module) -> tuple[str, Tensor, Tensor]:
    """(the factor of q·k: "1/√d", "1/√(3d)" or "1"; the bias (H, T, T) added to the scaled scores; the seen pairs).

    Two inputs have the same bias, so the difference of their log weights is the factor times the difference of their
    q·k, up to a constant per row. The bias is returned with centered rows. Raises ValueError if no factor fits.
    """
    for name, parameter in block.named_parameters():  # DeBERTa's positions depend on the input: leave q·k alone
        if ".pos_" in name:
            parameter.data.zero_()
    (raw, logs, d), (other, other_logs, _) = (scores(model, block, tokens(seed)) for seed in (1, 5))
    seen = logs.isfinite() & (logs > -80)
    x, y = centered(raw - other, seen), centered(logs - other_logs, seen)
    factor = ((x * y).sum() / (x * x).sum()).item()
    if (y - factor * x).abs().max() > 1e-6:
        raise ValueError(f"{type(model).__name__}: its scores are no multiple of q·k plus a bias")
    names = {"1/√d": d**-0.5, "1/√(3d)": (3 * d) ** -0.5, NOT_SCALED: 1.0}
    name = next(n for n, value in names.items() if math.isclose(value, factor, rel_tol=1e-6))
    return name, centered(logs - factor * raw, seen), seen


def own_bias(model: nn.Module, block: Any, heads: int) -> Tensor:
    """The bias that the model adds to its scores, unscaled: from T5's table or ALiBi's slopes, (H, T, T)."""
    if type(block).__name__ == "T5Block":
        return block.layer[0].SelfAttention.compute_bias(T, T)[0].detach().double()
    slopes = torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)], dtype=torch.float64)
    return slopes[:, None, None] * (torch.arange(T) - torch.arange(T)[:, None])


def encode(model: nn.Module, ids: Tensor) -> Any:
    """Runs T5 with the ids in its encoder (``call`` feeds them to its decoder)."""
    return model(input_ids=ids, decoder_input_ids=tokens(2))


def text_depends_on_image(model: Any) -> bool:
    """Whether CLIP's text embedding depends on the image passed with it."""
    size = model.config.vision_config.image_size
    generator = torch.Generator().manual_seed(6)
    with torch.no_grad():
        one, other = (
            model(
                input_ids=tokens(), pixel_values=torch.randn(1, 3, size, size, generator=generator).double()
            ).text_embeds
            for _ in range(2)
        )
    return not torch.equal(one, other)


def swiglu_factors(model: Any) -> dict[str, float]:
    """Distance of LlamaMLP from down(β · silu(gate) * up), relative to its largest entry, for three β."""
    mlp = model.model.layers[0].mlp
    x = torch.randn(T, mlp.gate_proj.in_features, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        theirs = mlp(x)
        product = nn.functional.silu(mlp.gate_proj(x)) * mlp.up_proj(x)
        far = lambda beta: ((theirs - mlp.down_proj(beta * product)).abs().max() / theirs.abs().max()).item()
        return {
            "mlp_without_factor": round(far(1.0), 4),
            "mlp_with_half_sqrt": round(far(math.sqrt(0.5)), 4),
            "mlp_with_two_thirds": round(far(2 / 3), 4),
        }
