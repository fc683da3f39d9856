"""Translates released checkpoints into the course's terms: configurations and names of weights.

For each ``model_type`` of a ``config.json``: the course's configuration, the rules that rename its weights, and the
preparation that the weights need first (splitting fused matrices, dropping copies). There are only tables and splitting
here: the learner builds the model and renames.
"""

from . import names
from .config import Config, config
from .names import Rules, State
from .newer import NEWER
from .released import Family, Theirs, UnknownFamily, activation_of, decoder_like, latent_like


def _llama(theirs: Theirs) -> Config:
    bias = bool(theirs.get("attention_bias"))
    return decoder_like(theirs, out_bias=bias)


def _mistral(theirs: Theirs) -> Config:
    return decoder_like(theirs, window=theirs.get("sliding_window"))


def _qwen2(theirs: Theirs) -> Config:
    if theirs.get("use_sliding_window"):
        raise UnknownFamily("this Qwen mixes windows in some layers; the parts here have every n-th")
    return decoder_like(theirs, attention_bias=True)


def _qwen3(theirs: Theirs) -> Config:
    return decoder_like(theirs, qk_norm="head")


def _olmo2(theirs: Theirs) -> Config:
    return decoder_like(theirs, placement="inside", qk_norm="whole")


def _gemma2(theirs: Theirs) -> Config:
    return decoder_like(
        theirs,
        norm="gemma",
        placement="both",
        activation=activation_of(theirs.get("hidden_activation") or theirs["hidden_act"]),
        window=theirs["sliding_window"],
        window_every=2,
        query_scale=theirs["query_pre_attn_scalar"],
        score_cap=theirs["attn_logit_softcapping"],
        logit_cap=theirs["final_logit_softcapping"],
        scaled_embedding=True,
        tied=theirs.get("tie_word_embeddings", True),
    )


def _glm(theirs: Theirs) -> Config:
    rope = theirs.get("rope_parameters") or {}
    share = rope.get("partial_rotary_factor") or theirs.get("partial_rotary_factor", 0.5)
    head_dim = theirs.get("head_dim") or theirs["hidden_size"] // theirs["num_attention_heads"]
    return decoder_like(theirs, position="rope_pairs", rotary_dim=int(head_dim * share))


def _mixtral(theirs: Theirs) -> Config:
    experts, active = theirs["num_local_experts"], theirs["num_experts_per_tok"]
    return decoder_like(theirs, n_experts=experts, n_active=active, window=theirs.get("sliding_window"))


def _deepseek(theirs: Theirs) -> Config:
    if not theirs.get("q_lora_rank"):
        raise UnknownFamily("this DeepSeek projects queries without a latent; the part here has one")
    return latent_like(theirs)


def _gpt2(theirs: Theirs) -> Config:
    return config(
        vocab=theirs["vocab_size"],
        d_model=theirs["n_embd"],
        n_layers=theirs["n_layer"],
        n_heads=theirs["n_head"],
        d_ff=theirs.get("n_inner") or 4 * theirs["n_embd"],
        norm="layer",
        eps=theirs["layer_norm_epsilon"],
        position="learned",
        max_positions=theirs["n_positions"],
        activation=activation_of(theirs["activation_function"]),
        gated=False,
        attention_bias=True,
        out_bias=True,
        ffn_bias=True,
        tied=True,
    )


def _bert(theirs: Theirs) -> Config:
    return config(
        kind="encoder",
        vocab=theirs["vocab_size"],
        d_model=theirs["hidden_size"],
        n_layers=theirs["num_hidden_layers"],
        n_heads=theirs["num_attention_heads"],
        d_ff=theirs["intermediate_size"],
        norm="layer",
        eps=theirs["layer_norm_eps"],
        placement="post",
        embedding_norm=True,
        position="learned",
        max_positions=theirs["max_position_embeddings"],
        n_segments=theirs["type_vocab_size"],
        d_embedding=theirs.get("embedding_size"),
        activation=activation_of(theirs["hidden_act"]),
        gated=False,
        attention_bias=True,
        out_bias=True,
        ffn_bias=True,
        shared_layers=theirs["model_type"] == "albert",
    )


