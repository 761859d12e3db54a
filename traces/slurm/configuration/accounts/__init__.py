"""Accounts, users, QOS and their limits: what sacctmgr dumps and shows, and the commands that it is given."""
