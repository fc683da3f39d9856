"""Loads real checkpoints into the learner's own models: ``load_pretrained("gpt2", build, rename)``.

A checkpoint is a folder with ``config.json`` and weights as safetensors, in one file or in shards with an index (the
format of Hugging Face). A name instead of a folder is looked up in the local cache, or else downloaded. Weights as
pickle (``pytorch_model.bin``) are not read: unpickling can run code.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors import safe_open
from torch import nn

from .config import Config
from .families import configuration, weights
from .names import Rules, State

Build = Callable[[Config], nn.Module]  # the learner's: configuration → model
Rename = Callable[[State, Rules], State]  # the learner's: assembly.names
Cut = Callable[[State], State]  # the learner's: assembly.fused

_WANTED = ["*.json", "*.safetensors", "merges.txt", "*.model"]
_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"


class NoCheckpoint(Exception):
    """The checkpoint is missing or can't be read; the message says why and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a checkpoint. theirs: its config.json; configuration: the same in the course's terms."""

    folder: Path
    theirs: dict[str, Any]
    configuration: Config

    def state(self, dtype: torch.dtype | None = torch.float32) -> State:
        """All weights by their names in the files, read shard by shard; floats are cast to ``dtype`` unless it is None.

        Raises: NoCheckpoint if a file is missing or damaged.
        """
        state: State = {}
        for path in self._files():
            try:
                with safe_open(path, framework="pt") as shard:
                    for name in shard.keys():
                        tensor = shard.get_tensor(name)
                        state[name] = tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor
            except FileNotFoundError:
                raise NoCheckpoint(f"{self.folder} has no {path.name}: copy the whole folder once more.") from None
            except (safetensors.SafetensorError, OSError) as error:
                raise NoCheckpoint(f"{path} is damaged ({error}): copy it once more.") from None
        return state

    def tokenizer(self) -> Any:
        """The library's ``tokenizers.Tokenizer`` of the folder's tokenizer.json. Raises: NoCheckpoint."""
        from tokenizers import Tokenizer

        path = self.folder / "tokenizer.json"
        if not path.is_file():
            raise NoCheckpoint(f"{self.folder} has no tokenizer.json.")
        return Tokenizer.from_file(str(path))

    def _files(self) -> list[Path]:
        index = self.folder / _INDEX
        if not index.is_file():
            return [self.folder / _SINGLE]
        shards = sorted(set(_json(index).get("weight_map", {}).values()))
        # An index may only name files in its own folder: no other file of this machine is opened.
        strange = [s for s in shards if not isinstance(s, str) or Path(s).name != s or s.startswith(".")]
        if strange or not shards:
            raise NoCheckpoint(f"{index} is damaged: it names {strange[0]!r}." if strange else f"{index} is empty.")
        return [self.folder / s for s in shards]


def open_checkpoint(where: str | Path) -> Checkpoint:
    """Opens the checkpoint in a folder, or with a name such as ``"gpt2"``.

    Raises: NoCheckpoint if it is missing (with one sentence, also without a network); UnknownFamily if the course has
    no parts for it.
    """
    folder = Path(where).expanduser()
    if not folder.is_dir():
        if os.sep in str(where) and (str(where).startswith((os.sep, ".", "~")) or str(where).count("/") > 1):
            raise NoCheckpoint(f"There is no folder {where}.")
        folder = _fetched(str(where))
    path = folder / "config.json"
    if not path.is_file():
        raise NoCheckpoint(f"{folder} has no config.json: a checkpoint is a folder with config.json and {_SINGLE}.")
    if not (folder / _SINGLE).is_file() and not (folder / _INDEX).is_file():
        pickled = any(folder.glob("*.bin"))
        why = "only weights as pickle, which can run code; ask for safetensors" if pickled else f"no {_SINGLE}"
        raise NoCheckpoint(f"{folder} has {why}.")
    theirs = _json(path)
    return Checkpoint(folder, theirs, configuration(theirs))


def load_pretrained(where: str | Path, build: Build, rename: Rename, cut: Cut | None = None) -> nn.Module:
    """Builds a model from the learner's parts with a checkpoint's weights, in float32, ready for use (``eval``).

    Args:
        where: folder, or name of a published checkpoint.
        build: configuration → model, e.g. ``Decoder``.
        rename: ``rename(state, rules)`` of exercise assembly.names.
        cut: prepares the state, e.g. GPT-2's fused and transposed matrices (assembly.fused).

    Raises: NoCheckpoint, UnknownFamily; RuntimeError if a name or a shape does not fit (strict load).
    """
    checkpoint = open_checkpoint(where)
    model = build(checkpoint.configuration)
    model.load_state_dict(renamed(checkpoint.state(), checkpoint.theirs, rename, cut), strict=True)
    return model.eval()


def renamed(state: State, theirs: dict[str, Any], rename: Rename, cut: Cut | None = None) -> State:
    """A checkpoint's state under the course's names. Raises: the error of ``rename`` for a name without a rule."""
    state, rules = weights(cut(state) if cut else state, theirs)
    return rename(state, rules)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoCheckpoint(f"{path} can't be read ({error}).") from None
    if not isinstance(found, dict):
        raise NoCheckpoint(f"{path} holds no configuration.")
    return found


def _fetched(name: str) -> Path:
    """The folder of a published checkpoint: from the local cache, else from the network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=_WANTED, local_files_only=True))
    except Exception:  # missing or incomplete
        pass
    try:
        return Path(snapshot_download(name, allow_patterns=_WANTED))
    except LocalEntryNotFoundError:
        why = "there is no network here"
    except Exception as error:  # a download can fail in many ways
        why = str(error).strip().split("\n")[0] or type(error).__name__
    raise NoCheckpoint(
        f"{name} can't be fetched ({why}). Give the folder of a copy: load_pretrained('path/to/{name}', …)."
    )
