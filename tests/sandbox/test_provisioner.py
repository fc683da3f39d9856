"""Stock Jupyter kernels in both kinds of sandbox, through kernel specifications and jupyter_client."""

import os
import subprocess
import sys
import time
import tomllib
from importlib.metadata import EntryPoint

import nbformat
import pytest
from jupyter_client import KernelManager
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import KernelProvisionerFactory
from nbclient import NotebookClient

from autograder import ROOT
from autograder.sandbox import Limits, SandboxUnavailable, cgroups, kernelspec, provisioner, zygote
from tests.waiting import PATIENCE, wait_until

PROVISIONERS = {"anatomy-bwrap": "BubblewrapProvisioner", "anatomy-zygote": "ZygoteProvisioner"}
MARK = f"97531.{os.getpid()}"  # seconds to sleep, which identify a process among those of other runs


@pytest.fixture(autouse=True)
def specifications(tmp_path_factory, monkeypatch):
    """Registers both kernels, even if the package is not installed."""
    prefix = tmp_path_factory.mktemp("prefix")
    kernelspec.install(prefix)
    monkeypatch.setenv("JUPYTER_PATH", str(prefix / "share" / "jupyter"))
    factory = KernelProvisionerFactory.instance()
    for name, cls in PROVISIONERS.items():
        entry = EntryPoint(name, f"autograder.sandbox.provisioner:{cls}", factory.GROUP_NAME)
        monkeypatch.setitem(factory.provisioners, name, entry)


@pytest.fixture(params=PROVISIONERS)
def name(request):
    return request.param


@pytest.fixture
def kernel(name, tmp_path):
    (tmp_path / "data.txt").write_text("of the submission")
    manager, client = start_new_kernel(kernel_name=name, cwd=str(tmp_path), startup_timeout=60)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(client, code, timeout=PATIENCE):
    """Runs one cell; returns (status, printed text and errors)."""
    texts = []

    def hook(message):
        content = message["content"]
        texts.append(content.get("text") or content.get("data", {}).get("text/plain") or content.get("evalue") or "")

    reply = client.execute_interactive(code, timeout=timeout, output_hook=hook, allow_stdin=False)
    return reply["content"]["status"], "".join(texts)


def test_kernel_computes_and_is_confined(kernel):
    _, client = kernel
    assert run(client, "print(6 * 7)") == ("ok", "42\n")
    assert run(client, "!echo from a shell") == ("ok", "from a shell\r\n")
    assert run(client, "open('data.txt').read()") == ("ok", "'of the submission'")
    status, text = run(client, "import socket; socket.create_connection(('127.0.0.1', 1), 1)")
    assert status == "error" and ("unreachable" in text or "refused" in text)
    assert run(client, f"import os; os.path.exists('/proc/{os.getpid()}')") == ("ok", "False")
    assert run(client, f"os.path.exists({os.path.abspath('autograder/judge')!r})") == ("ok", "False")
    assert run(client, "open('/usr/x', 'w')")[0] == "error"
    status, text = run(client, "print(open('/proc/self/status').read())")
    assert "CapEff:\t0000000000000000" in text and "NoNewPrivs:\t1" in text and "Seccomp:\t2" in text


def test_nothing_is_shared_with_the_grader(kernel):
    manager, client = kernel
    assert manager.transport == "ipc" and manager.ip.startswith("/proc/")
    writable = run(client, "import os; [p for p in ('/run', '/', '/home') if os.access(p, os.W_OK)]")
    assert writable == ("ok", "[]")
    assert not os.path.exists(manager.ip.partition("/root")[2] + "-1")  # its sockets are in its own /tmp


def test_interrupt_restart_and_death(kernel):
    manager, client = kernel
    # Short sleeps, since a signal just before the system call of a long sleep does not end it.
    message = client.execute("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.05)")
    while client.get_iopub_msg(timeout=PATIENCE)["content"].get("text") != "begun\n":
        pass
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=PATIENCE))["parent_header"]["msg_id"] != message:
        pass  # the reply to an earlier request
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    while run(client, "1")[0] == "aborted":  # requests right after an error are dropped
        time.sleep(0.1)
    client.execute("import os; os._exit(3)")
    wait_until(lambda: not manager.is_alive())
    manager.restart_kernel(now=True)
    client.stop_channels()
    again = manager.client()
    again.start_channels()
    again.wait_for_ready(timeout=PATIENCE)
    assert run(again, "1 + 1") == ("ok", "2")
    again.stop_channels()


