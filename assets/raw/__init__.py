"""Assets `raw/...`: log files and folders of VASP runs as rows, as they are."""
