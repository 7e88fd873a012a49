"""Documentation, and the script that keeps its examples true."""
