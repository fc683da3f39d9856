"""References in which data decides the shape, so that the meta device can't run them: they run on a pretended CUDA
device, which holds values and refuses to mix devices. Results must equal the CPU's."""

import pytest
import torch

from autograder.reference import gqa, lora, masks, objectives, optim, sparse, sparse_gather
from autograder.reference.kv_cache import ContiguousCache, RollingCache
from autograder.reference.measuring import accuracy_by_position
from autograder.reference.models import generate
from autograder.reference.models.bert import BertConfig, BertForPretraining
from autograder.reference.models.gpt2 import GPT1, GPT2, GPTConfig
from autograder.reference.models.llama import Llama, LlamaConfig, Mistral
from autograder.reference.models.mixtral import Mixtral
from autograder.reference.models.t5 import T5, T5Config
from autograder.reference.paged_cache import PagedCache, paged_attention
from autograder.reference.positions.recurrent import RecurrentPositions
from autograder.reference.quantized_cache import QuantizedCache
from tests.recording.pretend_cuda import OnCuda, pretend_cuda

LLAMA = LlamaConfig(20, 16, 2, 4, 2, 8)


def draw(*shape, device, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def ids(*shape, device, seed=0, low=3, high=20):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(device)


def made(build, device):
    torch.manual_seed(0)
    return build().to(device)


def decoder(build):
    def run(device):
        model, prompt = made(build, device), ids(2, 5, device=device)
        real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], device=device).bool()
        with torch.no_grad():
            return generate.greedy(model, prompt, 3, real), generate.greedy_cached(model, prompt, 3, real)

    return run


def seq2seq(device):
    model = made(lambda: T5(T5Config(20, 16, 2, 4, 3, 8)), device)
    with torch.no_grad():
        return [
            f(model, ids(2, 5, device=device), 0, 3) for f in (generate.greedy_seq2seq, generate.greedy_seq2seq_cached)
        ]


def paged(device):
    cache = PagedCache(12, 2, 2, 4, device=device)
    for name, n in (("a", 5), ("b", 3)):
        cache.open(name)
        cache.append(name, draw(2, n, 4, device=device), draw(2, n, 4, device=device, seed=1))
    cache.fork("a", "c")
    return paged_attention(draw(3, 4, 4, device=device, seed=2), cache, ["a", "b", "c"]), *cache.gather("c")


def stores(device):
    found = []
    for cache in (
        ContiguousCache(1, 2, 6, 4, device=device),
        RollingCache(1, 2, 3, 4, device=device),
        QuantizedCache(1, 2, 6, 4, device=device),
    ):
        for start in (0, 2, 4):
            found += cache.append(draw(1, 2, 2, 4, device=device, seed=start), draw(1, 2, 2, 4, device=device))[:2]
    return found


def blanks(device):
    tokens = ids(12, device=device)
    example = objectives.blank_infilling(tokens, [(2, 4), (7, 9)], [1, 0], 20, 21, 22)
    logits = draw(len(example.labels), 23, device=device)
    return *(t for t in example if isinstance(t, torch.Tensor)), objectives.blank_infilling_loss(logits, example.labels)


def low_rank(device):
    model = made(lambda: Llama(LLAMA), device)
    lora.add_lora(model, {"q_proj", "v_proj"}, 2, 4)
    before = model(ids(1, 4, device=device))
    lora.merge_lora(model)
    return before.detach(), model(ids(1, 4, device=device)).detach()


def trained(device):
    model = made(lambda: Llama(LLAMA), device)
    tokens = ids(2, 6, device=device)
    objectives.next_token_loss(model(tokens), tokens).backward()
    gradients = [p.grad for p in model.parameters()]
    clipped, norm = optim.clip_by_global_norm(gradients, 0.1)
    parameter = next(model.parameters()).detach()
    moved, _ = optim.adamw_step(parameter, clipped[0], optim.adam_state(parameter))
    return norm, moved, *clipped


def gathered(device):
    q, k, v = (draw(1, 2, 8, 4, device=device, seed=i) for i in range(3))
    mask = sparse.bigbird_mask(8, 2, torch.Generator().manual_seed(0)).to(device)
    blocks = sparse.local_causal_mask(4, 2, device)
    return (
        sparse_gather.gather_attention(q, k, v, *sparse_gather.neighbor_index(mask)),
        sparse_gather.block_gather_attention(q, k, v, blocks, 2),
        sparse_gather.local_attention(q, k, v, 3),
    )


def masked(device):
    tokens, special = ids(2, 9, device=device), torch.zeros(2, 9, device=device).bool()
    return [
        *objectives.sample_mlm(tokens, special, 2, 20, torch.Generator().manual_seed(0)),
        *objectives.dynamic_mlm(tokens, special, 2, 20, 7, 1),
    ]


def corrupted(device):
    tokens, noise = ids(9, device=device), torch.tensor([0, 1, 1, 0, 0, 1, 0, 0, 1], device=device).bool()
    example = objectives.span_corruption(tokens, noise, 40)
    return *example, objectives.restore_spans(*example, 40)


def pretrained(device):
    model = made(lambda: BertForPretraining(BertConfig(20, 16, 2, 4, 8, 16)), device)
    real = masks.left_padded(torch.tensor([5, 3]), 5).to(device)
    return [t.detach() for t in model(ids(2, 5, device=device), None, real)]


CASES = {
    "llama": decoder(lambda: Llama(LLAMA)),
    "mistral": decoder(lambda: Mistral(LLAMA, 3)),
    "mixtral": decoder(lambda: Mixtral(LLAMA, 4, 2)),
    "gpt2": decoder(lambda: GPT2(GPTConfig(20, 16, 2, 4, 16))),
    "gpt1": decoder(lambda: GPT1(GPTConfig(20, 16, 2, 4, 16))),
    "t5": seq2seq,
    "bert": pretrained,
    "paged": paged,
    "stores": stores,
    "blanks": blanks,
    "lora": low_rank,
    "training": trained,
    "gathered": gathered,
    "mlm": masked,
    "span corruption": corrupted,
    "accuracy": lambda device: accuracy_by_position(draw(2, 8, 5, device=device), ids(2, 8, device=device, high=8), 4),
    "conversion": lambda device: [
        p.detach()
        for p in gqa.convert_to_gqa(made(lambda: gqa.GroupedQueryAttention(16, 4, 4), device), 2).parameters()
    ],
    "recurrent": lambda device: made(lambda: RecurrentPositions(8), device)(draw(2, 5, 8, device=device)).detach(),
    "dependence": lambda device: masks.dependence(lambda x: x.cumsum(0), draw(3, 2, device=device)),
}


def tensors(found):
    return [found] if isinstance(found, torch.Tensor) else [t for part in found for t in tensors(part)]


@pytest.mark.parametrize("name", CASES)
def test_the_same_on_another_device(name):
    with pretend_cuda():
        there = tensors(CASES[name]("cuda"))
    here = tensors(CASES[name]("cpu"))
    assert len(there) == len(here) and all(isinstance(t, OnCuda) for t in there)
    for a, b in zip(there, here, strict=True):
        torch.testing.assert_close(a.as_subclass(torch.Tensor), b, rtol=0, atol=0)
