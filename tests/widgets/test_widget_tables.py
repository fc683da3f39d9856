"""Tier 1, no browser: tables, invariants, notices, the display bundle, and the recording."""

import base64
import io
import json
import math

import numpy as np
import pytest
import torch
from anatomy.records import MissingRecording
from anatomy.widgets import RopeExplorer, WrongOutput
from anatomy.widgets.rope import BASES, DIMS, POSITIONS, TOLERANCE
from PIL import Image

from .learners import backward_rope, deaf_rope, right_rope, sign_rope, unfinished


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


def test_rope_tables_equal_a_loop_over_planes():
    widget = RopeExplorer(right_rope)
    for D in DIMS:
        q = array(widget, f"q{D}", len(BASES), POSITIONS, D)
        start = widget._inputs[f"q{D}"].tolist()
        for j, m, i in ((0, 63, 0), (2, 7, 1), (4, 40, D // 2 - 1)):
            angle = m * BASES[j] ** (-2 * i / D)
            x, y = start[2 * i], start[2 * i + 1]
            expected = [x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)]
            assert np.allclose(q[j, m, 2 * i:2 * i + 2], expected, atol=2e-5)


def test_right_rope_keeps_every_invariant_at_every_setting():
    table = array(RopeExplorer(right_rope), "invariants", len(DIMS), len(BASES), 3)
    assert table.max() < TOLERANCE


@pytest.mark.parametrize("fn, broken", [
    (sign_rope, {"shift", "norm", "reference"}),
    (backward_rope, {"reference"}),  # still a rotation: only the comparison can tell
    (deaf_rope, {"shift", "reference"}),
    (lambda x, position_ids, base=1e4: x, {"reference"}),
    (lambda x, position_ids, base=1e4: right_rope(x, position_ids), set()),  # right at base 1e4 only
])
def test_mistakes_show_in_the_invariants(fn, broken):
    widget = RopeExplorer(fn, dim=8, base=1e4)
    found = widget.invariants()
    assert {k for k, v in found.items() if v > TOLERANCE} == broken
    for name in broken:
        assert found[name] > 0.1  # far from the limit, not by a hair
    assert ("broken" in widget.alt) == bool(broken)


def test_base_ignored_shows_at_another_base():
    widget = RopeExplorer(lambda x, position_ids, base=1e4: right_rope(x, position_ids), base=100.0)
    assert widget.invariants()["reference"] > 0.1


def test_scores_follow_the_settings():
    widget = RopeExplorer(right_rope, dim=4)
    before = widget.scores()
    assert before.shape == (POSITIONS, POSITIONS)
    assert np.allclose(before[5:, 5:], before[:-5, :-5], atol=TOLERANCE)
    widget.base = 100.0
    assert not np.allclose(widget.scores(), before, atol=0.1)
    assert not np.allclose(before, before.T, atol=0.1)  # so that direction can be seen at all


def test_unfinished_function_shows_the_reference_and_says_so():
    widget = RopeExplorer(unfinished)
    assert widget.notice == "Showing the reference: apply_rope is not written yet"
    assert widget.tables["q8"] == widget.tables["ref_q8"]

    def apply_rope(x, position_ids, base=10000.0):
        raise NotImplementedError("rope.apply")

    assert RopeExplorer(apply_rope).notice == "Showing the reference: apply_rope is not written yet"
    assert RopeExplorer().notice == "Showing the reference: no apply_rope was given"


def test_an_unfinished_part_is_named():
    def rotate_pairs(x):
        raise NotImplementedError

    widget = RopeExplorer(lambda x, position_ids, base=1e4: rotate_pairs(x))
    assert widget.notice == "Showing the reference: rotate_pairs is not written yet"


def test_torch_saying_not_implemented_is_a_bug_and_not_an_empty_stub():
    def apply_rope(x, position_ids, base=10000.0):
        return torch.softmax(position_ids, -1)  # of integers: torch raises NotImplementedError from C++

    with pytest.raises(NotImplementedError, match="Long"):
        RopeExplorer(apply_rope)


def test_the_learners_error_passes_through():
    with pytest.raises(ZeroDivisionError):
        RopeExplorer(lambda x, position_ids, base=1e4: 1 / 0)


@pytest.mark.parametrize("fn, words", [
    (lambda x, position_ids, base=1e4: x[0], "it returned shape (2, 64, 4)"),
    (lambda x, position_ids, base=1e4: None, "it returned None"),
    (lambda x, position_ids, base=1e4: x.numpy(), "it returned a ndarray"),
    (lambda x, position_ids, base=1e4: x.long(), "it returned dtype int64"),
])
def test_a_wrong_result_gets_one_sentence(fn, words):
    with pytest.raises(WrongOutput) as caught:
        RopeExplorer(fn)
    text = str(caught.value)
    assert words in text and "(1, 2, 64, 4)" in text and text.count(".") == 1 and "\n" not in text
    assert caught.value._render_traceback_() == [f"WrongOutput: {text}"]


def test_refresh_takes_the_mended_function_and_keeps_the_old_picture_on_error():
    widget = RopeExplorer(unfinished)
    widget.refresh(sign_rope)
    assert widget.notice == "" and widget.invariants()["norm"] > 0.1
    before = dict(widget.tables)
    with pytest.raises(WrongOutput):
        widget.refresh(lambda x, position_ids, base=1e4: x[0])
    assert widget.tables == before
    widget.refresh(right_rope)
    assert widget.invariants()["norm"] < TOLERANCE
    widget.refresh()
    assert widget.notice == ""


def test_a_function_that_writes_into_its_argument_spoils_nothing():
    def greedy(x, position_ids, base=10000.0):
        out = right_rope(x, position_ids, base)
        x.zero_()
        position_ids.zero_()
        return out

    assert RopeExplorer(greedy).tables == RopeExplorer(right_rope).tables


def test_gradients_and_not_a_number_do_no_harm():
    RopeExplorer(lambda x, position_ids, base=1e4: right_rope(x, position_ids, base).requires_grad_())
    widget = RopeExplorer(lambda x, position_ids, base=1e4: x * float("nan"))
    assert widget.alt.count("(broken)") == 3
    widget.png()


def test_bundle_has_view_picture_and_words():
    widget = RopeExplorer(right_rope)
    data, metadata = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).width > 600
    assert data["text/plain"] == widget.alt == metadata["image/png"]["alt"]
    assert "m = 9" in widget.alt and "n = 4" in widget.alt
    assert widget.png() == widget.png()


