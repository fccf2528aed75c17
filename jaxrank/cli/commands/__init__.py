"""One file a subcommand, each ending in ``COMMANDS``."""
