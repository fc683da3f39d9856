"""Sizes of released models and of GPUs for the cache calculator; each row names the page where its figures stand.

``parameters`` are in billions, as the source gives them. ``full`` layers look at the whole text, the others at the
last ``window`` tokens. ``latent`` is (rank, rotary numbers) of multi-head latent attention.
"""

from typing import NamedTuple


class Model(NamedTuple):
    """One released model. kv_heads is 0 where a latent is cached instead."""

    name: str
    parameters: float
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    source: str
    full: int | None = None
    window: int = 0
    latent: tuple[int, int] | None = None


_LLAMA = "https://arxiv.org/abs/2302.13971 (table 2; 6.74 billion, where it says 6.7, is counted from its sizes)"
_LLAMA_TWO = ("https://arxiv.org/abs/2307.09288 (table 1: which sizes have GQA; appendix A.2.1: 8 key-value heads); "
              "layers and heads as in https://arxiv.org/abs/2302.13971 (table 2)")
_LLAMA_THREE = "https://arxiv.org/abs/2407.21783 (table 3)"
_QWEN = "https://arxiv.org/abs/2407.10671 (table 1)"
_GEMMA_TWO = "https://arxiv.org/abs/2408.00118 (table 1; section 2: local and global layers in turn)"
_GEMMA_THREE = ("https://arxiv.org/abs/2503.19786 (section 2: five local layers to one global, window 1024), "
                "https://github.com/google/gemma_pytorch/blob/main/gemma/config.py (layers, heads)")

MODELS = (
    Model("LLaMA-1 7B", 6.74, 32, 32, 32, 128, _LLAMA),
    Model("LLaMA-1 65B", 65.2, 80, 64, 64, 128, _LLAMA),
    Model("LLaMA-2 7B", 6.74, 32, 32, 32, 128, _LLAMA_TWO),
    Model("LLaMA-2 70B", 69.0, 80, 64, 8, 128, _LLAMA_TWO),
    Model("Llama 3 8B", 8.0, 32, 32, 8, 128, _LLAMA_THREE),
    Model("Llama 3 70B", 70.0, 80, 64, 8, 128, _LLAMA_THREE),
    Model("Llama 3 405B", 405.0, 126, 128, 8, 128, _LLAMA_THREE),
    Model("Mistral 7B", 7.2, 32, 32, 8, 128, "https://arxiv.org/abs/2310.06825 (table 1)", full=0, window=4096),
    Model("Qwen 2 7B", 7.6, 28, 28, 4, 128, _QWEN),
    Model("Qwen 2 72B", 72.0, 80, 64, 8, 128, _QWEN),
    Model("Gemma 2 9B", 9.2, 42, 16, 8, 256, _GEMMA_TWO, full=21, window=4096),
    Model("Gemma 2 27B", 27.2, 46, 32, 16, 128, _GEMMA_TWO, full=23, window=4096),
    Model("Gemma 3 27B", 27.0, 62, 32, 16, 128, _GEMMA_THREE, full=10, window=1024),
    Model("DeepSeek-V3", 671.0, 61, 128, 0, 128, "https://arxiv.org/abs/2412.19437 (section 4.2)", latent=(512, 64)),
    Model("ChatGLM2-6B", 6.2, 28, 32, 2, 128,
          "https://huggingface.co/THUDM/chatglm2-6b/blob/main/config.json, https://arxiv.org/abs/2406.12793"),
    Model("GPT-3", 175.0, 96, 96, 96, 128, "https://arxiv.org/abs/2005.14165 (table 2.1)"),
)


class Gpu(NamedTuple):
    """Memory in bytes and bandwidth in bytes per second, by the maker's data sheet."""

    name: str
    memory: int
    bandwidth: float
    source: str


_A_SHEET = "https://www.nvidia.com/en-us/data-center/a100/"
_H_SHEET = "https://www.nvidia.com/en-us/data-center/h100/"

GPUS = (
    Gpu("A100, 40 GB", 40 * 10**9, 1.555e12, _A_SHEET),
    Gpu("A100, 80 GB", 80 * 10**9, 2.039e12, _A_SHEET),
    Gpu("H100, 80 GB", 80 * 10**9, 3.35e12, _H_SHEET),
    Gpu("H200, 141 GB", 141 * 10**9, 4.8e12, "https://www.nvidia.com/en-us/data-center/h200/"),
    Gpu("8 × H100, 640 GB", 640 * 10**9, 26.8e12, _H_SHEET),
    Gpu("16 × H200, 2.3 TB", 2256 * 10**9, 76.8e12, "https://www.nvidia.com/en-us/data-center/h200/"),
)
