-- Ionic steps of VASP runs: one row per LOOP+ line.
CREATE TABLE IF NOT EXISTS raw.vasp_ionic_steps (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    position BIGINT NOT NULL, -- number of the step within the launch, from 1
    ionic_step BIGINT, -- the same, as printed
    electronic_steps BIGINT NOT NULL, -- electronic steps in it
    seconds DOUBLE, -- wall time of the step (LOOP+), seconds
    overflowed BOOLEAN NOT NULL, -- the field was full of stars: seconds is the sum of the electronic steps
    energy_ev DOUBLE, -- free energy, eV
    largest_force_ev_per_a DOUBLE, -- largest force on an ion that may move, eV per angstrom
    rms_force_ev_per_a DOUBLE, -- root of the mean square force, eV per angstrom
    electronically_converged BOOLEAN, -- whether the electronic steps reached EDIFF
);
