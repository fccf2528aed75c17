"""Replicates of a data set: how they are drawn (`schemes`), and how a method runs on all of them (`replicate`)."""

from jaxrank.resampling.clusters import Clusters
from jaxrank.resampling.engine import replicate
from jaxrank.resampling.schemes import SCHEMES, Scheme, as_scheme
from jaxrank.resampling.work import Kept, Replication, Work

__all__ = ["SCHEMES", "Clusters", "Kept", "Replication", "Scheme", "Work", "as_scheme", "replicate"]
