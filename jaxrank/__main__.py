"""``python -m jaxrank``: the command line."""

from jaxrank.cli import main

main()
