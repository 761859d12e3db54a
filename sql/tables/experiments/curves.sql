-- Training curves that compare networks (RLScheduler, figure 8), training with and without trajectory filtering (figure 9), and DD-PPO.
CREATE TABLE IF NOT EXISTS experiments.curves (
    source VARCHAR NOT NULL, -- source trained on
    experiment VARCHAR NOT NULL, -- networks, filtering, or ddppo with its goal
    variant VARCHAR NOT NULL, -- which network, filtered, unfiltered or relative (reward measured from SJF's on the same window), or what tunes DD-PPO
    seed BIGINT NOT NULL, -- training seed
    epoch BIGINT NOT NULL, -- from 1; a generation of a population
    phase VARCHAR NOT NULL, -- filtered or all windows
    decisions BIGINT NOT NULL, -- choices recorded
    sampled_cost DOUBLE NOT NULL, -- mean cost of the epoch's trajectories: bounded slowdown, or the goal of DD-PPO
    validation_cost DOUBLE NOT NULL, -- of the windows that choose, best choice taken
);
