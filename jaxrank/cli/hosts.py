"""``--hosts``: several machines, or several processes, that share one study."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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

    try:
        jax.distributed.initialize(**where)
    except (RuntimeError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise OptionError(f"--hosts {hosts}: the hosts could not be joined ({why})") from None