def _t5(theirs: Theirs) -> Config:
    activation, gated = theirs["feed_forward_proj"], theirs["feed_forward_proj"].startswith("gated-")
    # "gated-gelu" has always meant the tanh form in these checkpoints.
    name = "gelu_new" if activation == "gated-gelu" else activation.removeprefix("gated-")
    return config(
        kind="encoder-decoder",
        vocab=theirs["vocab_size"],
        d_model=theirs["d_model"],
        n_layers=theirs["num_layers"],
        n_heads=theirs["num_heads"],
        head_dim=theirs["d_kv"],
        d_ff=theirs["d_ff"],
        norm="rms",
        eps=theirs["layer_norm_epsilon"],
        position="t5",
        activation=activation_of(name),
        gated=gated,
        query_scale=1,
        tied=theirs.get("tie_word_embeddings", True),
    )


_no_copies = names.without(r".*\.rotary_emb\.inv_freq")
FAMILIES: dict[str, Family] = {
    "llama": Family("LLaMA", _llama, [*names.DECODER, *names.PRE], _no_copies),
    "mistral": Family("Mistral", _mistral, [*names.DECODER, *names.PRE]),
    "mixtral": Family("Mixtral", _mixtral, [*names.EXPERTS, *names.DECODER, *names.PRE], names.cut_mixtral),
    "qwen2": Family("Qwen 2", _qwen2, [*names.DECODER, *names.PRE]),
    "qwen3": Family("Qwen 3", _qwen3, [*names.DECODER, *names.PRE]),
    "gemma2": Family("Gemma 2", _gemma2, [*names.DECODER, *names.BOTH]),
    "olmo2": Family("OLMo 2", _olmo2, [*names.DECODER, *names.INSIDE]),
    "glm": Family("GLM", _glm, [*names.DECODER, *names.PRE], names.cut_glm),
    "deepseek_v3": Family("DeepSeek", _deepseek, [*names.LATENT, *names.DECODER, *names.PRE]),
    "gpt2": Family("GPT-2", _gpt2, names.GPT, names.without(r".*\.attn\.(masked_)?bias")),
    "bert": Family("BERT", _bert, names.BERT, names.without(r"cls\.predictions\.decoder\..*", r".*\.position_ids")),
    "albert": Family(
        "ALBERT", _bert, names.ALBERT, names.without(r"predictions\..*", r"sop_classifier\..*", r".*\.position_ids")
    ),
    "t5": Family("T5", _t5, names.T5, names.without(r"(en|de)coder\.embed_tokens\.weight")),
}
"""model_type of a config.json → what the course calls its parts.

GPT-2's matrices lie transposed and three in one; that is an exercise (``assembly.fused``), so its rules expect names
with ``attn.q_proj``, ``attn.k_proj``, ``attn.v_proj``.
"""


KNOWN: dict[str, Family] = FAMILIES | NEWER
"""The families of unit 11 and the newer ones."""


def name_of(theirs: Theirs) -> str:
    """The name in ``KNOWN`` of a config.json's family. Raises: UnknownFamily; the message lists the known ones."""
    kind = theirs.get("model_type")
    if kind == "deepseek_v3" and theirs["first_k_dense_replace"] < theirs["num_hidden_layers"]:
        return "deepseek_v3_experts"  # unit 11 builds the dense layers
    if kind not in KNOWN:
        raise UnknownFamily(f"the course has no names for model_type {kind!r}; it has {', '.join(KNOWN)}")
    return kind


def family(theirs: Theirs) -> Family:
    """The family of a config.json. Raises: UnknownFamily."""
    return KNOWN[name_of(theirs)]


def configuration(theirs: Theirs) -> Config:
    """The course's configuration of a config.json; a newer family's has its name too. Raises: UnknownFamily."""
    name = name_of(theirs)
    c = KNOWN[name].configuration(theirs)
    return c | {"family": name} if name in NEWER else c


def weights(state: State, theirs: Theirs) -> tuple[State, Rules]:
    """Returns the state, with fused matrices split and copies dropped, and the rules that rename it.

    A head that is tied to the embedding is a copy too. Raises: UnknownFamily.
    """
    found = family(theirs)
    tied = found.configuration(theirs)["tied"]
    kept = {n: t for n, t in found.cut(state).items() if not (tied and n == "lm_head.weight")}
    return kept, found.rules
