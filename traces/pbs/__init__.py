"""PBS and Torque accounting logs."""
