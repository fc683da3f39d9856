"""The small language model: its training survives interruptions, and its checkpoint is what the manifest says."""

import dataclasses
import hashlib
import json
import shutil

import pytest
import torch
from anatomy.language import corpus, shipped, training
from anatomy.program.records import MissingRecording
from safetensors.torch import load_file

from autograder import ROOT
from autograder.recording.experiments import language_model as script
from autograder.recording.language_model import checkpoint, current
from autograder.recording.language_model import training as recorder
from autograder.recording.language_model.model import model
from autograder.recording.language_model.sampling import sample
from autograder.recording.language_model.training import Run, Training
from autograder.reference.language import bpe
from autograder.reference.models import convert
from autograder.reference.models.decoder import parameter_count
from tests.recording.tiny import TINY, record_tiny

SETTING = TINY["language_model"](script)
TINY_TRAINING = dataclasses.replace(SETTING.training, steps=12, points=4)
FOLDER = current.FOLDER
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())
RECORDED = json.loads(current.RECORDED.read_text())


@pytest.fixture(scope="module")
def text():
    return script.encoded(SETTING)[0]


@pytest.fixture(scope="module")
def trained():
    """The reference's model with the weights of the checkpoint."""
    stored = load_file(FOLDER / "model.safetensors")
    made = model(Training().sizes(), seed=0)
    weights = convert.from_llama({name: tensor.float() for name, tensor in stored.items()})
    made.load_state_dict({**weights, "head.weight": weights["tokens.weight"]})
    return made.eval()


# -- training ---------------------------------------------------------------------------------------------------------


def run(text, path, seed=0, setting=TINY_TRAINING):
    return Run(setting, seed, text, "cpu", path)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.model.parameters(), b.model.parameters(), strict=True))


@pytest.mark.parametrize("stops", [[5], [1, 4], [4], [12]])
def test_an_interruption_changes_nothing(text, tmp_path, stops):
    whole = run(text, tmp_path / "whole").go_on()
    for steps in stops:
        run(text, tmp_path / "parted").go_on(steps)
    parted = run(text, tmp_path / "parted")
    assert parted.step == sum(stops)
    parted.go_on()
    assert same(whole, parted) and whole.curve == parted.curve and whole.step == parted.step == 12
    assert [point["step"] for point in whole.curve] == TINY_TRAINING.measured()


