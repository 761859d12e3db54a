-- Electronic steps of VASP runs: one row per LOOP line.
CREATE TABLE IF NOT EXISTS raw.vasp_electronic_steps (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    position BIGINT NOT NULL, -- number of the step within the launch, from 1
    ionic_step BIGINT, -- ionic step that it belongs to, as printed
    step BIGINT, -- number within the ionic step, as printed
    seconds DOUBLE, -- wall time of the step (LOOP), seconds; NULL where the field overflowed
    energy_ev DOUBLE, -- free energy, eV
    energy_change_ev DOUBLE, -- change of the energy, eV
    band_energy_change_ev DOUBLE, -- change of the band structure's energy, eV
    minimisations BIGINT, -- eigenvalue minimisations (ncg)
    residual DOUBLE, -- norm of the wave functions' residual (rms), which only OSZICAR tells
    charge_residual DOUBLE, -- norm of the charge's residual (rms(c))
    algorithm VARCHAR, -- DAV, RMM, ... as OSZICAR tells
);
