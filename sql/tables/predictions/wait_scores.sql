-- How well waits are predicted at submission, on jobs drawn from the last part of the log; the same jobs for every predictor.
CREATE TABLE IF NOT EXISTS predictions.wait_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    predictor VARCHAR NOT NULL, -- replay, calibrated (replay and circumstances, corrected by what became of jobs alike), similar_recent (mean wait of the last 50 started jobs of the same classes of size and request), similar_median (their median), or zero (every job starts at once)
    jobs BIGINT NOT NULL, -- jobs scored
    median_absolute_error_s DOUBLE NOT NULL, -- median of |predicted - true wait|, seconds; what a median is judged by
    mean_absolute_error_s DOUBLE NOT NULL, -- mean of the same, seconds; what a mean is judged by
    within_10_min_share DOUBLE NOT NULL, -- share of jobs whose wait was predicted to 600 s
    coverage_80 DOUBLE NOT NULL, -- share of true waits between the 10 % and the 90 % quantile, ends included
    below_share DOUBLE NOT NULL, -- share of true waits below the interval
    above_share DOUBLE NOT NULL, -- share of true waits above it
    mean_interval_s DOUBLE NOT NULL, -- mean length of the interval, seconds
    statistic VARCHAR, -- median, mean or constant (zero, judged by both errors); NULL in rows of older releases
);
