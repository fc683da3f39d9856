"""The zygote: a single-threaded process that has imported everything and forks a sandbox per request.

It runs as the grader's user and never runs student code itself. Students can read everything that it has imported, so
it starts with a clean environment, in an empty folder, and holds no secret.

Requests arrive on a Unix socket (one connection each): a JSON object, with the descriptors of the session's control
socket and of a note in which the guard writes why it ended the session. The answer is the process id of the sandbox's
guard and a pidfd for it.
"""

from __future__ import annotations

import array
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import time

from . import cgroups, namespaces, shell, usage, worker
from .limits import Limits

MESSAGE_BYTES = 1 << 17
PING = b"ping"


def fail(control: socket.socket, error: BaseException) -> None:
    """Tell the grader in one sentence why its session does not start."""
    text = f"{type(error).__name__}: {error}".encode()[:4000]
    control.sendall(worker.NOTICE.pack(worker.FAILED, len(text), 0) + text)


class Server:
    """The zygote's server.

    folder: private directory, which both this process and its starter remove. lifeline: a descriptor that hangs up when
    the starter is gone, however it ended.
    """

    def __init__(self, folder: str, lifeline: int, preload: list[str]):
        self.folder = folder
        self.mount_point = os.path.join(folder, "root")
        os.makedirs(self.mount_point, exist_ok=True)
        self.lifeline = lifeline
        self.run_cell, self.student_ns = shell.prepare(preload)
        threads = os.listdir("/proc/self/task")
        if len(threads) != 1:
            raise RuntimeError(f"{len(threads)} threads after the imports: a fork would copy their locks but not them")
        namespaces.warm_up()
        # So that the collector doesn't touch, and thereby copy, the existing pages in every fork. To look for garbage
        # before would take a quarter of a second, and imports leave nearly none.
        gc.freeze()
        cgroups.sweep()
        # Process 1 of a sandbox dies shortly after its guard; this process must notice that to remove its group.
        worker.adopt_orphans()
        self.guards: set[int] = set()
        self.leftovers: list = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.path.join(folder, "zygote")
        self.listener.bind(path)
        os.chmod(path, 0o600)
        self.listener.listen(64)
        self.wake_r, wake_w = os.pipe()
        os.set_blocking(self.wake_r, False)
        os.set_blocking(wake_w, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_w)

    def serve(self) -> None:
        """Serve until the lifeline breaks; then end all sandboxes and remove the folder."""
        poll = select.poll()
        for fd in (self.listener.fileno(), self.wake_r):
            poll.register(fd, select.POLLIN)
        poll.register(self.lifeline, 0)  # poll always reports a hang-up
        while True:
            ready = dict(poll.poll(200 if self.leftovers else None))
            if self.leftovers:
                self.leftovers = cgroups.remove(self.leftovers)
            if self.lifeline in ready:
                self._end()
                return
            if self.wake_r in ready:
                os.read(self.wake_r, 4096)
                self._reap()
            if self.listener.fileno() in ready:
                connection, _ = self.listener.accept()
                with connection:
                    self._handle(connection)

    def _end(self) -> None:
        self.listener.close()
        for pid in self.guards:
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the process id is still valid
        while self.guards:
            usage.ready(self.wake_r)
            os.read(self.wake_r, 4096)
            self._reap()
        for _ in range(100):
            if not self.leftovers:
                break
            time.sleep(0.01)
            self.leftovers = cgroups.remove(self.leftovers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _handle(self, connection: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError:
            return  # the client sees the connection close
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._child(connection)
            finally:
                os._exit(1)
        self.guards.add(pid)
        guard = os.pidfd_open(pid)
        try:
            connection.sendmsg([str(pid).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [guard]))])
        except OSError:
            signal.pidfd_send_signal(guard, signal.SIGKILL)  # the client is gone
        finally:
            os.close(guard)

    def _reap(self) -> None:
        try:
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self.guards.discard(pid)
                groups = cgroups.folders(f"{os.getpid()}-{pid}")
                cgroups.release(groups)
                self.leftovers += groups
        except ChildProcessError:
            pass
        self.leftovers = cgroups.remove(self.leftovers)

    def _child(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        data, fds, *_ = socket.recv_fds(connection, MESSAGE_BYTES, 2)
        if data == PING or len(fds) != 2:
            os._exit(0)
        control = socket.socket(fileno=fds[0])
        control.setblocking(True)
        try:
            request = json.loads(data)
            self._become(request, control, usage.Note(fds[1]))
        except BaseException as error:
            fail(control, error)
            raise

    def _become(self, request: dict, control: socket.socket, note: usage.Note) -> None:
        sees = request["view"]
        view = namespaces.View(tuple(sees["readable"]), tuple(sees["hidden"]), sees["workdir"])
        name = f"{os.getppid()}-{os.getpid()}"
        box = namespaces.Sandbox(self.mount_point, name, view, Limits(**request["limits"]))
        cgroups.ENABLED = request["groups"]
        namespaces.enter(box, [control], note)
        os.environ.update(request["env"])
        sys.path += [*request["python_path"], namespaces.HOME]
        sys.argv[:] = request["argv"]
        shell.reseed(request["seed"])
        if request["role"] == "kernel":
            run_kernel(control, request["connection"])
        else:
            worker.head(control, self.run_cell, self.student_ns, own_pid_namespace=True)


def run_kernel(control: socket.socket, connection: dict) -> None:
    """Serve as a Jupyter kernel; returns when it is shut down. connection: the contents of a connection file."""
    # The zygote's shell is not a kernel shell, so this process needs its own.
    from ipykernel.kernelapp import IPKernelApp
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    shell.restore_comms()
    send_early()
    path = os.path.join("/tmp", "connection.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(connection, f)
    app = IPKernelApp.instance()
    app.initialize(["-f", path, "--HistoryManager.enabled=False", "--IPKernelApp.log_level=40"])
    control.sendall(worker.NOTICE.pack(worker.READY, 0, 0))  # the kernel's sockets exist now
    app.start()


def send_early(most: int = 1 << 20) -> None:
    """Makes the kernel send printed output after at most ``most`` characters, and wait until it is sent.

    Otherwise it would put the output of a fifth of a second into one message: for a loop that prints, on a busy
    machine, a hundred megabytes, of which sender and receiver keep several copies.
    """
    from ipykernel.iostream import OutStream

    write = OutStream.write

    def write_and_send(self: OutStream, string: str) -> int | None:
        written = write(self, string)
        waiting = getattr(self, "_waiting", 0) + len(string)
        if waiting >= most:
            waiting = 0
            self.flush()
        self._waiting = waiting  # type: ignore[attr-defined]
        return written

    OutStream.write = write_and_send  # type: ignore[method-assign]


def main() -> None:
    """Entry point. Arguments: repository root, private folder, lifeline descriptor, names of modules to import."""
    _, root, folder, lifeline, *preload = sys.argv
    gc.disable()
    server = Server(folder, int(lifeline), preload)
    gc.enable()
    os.write(int(lifeline), b"+")
    server.serve()
