"""Run the notebooks and store what they show: python docs/notebooks.py [PART OF A NAME]; needs the extra docs."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parent.parent
CONFIG = """c = get_config()
c.IPKernelApp.log_level = "ERROR"
c.InlineBackend.figure_formats = ["svg"]
c.InlineBackend.rc = {"svg.fonttype": "none", "svg.hashsalt": "jaxrank"}
"""


def main(part: str = "") -> None:
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile_default"
        profile.mkdir()
        (profile / "ipython_kernel_config.py").write_text(CONFIG, encoding="utf-8")
        os.environ["IPYTHONDIR"] = folder
        for path in sorted(path for path in (ROOT / "notebooks").glob("*.ipynb") if part in path.name):
            book = nbformat.read(path, as_version=4)
            nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
            for cell in book.cells:
                cell.metadata = {}
                if cell.cell_type == "code":
                    cell.outputs = [output for output in cell.outputs if "site-packages" not in output.get("text", "")]
                    for output in cell.outputs:
                        tidy(output)
            book.metadata.pop("language_info", None)
            nbformat.write(book, path)
            print(f"{path.name}: {path.stat().st_size:,} bytes")


def tidy(output: nbformat.NotebookNode) -> None:
    """Without what another run would write differently: paths of the kernel, dates and identifiers of figures."""
    if output.output_type == "stream":
        output.text = re.sub(r"^/\S+ipykernel_\d+/\d+\.py:\d+: ", "", output.text, flags=re.MULTILINE)
    if output.output_type in ("display_data", "execute_result"):
        picture = output.data.get("image/svg+xml")
        if picture:
            output.data["image/svg+xml"] = re.sub(r"<metadata>.*?</metadata>", "", picture, flags=re.DOTALL)


if __name__ == "__main__":
    main(*sys.argv[1:])
