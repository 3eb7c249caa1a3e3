"""Folders of every kind for runs: of this machine, by pyarrow, and an S3 server that may fail."""

from __future__ import annotations

import itertools
import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as fs
import pytest

from distrivote.store.runs.folder import Folder, LocalFolder
from distrivote.store.runs.object_folder import ObjectFolder

_NUMBERS = itertools.count()


class ArrowFolder(ObjectFolder):
    """A folder of this machine, used as an object store is: objects appear whole, as there."""

    def _put(self, name: str, content: bytes) -> None:
        aside = f"{next(_NUMBERS)}.writing"
        with self._system.open_output_stream(aside) as stream:
            stream.write(content)
        self._system.move(aside, self._at(name))


def arrow_folder(path: Path) -> ObjectFolder:
    """Return a folder of this machine, used as an object store is."""
    for under in ("parts", "claims", "leases"):
        (path / "run" / under).mkdir(parents=True, exist_ok=True)
    return ArrowFolder("s3://made-up/run", fs.SubTreeFileSystem(str(path), fs.LocalFileSystem()), "run")


def folder_of(kind: str, path: Path) -> Folder:
    return LocalFolder(path) if kind == "local" else arrow_folder(path)


@contextmanager
def s3_server() -> Iterator[str]:
    """Start moto's S3 server, with a bucket `runs`, and yield its address."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"access_key": "testing", "secret_key": "testing", "region": "us-east-1"}
    system = fs.S3FileSystem(
        endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True, **keys
    )
    system.create_dir("runs")
    try:
        yield f"{host}:{port}"
    finally:
        server.stop()


def environment(endpoint: str) -> dict[str, str]:
    """Return the variables by which every process finds the server."""
    return {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": f"http://{endpoint}",
    }


def new_address() -> str:
    return f"s3://runs/{os.getpid()}-{next(_NUMBERS)}"


class FaultyProxy:
    """Stands before a server: some connections are dropped, some requests answered with 500 or 503."""

    def __init__(self, target: str, share: float, seed: int = 0) -> None:
        host, _, port = target.partition(":")
        self._target, self._share, self._chance = (host, int(port)), share, random.Random(seed)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.n_faults = 0
        self.is_down = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            fault = self._chance.choice(["drop", "500", "503"])
            if self.is_down or self._chance.random() < self._share:
                self.n_faults += 1
                try:
                    client.recv(65536)
                    if fault != "drop":
                        reply = f"HTTP/1.1 {fault} Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        client.sendall(reply.encode())
                except OSError:
                    pass
                return
            with socket.create_connection(self._target) as server:
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (source, sink):
            each.close()
