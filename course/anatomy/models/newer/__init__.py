"""Families of 2024 to 2026, one a file: the wiring is given, and what computes something is a learner's own part.

Every file says which exercises its parts come from. ``build(c, own)`` makes a model of a configuration and of parts;
``anatomy.parts.whole`` fetches a learner's own. Other modules here hold what several families share.
"""

from torch import nn

from ..config import Config
from . import deepseek_v3, deepseek_v32, gpt_oss, olmo_hybrid, qwen3_next
from .family import Newer, Own

__all__ = ["NEWER", "Newer", "Own", "build"]

NEWER: dict[str, Newer] = {
    "gpt_oss": gpt_oss.FAMILY,
    "deepseek_v3_experts": deepseek_v3.FAMILY,
    "deepseek_v32": deepseek_v32.FAMILY,
    "qwen3_next": qwen3_next.FAMILY,
    "olmo_hybrid": olmo_hybrid.FAMILY,
}
"""Name → family. The name is the checkpoint's model_type, or says more where several families share one."""


def build(c: Config, own: Own) -> nn.Module:
    """The model of a configuration whose ``family`` is a name in ``NEWER``.

    own: an object with the family's ``parts`` as attributes.
    """
    return NEWER[c["family"]].build(c, own)
