-- Epochs of the newest population-based training of each source in which a worker stopped before its last window.
CREATE TABLE IF NOT EXISTS policies.worker_iterations (
    source VARCHAR NOT NULL, -- source trained on
    generation BIGINT NOT NULL, -- generation, from 1
    member BIGINT NOT NULL, -- number of the member, from 0
    epoch BIGINT NOT NULL, -- epoch of the member, from 1
    worker BIGINT NOT NULL, -- number of the worker, from 0
    families BIGINT NOT NULL, -- windows that it replayed, each with all its siblings
);
