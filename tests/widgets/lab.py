"""A JupyterLab on a free loopback port, with its own config, runtime and home, and Chromium to drive it.

It starts as ``make lab`` starts it (anatomy.app.lab), so that tests see what learners see. Used by the browser tests
and by benchmarks/widget_latency.py::

    with start_lab(folder) as url, sync_playwright() as pw:
        browser = pw.chromium.launch(**chromium())
        page = browser.new_page()
        open_notebook(page, url, "example.ipynb")
        run_all(page)
        shut_down_kernel(page)
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from anatomy.app import lab

from autograder import ROOT
from autograder.chromium import program

# Only what a headless run needs: no sandbox (containers have no user namespaces), no background network traffic.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_KERNEL_IDLE = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.context?.sessionContext?.session?.kernel?.status === 'idle';
}"""


# Polled four times a second: it copies no outputs, which contain whole widgets and pictures.
HAVE_RUN = """() => {
  const { content, context } = window.jupyterapp.shell.currentWidget;
  const cells = [...content.model.cells].filter((cell) => cell.type === 'code');
  const failed = ({ outputs }) => [...Array(outputs.length).keys()].some((i) => outputs.get(i).type === 'error');
  return (cells.every((cell) => cell.executionCount) || cells.some(failed))
    && context.sessionContext.session.kernel.status === 'idle';
}"""


def chromium():
    """Keyword arguments of playwright's launch(). Raises RuntimeError."""
    return {"executable_path": program(), "headless": True, "args": FLAGS}


@contextmanager
def launched():
    """Running Chromium, through Playwright's synchronous interface; fails the test if Chromium is not installed."""
    import pytest
    from playwright.sync_api import sync_playwright

    try:
        options = chromium()
    except RuntimeError as error:  # not a skip: without a browser nothing shows that the widgets work
        pytest.fail(str(error), pytrace=False)
    with sync_playwright() as pw:
        running = pw.chromium.launch(**options)
        yield running
        running.close()


def free_port():
    """A port that is currently free."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def start_lab(folder, timeout=60, python=None, kernels=None, extension=()):
    """Serves ``folder``; yields the address. Raises RuntimeError.

    Args:
        python: that of an environment with JupyterLab and the course; default: this one and the checkout's course.
        kernels: more kernels by name, each the Python of another environment.
        extension: files, relative to the repository, that kernels can import by their bare names; each kernel loads the
            last of them when it starts.
    """
    private = Path(tempfile.mkdtemp(prefix="lab-"))
    for file in extension:
        (private / "path").mkdir(exist_ok=True)
        shutil.copy(ROOT / file, private / "path")
    if extension:
        profile = private / "ipython" / "profile_default"
        profile.mkdir(parents=True)
        module = Path(extension[-1]).stem
        (profile / "ipython_kernel_config.py").write_text(f"c.IPKernelApp.extensions = [{module!r}]\n")
    for name, path in (kernels or {}).items():
        spec = private / "data_dir" / "kernels" / name
        spec.mkdir(parents=True)
        argv = [str(path), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": name, "language": "python"}))
    path = [private / "path", *([] if python else [ROOT / "course", ROOT])]
    port = free_port()
    env = {
        "ANATOMY_HOME": str(private / "anatomy"),
        **os.environ,
        "HOME": str(private),
        "IPYTHONDIR": str(private / "ipython"),
        "PYTHONPATH": os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    for kind in ("CONFIG_DIR", "RUNTIME_DIR", "DATA_DIR"):
        env[f"JUPYTER_{kind}"] = str(private / kind.lower())
    for kind in ("SETTINGS", "WORKSPACES"):
        env[f"JUPYTERLAB_{kind}_DIR"] = str(private / kind.lower())
    command = lab.command(
        folder,
        extra=[
            "--no-browser",
            f"--port={port}",
            "--ip=127.0.0.1",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
            "--LabApp.expose_app_in_browser=True",
        ],
    )
    command[0] = str(python or command[0])
    env = lab.environment(env)
    log = private / "lab.log"
    with open(log, "wb") as sink:
        server = subprocess.Popen(command, env=env, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + timeout
        while True:
            try:
                urllib.request.urlopen(f"{url}/api", timeout=1).read()
                break
            except (urllib.error.URLError, OSError):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}") from None
                time.sleep(0.05)
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)  # it has its own session, so no other processes are killed
            server.wait()
        shutil.rmtree(private, ignore_errors=True)


def open_notebook(page, url, name, timeout=60_000, where="doc"):
    """Opens a notebook of the served folder and waits for its idle kernel; where: "lab" for the whole JupyterLab."""
    page.goto(f"{url}/{where}/tree/{name}")
    wait_until_open(page, timeout)


def wait_until_open(page, timeout=60_000):
    """Waits for the cells of the current notebook and its idle kernel."""
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=timeout)
    page.wait_for_function(_KERNEL_IDLE, timeout=timeout)


def run_all(page):
    """Starts all cells; the caller waits for their output."""
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")


def wait_until_run(page, timeout=300_000):
    """Waits until all code cells have run, or one has failed."""
    page.wait_for_function(HAVE_RUN, timeout=timeout, polling=250)


def shut_down_kernel(page):
    """Shuts down the kernel of the current notebook."""
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.context.sessionContext.shutdown() }")


def write_notebook(path, *cells):
    """Writes a notebook of code cells with fixed ids."""
    import nbformat

    book = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    for i, source in enumerate(cells):
        book.cells.append(nbformat.v4.new_code_cell(source, id=f"cell-{i}"))
    nbformat.write(book, path)
    return path
