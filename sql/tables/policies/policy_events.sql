-- What became of the trained policies: who is champion from when on, and why. A history: it cannot be recomputed from the logs.
CREATE TABLE IF NOT EXISTS policies.policy_events (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    event BIGINT NOT NULL, -- number, from 1, in the order of happening
    kind VARCHAR NOT NULL, -- first, promoted, refused, or replaced: trained for another goal or other rules, or the file is lost
    training BIGINT NOT NULL, -- training that challenged
    seed BIGINT NOT NULL, -- its best seed, by the validation windows
    goal VARCHAR NOT NULL, -- what both make small
    windows BIGINT NOT NULL, -- newest windows that neither has seen, on which they were compared
    champion_cost DOUBLE, -- mean cost of the champion until then on them; NULL without one
    challenger_cost DOUBLE NOT NULL, -- mean cost of the challenger on them
    cost_difference DOUBLE, -- challenger minus champion; negative is better
    difference_low DOUBLE, -- lower end of its 95 % interval
    difference_high DOUBLE, -- upper end; promoted only if below 0
    sha256 VARCHAR NOT NULL, -- hash of the challenger's file
);
