"""Matrix products keep the digits of their type: a GPU rounds float32 to 10 bits where nobody says otherwise."""

from __future__ import annotations

import ast
from pathlib import Path

import jaxrank

ROOT = Path(jaxrank.__file__).parent
PRODUCTS = {"matmul", "dot", "einsum", "tensordot", "vdot", "inner", "multi_dot", "dot_general"}


def unsaid(source: str) -> list[int]:
    """Lines on which a product of jax.numpy is named without its precision."""
    tree = ast.parse(source)
    calls = {id(c.func): c for c in ast.walk(tree) if isinstance(c, ast.Call)}
    partials = {id(a): c for c in calls.values() for a in c.args}  # partial(jnp.matmul, precision=...)
    found = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in PRODUCTS
            and ast.unparse(node.value).startswith(("jnp", "jax"))
        ):
            call = calls.get(id(node)) or partials.get(id(node))
            if call is None or not any(k.arg in ("precision", None) for k in call.keywords):
                found.append(node.lineno)
    return found


def test_products_say_their_precision() -> None:
    assert unsaid("f = jnp.matmul(a, b)\ng = partial(jnp.einsum)\nh = jnp.dot(a, b, precision=HIGHEST)") == [1, 2]
    places = {str(p.relative_to(ROOT)): lines for p in ROOT.rglob("*.py") if (lines := unsaid(p.read_text("utf-8")))}
    assert not places
