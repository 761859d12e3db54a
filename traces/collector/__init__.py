"""The script that collects a site's logs and configuration, with pseudonyms in place of names."""
