"""Replicates of a data set: how they are drawn (`schemes`), and how a method runs on all of them (`replicate`)."""

from jaxrank.resampling.engine import Kept, Replication, replicate
from jaxrank.resampling.schemes import SCHEMES, Scheme, as_scheme

__all__ = ["SCHEMES", "Kept", "Replication", "Scheme", "as_scheme", "replicate"]
