-- Cards of the trained scheduling policies, one row per source and training seed.
CREATE TABLE IF NOT EXISTS policies.scheduling_policies (
    source VARCHAR NOT NULL, -- source it was trained on
    seed BIGINT NOT NULL, -- training seed
    goal VARCHAR NOT NULL, -- metric it minimises
    backfill VARCHAR NOT NULL, -- backfilling during training
    trained_jobs BIGINT NOT NULL, -- replayable jobs before this position were open to training and choosing
    epochs BIGINT NOT NULL, -- epochs trained
    best_epoch BIGINT NOT NULL, -- epoch whose weights were kept, by the validation windows
    validation_bounded_slowdown DOUBLE NOT NULL, -- on the validation windows, which lie in the training part
    chosen BOOLEAN NOT NULL, -- the seed that `--policy learned` uses, by the validation windows
    parameters VARCHAR NOT NULL, -- hyper-parameters, JSON
    file VARCHAR NOT NULL, -- weights below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);
