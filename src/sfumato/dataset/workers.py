"""What the scheduler of a Dask cluster says of its workers: which are there, which begin tasks, and how they are spoken to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sfumato.errors import ArgumentError, PublishError

# Seconds for which workers are waited for: those of a lost worker's nanny, or of a cluster that grows.
_WAIT = 60.0


def known_workers(client: Any) -> Mapping[str, Any]:
    """What the scheduler says of each worker, by address; an error where the scheduler is gone."""
    if client.status in ("closing", "closed"):
        raise PublishError(
            "the scheduler of the cluster is gone, and with it the rows on its workers. Nothing was released: start a cluster "
            "and let it read the rows anew."
        )
    known: Mapping[str, Any] = client.scheduler_info(n_workers=-1).get("workers", {})
    return known


def ready_workers(client: Any) -> list[str]:
    """Addresses of the workers that begin tasks; waits for the first of them."""
    until = time.monotonic() + _WAIT
    while True:
        known = known_workers(client)
        workers = sorted(address for address, facts in known.items() if _takes_tasks(facts))
        if workers:
            checked_addresses(workers)
            return workers
        if time.monotonic() > until:
            why = (
                "all workers of the cluster are paused, since their memory is nearly full; give them more, or start more"
                if known
                else f"the cluster has had no worker for {_WAIT:.0f} seconds; start one (dask worker ADDRESS)"
            )
            raise PublishError(f"{why}. Nothing was released.")
        time.sleep(0.1)


def may_still_read(client: Any, worker: str) -> bool:
    """Whether a task of a worker can come to an end: the worker is there, and begins tasks or is at work on one."""
    facts = known_workers(client).get(worker)
    return facts is not None and (_takes_tasks(facts) or _is_working(facts))


def _takes_tasks(facts: Mapping[str, Any]) -> bool:
    """Whether a worker begins new tasks: one whose memory is nearly full is paused, and answers calls alone."""
    return bool(facts.get("status", "running") == "running")


def _is_working(facts: Mapping[str, Any]) -> bool:
    return bool(facts.get("metrics", {}).get("task_counts", {}).get("executing"))


def checked_addresses(addresses: list[str]) -> None:
    """Refuse a way to a worker that others could listen to: TLS, or this machine alone."""
    for address in addresses:
        scheme, found, rest = address.partition("://")
        if not found:
            raise ArgumentError(
                f"the address of a scheduler begins with tls:// or, on this machine, tcp://; got {address!r}."
            )
        host, port = rest.rsplit(":", 1)[0].strip("[]"), rest.rsplit(":", 1)[-1]
        if scheme in ("tls", "tcp") and not port.isdigit():
            raise ArgumentError(
                f"the address of a scheduler ends with its port, such as {scheme}://{rest or 'host'}:8786."
            )
        local = scheme == "inproc" or host in ("127.0.0.1", "localhost", "::1")
        if scheme != "tls" and not local:
            raise ArgumentError(
                f"the cluster speaks {scheme} beyond this machine, so that sums could be read on the way. Start the scheduler and "
                "the workers with TLS (docs/scale.md has the commands), and connect to tls://..."
            )
