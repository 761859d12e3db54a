-- VASP runs: one row per launch of a run folder's OUTCAR, by its files; a running job has a row too.
CREATE TABLE IF NOT EXISTS raw.vasp_runs (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue ([vasp.NAME])
    folder VARCHAR NOT NULL, -- run folder, below the source's; "." for that itself
    outcar VARCHAR NOT NULL, -- name of the OUTCAR; a folder may hold OUTCAR.relax1 and OUTCAR.relax2
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1: a restart may append to it
    job_folder VARCHAR NOT NULL, -- folder of the batch job: of a NEB image the one above, else the run folder
    image BIGINT, -- number of the NEB image
    state VARCHAR NOT NULL, -- finished, running, timed_out, out_of_memory, cancelled, failed, or cut_off where nothing tells why
    state_reason VARCHAR, -- the line that tells how it ended
    converged BOOLEAN NOT NULL, -- whether ions reached EDIFFG
    started_at TIMESTAMP, -- start of VASP, UTC
    elapsed_s DOUBLE, -- wall time as VASP tells at its end, seconds; NULL where it did not get there
    loops_s DOUBLE NOT NULL, -- wall time inside ionic steps, or electronic ones where the last is not over, seconds
    changed_at TIMESTAMP NOT NULL, -- last change of the OUTCAR, UTC
    job_id VARCHAR, -- number of the batch job, from names or messages of its output files
    version VARCHAR, -- of VASP
    architecture VARCHAR, -- what VASP says it was executed on
    cores BIGINT, -- ranks times threads; of all images of a NEB
    nodes BIGINT, -- nodes, where VASP tells
    threads BIGINT, -- threads per rank
    kpar BIGINT, -- groups of cores that share the k-points
    ncore BIGINT, -- cores that share a band
    image_cores BIGINT, -- cores of one NEB image
    elements VARCHAR, -- names of the elements, between blanks
    element_types BIGINT, -- kinds of ions
    volume_a3 DOUBLE, -- volume of the cell, cubic angstrom
    kpoints_method VARCHAR, -- gamma, monkhorst-pack, automatic, line or explicit
    hubbard_u BOOLEAN, -- LDA+U
    nsw BIGINT, -- NSW: most ionic steps
    nelm BIGINT, -- NELM: most electronic steps of an ionic one
    nelmin BIGINT, -- NELMIN: fewest electronic steps of an ionic one
    nelmdl BIGINT, -- NELMDL: electronic steps before the charge changes
    ispin BIGINT, -- ISPIN: 2: spin-polarised
    ialgo BIGINT, -- IALGO: electronic algorithm, by number
    istart BIGINT, -- ISTART: 0: from scratch
    icharg BIGINT, -- ICHARG: where the charge comes from
    isym BIGINT, -- ISYM: symmetry
    ismear BIGINT, -- ISMEAR: smearing
    ibrion BIGINT, -- IBRION: how ions move, -1 for not at all
    isif BIGINT, -- ISIF: what relaxes
    nkpts BIGINT, -- NKPTS: irreducible k-points
    nbands BIGINT, -- NBANDS: bands
    nions BIGINT, -- NIONS: ions
    ngx BIGINT, -- NGX: grid points
    ngy BIGINT, -- NGY: grid points
    ngz BIGINT, -- NGZ: grid points
    lexch BIGINT, -- LEXCH: exchange-correlation, by number
    ivdw BIGINT, -- IVDW: van der Waals correction
    nelect DOUBLE, -- NELECT: electrons
    encut DOUBLE, -- ENCUT: energy cut-off, eV
    ediff DOUBLE, -- EDIFF: where electronic steps stop, eV
    ediffg DOUBLE, -- EDIFFG: where ionic steps stop, eV, or below 0: eV per angstrom
    sigma DOUBLE, -- SIGMA: width of the smearing, eV
    potim DOUBLE, -- POTIM: time step or scaling of ionic moves
    lreal BOOLEAN, -- LREAL: projectors in real space
    lhfcalc BOOLEAN, -- LHFCALC: Hartree-Fock exchange (hybrids)
    lsorbit BOOLEAN, -- LSORBIT: spin-orbit coupling
    lnoncollinear BOOLEAN, -- LNONCOLLINEAR: non-collinear magnetism
    lepsilon BOOLEAN, -- LEPSILON: dielectric tensor
    lwave BOOLEAN, -- LWAVE: writes wave functions at the end
    lcharg BOOLEAN, -- LCHARG: writes the charge at the end
    prec VARCHAR, -- PREC: precision
    gga VARCHAR, -- GGA: functional; -- for the potential's own
    metagga VARCHAR, -- METAGGA: meta-GGA in capitals; null for none
    electronic_steps BIGINT NOT NULL, -- finished electronic steps: LOOP lines
    ionic_steps BIGINT NOT NULL, -- finished ionic steps: LOOP+ lines
    residuals_told BIGINT NOT NULL, -- electronic steps whose residual an OSZICAR, or the standard output, tells
    outcar_bytes BIGINT NOT NULL, -- size of the OUTCAR as stored
    missing VARCHAR, -- part of the OUTCAR that is missing (head, middle, or head and middle), NULL where none is known to be
);
