"""load_pretrained on checkpoints saved in the real format: one file, shards, half precision, damaged, foreign."""

import json

import pytest
import torch
from anatomy.models.library import their_model
from anatomy.models.pretrained import NoCheckpoint, load_pretrained, open_checkpoint

from tests.models.learner import solved

UNIT = "11-assembly"
IDS = torch.randint(1, 61, (2, 9), generator=torch.Generator().manual_seed(3))


def load(folder, cut=None):
    mine = solved()
    return load_pretrained(folder, mine.build, mine.rename, cut)


def saved(folder, name="llama", dtype=torch.float32, **options):
    theirs = their_model(name).to(dtype)
    theirs.save_pretrained(folder, **options)
    return theirs.float()


@torch.no_grad()
@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2", "mixtral", "deepseek_v3", "glm", "bert", "albert", "t5"])
def test_a_saved_checkpoint_loads(tmp_path, name):
    """transformers writes less than the model holds, or in another form: no tied heads, experts stored one by one."""
    theirs = saved(tmp_path, name)
    mine = load(tmp_path, solved().unfuse if name == "gpt2" else None)
    assert not mine.training
    if name == "t5":
        pair = mine(IDS, IDS), theirs(IDS, decoder_input_ids=IDS).logits
    elif name in ("bert", "albert"):
        pair = mine(IDS)[0], theirs(IDS)[0]
    else:
        pair = mine(IDS)[0], theirs(IDS).logits
    torch.testing.assert_close(*pair, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_shards_equal_one_file(tmp_path):
    saved(tmp_path / "one")
    saved(tmp_path / "many", max_shard_size="40KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 3
    assert torch.equal(load(tmp_path / "one")(IDS)[0], load(tmp_path / "many")(IDS)[0])


@torch.no_grad()
def test_half_precision_is_read_as_float32(tmp_path):
    from transformers import LlamaForCausalLM

    saved(tmp_path, dtype=torch.bfloat16)
    mine, theirs = load(tmp_path), LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    assert {p.dtype for p in mine.parameters()} == {torch.float32}
    torch.testing.assert_close(mine(IDS)[0], theirs(IDS).logits, rtol=1e-4, atol=1e-4)
    state = open_checkpoint(tmp_path).state(dtype=None)
    assert {t.dtype for t in state.values()} == {torch.bfloat16}


def test_weights_that_do_not_fit_are_not_loaded(tmp_path):
    saved(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"intermediate_size": 44}))
    with pytest.raises(RuntimeError, match="size mismatch for blocks.0.ffn"):
        load(tmp_path)


def test_what_is_missing_or_damaged_is_said_in_one_sentence(tmp_path):
    with pytest.raises(NoCheckpoint, match="no folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(NoCheckpoint, match="has no config.json"):
        load(tmp_path)
    saved(tmp_path, max_shard_size="40KB")
    shard = sorted(tmp_path.glob("*.safetensors"))[0]
    whole = shard.read_bytes()
    shard.write_bytes(whole[:100])
    with pytest.raises(NoCheckpoint, match="is damaged"):
        load(tmp_path)
    shard.unlink()
    with pytest.raises(NoCheckpoint, match=f"has no {shard.name}"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("[1, 2")
    with pytest.raises(NoCheckpoint, match="can't be read"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["../other.safetensors", "/etc/passwd", ".hidden", 3])
def test_an_index_opens_files_beside_it_only(tmp_path, name):
    saved(tmp_path / "it", max_shard_size="40KB")
    index = tmp_path / "it" / "model.safetensors.index.json"
    table = json.loads(index.read_text())
    table["weight_map"] = dict.fromkeys(table["weight_map"], name)
    index.write_text(json.dumps(table))
    with pytest.raises(NoCheckpoint, match="damaged"):
        load(tmp_path / "it")


def test_pickled_weights_are_not_read(tmp_path):
    saved(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(NoCheckpoint, match="pickle"):
        load(tmp_path)


def test_a_name_without_a_network_is_one_sentence(tmp_path, monkeypatch):
    """For a learner without a network, the library's own errors stay hidden."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(NoCheckpoint) as caught:
        load("gpt2")
    says = str(caught.value)
    assert says.startswith("gpt2 can't be fetched (") and "\n" not in says and "path/to/gpt2" in says


@torch.no_grad()
def test_a_name_in_the_local_cache_needs_no_network(tmp_path, monkeypatch):
    """Uses the cache's own layout: snapshots by commit, found by branch name."""
    theirs = saved(tmp_path / "models--tiny--llama" / "snapshots" / "abc")
    refs = tmp_path / "models--tiny--llama" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    torch.testing.assert_close(load("tiny/llama")(IDS)[0], theirs(IDS).logits, rtol=1e-4, atol=1e-4)
