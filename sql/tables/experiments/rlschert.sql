-- RLSchert's cluster: the result of each scheduler on each test sequence of synthetic VASP jobs.
CREATE TABLE IF NOT EXISTS experiments.rlschert (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue, whose measured errors the predictions may have
    experiment VARCHAR NOT NULL, -- main, load, resources, preemption, predictable, mixed, completion or networks
    setting DOUBLE NOT NULL, -- what varies: job rate, processors, cost of a kill or share of predictable jobs; the job rate elsewhere
    part VARCHAR NOT NULL, -- training (sequences that were learned from) or test (others)
    policy VARCHAR NOT NULL, -- Random, SJF, SAF, Tetris, Tetris*, DeepRM, RLSchert, or SJF or SAF with ', whole queue'; of experiment networks, what was trained
    kill VARCHAR NOT NULL, -- none, rule, learned or stopping (by the stopping rule)
    seed BIGINT NOT NULL, -- of the training; 1 for heuristics
    sequence BIGINT NOT NULL, -- number of the sequence, from 0
    slowdown DOUBLE, -- mean over its jobs (equation 13); NULL where it did not reach its end
    completion DOUBLE, -- mean completion time, units of time (equation 14)
    holes DOUBLE NOT NULL, -- free processors, summed over the units of time
    kills BIGINT NOT NULL, -- jobs killed, each time counted
);
