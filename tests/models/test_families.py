"""The learner's models equal Hugging Face's: same random weights, strict load, outputs, generated tokens, parameters.

``pytest tests/models/test_families.py -rP`` prints the differences.
"""

import sys

import pytest
import torch
from anatomy.models import config, library
from anatomy.models.compare import TINY, Table, compare, compare_all
from anatomy.models.families import FAMILIES, UnknownFamily, configuration, family
from anatomy.models.library import their_model
from anatomy.program.records import MissingRecording
from safetensors.torch import load_file

from autograder.recording import hugging_face
from tests.models.learner import solved

UNIT = "11-assembly"


def compared(name, build=None, seed=0):
    mine = solved()
    cut = mine.unfuse if name == "gpt2" else None
    return compare(name, build or mine.build, mine.rename, cut, seed)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", TINY)
def test_a_learners_model_equals_hugging_faces(name, seed):
    found = compared(name, seed=seed)
    print(Table([found]))
    assert found.scale > 0.5
    assert found.difference <= 2e-5 * found.scale and found.parameters[0] == found.parameters[1]
    assert found.same_tokens is (None if name in ("bert", "albert") else True)
    assert found.equal


def test_every_family_of_the_issue_is_compared():
    assert set(TINY) == set(FAMILIES)


CHANGES = {
    "llama": {"eps": 1e-2, "base": 500.0, "n_kv_heads": 2},
    "mistral": {"window": 5},
    "gemma2": {"window_every": 1, "score_cap": 4.0, "logit_cap": 3.0, "query_scale": 10},
    "glm": {"rotary_dim": 8},
    "mixtral": {"n_active": 1},
    "gpt2": {"activation": "gelu", "eps": 1e-2},
    "bert": {"placement": "pre", "activation": "gelu_tanh"},
    "albert": {"n_layers": 2},
    "t5": {"activation": "silu", "eps": 1e-2},
}


@pytest.mark.parametrize("name, key", [(n, k) for n, c in CHANGES.items() for k in c])
def test_the_comparison_notices_one_wrong_value(name, key):
    """Each change must give a difference, a misfit or an error, unless it equals the model's own value."""
    wrong = lambda c: solved().build(c | {key: CHANGES[name][key]})
    right = configuration(their_model(name).config.to_dict())
    if right[key] == CHANGES[name][key]:
        assert compared(name, wrong).equal
        return
    try:
        assert not compared(name, wrong).equal
    except RuntimeError as error:
        assert "state_dict" in str(error)


def test_one_family_that_fails_stops_no_other():
    mine = solved()

    def build(c):
        if c["norm"] == "gemma":
            raise ValueError("no such norm\nfurther words")
        return mine.build(c)

    table = compare_all(build, mine.rename, mine.unfuse, ["gemma2", "llama"])
    assert table.rows[0] == ("Gemma 2", "ValueError: no such norm")
    assert table.rows[1].equal and "equal" in repr(table) and "no such norm" in table._repr_html_()


@pytest.fixture
def no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert library.transformers() is None


@pytest.mark.parametrize("name", TINY)
def test_a_learner_without_the_library_meets_its_recording(name, no_library):
    found = compared(name)
    assert found.equal and found.scale > 0.5 and found.same_tokens is (None if name in ("bert", "albert") else True)
    assert "recorded with transformers 5" in found.source and "recorded" in repr(Table([found]))
    assert "recorded" in Table([found])._repr_html_()


@pytest.mark.parametrize("name, key", [("llama", "base"), ("gpt2", "eps"), ("albert", "n_layers"), ("t5", "eps")])
def test_the_recording_notices_one_wrong_value(name, key, no_library):
    assert not compared(name, lambda c: solved().build(c | {key: CHANGES[name][key]})).equal


def test_other_weights_than_the_recorded_ones_want_the_library(no_library):
    mine = solved()
    table = compare_all(mine.build, mine.rename, mine.unfuse, seed=1)
    version = library.manifest()["made"]["transformers"]
    assert len(table.rows) == 1 and f"pip install transformers=={version}`" in repr(table)


def test_what_is_recorded_is_what_the_library_says():
    """For the locked version, and except for the last bits, which differ between processors."""
    tensors, manifest = hugging_face.recorded()
    assert manifest == library.manifest()
    assert set(tensors) | {library.FILES[2]} == {path.name for path in library.folder().iterdir()}
    for name, kept in tensors.items():
        stored = load_file(library.folder() / name)
        assert set(stored) == set(kept)
        for key, tensor in kept.items():
            torch.testing.assert_close(tensor, stored[key], rtol=1e-4, atol=1e-4 * float(stored[key].abs().max()))


def test_a_recording_that_is_missing_is_said_in_a_sentence(no_library, monkeypatch, tmp_path):
    monkeypatch.setattr(library, "folder", lambda: tmp_path)
    monkeypatch.setattr(library, "manifest", library.manifest.__wrapped__)
    with pytest.raises(MissingRecording, match="manifest.json is missing"):
        library.tiny("llama")


def test_unknown_families_and_options_are_named():
    with pytest.raises(UnknownFamily, match="'rwkv'; it has llama, mistral"):
        family({"model_type": "rwkv"})
    theirs = their_model("llama").config.to_dict()
    theirs["rope_parameters"] = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0}
    with pytest.raises(UnknownFamily, match="scaled \\(yarn\\)"):
        configuration(theirs)


@torch.no_grad()
def test_gemma_in_real_sizes_rounds_its_factor_only_in_half_precision():
    """Uses √d_model in float32; released models round it to the dtype of their weights."""
    c = config(norm="gemma", placement="both", score_cap=50.0, logit_cap=30.0, window=4, window_every=2, vocab=8)
    assert c["query_scale"] == c["head_dim"] and solved().build(c)(torch.tensor([[1, 2, 3]]))[0].isfinite().all()
