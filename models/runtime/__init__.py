"""Predicting run times at submission. `named` lists the predictors; `prequential` tries them as they would be used."""
