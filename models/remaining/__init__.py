"""How long a running VASP job still needs: from its parameters alone, and from the steps it has made."""
