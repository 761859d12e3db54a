"""One folder for each published system that is reproduced here: its rules, networks, training, studies and tables.

No other room imports this one. `pipelines.definitions` loads its assets, and the command line its command `reproduce`.
"""
