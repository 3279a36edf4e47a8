"""A real Dask cluster of processes on this machine, plain or with TLS, for tests and benchmarks. Nothing is spilled to disk."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# As docs/scale.md has it; {folder} is where the two files go.
CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=sfumato "
    "-keyout {folder}/key.pem -out {folder}/cert.pem"
)
UNSPILLED = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.daemon": False,
    "logging.distributed": "critical",
}


def security(folder: Path) -> Any:
    """TLS with a certificate that is made here and that everybody trusts."""
    from distributed import Security

    subprocess.run(CERTIFICATE.format(folder=folder).split(), check=True, capture_output=True)
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    files = {"cert": cert, "key": key}
    roles = {f"tls_{role}_{kind}": files[kind] for role in ("client", "scheduler", "worker") for kind in files}
    return Security(tls_ca_file=cert, require_encryption=True, **roles)


@contextmanager
def cluster(workers: int, tls: Path | None = None, **config: Any) -> Iterator[Any]:
    """Start workers; the client of the cluster."""
    import dask
    from distributed import Client, LocalCluster

    secure = None if tls is None else security(tls)
    with (
        dask.config.set({**UNSPILLED, **config}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            host="127.0.0.1" if tls is None else "tls://127.0.0.1",
            security=secure,
            silence_logs=50,
        ) as made,
        Client(made, security=secure, set_as_default=False) as client,
    ):
        yield client


def kill_one(client: Any, place: int) -> None:
    """Kill a worker as a machine that loses power would."""
    processes = sorted(client.run(os.getpid).items())
    if not processes:  # the last one was killed and is not yet replaced
        return
    os.kill(processes[place % len(processes)][1], signal.SIGKILL)
