-- The range of the trajectory filter: training starts on windows inside it, then takes all.
CREATE TABLE IF NOT EXISTS policies.trajectory_ranges (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    goal VARCHAR NOT NULL, -- what a window's cost is, see docs/guides/policies.md
    windows BIGINT NOT NULL, -- windows replayed
    kept BIGINT NOT NULL, -- windows inside the range
    median_cost DOUBLE NOT NULL, -- over the windows; lower end of the range
    mean_cost DOUBLE NOT NULL, -- over the windows
    skewness DOUBLE NOT NULL, -- of the distribution; the filter matters when it is large
    high_cost DOUBLE NOT NULL, -- 2 x mean; upper end of the range
);
