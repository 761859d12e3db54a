"""The configuration of Slurm as a cluster description: slurm.conf and its companions, what scontrol shows, what sacctmgr has."""
