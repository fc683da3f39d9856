"""How `make lab` starts JupyterLab: with the learner's own copies, on the first page, without questions or hangs."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from anatomy.app import lab, workspace
from anatomy.system.installation import place_in as at

from tests.widgets.lab import start_lab

from .toy import OTHER, UNIT, course, write_answers

INSTRUCTORS = {"@jupyter/nbgrader", "@jupyter-notebook/lab-extension", "jupyterlab-jupytext"}


def test_the_command_line_opens_the_first_page_where_there_is_one(tmp_path):
    root = course(tmp_path)
    workspace.start(at(root), lambda line: None)
    line = lab.command(root / "work", extra=["--no-browser"])
    assert line[:3] == [sys.executable, "-m", "jupyterlab"] and line[-1] == "--no-browser"
    assert f"--ServerApp.root_dir={root / 'work'}" in line
    assert f"--LabApp.default_url=/lab/tree/{UNIT}/{UNIT}.ipynb" in line
    assert not any("default_url" in part for part in lab.command(tmp_path / "empty"))


def test_the_courses_settings_rank_below_the_users_own(tmp_path):
    env = lab.environment({"HOME": str(tmp_path), "JUPYTER_CONFIG_PATH": "/theirs"})
    assert env["JUPYTER_CONFIG_PATH"].split(os.pathsep) == ["/theirs", str(tmp_path / ".jupyter"), str(lab.SETTINGS)]
    env = lab.environment({"JUPYTER_CONFIG_DIR": "/own", "JUPYTERLAB_WORKSPACES_DIR": "/kept"})
    assert env["JUPYTER_CONFIG_PATH"].split(os.pathsep) == ["/own", str(lab.SETTINGS)]
    assert env["JUPYTERLAB_WORKSPACES_DIR"] == "/kept"


def ask(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.url, answer.read().decode()


def test_a_first_start_has_no_questions_and_no_instructors_tools(tmp_path):
    """Runs in the staff's environment, where all the instructors' tools are installed."""
    root = course(tmp_path)
    workspace.start(at(root), lambda line: None)
    with start_lab(root / "work") as url:
        place, page = ask(f"{url}/")
        assert place.endswith(f"/lab/tree/{UNIT}/{UNIT}.ipynb")
        config = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.S)[1])
        assert {e["name"] for e in config["federated_extensions"]} >= INSTRUCTORS, "else this shows nothing"
        assert set(config["disabledExtensions"]) >= INSTRUCTORS
        settings = json.loads(ask(f"{url}/lab/api/settings/@jupyterlab/apputils-extension:notification")[1])
        defaults = {k: v["default"] for k, v in settings["schema"]["properties"].items()}
        assert defaults["fetchNews"] == "false" and defaults["checkForUpdates"] is False
        assert settings["settings"] == {}, "nothing was set in the user's name"
        for page in ("formgrader", "formgrader/api/assignments", "assignments", "courses"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                ask(f"{url}/{page}")
        assert "weighted" not in page and ask(f"{url}/api/contents/{UNIT}/{UNIT}.ipynb")


def test_what_a_user_has_chosen_wins(tmp_path):
    own = tmp_path / "config"
    (own / "labconfig").mkdir(parents=True)
    (own / "labconfig" / "page_config.json").write_text('{"disabledExtensions": {"jupyterlab-jupytext": false}}')
    code = (
        "import sys; from jupyterlab_server.config import get_page_config; "
        "print(sorted(get_page_config([], sys.argv[1])['disabledExtensions']))"
    )
    env = lab.environment({**os.environ, "JUPYTER_CONFIG_DIR": str(own)})
    done = subprocess.run([sys.executable, "-c", code, str(lab.SETTINGS)], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == str(sorted(INSTRUCTORS - {"jupyterlab-jupytext"})), done.stderr


def test_make_lab_makes_the_copies_first(tmp_path, monkeypatch):
    root = course(tmp_path / "anatomy")
    edited = write_answers(workspace.released(at(root), UNIT)).read_bytes()
    monkeypatch.chdir(root)
    seen = []
    monkeypatch.setattr(lab, "launch", lambda line, env: seen.append(line) or 0)
    assert lab.main(["--", "--no-browser", "--port=1"]) == 0
    assert seen[0][-2:] == ["--no-browser", "--port=1"] and workspace.working(at(root), UNIT).read_bytes() == edited
    elsewhere = root.parent / "elsewhere"
    assert lab.main([str(elsewhere)]) == 0 and f"--ServerApp.root_dir={elsewhere}" in seen[1]
    assert workspace.working(at(root, elsewhere), OTHER).is_file()


def test_bad_words_on_the_command_line_are_one_sentence(capsys, tmp_path, monkeypatch):
    root = course(tmp_path / "anatomy")
    monkeypatch.chdir(root)
    monkeypatch.setattr(lab, "launch", lambda line, env: pytest.fail("JupyterLab was started"))
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-ada.txt").write_text("dear Ada")
    before = sorted(tmp_path.rglob("*"))
    for folder, words in {
        tmp_path / "letters": "holds other things and no notebook of the course",
        tmp_path / "letters" / "to-ada.txt": "is a file",
        root / "course": "as they were released",
    }.items():
        assert lab.main([str(folder)]) == 2 and words in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        lab.main(["a", "b"])
    assert "usage: anatomy lab" in capsys.readouterr().err and sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_never_ends_and_what_turns_in_circles_hold_nobody_up(tmp_path):
    """Runs in a separate process, since a test that waits for a pipe would wait forever."""
    folder, loop, odd = tmp_path / "own", tmp_path / "loop", tmp_path / "red \x1b[31m"
    for unit, make in {"00-start-here": os.mkfifo, "01-attention": lambda p: p.symlink_to("/dev/zero")}.items():
        (folder / unit).mkdir(parents=True)
        make(folder / unit / f"{unit}.ipynb")
    loop.symlink_to(loop)
    code = "import sys; from anatomy.app import lab; lab.launch = lambda *a: 0; sys.exit(lab.main(sys.argv[1:]))"
    env = {**os.environ, "ANATOMY_HOME": str(tmp_path / "store"), "LC_ALL": "C.UTF-8"}
    started = []
    for place in (folder, loop, odd):
        run = subprocess.run(
            [sys.executable, "-c", code, str(place)], capture_output=True, text=True, timeout=120, env=env
        )
        started.append(run.returncode == 0)
        said = run.stdout + run.stderr
        assert "Traceback" not in said and "\x1b" not in said and (place != loop or "cannot be used" in said), said
    assert started == [True, False, True] and (odd / "00-start-here" / "00-start-here.ipynb").is_file()


def test_the_settings_travel_with_the_package():
    found = {p.relative_to(lab.SETTINGS).as_posix() for p in lab.SETTINGS.rglob("*.json")}
    assert found == {"overrides.json", "page_config.json", "jupyter_server_config.d/instructors_tools.json"}
    assert all(json.loads((lab.SETTINGS / name).read_text()) for name in found)
    text = (Path(__file__).resolve().parents[2] / "course" / "pyproject.toml").read_text()
    assert "lab_settings/*.json" in text and "lab_settings/jupyter_server_config.d/*.json" in text
