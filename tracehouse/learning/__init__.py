"""Learning: environments for other libraries, and training of policies with our own methods."""
