"""The other end of a sandboxed kernel: what a process that executes a notebook takes in and keeps of a flood.

Stock clients keep every message of a kernel. Here each cell's output has an end, and so has a notebook's; what comes
after that is read and dropped, so that the cell can still finish or run into its time limit.
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
# Bytes that are kept of one cell's messages and of all of a notebook's: hundreds of figures.
CELL_BYTES, NOTEBOOK_BYTES = 8 * MIB, 128 * MIB
# What the messaging library may hold that nobody has read yet: so many messages, each at most so long. Ours sends a
# megabyte at a time (``zygote_server.send_early``), but what runs in it can change that.
WAITING, FRAME_BYTES = 2, 128 * MIB
_EACH = 1024  # what a message costs besides its bytes
_SMALL = 64 << 10
_PLUMBING = ("status", "execute_input", "shutdown_reply", "iopub_welcome")

CUT = "\n[The output of this cell was cut here: it was more than a notebook can keep. Print less, or not in a loop.]\n"


class BoundedChannel(AsyncZMQSocketChannel):
    """A kernel's output channel that keeps ``CELL_BYTES`` for each request, ``NOTEBOOK_BYTES`` in all."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._kept: dict[str, int] = defaultdict(int)
        self._total = 0
        self._told: set[str] = set()

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message that is kept; ``timeout`` in seconds. Raises queue.Empty."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
            if not await self.socket.poll(left):
                raise Empty
            if (message := self._kept_of(await self.socket.recv_multipart())) is not None:
                return message
            await asyncio.sleep(0)  # a flood must not keep the time limits from being looked at

    def _kept_of(self, parts: list[bytes]) -> dict[str, Any] | None:
        """The message, the sentence that says that the rest is cut, or None for the rest."""
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
    """jupyter_client's client with a ``BoundedChannel`` for output, and bounded queues before all channels."""

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
