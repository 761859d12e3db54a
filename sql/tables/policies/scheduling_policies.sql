-- Cards of the trained policies and agents: one row per source, kind and seed of the newest training, and the champion's of each kind.
-- The layout tells the kind, which the view policies.learned_policies has as a column.
CREATE TABLE IF NOT EXISTS policies.scheduling_policies (
    source VARCHAR NOT NULL, -- source it was trained on
    training BIGINT NOT NULL, -- number of the training, from 1
    seed BIGINT NOT NULL, -- training seed
    method VARCHAR NOT NULL, -- ppo, evolution or imitation
    goal VARCHAR NOT NULL, -- what it makes small, see docs/guides/policies.md
    backfill VARCHAR NOT NULL, -- backfilling during training; of an agent that picks what it is, as pick:by=shortest,window=64-63
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used during training
    layout VARCHAR NOT NULL, -- what the network reads of jobs and cluster: picking is of agents that backfill, inspecting of inspectors
    trained_jobs BIGINT NOT NULL, -- replayable jobs before this position were open to training, choosing and judging
    epochs BIGINT NOT NULL, -- epochs trained
    best_epoch BIGINT NOT NULL, -- epoch whose weights were kept, by the jobs that choose; 0 for what it started from
    validation_cost DOUBLE NOT NULL, -- the goal on the jobs that choose, which lie in the training part
    newest BOOLEAN NOT NULL, -- whether it is of the newest training of its kind
    champion BOOLEAN NOT NULL, -- what `--policy learned`, `--backfill learned` or `--inspector learned` uses
    parameters VARCHAR NOT NULL, -- hyper-parameters, JSON; of an agent also `agent` and `base`, the policy beside it
    file VARCHAR NOT NULL, -- weights below warehouse/data
    sha256 VARCHAR NOT NULL, -- hash of that file, in hexadecimal
);
