"""Which code makes an asset."""
