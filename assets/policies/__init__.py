"""Group `policies`: scheduling policies that are searched or learned."""
