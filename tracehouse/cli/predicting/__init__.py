"""Commands about predictions: waits, wall times, models of run times, remaining times of VASP runs."""
