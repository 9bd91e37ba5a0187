"""A loopback server that answers as the homes do, and clients that take it for them."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import httpx2
import pytest

from medrcube.sources._homes import downloads
from medrcube.sources._homes.https import HomeClient
from medrcube.sources._homes.listings import LISTINGS


class Recorded(ThreadingHTTPServer):
    """Answers of the homes: ``(host, path)`` -> body, and what goes wrong on the way.

    Attributes:
        bodies: what is there.
        faults: path -> faults, of which each request takes the first: a status, ``(status,
            headers)``, ``("cut", bytes)`` for a connection that breaks off, ``"whole"`` for a
            server that knows no ranges.
        asked: every request: host, path, and its headers.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies, self.faults, self.requests = {}, {}, []

    def put(self, url, body):
        host, _, path = url.removeprefix("https://").partition("/")
        self.bodies[host, f"/{path}"] = body


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # a body need not wait for the receipt of its headers
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server, host = self.server, self.headers["X-Home"]
        server.requests.append((host, self.path, dict(self.headers)))
        faults = server.faults.get(self.path, [])
        fault = faults.pop(0) if faults else None
        if isinstance(fault, int):
            fault = (fault, {})
        if fault and fault[0] not in ("cut", "whole"):
            return self._answer(fault[0], b"", fault[1])
        body = server.bodies.get((host, unquote(self.path)))
        if body is None:
            return self._answer(404, b"not here")
        tag = {"ETag": f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'}
        status, start = 200, 0
        byte_range = self.headers.get("Range")
        fresh = self.headers.get("If-Range", tag["ETag"]) == tag["ETag"]
        if byte_range and fresh and fault != ("whole",):
            start = int(byte_range.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                return self._answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
            status = 206
            tag["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        cut = fault[1] if fault and fault[0] == "cut" else None
        return self._answer(status, body[start:], tag, cut=cut)

    def _answer(self, status, body, headers=None, cut=None):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True


class Loopback(httpx2.BaseTransport):
    """Takes every address to the recorded server, with its true host in a header."""

    def __init__(self, port):
        self._port, self._real = port, httpx2.HTTPTransport()

    def handle_request(self, request):
        request.headers["X-Home"] = request.url.host
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return self._real.handle_request(request)

    def close(self):
        self._real.close()


@pytest.fixture
def server():
    with Recorded() as requests:
        thread = threading.Thread(target=requests.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield requests
        requests.shutdown()
        thread.join()


@pytest.fixture
def waits():
    """Seconds that were waited, one after the other."""
    return []


@pytest.fixture
def web(server, waits, monkeypatch):
    """Open a client of hosts: ``web("zenodo.org")``; those of homes go the same way."""

    def client(*hosts, login=None):
        transport = Loopback(server.server_address[1])
        return HomeClient(hosts, login=login, transport=transport, wait=waits.append)

    def of_home(home):
        kind = LISTINGS[home.kind]
        named = [file.url.split("/")[2] for file in home.files if file.url]
        return client(*kind.hosts, *home.hosts, *named, login=kind.login())

    monkeypatch.setattr(downloads, "open_web", of_home)
    return client


@pytest.fixture
def zenodo(server):
    """A record: ``zenodo({"a.zip": b"..."}, id="8231412")``, in the form of its API."""

    def record(files, name="8231412", **fields):
        base = f"https://zenodo.org/api/records/{name}"
        entries = []
        for key, body in files.items():
            link = f"{base}/files/{key}/content"
            server.put(link, body)
            md5 = hashlib.md5(body, usedforsecurity=False).hexdigest()
            entry = {
                "id": "f1b1b1c0-0000-4000-8000-000000000000",
                "key": key,
                "size": len(body),
                "checksum": f"md5:{md5}",
                "links": {"self": link},
            }
            entries.append({**entry, **fields})
        rows = {"id": int(name), "metadata": {"title": "x"}, "files": entries}
        server.put(base, json.dumps(rows).encode())
        return f"/api/records/{name}/files/{next(iter(files))}/content"

    return record
