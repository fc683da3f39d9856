"""The trained model that comes with the course: ``assets/models/austen``, 1.3 million parameters.

The folder is a checkpoint in the format of ``transformers``. Its ``manifest.json`` says how it was trained and which
loss it reached, and maps each weight's name to its name in a learner's ``Decoder``.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..models import Config
from ..program.records import MissingRecording, assets_dir
from ..system.installation import how_to_repair
from ..system.translation import _

NAME = "austen"
FILES = ("config.json", "manifest.json", "model.safetensors", "tokenizer.json")


def folder() -> Path:
    """Folder of the checkpoint. Raises MissingRecording, with one sentence, if one of its files is missing."""
    found = assets_dir() / "models" / NAME
    missing = [name for name in FILES if not (found / name).is_file()]
    if missing:
        incomplete = _("{folder} has no {file}: the trained model is incomplete. {repair}")
        raise MissingRecording(incomplete.format(folder=found, file=missing[0], repair=how_to_repair()))
    return found


def manifest() -> dict[str, Any]:
    """How the model was trained, and its bits per byte on held-out text. Raises MissingRecording."""
    return json.loads((folder() / "manifest.json").read_text(encoding="utf-8"))


def checkpoint() -> tuple[Config, dict[str, Tensor]]:
    """(configuration, name in a ``Decoder`` → tensor in float32), ready for a strict load. Raises MissingRecording.

    The file holds float16, which drops three digits that do not matter; computing in it would be slower on a CPU.
    """
    from ..models.pretrained import open_checkpoint

    opened, names = open_checkpoint(folder()), manifest()["names"]
    return opened.configuration, {names[theirs]: tensor for theirs, tensor in opened.state(torch.float32).items()}


def tokenizer() -> Any:
    """The library's ``tokenizers.Tokenizer``: ``.encode(text).ids`` and ``.decode(ids)``. Raises MissingRecording."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder() / "tokenizer.json"))
