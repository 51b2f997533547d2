"""`python -m bertviz_core`: the command line."""

from bertviz_core.cli.app import main

main()
