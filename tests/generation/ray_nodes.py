"""A Ray cluster of several nodes on this machine, which starts on a loaded machine too.

Ray's raylet ends itself unless its agents, which are Python programs, tell their ports within 15 seconds. On
a machine with other work they take longer to start. Nothing here needs them before they run, so the ports
are fixed, or written where the raylet looks for them.
"""

from __future__ import annotations

import inspect
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_PORTS = ("metrics_agent_port", "metrics_export_port", "runtime_env_agent_port")
_PATIENT = {
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_worker_niceness": "0",  # 15 by default: beside other work they would never start
    "RAY_USAGE_STATS_ENABLED": "0",
}


@contextmanager
def ray_nodes(n: int) -> Iterator[Any]:
    """Yield a `ray.cluster_utils.Cluster` with a head for the driver and n nodes with one processor."""
    import ray
    from ray._private import services
    from ray._raylet import DASHBOARD_AGENT_LISTEN_PORT_NAME, persist_port
    from ray.cluster_utils import Cluster

    start = services.start_raylet
    before = dict(os.environ)
    os.environ.update(_PATIENT)

    def start_raylet(*args: Any, **more: Any) -> Any:
        given = inspect.signature(start).bind(*args, **more).arguments
        persist_port(given["session_dir"], given["node_id"], DASHBOARD_AGENT_LISTEN_PORT_NAME, -1)
        return start(*args, **more)

    services.start_raylet = start_raylet
    nodes = Cluster()
    try:
        add_node(nodes, num_cpus=0, include_dashboard=False, no_monitor=True)
        for _ in range(n):
            add_node(nodes)
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()
        services.start_raylet = start
        os.environ.clear()
        os.environ.update(before)


def add_node(nodes: Any, **more: Any) -> Any:
    """Add a node and return it."""
    settings = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_log_monitor": False}
    return nodes.add_node(**(settings | _free_ports() | more))


def _free_ports() -> dict[str, int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in _PORTS]
    found = {name: each.getsockname()[1] for name, each in zip(_PORTS, sockets, strict=True)}
    for each in sockets:
        each.close()
    return found


def workers_of(node: Any) -> list[int]:
    """Return the process numbers of our workers on a node."""
    raylets = {each.process.pid for each in node.all_processes["raylet"]}
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            number = int(entry.name)
            name = (entry / "cmdline").read_bytes().split(b"\0")[0]
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in raylets and b"Worker" in name:
                found.append(number)
    return found
