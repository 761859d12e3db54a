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
