"""Solvers of smooth minimisation, for the ``solver`` of a method.

For example ``jr.methods.BradleyTerry(solver=jr.solvers.LBFGS())``.

All are called as ``solver(objective, start, alive) -> Solution``, where ``objective(x)`` gives value, gradient and
curvature.
"""

from jaxrank.numerics.solve.damped import LevenbergMarquardt, SelfConcordantNewton
from jaxrank.numerics.solve.fixed_point import FixedPoint
from jaxrank.numerics.solve.lbfgs import LBFGS
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solution, Solver

__all__ = ["LBFGS", "FixedPoint", "LevenbergMarquardt", "Newton", "SelfConcordantNewton", "Solution", "Solver"]

SOLVERS = {
    "newton": Newton,
    "self-concordant": SelfConcordantNewton,
    "levenberg-marquardt": LevenbergMarquardt,
    "fixed-point": FixedPoint,
    "lbfgs": LBFGS,
}
"""The words for them, as in ``jaxrank fit FILE -m bradley_terry --set solver=lbfgs``."""
