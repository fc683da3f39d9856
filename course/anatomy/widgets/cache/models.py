"""Sizes of released models and of GPUs for the cache calculator, each row with its source.

``source`` is the paper (arXiv number) or page with the figures, ``checked`` the released configuration that they were
compared with. ``parameters`` are in billions, counted from the sizes if the whole shape is public (a test counts them
again), else from the source. ``full`` layers see the whole text, the others the last ``window`` tokens. ``latent`` is
(rank, rotary numbers) of multi-head latent attention.
"""

from typing import NamedTuple

from ..tools.words import N_, _


class Model(NamedTuple):
    """One released model. kv_heads is 0 if a latent is cached instead."""

    name: str
    parameters: float
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    source: str
    against: tuple[str, str]  # (part of a sentence, value of its {name})
    full: int | None = None
    window: int = 0
    latent: tuple[int, int] | None = None

    @property
    def shape(self) -> str:
        """The sizes that determine the cache, in words."""
        full = self.layers if self.full is None else self.full
        if self.latent:
            stored = _("one latent of {rank} + {rotary} rotary numbers for {heads} heads")
            stored = stored.format(rank=self.latent[0], rotary=self.latent[1], heads=self.heads)
        else:
            stored = _("{heads} query heads, {kv_heads} key-value heads of {dim} numbers")
            stored = stored.format(heads=self.heads, kv_heads=self.kv_heads, dim=self.head_dim)
        if full == self.layers:
            told = _("{layers} layers; {stored}")
        elif full:
            told = _("{layers} layers, {full} of them full, the others with a window of {window:,}; {stored}")
        else:
            told = _("{layers} layers, all with a window of {window:,}; {stored}")
        return told.format(layers=self.layers, full=full, window=self.window, stored=stored)

    @property
    def checked(self) -> str:
        """The released configuration that the figures were compared with, in words."""
        told, name = self.against
        return _(told).format(name=name)


_LLAMA = N_("arXiv:2302.13971, table 2")
_LLAMA_TWO = N_("arXiv:2307.09288, table 1 (no GQA at this size)")
_LLAMA_TWO_GQA = N_("arXiv:2307.09288, table 1 (GQA at this size) and appendix A.2.1 (8 key-value heads)")
_LLAMA_THREE = N_("arXiv:2407.21783, table 3")
_MISTRAL = N_("arXiv:2310.06825, table 1")
_QWEN = N_("arXiv:2407.10671, table 1")
_GEMMA_TWO = N_("arXiv:2408.00118, table 1, and section 2 (local and global layers in turn)")
_GEMMA_THREE = N_("arXiv:2503.19786, section 2 (five local layers to one global, window 1,024)")
_DEEPSEEK = N_("arXiv:2412.19437, section 4.2")
_GPT = N_("arXiv:2005.14165, table 2.1; its banded layers, whose width is not given, are counted as full")

_DEFAULTS = N_("defaults of {name} in Hugging Face transformers")
_FILE = N_("config.json of {name}")
_LITGPT = N_("config.json of {name}, as in Lightning-AI/litgpt, config.py")
_NOTHING = N_("nothing: the model was not released")
_GEMMA_FILE = (N_("gemma/config.py of {name}"), "google/gemma_pytorch")

MODELS = (
    Model("LLaMA-1 7B", 6.74, 32, 32, 32, 128, _LLAMA, (_DEFAULTS, "LlamaConfig")),
    Model("LLaMA-1 65B", 65.3, 80, 64, 64, 128, _LLAMA, (_FILE, "huggyllama/llama-65b")),
    Model("LLaMA-2 7B", 6.74, 32, 32, 32, 128, _LLAMA_TWO, (_LITGPT, "meta-llama/Llama-2-7b-hf")),
    Model("LLaMA-2 70B", 69.0, 80, 64, 8, 128, _LLAMA_TWO_GQA, (_LITGPT, "meta-llama/Llama-2-70b-hf")),
    Model("Llama 3 8B", 8.03, 32, 32, 8, 128, _LLAMA_THREE, (_LITGPT, "meta-llama/Meta-Llama-3-8B")),
    Model("Llama 3 70B", 70.6, 80, 64, 8, 128, _LLAMA_THREE, (_LITGPT, "meta-llama/Meta-Llama-3-70B")),
    Model("Llama 3 405B", 405.9, 126, 128, 8, 128, _LLAMA_THREE, (_LITGPT, "meta-llama/Meta-Llama-3.1-405B")),
    Model("Mistral 7B", 7.24, 32, 32, 8, 128, _MISTRAL, (_DEFAULTS, "MistralConfig"), full=0, window=4096),
    Model("Qwen 2 7B", 7.62, 28, 28, 4, 128, _QWEN, (_FILE, "Qwen/Qwen2-7B")),
    Model("Qwen 2 72B", 72.7, 80, 64, 8, 128, _QWEN, (_FILE, "Qwen/Qwen2-72B")),
    Model("Gemma 2 9B", 9.24, 42, 16, 8, 256, _GEMMA_TWO, _GEMMA_FILE, full=21, window=4096),
    Model("Gemma 2 27B", 27.2, 46, 32, 16, 128, _GEMMA_TWO, _GEMMA_FILE, full=23, window=4096),
    Model("Gemma 3 27B", 27.0, 62, 32, 16, 128, _GEMMA_THREE, _GEMMA_FILE, full=10, window=1024),
    Model("DeepSeek-V3", 671.0, 61, 128, 0, 128, _DEEPSEEK, (_DEFAULTS, "DeepseekV3Config"), latent=(512, 64)),
    Model(
        "ChatGLM2-6B",
        6.24,
        28,
        32,
        2,
        128,
        N_("the released configuration; the model's history is in arXiv:2406.12793"),
        (_FILE, "THUDM/chatglm2-6b"),
    ),
    Model("GPT-3", 175.0, 96, 96, 96, 128, _GPT, (_NOTHING, "")),
)


class Gpu(NamedTuple):
    """Memory in bytes and bandwidth in bytes per second, by the maker's data sheet."""

    name: str
    memory: int
    bandwidth: float
    sheet: str
    times: int = 1

    @property
    def source(self) -> str:
        """The data sheet, in words."""
        told = (
            _("NVIDIA's data sheet of the {name}, times {n}")
            if self.times > 1
            else _("NVIDIA's data sheet of the {name}")
        )
        return told.format(name=self.sheet, n=self.times)


GPUS = (
    Gpu("A100, 40 GB", 40 * 10**9, 1.555e12, "A100 40GB SXM"),
    Gpu("A100, 80 GB", 80 * 10**9, 2.039e12, "A100 80GB SXM"),
    Gpu("H100, 80 GB", 80 * 10**9, 3.35e12, "H100 SXM"),
    Gpu("H200, 141 GB", 141 * 10**9, 4.8e12, "H200 SXM"),
    Gpu("8 × H100, 640 GB", 640 * 10**9, 26.8e12, "H100 SXM", 8),
    Gpu("16 × H200, 2.3 TB", 2256 * 10**9, 76.8e12, "H200 SXM", 16),
)
