"""The hub of docs/jupyterhub.md: its own configuration file, two people, one unit from release to the collected folder.

A test can't create accounts on the machine: users are made up (``SimpleLocalProcessSpawner``,
``DummyAuthenticator``), and all run under the test's account. ``tests/grading/test_exchange.py`` has two accounts.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import pytest
import requests
from bs4 import BeautifulSoup

from autograder import ROOT

from ..grading.cheats.base import SOLVE, START, find
from ..grading.classroom import ANSWERS, course, environment
from ..waiting import patiently, wait_until

pytestmark = pytest.mark.xdist_group("hub")  # one hub for all

COURSE = "transformer-anatomy"
# Replaces what a test lacks and the recipe's machine has. The rest is the file in the recipe.
HERE_INSTEAD = """
c = get_config()
load_subconfig({recipe!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{public}"
c.JupyterHub.hub_port = {hub}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.DummyAuthenticator.password = "of the tests"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r}
c.Spawner.args = {root!r}
"""


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


class Hub:
    """A running hub below ``folder``. A context manager."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "hub.log"
        public, hub, proxy = free_ports(3)
        self.url = f"http://127.0.0.1:{public}"
        (folder / "jupyterhub_config.py").write_text(
            HERE_INSTEAD.format(
                recipe=str(ROOT / "docs/hub/jupyterhub_config.py"),
                public=public,
                hub=hub,
                proxy=proxy,
                homes=str(folder / "homes" / "{username}"),
                root=["--allow-root"] if os.geteuid() == 0 else [],
            )
        )
        exchange = f"\nc.Exchange.root = {str(folder / 'exchange')!r}\n"
        self.course = course(folder / "course")
        with open(self.course / "nbgrader_config.py", "a", encoding="utf-8") as file:
            # Made-up students share one account.
            file.write(f"{exchange}c.ExchangeCollect.check_owner = False\n")
        shutil.copytree(ROOT / "course" / START, self.course / "release" / START)
        (self.course / "source" / START).mkdir(parents=True)
        (folder / "exchange").mkdir()
        # On a real machine the exchange is at nbgrader's default location and needs no setting.
        settings = folder / "homes" / "ada" / ".jupyter"
        settings.mkdir(parents=True)
        (settings / "nbgrader_config.py").write_text(f"c = get_config(){exchange}")
        (folder / "homes" / "teacher").mkdir()
        (folder / "students").mkdir()
        (folder / "students" / ".venv").symlink_to(sys.prefix)
        (folder / "course" / ".venv").symlink_to(sys.prefix)

    def __enter__(self):
        places = {"ANATOMY_STUDENTS": str(self.folder / "students"), "ANATOMY_COURSE": str(self.course)}
        places["ANATOMY_ASSISTANTS"] = "bo"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", str(self.folder / "jupyterhub_config.py")],
                cwd=self.folder,
                env=environment(**places),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def __exit__(self, *exc):
        self.process.terminate()  # it stops the servers and the proxy
        with suppress(AssertionError):
            wait_until(lambda: self.process.poll() is not None)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def logged(self):
        return self.log.read_text(errors="replace")[-4000:]


class Person:
    """A person's browser: logs in, and talks to that person's own server."""

    def __init__(self, hub, name):
        self.hub, self.name, self.web = hub, name, requests.Session()
        wait_until(lambda: self.reaches("/hub/login"), hub.logged, pause=0.2)
        form = {"username": name, "password": "of the tests", "_xsrf": self._token("/hub/")}
        logged_in = self.to("/hub/login?next=/hub/home", "POST", data=form)
        assert logged_in.ok and name in logged_in.text, (logged_in.status_code, hub.logged())

    def _token(self, path):
        return next(c.value for c in self.web.cookies if c.name == "_xsrf" and c.path == path)

    def to(self, path, method="GET", **more):
        """The response of the hub, or of a server behind it."""
        url = path if path.startswith("http") else f"{self.hub.url}{path}"
        return patiently(lambda: self.web.request(method, url, **more), self.hub.logged)

    def reaches(self, path):
        """Does the hub answer yet? Fails if it has ended."""
        assert self.hub.process.poll() is None, self.hub.logged()
        try:
            return self.to(path).ok
        except requests.ConnectionError:
            return False

    def start(self, whose=""):
        """Has the hub start a server (default: this person's own), and waits for its page."""
        whose = whose or self.name
        self.to(f"/hub/spawn/{whose}")
        wait_until(lambda: self._enters(whose), self.hub.logged, pause=0.2)
        return self

    def _enters(self, whose):
        assert self.hub.process.poll() is None, self.hub.logged()
        answer = self.to(f"/user/{whose}/lab")  # opening a page also logs in
        if "/oauth2/authorize" in answer.url:  # for another person's server, the hub asks first
            form = BeautifulSoup(answer.text, "html.parser")("input", {"type": "hidden"})
            answer = self.to(answer.url, "POST", data=[(field["name"], field["value"]) for field in form])
        assert "Spawn failed" not in answer.text, self.hub.logged()
        return answer.ok and answer.url.endswith(f"/user/{whose}/lab")

    def ask(self, path, method="GET", **more):
        """The JSON response of this person's server."""
        self.web.headers["X-XSRFToken"] = self._token(f"/user/{self.name}/") if method != "GET" else ""
        answer = self.to(f"/user/{self.name}/{path}", method, **more)
        assert answer.ok, (path, answer.status_code, answer.text[-500:], self.hub.logged())
        return answer.json()


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    for package in ("jupyterhub", "configurable_http_proxy"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install jupyterhub configurable-http-proxy")
    with Hub(tmp_path_factory.mktemp("hub")) as running:
        yield running


def test_a_unit_from_release_to_the_collected_folder(hub):
    teacher, ada = Person(hub, "teacher"), Person(hub, "ada")
    teacher.start()
    ada.start()
    released = teacher.ask(f"formgrader/api/assignment/{START}/release", "POST")
    assert released["success"], released

    about = {"course_id": COURSE, "assignment_id": START}
    (offered,) = ada.ask(f"assignments?course_id={COURSE}")["value"]
    assert (offered["assignment_id"], offered["status"]) == (START, "released")
    ada.ask("assignments/fetch", "POST", json=about)
    page = f"api/contents/{START}/{START}.ipynb"
    book = ada.ask(page)["content"]
    find(book, SOLVE)["source"] = ANSWERS["right"]
    ada.ask(page, "PUT", json={"type": "notebook", "format": "json", "content": book})
    handed_in = ada.ask("assignments/submit", "POST", json=about)
    assert handed_in["success"] and [a["status"] for a in handed_in["value"]] == ["fetched", "submitted"], handed_in

    collected = teacher.ask(f"formgrader/api/assignment/{START}/collect", "POST")
    assert collected["success"], collected
    folder = hub.course / "submitted" / "ada" / START
    assert {p.name for p in folder.iterdir()} == {f"{START}.ipynb", "timestamp.txt", "submission_secret.txt"}
    assert find(json.loads((folder / f"{START}.ipynb").read_text()), SOLVE)["source"] == ANSWERS["right"].splitlines(
        True
    )


def test_students_have_no_instructors_pages(hub):
    Person(hub, "teacher").start()
    ada = Person(hub, "ada").start()
    formgrader = ada.to("/user/ada/formgrader/api/assignments")
    assert formgrader.status_code == 404
    page = ada.to("/user/ada/lab").text
    disabled = re.search(r'"disabledExtensions": (\[[^]]*\])', page)
    assert disabled, page[:3000]
    buttons = {name.split(":")[1] for name in json.loads(disabled[1]) if name.startswith("@jupyter/nbgrader:")}
    assert buttons == {"course-list", "create-assignment", "formgrader", "validate-assignment"}
    answer = ada.to("/user/teacher/formgrader/api/assignments")
    assert answer.status_code == 403, (answer.status_code, answer.url)
    assert not ada.ask("api/contents/")["content"] or "nbgrader_config.py" not in str(ada.ask("api/contents/"))


def test_an_assistant_opens_the_teachers_server_and_no_students(hub):
    Person(hub, "ada").start()
    bo = Person(hub, "bo").start("teacher")
    for path in ("formgrader/api/assignments", "api/contents/nbgrader_config.py"):
        assert bo.to(f"/user/teacher/{path}").ok, path
    assert bo.to("/user/ada/lab").status_code == 403


RECIPE = (ROOT / "docs" / "jupyterhub.md").read_text(encoding="utf-8")


def test_the_recipe_names_every_file_and_leads_somewhere():
    folder = ROOT / "docs" / "hub"
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(folder).as_posix() in RECIPE, path
    heads = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", RECIPE, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", RECIPE)) <= heads
    assert set(re.findall(r"ANATOMY_\w+", (folder / "jupyterhub_config.py").read_text())) <= set(
        re.findall(r"ANATOMY_\w+", RECIPE)
    )


def test_the_recipe_installs_the_versions_that_were_tried():
    named = set(re.findall(r"\b(jupyterhub|nbgrader|configurable-http-proxy)==([\d.]+)", RECIPE))
    assert {name for name, _ in named} == {"jupyterhub", "nbgrader", "configurable-http-proxy"}
    for name, version in named:
        with suppress(importlib.metadata.PackageNotFoundError):
            assert importlib.metadata.version(name) == version
