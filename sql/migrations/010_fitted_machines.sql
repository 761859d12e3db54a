-- New columns of replay.configurations are empty in rows that are there: size_over_time and partitions. Such clusters had one size and one part.
SELECT 1;
