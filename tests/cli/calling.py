"""The command line called in this process, for its exit code alone."""

from __future__ import annotations

from jaxrank.cli.app import make_app


def call(*args: object) -> int:
    try:
        make_app()([str(a) for a in args], prog_name="jaxrank")
    except SystemExit as end:
        return int(end.code or 0)
    return 0
