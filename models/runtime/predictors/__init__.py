"""The run-time predictors."""
