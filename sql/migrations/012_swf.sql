-- The new column core.repeats.reason is empty in rows that are there. SWF logs are read again, and their rows get it.
SELECT 1;
