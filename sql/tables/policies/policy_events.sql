-- What became of the trained policies and agents: who is champion from when on, and why. A history: it cannot be recomputed from the logs.
CREATE TABLE IF NOT EXISTS policies.policy_events (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    event BIGINT NOT NULL, -- number, from 1, in the order of happening
    kind VARCHAR NOT NULL, -- first, promoted, refused, or replaced: another goal, other rules, a lost file. Of agents: `backfilling first`
    training BIGINT NOT NULL, -- training that challenged
    seed BIGINT NOT NULL, -- its best seed, by the jobs that choose
    goal VARCHAR NOT NULL, -- what both make small
    windows BIGINT, -- newest windows on which they were compared; NULL since whole replays decide
    judged_jobs BIGINT, -- newest jobs that neither has seen, over which they were compared; NULL before whole replays decided
    champion_cost DOUBLE, -- cost of the champion until then on them; NULL without one
    challenger_cost DOUBLE NOT NULL, -- cost of the challenger on them
    cost_difference DOUBLE, -- challenger minus champion; negative is better
    difference_low DOUBLE, -- lower end of its 95 % interval; NULL since whole replays decide
    difference_high DOUBLE, -- upper end, which had to be below 0; NULL since whole replays decide
    verdict VARCHAR, -- challenger over champion, promoted only if it dominates (docs/reference/semantics.md); NULL if not compared
    bounded_slowdown_ratio DOUBLE, -- bounded slowdown of the challenger over that of the champion
    wait_ratio DOUBLE, -- mean wait of the challenger over that of the champion
    sha256 VARCHAR NOT NULL, -- hash of the challenger's file
);
