"""Where jobs run: trees of switches, hops between nodes, and rules that choose the nodes of a job."""
