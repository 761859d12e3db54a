"""What makes `raw/...` and `core/...`: log files and folders of VASP runs into raw tables and canonical jobs."""
