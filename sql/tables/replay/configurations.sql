-- Schedulers that may have written a log, best first: their replays of its first half come nearest to the waits that it holds.
CREATE TABLE IF NOT EXISTS replay.configurations (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    place BIGINT NOT NULL, -- 1 is the best; that one is graded in replay.fidelity
    policy VARCHAR NOT NULL, -- order of the queue, as `tracehouse replay --policy`
    backfill VARCHAR NOT NULL, -- backfilling rule, as `tracehouse replay --backfill`
    procs BIGINT NOT NULL, -- processors of the cluster, or of its largest size
    size_over_time VARCHAR, -- such as "48 until 86400, then 64", in seconds of the log's clock; empty where it had procs all the time
    partitions VARCHAR, -- JSON of queues that own processors; empty where all jobs share all of them
    jobs BIGINT NOT NULL, -- first jobs of the log that it was fitted on
    factor DOUBLE NOT NULL, -- by how much a wait of these jobs is off, up or down, in the geometric mean; 1 where all are equal
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
);
