-- [ancestors]
-- From whom each member of a population descends: one row per member, generation and earlier generation.
CREATE OR REPLACE VIEW policies.ancestors AS
WITH RECURSIVE line AS (
    SELECT source, generation, member, generation AS at, member AS ancestor FROM policies.population
    UNION ALL
    SELECT line.source, line.generation, line.member, before.generation, before.member
    FROM line
    JOIN policies.population AS child ON child.source = line.source AND child.generation = line.at AND child.member = line.ancestor
    JOIN policies.population AS before
        ON before.source = line.source AND before.generation = line.at - 1 AND before.member = child.parent
)
SELECT
    line.source AS source, -- source trained on
    line.generation AS generation, -- generation of the member
    line.member AS member, -- number of the member
    line.at AS ancestor_generation, -- generation of the ancestor; the member itself is its own last one
    line.ancestor AS ancestor, -- number of the ancestor
    population.policy_rate AS policy_rate, -- the ancestor's Adam learning rate
    population.entropy_bonus AS entropy_bonus, -- the ancestor's weight of the entropy
    population.minibatch AS minibatch, -- the ancestor's decisions in a gradient step
    population.cost AS cost, -- the ancestor's cost on the jobs that choose
    population.chosen AS chosen -- whether the ancestor's weights are those of the policy
FROM line
JOIN policies.population AS population
    ON population.source = line.source AND population.generation = line.at AND population.member = line.ancestor

-- [learned_policies]
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
