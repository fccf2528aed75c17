"""The command line: ``jaxrank list | fit | diff | demo | ...``: parses, calls the public functions, prints.

A new subcommand is one file in ``jaxrank/cli/commands``; nothing else changes:

    '''``jaxrank hello FILE``: greets the models.'''          # commands/hello.py

    from jaxrank.cli.arguments import Out, with_data
    from jaxrank.cli.tables import Table

    @with_data                      # FILE, --model-column, ... ; the command receives what they hold
    def hello(data, times: int = 1, out: Out = None) -> None:
        '''Greet the models.'''     # the help text
        import jaxrank as jr        # heavy imports inside, so that --help stays quick

        Table({"model": data.models, "greeting": ["hello " * times] * len(data.models)}).emit(out)

    COMMANDS = (hello,)

Its name is the function's (a trailing underscore is dropped, other underscores become dashes). A command runs in
float64 on the CPU with compiled code kept between runs, unless JAX's own environment variables (JAX_PLATFORMS,
JAX_ENABLE_X64, JAX_COMPILATION_CACHE_DIR) say otherwise. Errors of the library and unreadable files end in one line
and exit code 2.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the ``jaxrank`` script; ``args`` default to those of the process."""
    from jaxrank.cli.app import make_app
    from jaxrank.cli.runtime import configure, outliving_readers

    configure()
    with outliving_readers():
        make_app()(args, prog_name="jaxrank")
