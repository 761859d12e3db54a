"""Assets `policies/...`: scheduling policies that are searched or learned."""
