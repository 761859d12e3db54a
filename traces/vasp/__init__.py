"""VASP run folders."""
