"""Records the outputs of Hugging Face's models, for learners who don't have the library.

``python -m autograder.recording.hugging_face`` writes ``assets/models/hugging_face``: on a CPU, in the staff
environment, within seconds. ``anatomy.models.library`` defines the queries and reads the files.
"""

import json
import sys
from typing import Any

import torch
from anatomy.language import corpus, shipped
from anatomy.models import library
from anatomy.program.torch_settings import one_thread
from anatomy.system import files
from safetensors.torch import save

Tensors = dict[str, torch.Tensor]
TEXT = 2_000  # characters of the held-out text to encode; the page is the first tokens of these
PAGE = 128  # tokens


def page() -> torch.Tensor:
    """(2, 64) int64: the page that unit 12 feeds to both models."""
    ids = shipped.tokenizer().encode(corpus.held_out_text()[:TEXT]).ids
    return torch.tensor(ids[:PAGE]).view(2, PAGE // 2)


@one_thread
@torch.no_grad()
def recorded() -> tuple[dict[str, Tensors], dict[str, Any]]:
    """Tensors by the names of their files, and the manifest."""
    entries, found = dict[str, Any](), dict[str, Tensors]()
    for family in library.ALL_TINY:
        tensors, entries[family] = _tiny(family)
        found.setdefault(library.file_of(family), {}).update(tensors)
    ids, folder = page(), shipped.folder()
    theirs = library.of_checkpoint(folder, ids)
    manifest = {
        "made": {"transformers": library.transformers().__version__, "torch": torch.__version__, "device": "cpu"},
        "tiny": entries,
        "checkpoint": {
            "ids": ids.tolist(),
            "weights": library.digest_of(folder),
            "parameters": theirs.parameters,
        },
    }
    return found | {library.FILES[1]: _answers("checkpoint", theirs, library.EVERY)}, manifest


def _tiny(family: str) -> tuple[Tensors, dict[str, Any]]:
    """A tiny model's tensors, and what the manifest says about it."""
    theirs, tensors = library.tiny(family), Tensors()
    kept = _first_names(theirs.state)
    for name in sorted(set(kept.values())):
        codes = library.coded(theirs.state[name])
        assert torch.equal(library.drawn_weights(codes), theirs.state[name]), f"{family}: {name} is no drawn weight"
        tensors[f"{family}.weights.{name}"] = codes
    return tensors | _answers(family, theirs), {
        "settings": library.ALL_TINY[family],
        "facts": json.loads(json.dumps(theirs.facts, default=str)),
        "parameters": theirs.parameters,
        "weights": kept,
    }


def _first_names(state: dict[str, torch.Tensor]) -> dict[str, str]:
    """Name of a weight → the name under which it is stored: that of the first weight with the same numbers."""
    kept: dict[str, str] = {}
    for name, tensor in state.items():
        same = (k for k in kept.values() if state[k].shape == tensor.shape and torch.equal(state[k], tensor))
        kept[name] = next(same, name)
    return kept


def _answers(name: str, theirs: library.Theirs, every: int = 1) -> dict[str, torch.Tensor]:
    outputs = {
        f"{name}.outputs.{i}": output.flatten(end_dim=-2)[::every].contiguous()
        for i, output in enumerate(theirs.answers.outputs)
    }
    tokens = theirs.answers.tokens
    return outputs | ({} if tokens is None else {f"{name}.tokens": tokens.contiguous()})


def main() -> int:
    """Writes the files; returns 1 if the library isn't installed."""
    if library.transformers() is None:
        print("transformers isn't installed: make test sets up the staff environment.", file=sys.stderr)
        return 1
    tensors, manifest = recorded()
    folder = library.folder()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    contents = {name: save(kept) for name, kept in tensors.items()}
    for name, content in (contents | {library.FILES[2]: text.encode()}).items():
        files.replace(folder / name, content)
        print(f"{name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
