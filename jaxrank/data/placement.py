"""Where big statistics lie: spread over the devices of this host by question, or by event.

A compiled fit then runs on all of these devices, and sums over questions travel between them. Replicates need none of
this: the engine gives every device replicates of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from jaxrank.data.ballots import Ballots
from jaxrank.data.event_statistics import Events
from jaxrank.data.statistics import Counts

BIG = 2**28  # bytes from which more devices pay for the messages between them


def spread(stat: Any, devices: Sequence[Any], big: int = BIG) -> Any:
    """``stat`` on as many of ``devices`` as divide its questions (`Counts`, `Ballots`) or events (`Events`) evenly.

    Statistics of less than ``big`` bytes, and those without an axis of questions or events, stay where they are. Sums
    over questions are added in another order: scores agree with those of one device to rounding.
    """
    split, whole = PartitionSpec("questions"), PartitionSpec()
    by_model = PartitionSpec(None, "questions")
    if isinstance(stat, Counts):
        length, places = stat.categories.shape[1], (by_model, split, whole)
        places = places if stat.groups is None else (*places, split)
    elif isinstance(stat, Ballots):
        below = () if stat.below is None else (by_model,)
        length, places = stat.grades.shape[1], (by_model, whole, by_model, *below, split)
        places = places if stat.standing is None else (*places, by_model, by_model)
    elif isinstance(stat, Events):
        length, places = stat.outcomes.shape[0], (split, split)
    else:
        return stat
    n_devices = max(n for n in range(1, len(devices) + 1) if length % n == 0)
    if n_devices == 1 or sum(x.nbytes for x in jax.tree.leaves(stat)) < big:
        return stat
    mesh = jax.make_mesh((n_devices,), ("questions",), axis_types=(AxisType.Auto,), devices=devices[:n_devices])
    leaves, structure = jax.tree.flatten(stat)
    put = [jax.device_put(x, NamedSharding(mesh, place)) for x, place in zip(leaves, places, strict=True)]
    return jax.tree.unflatten(structure, put)
