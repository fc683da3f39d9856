"""Facts from named models' configurations, measured again and shown as a table."""

import json

import pytest
from anatomy.experiments import named_models as shown

from autograder import ROOT
from autograder.recording.experiments import __main__ as command
from autograder.recording.experiments import named_models
from autograder.recording.experiments.named_configurations import MODELS

PATH = ROOT / "assets" / "experiments" / "named_models.json"
DATA = json.loads(PATH.read_text(encoding="utf-8"))
ALL = DATA["models"]


@pytest.mark.parametrize("name", MODELS)
def test_measured_again_it_is_the_same(name):
    again = named_models.record([name])
    assert json.loads(named_models.contents(again))["models"][name] == ALL[name], "make experiments ARGS=--only …"


def test_every_model_was_recorded_in_the_bytes_that_are_written():
    assert set(ALL) == set(MODELS) and named_models.contents(DATA) == PATH.read_bytes()
    assert not set(DATA["made"]) & {"date", "name", "python"}, "the same bytes on every machine"


@pytest.mark.parametrize("name", MODELS)
def test_the_count_is_the_published_number(name):
    """Agrees within rounding, except for OPT-350M and OLMo 2 7B, whose names are less accurate."""
    entry = ALL[name]
    assert entry["source"] and abs(entry["off_percent"]) < (6 if name in ("opt-350m", "olmo2-7b") else 4)


def test_counts_that_are_published_exactly():
    assert ALL["bloom"]["counted"] == ALL["bloom"]["published"] == 176_247_271_424
    assert ALL["clip-vit-base-patch32"]["counted"] == ALL["clip-vit-base-patch32"]["published"]
    assert ALL["gemma2-9b"]["non_embedding"] == 8_324_201_984
    vocabulary = (256_128 - 256_000) * ALL["gemma2-9b"]["probe"]["d_model"]
    assert ALL["gemma2-9b"]["published"] - ALL["gemma2-9b"]["counted"] == vocabulary
    assert ALL["palm-540b"]["matrices_billions"] == ALL["palm-540b"]["published"] / 1e9


def test_the_probes_tell_models_apart():
    probe = lambda fact: {name: entry["probe"][fact] for name, entry in ALL.items() if "probe" in entry}
    norms = probe("norm")
    assert {n for n, norm in norms.items() if norm == "post"} == {"gpt1", "opt-350m", "bert-base", "deberta-base"}
    assert norms["olmo2-7b"] == "inside" and norms["gemma2-9b"] == "pre+post" and norms["llama-2-7b"] == "pre"
    assert {n for n, ahead in probe("sees_future").items() if ahead} == {"bert-base", "deberta-base"}
    assert {n for n, crossed in probe("cross_attention_modules").items() if crossed} == {"t5-small", "t5-base"}
    factors = {n: e["probe"]["score_factor"] for n, e in ALL.items() if "score_factor" in e.get("probe", {})}
    assert {n: f for n, f in factors.items() if f != "1/√d"} == {
        "t5-small": "1",
        "t5-base": "1",
        "deberta-base": "1/√(3d)",
    }
    clip = ALL["clip-vit-base-patch32"]["probe"]
    assert clip["encoder_stacks"] == 2 and not clip["decoder_stacks"] and clip["text_depends_on_image"] is False
    mlp = ALL["llama-2-7b"]["probe"]
    assert [mlp[f"mlp_{b}"] for b in ("without_factor", "with_half_sqrt", "with_two_thirds")] == [0, 0.2929, 0.3333]


def test_facts_have_names_that_a_text_can_tell():
    facts = named_models.facts(DATA)
    assert facts["bert_base"]["counted"] == 109_482_240 and facts["opt_1_3b"]["norm"] == "pre"
    assert all(name.isidentifier() for name in facts)
    assert all(isinstance(v, (int, float, str)) and k.isidentifier() for f in facts.values() for k, v in f.items())


def test_a_notebook_prints_a_table():
    lines = shown.table(["bert-base", "t5-small", "palm-540b"], ["counted", "norm", "sees_future"])
    assert lines == [
        "model              counted  norm  sees future",
        "bert-base      109,482,240  post  yes",
        "t5-small        60,506,624  pre   no",
        "palm-540b  540,356,474,880  –     –",
    ]
    with pytest.raises(KeyError, match="no model says anything about 'colour'"):
        shown.table(["bert-base"], ["colour"])


def test_the_command_writes_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(named_models, "MODELS", {n: MODELS[n] for n in ("bert-base", "palm-540b")})
    assert named_models.main(["--out", str(tmp_path), "--setting", "large"]) == 0
    found = json.loads((tmp_path / "named_models.json").read_text(encoding="utf-8"))
    assert found == {"made": DATA["made"], "models": {n: ALL[n] for n in ("bert-base", "palm-540b")}}


def test_where_transformers_is_missing_a_sentence_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(named_models, "missing", lambda: "transformers")
    assert command.main(["--only", "named_models", "--out", str(tmp_path)]) == 0
    assert "named_models needs transformers, which is not here: its file stays" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
