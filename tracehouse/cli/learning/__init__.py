"""Commands that train policies and show what they have learned."""
