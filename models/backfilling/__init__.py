"""Deep Back-Filling (Wang, Harwood and Rodriguez, HPCC 2022): one agent that orders and backfills, in the mode of the paper."""
