"""What happens as d goes to infinity: state evolution, order parameters, spectra, ridge equivalents, bounds."""
