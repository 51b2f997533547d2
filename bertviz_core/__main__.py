"""`python -m bertviz_core`: the command line."""

from bertviz_core.cli import main

main()
