"""Sphinx: pages are MyST Markdown, their code cells are executed, the API comes from the docstrings."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import pages  # noqa: E402  (docs/pages.py)

import jaxrank  # noqa: E402
from jaxrank.results.tables import bound  # noqa: E402

project = "jaxrank"
author = "the jaxrank authors"
version = release = jaxrank.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "mathml", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["tools/logs", "figures"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_title = f"jaxrank {version}"
default_role = "literal"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

# Outputs are kept for as long as neither a page nor the library changes.
_sources = sorted((ROOT / "jaxrank").rglob("*.py"))
_version = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
nb_execution_mode = "cache"
nb_execution_excludepatterns = ["generated/notebooks/*"]  # stored with their outputs
nb_execution_cache_path = str(ROOT / ".cache" / "docs" / "cells" / _version)
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_merge_streams = True
logging.getLogger("traitlets").setLevel(logging.WARNING)
# A profile of their own: the user's start-up files stay out, and kernels do not warn that they listen on this machine.
_profile = ROOT / ".cache" / "docs" / "ipython" / "profile_default"
_profile.mkdir(parents=True, exist_ok=True)
(_profile / "ipython_kernel_config.py").write_text(
    'c = get_config()\nc.IPKernelApp.log_level = "ERROR"\nc.InlineBackend.figure_formats = ["svg"]\n'
    'c.PlainTextFormatter.float_precision = "%.4g"\n'  # numbers as they are read, not as they are stored
    'c.InteractiveShellApp.exec_lines = ["import pandas", "pandas.options.display.precision = 4", "del pandas"]\n',
    encoding="utf-8",
)
os.environ["IPYTHONDIR"] = str(_profile.parent)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

pages.write(HERE / "generated")


def _docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "data" and type(obj).__doc__ and obj.__doc__ == type(obj).__doc__:
        # a constant under its second name has no words of its own, and must not have those of dict
        own = inspect.cleandoc(obj.__doc__).split()
        lines[:] = [] if " ".join(lines).split() == own else lines
    lines[:] = pages.docstring_lines(lines)


def _pages(app: Any, name: str, source: list[str]) -> None:
    """``[](#ref-key)`` becomes a link with authors and year; the objects of the API have pages of their own."""
    if name == "api":
        source[0] = pages.api_tables(source[0])
    if name.startswith("generated/notebooks/"):
        return
    source[0] = re.sub(r"\[\]\(#ref-(\w+)\)", lambda found: pages.cite(found[1], brackets=True), source[0])


def _numbers(app: Any, tree: Any) -> None:
    """No line ends between a number and its sign of percent; code stays as it is typed."""
    from docutils import nodes

    for text in list(tree.findall(nodes.Text)):
        node, said = text.parent, bound(text)
        while node is not None and not isinstance(node, nodes.literal | nodes.FixedTextElement | nodes.raw):
            node = node.parent
        if node is None and said != text:
            text.parent.replace(text, nodes.Text(said))


def setup(app: Any) -> None:
    app.connect("doctree-read", _numbers)
    app.connect("source-read", _pages)
    # Docstrings are read anew when the way to read them has changed.
    app.add_config_value("pages_version", hashlib.sha256(Path(pages.__file__).read_bytes()).hexdigest(), "env")
    app.connect("autodoc-process-docstring", _docstring)
