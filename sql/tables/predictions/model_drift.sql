-- How far the newest jobs are from those that the champion learned from. One row per input, and one for its error.
CREATE TABLE IF NOT EXISTS predictions.model_drift (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    version BIGINT NOT NULL, -- the champion that it is about
    data_until TIMESTAMP NOT NULL, -- submission of the newest job that was known, UTC
    measure VARCHAR NOT NULL, -- psi (population stability index of an input) or error
    input VARCHAR NOT NULL, -- column of the features, or mean_absolute_error_s for the error
    value DOUBLE NOT NULL, -- psi is 0 for no change, and above 0.25 for a shift. error is the mean error on the newest jobs over that on its own test jobs
    jobs BIGINT NOT NULL, -- newest jobs
    usual DOUBLE, -- psi: the largest of past stretches of as many jobs, each against the rest; NULL where there were too few jobs, and for the error
);
