"""The client of a sandboxed kernel, which bounds the output that it keeps while it executes a notebook.

Stock clients keep every message of a kernel. Here the output of each cell and of the whole notebook is limited; any
further output is read and dropped, so that the cell can still finish or run into its time limit.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from queue import Empty
from typing import Any

import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from traitlets import Type

MIB = 1 << 20
# Bytes kept of one cell's messages and of a whole notebook's: enough for hundreds of figures.
CELL_BYTES, NOTEBOOK_BYTES = 8 * MIB, 128 * MIB
# Limits on unread messages in the messaging library: their number, and the length of each. Our kernel sends a megabyte
# at a time (``zygote_server.send_early``), but the code that runs in it can change that.
WAITING, FRAME_BYTES = 2, 128 * MIB
_EACH = 1024  # overhead of a message in bytes
_SMALL = 64 << 10
_PLUMBING = ("status", "execute_input", "shutdown_reply", "iopub_welcome")

CUT = "\n[The output of this cell was cut here: it was more than a notebook can keep. Print less, or not in a loop.]\n"


class BoundedChannel(AsyncZMQSocketChannel):
    """A kernel's output channel that keeps ``CELL_BYTES`` for each request and ``NOTEBOOK_BYTES`` in total."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._kept: dict[str, int] = defaultdict(int)
        self._total = 0
        self._told: set[str] = set()

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message that is kept; ``timeout`` in seconds. Raises queue.Empty if there is none in time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
            if not await self.socket.poll(left):
                raise Empty
            if (message := self._kept_of(await self.socket.recv_multipart())) is not None:
                return message
            await asyncio.sleep(0)  # a flood must not keep the time limits from being checked

    def _kept_of(self, parts: list[bytes]) -> dict[str, Any] | None:
        """The message; at the first one over the limit, a notice that the output is cut; None for all later ones."""
        size = sum(map(len, parts)) + _EACH
        parts = self.session.feed_identities(parts)[1]
        header, parent = (self.session.unpack(part) if len(part) < _SMALL else {} for part in parts[1:3])
        request = str(parent.get("msg_id", ""))
        if header.get("msg_type") in _PLUMBING and size < _SMALL:
            return self.session.deserialize(parts)
        if self._kept[request] + size <= CELL_BYTES and self._total + size <= NOTEBOOK_BYTES:
            self._kept[request] += size
            self._total += size
            return self.session.deserialize(parts)
        if request in self._told or len(self._told) > 10_000:
            return None
        self._told.add(request)
        return self.session.msg("stream", {"name": "stderr", "text": CUT}, parent=parent) | {"buffers": []}


class BoundedKernelClient(AsyncKernelClient):
    """jupyter_client's client with a ``BoundedChannel`` for output, and bounded queues on all channels."""

    iopub_channel_class = Type(BoundedChannel)

    def _create_connected_socket(self, channel: str, identity: bytes | None = None) -> Any:
        context = self.context
        before = dict(context.sockopts)
        context.sockopts.update({zmq.RCVHWM: WAITING, zmq.MAXMSGSIZE: FRAME_BYTES})
        try:
            return super()._create_connected_socket(channel, identity)
        finally:
            context.sockopts.clear()
            context.sockopts.update(before)