def test_memory_and_processes_are_bounded(name, tmp_path):
    manager = KernelManager(kernel_name=name)
    manager.config.BubblewrapProvisioner.limits = {"memory_bytes": 512 << 20, "processes": 48}
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)
        assert run(client, "x = bytearray(5 << 30)")[0] == "error"
        loop = "    while n < 100:\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n        n += 1\n"
        bomb = f"import os, time\nn = 0\ntry:\n{loop}except OSError: pass\nn < 60"
        assert run(client, bomb) == ("ok", "True")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_wall_time_is_bounded(name, tmp_path):
    manager = KernelManager(kernel_name=name)
    manager.config.BubblewrapProvisioner.limits = {"wall_seconds": 2}
    manager.start_kernel(cwd=str(tmp_path))
    try:
        wait_until(lambda: not manager.is_alive())
    finally:
        manager.shutdown_kernel(now=True)


def test_nothing_is_left(name, tmp_path):
    manager, client = start_new_kernel(kernel_name=name, cwd=str(tmp_path), startup_timeout=60)
    run(client, f"import subprocess; p = subprocess.Popen(['sleep', '{MARK}'])")
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    wait_until(lambda: MARK not in os.popen("ps axww").read() and not _groups())


def _groups():
    return [g for g in cgroups.MOUNT.glob(f"*/{cgroups.PREFIX}{os.getpid()}-*")]


def test_kernel_dies_with_its_grader(name, tmp_path):
    """Also if the grader is killed and cleans nothing up."""
    script = f"""
import time
import tomllib
from importlib.metadata import EntryPoint
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import KernelProvisionerFactory
entry = EntryPoint({name!r}, "autograder.sandbox.provisioner:{PROVISIONERS[name]}", "x")
KernelProvisionerFactory.instance().provisioners[{name!r}] = entry
manager, client = start_new_kernel(kernel_name={name!r}, startup_timeout=60)
client.execute("import subprocess; p = subprocess.Popen(['sleep', '{MARK}'])", reply=True, timeout=60)
print("started", flush=True)
time.sleep(600)
"""
    grader = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert grader.stdout.readline() == "started\n"
        assert MARK in os.popen("ps axww").read()
    finally:
        grader.kill()
        grader.wait()
        grader.stdout.close()
    wait_until(lambda: MARK not in os.popen("ps axww").read())


def test_notebook_runs_the_stock_way(name, tmp_path):
    cells = [
        "import torch\ntorch.ones(2).sum()",
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, kernel_name=name, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert notebook.cells[0].outputs[0]["data"]["text/plain"] == "tensor(2.)"
    assert any("image/png" in o.get("data", {}) for o in notebook.cells[1].outputs)


def test_zygote_kernel_falls_back_to_bubblewrap(monkeypatch, tmp_path, caplog):
    def refuse():
        raise SandboxUnavailable("no zygote today")

    monkeypatch.setattr(zygote, "shared_zygote", refuse)
    manager, client = start_new_kernel(kernel_name="anatomy-zygote", cwd=str(tmp_path), startup_timeout=60)
    try:
        assert run(client, "1 + 1") == ("ok", "2")
        assert manager.provisioner.process is not None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_entry_points_of_the_project_name_these_classes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"]["jupyter_client.kernel_provisioners"]
    assert set(entries) == set(PROVISIONERS) == set(kernelspec.KERNELS)
    for entry, cls in PROVISIONERS.items():
        assert entries[entry] == f"autograder.sandbox.provisioner:{cls}" and hasattr(provisioner, cls)


def test_limits_are_checked_when_they_are_set():
    with pytest.raises(TypeError, match="memory"):
        Limits(**{"memory": 1})


def test_a_kernel_that_no_group_bounds_is_watched(name, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(cgroups, "ENABLED", False)
    manager = KernelManager(kernel_name=name)
    manager.config.BubblewrapProvisioner.limits = {"session_cpu_percent": 10, "session_cpu_burst_seconds": 8}
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)
        client.execute("while True: pass")
        wait_until(lambda: not manager.is_alive())
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert "more than one processor's time" in caplog.text