def test_exported_page_reaches_for_nothing(tmp_path):
    page = RopeExplorer(right_rope).save_html(tmp_path / "rope.html").read_text(encoding="utf-8")
    for word in ("http:", "https:", "src=\"//", "@import", "url(", "integrity="):
        assert word not in page.replace("url(#${id})", ""), word  # the gradient's own id is no address
    assert page.count("<script") == 2 and "alt=\"RoPE explorer" in page


def test_script_loads_no_module():
    for line in RopeExplorer._esm.splitlines():
        assert not line.lstrip().startswith("import "), line


def test_missing_recording_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(MissingRecording, match="rope.safetensors.*make record"):
        RopeExplorer(right_rope)


def test_recording_is_reproducible_and_equal_to_the_committed_one(tmp_path):
    from anatomy.records import assets_dir
    from safetensors.numpy import load_file

    from autograder.recording.widgets import record

    first = record(tmp_path / "a")
    assert record(tmp_path / "b") == first
    committed = assets_dir() / "recordings" / "widgets"
    manifest = json.loads((committed / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == first["seed"] and manifest["files"].keys() == first["files"].keys()
    for name in first["files"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        fresh, kept = load_file(tmp_path / "a" / name), load_file(committed / name)
        assert fresh.keys() == kept.keys()
        for key, value in fresh.items():
            # Rounded from float64, so two machines may differ in the last bit of float32 and no more.
            assert np.allclose(value, kept[key], rtol=2e-7, atol=2e-7, equal_nan=True), (name, key)


def test_template_keeps_the_alt_text(tmp_path):
    import nbformat
    from anatomy.widgets import TEMPLATES
    from bs4 import BeautifulSoup
    from nbconvert import HTMLExporter

    output = nbformat.v4.new_output("display_data", {"image/png": "aGk=", "text/plain": "words"},
                                    metadata={"image/png": {"alt": "a \"curve\" that <falls>"}})
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("w", outputs=[output])])
    exporter = HTMLExporter(template_name="course", extra_template_basedirs=[str(TEMPLATES)])
    page, _ = exporter.from_notebook_node(book)
    assert BeautifulSoup(page, "html.parser").img["alt"] == 'a "curve" that <falls>'
    plain, _ = HTMLExporter(template_name="lab").from_notebook_node(book)
    assert "falls" not in plain  # the day this fails, nbconvert does it by itself and the template can go
