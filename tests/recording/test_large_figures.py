"""What a notebook shows of the large recordings: if they exist, their figure and its device; otherwise nothing."""

import base64
import json
import re
import shutil
from html.parser import HTMLParser

import pytest
from anatomy.experiments import recorded, show_large

from autograder import ROOT
from autograder.recording import figures
from autograder.recording.experiments.__main__ import NAMES, TIMED
from tests.recording.pretend_cuda import NAME, pretend_cuda
from tests.recording.tiny import record_tiny

ASSETS = ROOT / "assets"


@pytest.fixture
def shown(monkeypatch):
    """The bundles that a cell displays, in order."""
    found = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: found.append(data))
    return found


@pytest.fixture
def assets(tmp_path, monkeypatch):
    """A copy of the small recordings, their figures, and other files that experiments read; notebooks use it instead of
    the real assets."""
    for folder in ("experiments", "figures", "models", "text"):
        shutil.copytree(ASSETS / folder, tmp_path / folder, ignore=shutil.ignore_patterns("large"))
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    return tmp_path


class Picture(HTMLParser):
    """Source and alternative text of the one image, and the words around it."""

    def __init__(self, text):
        super().__init__()
        self.images, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.images.append(dict(attributes))

    def handle_data(self, data):
        self.words += data


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_shown_where_nothing_large_was_recorded(name, assets, shown):
    show_large(name)
    assert shown == []


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_stays_on_its_device_and_is_shown_with_it(name, assets, shown, monkeypatch, tmp_path_factory):
    """Records on a pretended GPU and on the CPU: the numbers are the same, and the figure names the device."""
    small = recorded(name)
    with pretend_cuda():
        there = record_tiny(name, "cuda", assets / "experiments", monkeypatch)
    here = record_tiny(name, "cpu", tmp_path_factory.mktemp("cpu"), monkeypatch)
    assert there["made"]["name"] == NAME and there["made"]["setting"] == "large" and here["made"]["setting"] == "small"
    assert there["made"]["command"].endswith("--device cuda --setting large")
    apart = ("made", "setting")
    if name not in TIMED:  # the pretended card computes on the CPU: same random numbers, same results
        assert {k: v for k, v in there.items() if k not in apart} == {k: v for k, v in here.items() if k not in apart}
    figures.write(assets / "experiments" / "large", assets / "figures" / "large")
    show_large(name)
    (data,) = shown
    picture = Picture(data["text/html"])
    (image,) = picture.images
    assert NAME in picture.words and "cuda" in picture.words and NAME in data["text/plain"]
    alts = json.loads((assets / "figures" / "large" / "alt.json").read_text())
    assert image["alt"] == alts[name] and image["alt"].endswith(f"Measured on {NAME}.")
    kind, content = image["src"].split(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(content) == (assets / "figures" / "large" / f"{name}.svg").read_bytes()
    assert recorded(name) == small, "what a notebook draws and its text speaks of stays as it was"


def test_the_caption_is_escaped(assets, shown):
    for folder in ("experiments", "figures"):
        (assets / folder / "large").mkdir()
    made = {"device": "cuda", "name": "<Card & Co>", "torch": "2.0.0", "date": "2030-01-01"}
    (assets / "experiments/large/leak.json").write_text(json.dumps({"made": made}))
    (assets / "figures/large/leak.svg").write_text("<svg/>")
    (assets / "figures/large/alt.json").write_text(json.dumps({"leak": 'a "quoted" <text>'}))
    show_large("leak")
    picture = Picture(shown[0]["text/html"])
    assert "<Card & Co>" in picture.words and picture.images[0]["alt"] == 'a "quoted" <text>'


def test_no_pretended_device_is_among_the_recordings():
    for path in ASSETS.rglob("*.json"):
        assert not re.search("pretend", path.read_text(encoding="utf-8"), re.I), path
    assert "pretend" in NAME


def test_every_experiment_has_its_place_in_a_notebook():
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "solutions").glob("*.py")))
    assert set(re.findall(r'^show_large\("(\w+)"\)$', text, flags=re.M)) == set(NAMES)
