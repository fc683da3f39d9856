"""Serves the site on a local port like a web host, with compressed text, and counts the bytes sent."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".ipynb": "application/json",
}
TEXT = (".html", ".js", ".css", ".svg", ".ipynb")


class Served:
    """A site that is being served: its address, and (path, bytes of the body as sent) of each response so far."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.sent: list[tuple[str, int]] = []


@contextmanager
def served(site: Path) -> Iterator[Served]:
    """Serves a folder until the end of the block."""
    kept: dict[Path, bytes] = {}

    def body_of(path: Path) -> bytes:
        if path not in kept:
            data = path.read_bytes()
            kept[path] = gzip.compress(data, 6) if path.suffix in TEXT else data
        return kept[path]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = unquote(urlsplit(self.path).path).lstrip("/") or "index.html"
            path = site / asked
            if not path.is_file():
                self.send_error(404)
                return
            body = body_of(path)
            now.sent.append((asked, len(body)))
            self.send_response(200)
            self.send_header("Content-Type", KINDS.get(path.suffix, "application/octet-stream"))
            if path.suffix in TEXT:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    now = Served(f"http://127.0.0.1:{server.server_port}/")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield now
    finally:
        server.shutdown()
        server.server_close()
