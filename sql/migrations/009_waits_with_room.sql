-- New columns of replay.fidelity, the shares of the waited time with enough idle processors, are empty in rows that are there.
SELECT 1;
