"""``--hosts``: several machines, or several processes, that share one study."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from jaxrank.cli.runtime import say
from jaxrank.errors import OptionError

Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="auto|ADDRESS:PORT,COUNT,NUMBER",
        help="Share the study over hosts. Start the same command on each: under SLURM (srun) or another launcher with "
        "--hosts auto; otherwise name the first host's address and a free port, the number of hosts, and this host's "
        "number from 0. Host 0 prints.",
    ),
]


def join_hosts(hosts: str | None) -> bool:
    """Connect to the other hosts; True where this one prints the results."""
    if hosts is None:
        return True
    import jax

    if hosts == "auto":
        _initialize(hosts)
        return jax.process_index() == 0
    parts = hosts.split(",")
    if len(parts) != 3 or ":" not in parts[0] or not all(p.isdigit() for p in parts[1:]):
        raise OptionError(f"--hosts {hosts!r}; it must be auto, or ADDRESS:PORT,COUNT,NUMBER such as 10.0.0.1:1234,4,0")
    count, number = int(parts[1]), int(parts[2])
    if not 0 <= number < count:
        raise OptionError(f"--hosts {hosts!r}: hosts are numbered from 0 to {count - 1}")
    _initialize(hosts, coordinator_address=parts[0], num_processes=count, process_id=number)
    return number == 0


def _initialize(hosts: str, **where: Any) -> None:
    """Wait for the other hosts; what JAX refuses is told in one line."""
    import jax

    ids, note = devices_of_task(os.environ)
    if ids is not None:
        where["local_device_ids"] = ids
    try:
        jax.distributed.initialize(**where)
    except (RuntimeError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise OptionError(f"--hosts {hosts}: the hosts could not be joined ({why})") from None
    devices = f"{jax.local_device_count()} {jax.default_backend()} devices"
    say(f"host {jax.process_index()} of {jax.process_count()}: {devices}")
    if note:
        say(f"warning: {note}")


def devices_of_task(environment: Mapping[str, str]) -> tuple[list[int] | None, str]:
    """The GPUs that this task of a SLURM step takes, of those that it sees, and what deserves a warning.

    JAX takes one for each task. Here a task takes all that it sees where the layout gives every task GPUs of its own,
    or where it is alone on its node; tasks that see the same GPUs divide them. None where SLURM or GPUs are absent.
    """
    seen = environment.get("CUDA_VISIBLE_DEVICES", environment.get("ROCR_VISIBLE_DEVICES", ""))
    n_seen = len([x for x in seen.split(",") if x.strip()])
    if "SLURM_LOCALID" not in environment or not n_seen:
        return None, ""
    n_tasks, place = _tasks_on_node(environment), int(environment["SLURM_LOCALID"])
    on_node = environment.get("SLURM_GPUS_ON_NODE", "")
    if n_tasks == 1 or (on_node.isdigit() and n_seen < int(on_node)):
        return list(range(n_seen)), ""
    if n_tasks > n_seen:
        note = f"{n_tasks} tasks on this node share {n_seen} GPUs; start one task for each GPU, or one"
        return [place % n_seen], note
    each = n_seen // n_tasks
    idle = n_seen - each * n_tasks
    note = f"{idle} of {n_seen} GPUs of this node stay idle, since {n_tasks} tasks cannot divide them" if idle else ""
    return list(range(place * each, (place + 1) * each)), note


def _tasks_on_node(environment: Mapping[str, str]) -> int:
    """From lists such as 2(x3),1: the tasks on each node of the step."""
    text = environment.get("SLURM_STEP_TASKS_PER_NODE", environment.get("SLURM_TASKS_PER_NODE", "1"))
    each = [int(n) for n, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text) for _ in range(int(times or 1))]
    node = int(environment.get("SLURM_NODEID", "0"))
    return each[min(node, len(each) - 1)] if each else 1
