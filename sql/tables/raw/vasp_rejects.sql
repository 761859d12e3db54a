-- Folders and files that should have been VASP runs, or part of one, and could not be read, with the reason.
CREATE TABLE IF NOT EXISTS raw.vasp_rejects (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- folder, below the source's
    file VARCHAR NOT NULL, -- name of the file; empty where it is about the folder
    reason VARCHAR NOT NULL, -- what was expected and what was found
);
