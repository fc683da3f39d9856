"""What widgets need in a page: scripts that parse, and each table in one file."""

import base64
import gzip
import json
import re

import pytest
import quickjs
from anatomy.widgets import REGISTERED, GradientFlowExplorer, MixExplorer

from autograder.site import live

PNG = base64.b64encode(MixExplorer().png()).decode()


def model(kind, **tables):
    """A model as in a notebook's saved state."""
    state = {"_anywidget_id": f"anatomy.widgets.{kind.__name__}", "_esm": "…", "spec": {"title": "T"}, "step": 0}
    buffers = [
        {"path": ["tables", n], "encoding": "base64", "data": base64.b64encode(b).decode()} for n, b in tables.items()
    ]
    return {"state": state, "buffers": buffers}


def parses(script):
    quickjs.Context().eval(f"new Function({json.dumps(script)})")


@pytest.mark.parametrize("name", REGISTERED)
def test_a_widgets_script_is_a_classic_one_and_registers_it(name):
    script = live.own_script(REGISTERED[name])
    parses(script)
    assert f'TA.widgets["{name}"]=' in script and "export " not in script


def test_the_common_script_parses_and_shares_every_name():
    script = live.core()
    parses(script)
    assert {"html", "svg", "mount", "isDark"} <= set(re.search(r"TA\.common=\{([^}]*)\}", script)[1].split(","))


def test_styles_stand_once():
    assert live.styles().count(".ta-title {") == 1 and ".an-prompt" in live.styles()


def test_each_table_stands_in_one_file_and_nobody_loads_what_others_need(tmp_path):
    shelf = live.Shelf(tmp_path)
    shelf.box(model(MixExplorer, out=b"mine", ref=b"both"), PNG, "words", "")
    shelf.box(model(MixExplorer, out=b"yours", ref=b"both"), PNG, "words", "")
    shelf.box(model(MixExplorer, out=b"yours", ref=b"both"), PNG, "words", "../")  # the same again
    shelf.write()
    told = [json.loads(p.read_text().partition("=")[2].rstrip(";\n")) for p in (tmp_path / "live").glob("tables-*.js")]
    inside = sorted(gzip.decompress(base64.b64decode(t["gzip"])) for t in told)
    assert inside == [b"both", b"mine", b"yours"]
    states = [json.loads(p.read_text().partition("=")[2].rstrip(";\n")) for p in (tmp_path / "live").glob("mix-*.js")]
    assert len(states) == 2 and all(len(state["packs"]) == 2 for state in states)


def test_the_picture_stands_there_with_its_words(tmp_path):
    box = live.Shelf(tmp_path).box(model(MixExplorer), PNG, 'a "quoted" word', "../")
    assert 'alt="a &quot;quoted&quot; word"' in box and 'src="../_static/live/' in box and 'loading="lazy"' in box


def test_a_widget_without_a_function_asks_for_none(tmp_path):
    """As in a saved page: steps that need a notebook are left out, and comparisons with the reference."""
    given, shelf = GradientFlowExplorer(), live.Shelf(tmp_path)
    alone = model(GradientFlowExplorer)
    alone["state"] |= {"spec": given.spec, "notice": given.notice}
    shelf.box(alone, PNG, "words", "")
    shelf.box(alone | {"state": alone["state"] | {"notice": ""}}, PNG, "words", "")
    one, other = shelf._states.values()
    assert [state["alone"] for state in (one, other)] == [True, False]
    assert [len(state["spec"]["story"]) for state in (one, other)] == 2 * [len(given.spec["story"]) - 1]
    assert "function" not in one["notice"] and "give the widget" not in json.dumps(one)


def test_bytes_that_are_no_table_are_an_error(tmp_path):
    odd = model(MixExplorer)
    odd["buffers"] = [{"path": ["picture", "x"], "encoding": "base64", "data": ""}]
    with pytest.raises(ValueError, match="keeps bytes in picture"):
        live.Shelf(tmp_path).box(odd, PNG, "words", "")
