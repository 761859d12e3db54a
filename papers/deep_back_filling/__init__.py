"""Deep Back-Filling (Wang, Harwood and Rodriguez, HPCC 2022): its episodes, its agent, its training, and its figures."""
