"""The page of `tracehouse app`: a few settings of a source, and what other values of them would do."""
