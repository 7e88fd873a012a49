"""How fast the learners of the literature run, one file a family: `rows(small)` gives the lines of a table."""
