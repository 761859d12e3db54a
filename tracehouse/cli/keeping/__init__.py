"""Commands about what is kept: sources and their logs, exports, backups, removals."""
