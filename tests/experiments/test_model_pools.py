"""Which parts of table 3 a process does, and in which order."""

from __future__ import annotations

from itertools import groupby

from experiments.model_pools.run import CONFIG, mapped, parts


def test_backwards_has_the_same_parts_and_keeps_cells_of_one_program_together() -> None:
    methods = mapped()
    onwards, back = list(parts(methods, [], None)), list(parts(methods, [], None, backwards=True))
    assert len(set(onwards)) == len(onwards) == len(methods) * len(CONFIG["benchmarks"]) * len(CONFIG["sizes"])
    assert sorted(back) == sorted(onwards)
    *alike, last = CONFIG["benchmarks"]
    program = lambda part: (part[0], part[1] == last, part[2])
    runs = [[(key, list(run)) for key, run in groupby(order, program)] for order in (onwards, back)]
    assert runs[1] == runs[0][::-1]
    assert all([b for _, b, _ in run] == ([last] if key[1] else alike) for key, run in runs[0])


def test_methods_and_cells_can_be_left_out() -> None:
    wanted = parts(["avg", "borda", "elo_tie_skip"], ["borda"], ["AIME25, 10", "Combined, 5"])
    assert list(wanted) == [
        ("avg", "Combined", 5),
        ("elo_tie_skip", "Combined", 5),
        ("avg", "AIME25", 10),
        ("elo_tie_skip", "AIME25", 10),
    ]
