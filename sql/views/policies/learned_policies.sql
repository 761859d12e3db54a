-- The trained policies and agents of each source: those of the newest trainings, and the champions.
CREATE OR REPLACE VIEW policies.learned_policies AS
SELECT
    source, -- source it was trained on
    CASE
        WHEN layout = 'picking' THEN 'backfilling'
        WHEN layout IN ('inspecting', 'inspector-paper') THEN 'inspector'
        ELSE 'order'
    END AS learns, -- what it decides: order (of the queue), backfilling (which job passes) or inspector (which picks are accepted)
    training, -- number of the training, from 1
    seed, -- training seed
    method, -- ppo, evolution or imitation
    goal, -- what it makes small, see docs/guides/policies.md
    backfill, -- backfilling during training; of an agent that picks what it is, see docs/reference/semantics.md
    estimates, -- estimates that the scheduler used during training
    layout, -- what the network reads of jobs and cluster
    trained_jobs, -- replayable jobs before this position were open to training, choosing and judging
    best_epoch, -- epoch whose weights were kept, by the jobs that choose; 0 for what it started from
    validation_cost, -- the goal on the jobs that choose, which lie in the training part
    newest, -- whether it is of the newest training of its kind
    champion, -- what `--policy learned`, `--backfill learned` or `--inspector learned` uses
    parameters, -- hyper-parameters, JSON; of an agent also `agent` and `base`, the policy beside it
    file, -- weights below warehouse/data
    sha256 -- hash of that file, in hexadecimal
FROM policies.scheduling_policies
