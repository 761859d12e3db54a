-- The predictor of remaining times of each folder of VASP runs, as it was trained last.
CREATE TABLE IF NOT EXISTS predictions.remaining_time_models (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    predictor VARCHAR NOT NULL, -- inputs_only, progress or multimodal
    seed BIGINT NOT NULL, -- of the fit
    runs BIGINT NOT NULL, -- finished runs that it learned from
    systems BIGINT NOT NULL, -- different systems among them
    file VARCHAR NOT NULL, -- below warehouse/data
    sha256 VARCHAR NOT NULL, -- of the file
);
