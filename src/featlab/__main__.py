"""`python -m featlab` is the command line."""

from featlab.cli import main

main()
