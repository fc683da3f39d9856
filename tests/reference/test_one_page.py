"""The model on one page against LlamaForCausalLM with the same weights, in float64, and against itself with a cache."""

import inspect

import pytest
import torch

from autograder.reference.kv_cache import chunks
from autograder.reference.models import convert, one_page
from autograder.reference.models.llama import Llama, LlamaConfig
from autograder.reference.models.one_page import Config, Transformer
from tests.reference.hf_float64 import float64, randomize
from tests.reference.test_models import llama_like

SIZES = Config(vocab=37, d_model=24, n_layers=3, n_heads=6, n_kv_heads=2, d_ff=20, base=500.0)
SEEDS = (0, 1, 2)


def ids(seed=0, B=2, length=11):
    return torch.randint(SIZES.vocab, (B, length), generator=torch.Generator().manual_seed(seed))


def theirs(c):
    from transformers import LlamaConfig as HFConfig
    from transformers import LlamaForCausalLM

    config = llama_like(HFConfig, c)
    config.tie_word_embeddings = c.tied
    return LlamaForCausalLM(config)


def drawn(config=SIZES, seed=0):
    return randomize(Transformer(config).double(), seed)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_logits_equal_those_of_hugging_faces_llama(oracle_report, tied, n_kv_heads):
    config = SIZES._replace(tied=tied, n_kv_heads=n_kv_heads)
    with float64():
        llama, ours = randomize(theirs(config)), Transformer(config).eval()
        ours.load_state_dict(convert.from_llama(llama.state_dict()), strict=True)
        oracle_report("one page / LlamaForCausalLM", ours(ids()), llama(ids()).logits, rtol=0, atol=2e-12)
        assert (ours.head.weight is ours.tokens.weight) == tied


def test_the_loss_equals_that_of_hugging_faces_llama(oracle_report):
    with float64():
        llama, ours = randomize(theirs(SIZES)), Transformer(SIZES).eval()
        ours.load_state_dict(convert.from_llama(llama.state_dict()))
        oracle_report("loss on one page / LlamaForCausalLM", ours.loss(ids()), llama(ids(), labels=ids()).loss)


def test_same_model_as_the_configurable_one():
    page, llama = drawn(), Llama(LlamaConfig(*SIZES[:8])).double()
    llama.load_state_dict(page.state_dict(), strict=True)
    assert torch.equal(page(ids()), llama(ids()))


@pytest.mark.parametrize("plan", [[11], [1] * 11, [7, 1, 1, 2], [1, 10]])
def test_decoding_with_the_cache_equals_one_pass(plan):
    model, text = drawn(), ids()
    with torch.no_grad():
        caches = model.new_caches(2, 11)
        pieces = [model(text[:, start:stop], caches) for start, stop in chunks(11, plan)]
        torch.testing.assert_close(torch.cat(pieces, dim=1), model(text), rtol=0, atol=2e-12)
        with pytest.raises(ValueError, match="holds 11 tokens"):
            model(text[:, :1], caches)


def test_no_token_sees_a_later_one():
    model, text = drawn(), ids()
    other = torch.cat([text[:, :6], (text[:, 6:] + 1) % SIZES.vocab], dim=1)
    assert torch.equal(model(text)[:, :6], model(other)[:, :6])
    assert not torch.equal(model(text)[:, 6:], model(other)[:, 6:])


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_text_is_that_of_full_passes(seed):
    model, text = drawn(seed=seed), ids(seed, length=4)
    expected = text
    for _ in range(6):
        expected = torch.cat([expected, model(expected)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(model.generate(text, 6), expected)


def test_drawn_tokens_follow_the_softmax():
    model, text = drawn(), ids(B=1, length=4)
    many = model.generate(text.expand(20_000, -1), 1, temperature=1.5, generator=torch.Generator().manual_seed(0))
    shares = torch.bincount(many[:, -1], minlength=SIZES.vocab) / len(many)
    expected = (model(text)[0, -1] / 1.5).softmax(-1)
    torch.testing.assert_close(shares.double(), expected, rtol=0, atol=0.02)  # five standard errors at a share of ½


@pytest.mark.parametrize("seed", SEEDS)
def test_learns_a_short_text_by_heart(seed):
    torch.manual_seed(seed)
    model, text = Transformer(SIZES._replace(tied=bool(seed % 2))), ids(seed, B=1, length=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = model.loss(text)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    uniform = torch.tensor(float(SIZES.vocab)).log().item()
    assert losses[0] == pytest.approx(uniform, rel=0.05), "fresh weights guess evenly"
    assert losses[-1] < 0.1 * losses[0]
    assert torch.equal(model.generate(text[:, :4], 12)[:, 4:], text[:, 4:])


@pytest.mark.parametrize("wrong", [{"d_model": 25}, {"n_kv_heads": 4}])
def test_sizes_that_do_not_divide_are_refused(wrong):
    with pytest.raises(ValueError, match="must divide"):
        Transformer(SIZES._replace(**wrong))


def test_is_one_page():
    assert len(inspect.getsource(one_page).splitlines()) <= 200
