-- The new column replay.configurations.size_over_time is empty in rows that are there: such a cluster had one size.
SELECT 1;
