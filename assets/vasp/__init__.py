"""Group `vasp`: VASP runs and their remaining times."""
