"""Group `evaluation`: policies replayed on jobs that no training has seen."""
