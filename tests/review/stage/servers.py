"""The application behind a real server: in a thread, or in a process that can be killed."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from urllib.request import urlopen

from waitress import wasyncore
from waitress.server import create_server

from medrcube.review.wsgi import application

_SERVE = """
import sys
from pathlib import Path
from medrcube.review.server.bootstrap import ReviewPaths, configure
configure(ReviewPaths(folder=Path(sys.argv[1]), database=sys.argv[2]))
from waitress import serve
from medrcube.review.wsgi import application
serve(application, host="127.0.0.1", port=int(sys.argv[3]), threads=4)
"""


@contextmanager
def serving():
    """Address of a server in this process, on the database that is in use."""
    sockets, stop = {}, threading.Event()
    server = create_server(application, host="127.0.0.1", port=0, threads=4, map=sockets)

    def run():
        while not stop.is_set():  # closing it from another thread would pull a socket from under it
            wasyncore.loop(timeout=0.05, map=sockets, count=1)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        stop.set()
        thread.join(10)
        server.task_dispatcher.shutdown()
        wasyncore.close_all(sockets)


class Server:
    """The application in a process of its own, which can be killed and started again."""

    def __init__(self, place):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        self._command = [sys.executable, "-c", _SERVE, place.folder, place.database]
        self.start()

    def start(self):
        self._process = subprocess.Popen([*self._command, str(self._port)])
        for _ in range(1200):
            with suppress(OSError), urlopen(f"{self.address}/health/", timeout=60):  # noqa: S310  (our own)
                return
            time.sleep(0.1)
        raise AssertionError("the server did not start")

    def kill(self):
        self._process.kill()
        self._process.wait()
