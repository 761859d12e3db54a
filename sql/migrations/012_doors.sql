-- core.sources.pseudonym_key is NULL until the log is read again; raw.log_files has the keys of its rows until then.
SELECT 1;
