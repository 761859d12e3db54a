"""The Dagster UI, behind a guard: no other web page that the user opens may drive it."""
