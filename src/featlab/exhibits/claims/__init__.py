"""One file for each claim; the exhibit `two-parity` is `EXHIBIT` of `two_parity.py`. A new file is found by itself."""
