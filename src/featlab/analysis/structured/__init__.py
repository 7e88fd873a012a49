"""Targets of more directions than quadrature reaches, whose structure makes the analysis exact. Internal.

Polynomials by algebra; functions of signs by their patterns; sums and products of functions of a few directions each
by characters of the label, which factorise. One idea a file:

    parts          how a target falls into groups of directions
    expansion      its Hermite coefficients, those that are not zero
    algebra        of a polynomial, exactly
    correlations   what correlations see of an expansion: leap and giant steps
    characters     what functions of the label see of a sum or a product
    lattices       the law of the label of a sum or a product: thresholds
    patterns       functions of signs
    certificates   what is proven of a polynomial of many directions
    findings       all of it, for one target
"""
