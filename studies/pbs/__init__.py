"""PBS as it decides, against recorded runs of the real one."""