def test_what_was_lost_since_the_last_state_is_done_again(text, tmp_path, monkeypatch):
    """A killed process leaves the state from some steps earlier."""
    monkeypatch.setattr(Run, "EVERY", 3)
    killed = run(text, tmp_path / "state")

    def update_or_die(*arguments):
        if killed.step == 5:
            raise KeyboardInterrupt
        return training.update(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(recorder, "update", update_or_die)
        killed.go_on()
    again = run(text, tmp_path / "state")
    assert killed.step == 5 and again.step == 3 and [p["step"] for p in again.curve] == [0, 1]
    whole = run(text, tmp_path / "other").go_on()
    assert same(again.go_on(), whole) and again.curve == whole.curve


def test_a_state_of_another_run_is_not_taken_up(text, tmp_path):
    run(text, tmp_path / "state").go_on(5)
    assert run(text, tmp_path / "state").step == 5
    assert run(text, tmp_path / "state", seed=1).step == 0
    assert run(text, tmp_path / "state", setting=dataclasses.replace(TINY_TRAINING, rate=1e-3)).step == 0


def test_seeds_differ_and_repeat(text, tmp_path):
    first, second = (run(text, tmp_path / f"{n}").go_on() for n in "ab")
    assert same(first, second) and not same(first, run(text, tmp_path / "c", seed=1).go_on())


def test_points_of_the_curve_are_close_at_first_and_include_both_ends():
    found = Training().measured()
    assert found[0] == 0 and found[-1] == Training().steps and len(found) == 25
    gaps = [b - a for a, b in zip(found, found[1:], strict=False)]
    assert all(a <= b + 1 for a, b in zip(gaps, gaps[1:], strict=False))
    assert Training(steps=3, points=1).measured() == [0, 3]


def test_the_whole_path(tmp_path, monkeypatch, capsys):
    """Recording, checkpoint and manifest of a tiny training; no temporary file is left."""
    data = record_tiny("language_model", "cpu", tmp_path, monkeypatch)
    assert {p.name for p in tmp_path.iterdir() if p.is_file()} == {"language_model.json"}
    folder = tmp_path / "models" / "austen"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["held_out_bits_per_byte"] == data["stored"] and manifest["parameters"] == data["parameters"]
    assert manifest["training"] == data["setting"]["training"] and manifest["text"] == data["text"]
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    configuration, tensors = shipped.checkpoint()
    assert configuration["vocab"] == 264 and sum(t.numel() for t in tensors.values()) == data["parameters"]
    assert current.stale(folder, tmp_path / "language_model.json") == "it was trained in another way"
    told = script.facts(data)
    assert told["seeds"] == 1 and told["ngram"]["best"] == min(data["ngrams"]["held_out"]) and told["better"] in (0, 1)


def test_the_large_setting_writes_no_checkpoint(tmp_path):
    options = script.arguments("").parse_args(["--device", "cuda", "--out", str(tmp_path)])
    assert script.models(options) is None
    assert script.models(script.arguments("").parse_args([])) == FOLDER


def test_samples_are_the_same_for_a_seed(trained):
    draw = lambda seed, temperature=1.0: sample(trained, [1, 2, 3], 5, temperature, seed)
    assert draw(0) == draw(0) != draw(1) and draw(0)[:3] == [1, 2, 3] and len(draw(0)) == 8
    with torch.no_grad():
        likeliest = int(trained(torch.tensor([[1, 2, 3]]))[0, -1].argmax())
    assert draw(0, 0.001)[3] == draw(1, 0.001)[3] == likeliest


# -- training in a notebook -------------------------------------------------------------------------------------------


def test_live_training_is_the_same_each_time_and_learns(text):
    runs, told = [], []
    for _ in range(2):
        made = model(SETTING.training.sizes(), seed=0)
        losses = training.train(made, text.train, 30, rows=2, context=16, report=lambda *done: told.append(done))
        runs.append(losses)
    assert runs[0] == runs[1] and len(runs[0]) == 30 and sum(runs[0][-5:]) < sum(runs[0][:5]) - 0.5
    assert [step for step, _ in told[:10]] == list(range(3, 31, 3))


def test_a_model_may_return_its_cache_too(text):
    made = model(SETTING.training.sizes(), seed=0)

    class WithCache(torch.nn.Module):
        def forward(self, ids):
            return made(ids), []

    ids = text.held_out[:100]
    assert training.bits_per_byte(WithCache(), ids, 120, 16) == training.bits_per_byte(made, ids, 120, 16)


@pytest.mark.parametrize("n", [2, 9, 17, 18, 33, 50])
def test_bits_per_byte_counts_every_token_but_the_first(text, n):
    """Compares with a sum token by token; n: whole stretches, one token more, and a shorter last stretch."""
    made, ids = model(SETTING.training.sizes(), seed=0).eval(), text.held_out[:n]
    bits = 0.0
    with torch.no_grad():
        for i in range(1, n):
            start = (i - 1) // 16 * 16
            logits = made(ids[None, start:i])[0, -1].log_softmax(-1)
            bits -= logits[ids[i]].item() / 0.6931471805599453
    assert training.bits_per_byte(made, ids, 7, 16, rows=2) == pytest.approx(bits / 7, rel=1e-5)


def test_the_rate_rises_and_falls_in_straight_lines():
    rates = [training.learning_rate(step, 100, 1.0, 10) for step in range(101)]
    assert rates[0] == 0.1 and max(rates) == rates[9] == rates[10] == 1.0 and rates[55] == 0.5 and rates[100] == 0


# -- the shipped checkpoint -------------------------------------------------------------------------------------------


def test_the_checkpoint_is_of_todays_text_and_settings():
    assert current.stale() is None, f"make record: {current.stale()}"


@pytest.mark.parametrize("name", MANIFEST["files"])
def test_the_manifest_is_honest(name):
    data = (FOLDER / name).read_bytes()
    assert MANIFEST["files"][name] == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_the_manifest_says_how_it_was_made():
    made = MANIFEST["made"]
    assert made["device"] in ("cpu", "cuda") and made["name"] and made["seed"] == 0 and made["date"] and made["torch"]
    assert made["command"].startswith("python -m autograder.recording.experiments.language_model --device")
    assert {p.name for p in FOLDER.iterdir()} == {*MANIFEST["files"], "manifest.json", "README.md", "seeds"}
    assert MANIFEST["held_out_bits_per_byte"] == RECORDED["stored"]
    assert abs(RECORDED["stored"] - RECORDED["rows"][0]["held_out"]) < 0.002, "float16 costs next to nothing"


def test_logits_are_those_of_transformers(trained):
    from transformers import LlamaForCausalLM

    theirs = LlamaForCausalLM.from_pretrained(FOLDER).eval()
    ids = torch.randint(1280, (2, 128), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        mine, expected = trained(ids), theirs(ids).logits
    assert expected.dtype == torch.float32
    torch.testing.assert_close(mine, expected, rtol=0, atol=1e-5 * expected.abs().max().item())
    assert sum(p.numel() for p in theirs.parameters()) == parameter_count(trained) == MANIFEST["parameters"]


def test_the_tokenizer_is_the_references_on_the_training_text_alone():
    from transformers import AutoTokenizer

    merges = bpe.train(corpus.training_text(), 100)
    stored = json.loads((FOLDER / "tokenizer.json").read_text())
    assert stored["model"]["merges"][:100] == bpe.tokenizer_json(merges)["model"]["merges"]
    spelled = {token: index for token, index in stored["model"]["vocab"].items()}
    mine = bpe.BytePairEncoding([(spelled[a], spelled[b]) for a, b in stored["model"]["merges"]])
    sample = corpus.held_out_text()[:20_000] + "naïve “quotes”, 中文\n\n"
    ids = shipped.tokenizer().encode(sample).ids
    assert ids == mine.encode(sample) == AutoTokenizer.from_pretrained(FOLDER)(sample)["input_ids"]
    assert shipped.tokenizer().decode(ids) == sample and len(mine) == 1280


def test_the_loss_is_the_recorded_one(trained):
    """Uses the stretch that the curve is measured on, a quarter of the held-out text."""
    tokenizer = shipped.tokenizer()
    ids = tokenizer.encode(corpus.held_out_text()).ids[: MANIFEST["training"]["probe"]]
    n_bytes = len(tokenizer.decode(ids[1:]).encode())
    bits = training.bits_per_byte(trained, torch.tensor(ids), n_bytes, MANIFEST["training"]["context"])
    assert bits == pytest.approx(MANIFEST["probe_bits_per_byte"], abs=1e-3)


def test_names_are_those_of_a_learners_decoder(trained):
    from autograder.reference.assembly.decoder import Decoder

    configuration, tensors = shipped.checkpoint()
    made = Decoder(configuration)
    made.load_state_dict(tensors, strict=True)
    ids = torch.arange(40)[None]
    with torch.no_grad():
        mine = made.eval()(ids)[0]
        torch.testing.assert_close(mine, trained(ids), rtol=1e-4, atol=1e-4)
    assert {checkpoint.their_name(n) for n, _ in trained.named_parameters()} == set(MANIFEST["names"])


def test_missing_files_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    shutil.copytree(FOLDER, tmp_path / "models" / "austen")
    (tmp_path / "models" / "austen" / "tokenizer.json").unlink()
    for read in (shipped.checkpoint, shipped.tokenizer, shipped.manifest):
        with pytest.raises(MissingRecording, match="has no tokenizer.json: .* `git checkout assets` puts it back"):
            read()


# -- whether it has to be trained again -------------------------------------------------------------------------------


def changed(tmp_path, **changes):
    """Why the checkpoint with a changed manifest is stale, or None."""
    folder = tmp_path / "austen"
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({**MANIFEST, **changes}))
    return current.stale(folder)


def test_what_is_stale_is_said(tmp_path):
    assert changed(tmp_path) is None
    assert changed(tmp_path, training={**MANIFEST["training"], "rate": 1}) == "it was trained in another way"
    other = {**MANIFEST["text"], "train": {**MANIFEST["text"]["train"], "sha256": "0"}}
    assert changed(tmp_path, text=other) == "it was trained on another text"
    (tmp_path / "austen" / "config.json").write_text("{}")
    assert changed(tmp_path) is None, "copied anew"
    (tmp_path / "austen" / "config.json").write_text("{}")
    assert current.stale(tmp_path / "austen") == "config.json is not the file that was written"
    assert current.stale(tmp_path / "nowhere") == "it is not there"


def test_make_record_trains_only_what_is_stale(monkeypatch, capsys):
    asked = []

    class Done:
        returncode = 0

    monkeypatch.setattr(current.subprocess, "run", lambda command: asked.append(command) or Done())
    monkeypatch.setattr(current, "stale", lambda: None)
    assert current.record("cpu") == 0 and not asked
    monkeypatch.setattr(current, "stale", lambda: "it is not there")
    assert current.record("cuda") == 0
    assert asked[0][2:] == [script.__name__, "--device", "cuda", "--setting", "small"]
    assert "because it is not there. About an hour" in capsys.readouterr().out


def test_the_recording_has_what_text_tells():
    told = script.facts(RECORDED)
    assert told["seeds"] == script.seeds(RECORDED) == 3 and script.controls(RECORDED)["order of the n-gram"] >= 7
    assert told["lowest"] <= told["mean"] <= told["highest"] and 1e6 < told["parameters"] < 2e6
    assert told["ngram"]["best"] == told["ngram"][f"order{told['ngram']['order']}"]
    assert len(RECORDED["samples"]) == 9 and ROOT / "assets" in FOLDER.parents
    assert all(s["text"].startswith(s["prompt"]) for s in RECORDED["samples"])
