-- The ledger of VASP run folders: what was read of which. Folders are the sum of accepted and rejected ones. A folder that
-- is gone keeps its rows, unless its runs are those of another folder now.
CREATE TABLE IF NOT EXISTS raw.vasp_folders (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- folder, below the source's
    outcome VARCHAR NOT NULL, -- accepted: at least one launch was read; rejected
    launches BIGINT NOT NULL, -- launches read
    stamp VARCHAR NOT NULL, -- names, sizes and times of its files when they were read
    version VARCHAR NOT NULL, -- of the reader, and what the catalogue said
    root VARCHAR, -- the source's folder when it was read, or its generator; NULL where an older release did not say
);
