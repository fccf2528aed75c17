"""Intervals of proportions."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr


@pytest.mark.parametrize(("n_questions", "trials"), [(20, 1), (37, 3)])
def test_all_right_mirrors_all_wrong(n_questions: int, trials: int) -> None:
    """The mean of 20 ones is a little over 1 by rounding, and its interval was [0, 1]; 3 x 37 ones counted every
    trial, as many zeros every question (statements: intervals hold their points)."""
    R = np.stack([np.ones((n_questions, trials), int), np.zeros((n_questions, trials), int)])
    low, high = jr.fit(R).interval()
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)
    assert high[0] >= 1 - 1e-15 and low[1] == 0
