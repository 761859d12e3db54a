-- Training curves that compare networks (RLScheduler, figure 8), and training with and without trajectory filtering (figure 9).
CREATE TABLE IF NOT EXISTS experiments.curves (
    source VARCHAR NOT NULL, -- source trained on
    experiment VARCHAR NOT NULL, -- networks or filtering
    variant VARCHAR NOT NULL, -- which network; filtered, unfiltered or relative (reward measured from SJF's on the same window)
    seed BIGINT NOT NULL, -- training seed
    epoch BIGINT NOT NULL, -- from 1
    phase VARCHAR NOT NULL, -- filtered or all windows
    decisions BIGINT NOT NULL, -- choices recorded
    sampled_cost DOUBLE NOT NULL, -- mean bounded slowdown of the epoch's trajectories
    validation_cost DOUBLE NOT NULL, -- of the windows that choose, best choice taken
);
