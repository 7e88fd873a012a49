"""Targets of more directions than quadrature reaches, whose structure makes the analysis exact. Internal.

Polynomials by algebra; functions of signs by their patterns; sums and products of functions of a few directions each
by characters of the label, which factorise. One idea a file:

    parts          how a target falls into groups of directions
    expansion      its Hermite coefficients, those that are not zero
    algebra        of a polynomial, exactly
    correlations   what correlations see of an expansion: leap and giant steps
    characters     what functions of the label see of a sum or a product
    lattices       the law of the label of a sum or a product: thresholds
    committees     the same for sums of equal neurons, after the sum of the directions is known
    patterns       functions of signs
    quadratics     a rotation makes them sums
    certificates   what is proven of a polynomial of many directions
    remainders     what is left of a polynomial once some directions are known
    structure      which of these forms a target has
    grand          its grand staircase
    findings       all of it, for one target
"""
