"""How widgets reach other front ends: messages with buffers, only JSON, no widget manager at all."""

import ast
import base64
import json

import pytest
from anatomy import predict
from anatomy.widgets import RopeExplorer
from ipywidgets.widgets.widget import _put_buffers, _remove_buffers
from jupyter_client.session import Session

from autograder import ROOT


@pytest.fixture(scope="module")
def widget():
    return RopeExplorer()


def test_tables_arrive_through_jupyters_own_messages(widget):
    """The message that a kernel sends when the widget is created, packed, signed, unpacked and reassembled."""
    state, paths, buffers = _remove_buffers(widget.get_state())
    assert len(paths) == len(widget.tables) and all(path[0] == "tables" for path in paths)
    session = Session(key=b"secret")
    content = {"comm_id": widget.model_id, "data": {"state": state, "buffer_paths": paths}}
    sent = session.serialize(session.msg("comm_open", content=content)) + buffers
    _, parts = session.feed_identities(sent)
    got = session.deserialize(parts)
    state = got["content"]["data"]["state"]
    _put_buffers(state, got["content"]["data"]["buffer_paths"], got["buffers"])
    assert {name: bytes(table) for name, table in state["tables"].items()} == widget.tables
    assert state["spec"] == json.loads(json.dumps(widget.spec)) and state["_esm"] == widget._esm


def test_all_but_the_tables_is_plain_json(widget):
    """So a front end that separates buffers has nothing else to convert: no bytes, no NaN, one level deep."""
    state, paths, _ = _remove_buffers(widget.get_state())
    assert json.loads(json.dumps(state, allow_nan=False)).keys() == state.keys()
    assert sorted(paths) == sorted(["tables", name] for name in widget.tables)


def test_where_no_widget_manager_is_a_picture_and_words_stand(widget):
    data, metadata = widget._repr_mimebundle_()
    without = {kind: content for kind, content in data.items() if "widget" not in kind}
    assert set(without) == {"image/png", "text/plain"} < set(data)
    assert base64.b64decode(without["image/png"]).startswith(b"\x89PNG") and len(without["text/plain"]) > 40
    assert metadata["image/png"]["alt"] == without["text/plain"]


def test_where_no_widget_manager_is_a_question_can_be_read(monkeypatch, tmp_path):
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path))
    data, _ = predict("start.p1")._repr_mimebundle_()
    assert "is 10 times larger" in data["text/plain"] and "is 10 times larger" in data["text/html"]


def test_nothing_of_ours_asks_for_a_widget_of_ipywidgets():
    """Colab has ipywidgets 7, and shows some of its widgets badly next to custom ones: all controls are our own."""
    for path in sorted((ROOT / "course").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert "ipywidgets" not in ast.unparse(node), path
    for path in sorted((ROOT / "course").glob("*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not any("ipywidgets" in "".join(c["source"]) for c in cells if c["cell_type"] == "code"), path
