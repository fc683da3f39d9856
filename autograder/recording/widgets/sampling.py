"""Recorder of SamplingExplorer: the trained language model's logits after three prompts."""

import torch
from anatomy.language import shipped
from anatomy.widgets import SamplingExplorer, sampling
from anatomy.widgets.tools.types import Inputs
from torch import Tensor

from autograder.recording.widgets.tools import Recorder
from autograder.reference.assembly.decoder import Decoder
from autograder.reference.language.generating import distribution


@torch.no_grad()
def logits() -> Tensor:
    """(prompts, V) logits of the next token. Raises ValueError if the likeliest tokens are not those of the widget."""
    c, weights = shipped.checkpoint()
    model, tokenizer = Decoder(c).double(), shipped.tokenizer()
    model.load_state_dict(weights)
    rows = []
    for prompt, shown in zip(sampling.PROMPTS, sampling.TOKENS, strict=True):
        row = model(torch.tensor([tokenizer.encode(prompt).ids]))[0][0, -1]
        likely = row.argsort(descending=True, stable=True)[: sampling.SHOWN].tolist()
        named = tuple(tokenizer.decode([i]).replace(" ", "·") for i in likely)
        if named != shown:
            raise ValueError(f"the likeliest tokens after {prompt!r} are {named}, and the widget shows {shown}")
        rows.append(row)
    return torch.stack(rows)


def sampling_inputs(generator: torch.Generator) -> Inputs:
    """Nothing is drawn."""
    return {"logits": logits()}


RECORDER = Recorder(SamplingExplorer, sampling_inputs, distribution)
