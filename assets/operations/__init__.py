"""Group `operations`: what happened on the real system."""
