"""Arrays in, arrays out: ranks, graphs, combinatorics, sampling and solvers; nothing here knows a model."""
