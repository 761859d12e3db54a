"""The configuration of a PBS cluster: server, queues, scheduler, nodes, shares, hours, and Maui beside Torque."""
