-- [line_counts]
-- Every line of every file, counted by what became of it and why.
CREATE TABLE IF NOT EXISTS raw.line_counts (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    outcome VARCHAR NOT NULL, -- accepted, kept, ignored or rejected
    reason VARCHAR NOT NULL, -- why, in words
    lines BIGINT NOT NULL, -- how many lines
);

-- [log_files]
-- The ledger: one row per log file read, its identity and what became of its lines.
-- lines = accepted + kept + ignored + rejected, always. A file that is gone keeps its row, and its lines.
CREATE TABLE IF NOT EXISTS raw.log_files (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    format VARCHAR NOT NULL, -- swf, pbs or slurm
    size_bytes BIGINT NOT NULL, -- size of the file as stored; of a plain file, where reading goes on when it has grown
    modified_ns BIGINT NOT NULL, -- time of the file's last change, nanoseconds since 1970
    sha256 VARCHAR NOT NULL, -- hash of the content, unpacked, in hexadecimal
    settings VARCHAR NOT NULL, -- what the catalogue said that gives the rows their meaning, as JSON; a hash in rows of older releases
    version VARCHAR NOT NULL, -- of the readers
    ends_line BOOLEAN NOT NULL, -- whether the last line has its end; else it may go on
    lines BIGINT NOT NULL, -- lines in the file
    accepted BIGINT NOT NULL, -- lines that are finished jobs
    kept BIGINT NOT NULL, -- other records that are kept: PBS requeues, starts, deletions ...
    ignored BIGINT NOT NULL, -- lines that tell nothing to be kept: comments, blank lines, steps, jobs that are not over
    rejected BIGINT NOT NULL, -- lines that should have held a record and do not; kept in raw.rejects
    outdated VARCHAR -- what of the rows of a file that is gone could not be brought up to date; else NULL
);

-- [log_headers]
-- Header comments of SWF logs, written as `; Key: value`, in file order.
CREATE TABLE IF NOT EXISTS raw.log_headers (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    position BIGINT NOT NULL, -- order in the file, from 1
    key VARCHAR NOT NULL, -- such as MaxProcs; a key may repeat (Queue, Note)
    value VARCHAR NOT NULL, -- the rest of the line, continuation lines joined
);

-- [pbs_records]
-- Records of PBS accounting logs. Finished jobs are E. All others have those of the columns that they tell: queued (Q), started (S),
-- requeued (R), deleted (D), aborted (A), the end of an array as a whole (E[]) ...
CREATE TABLE IF NOT EXISTS raw.pbs_records (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    record_type VARCHAR NOT NULL, -- a letter: E for the end of a job; E[] for the end of an array as a whole
    logged_s BIGINT, -- stamp of the record, the cluster's local time counted as if it were UTC; NULL for a time that the calendar does not have
    job_id VARCHAR NOT NULL, -- as logged, with array index and server
    user_name VARCHAR, -- user
    group_name VARCHAR, -- group
    account VARCHAR, -- account
    project VARCHAR, -- project
    queue VARCHAR, -- queue
    job_name VARCHAR, -- jobname
    ctime_s BIGINT, -- creation (submission), Unix seconds
    qtime_s BIGINT, -- entry into the queue, Unix seconds
    etime_s BIGINT, -- time the job became eligible, Unix seconds; 0 while it is not
    start_s BIGINT, -- start, Unix seconds
    end_s BIGINT, -- end, Unix seconds
    exec_host VARCHAR, -- hosts and slots, as logged
    procs BIGINT, -- allocated processors
    requested_procs BIGINT, -- requested processors
    requested_walltime_s BIGINT, -- Resource_List.walltime, seconds
    used_walltime_s BIGINT, -- resources_used.walltime, seconds
    used_cpu_s BIGINT, -- resources_used.cput, seconds over all processors
    exit_status BIGINT, -- Exit_status
    eligible_wait_s BIGINT, -- eligible_time, seconds in the queue in which nothing but resources held the job back
    gpus BIGINT, -- ngpus, gpus or gpu of Resource_List, else those of exec_vnode, of select or of Torque's nodes
    nodes BIGINT, -- different hosts of exec_host, else Resource_List.nodect, or Torque's unique_node_count; of a Cray job mppwidth by mppnppn
    run_count BIGINT, -- run_count, or Torque's start_count
    requested_memory_kb BIGINT, -- Resource_List.mem, kilobytes
    used_memory_kb BIGINT, -- resources_used.mem, kilobytes
    requestor VARCHAR, -- who asked for a deletion and the like, without the host
    message VARCHAR, -- text of a record without key=value pairs
    reservation VARCHAR, -- resvID, the reservation that the job runs in
    assigned_procs BIGINT, -- resource_assigned.ncpus, processors that a start takes of the nodes: all of them where the job has them alone
    assigned_gpus BIGINT, -- resource_assigned.ngpus, likewise
    exec_vnode VARCHAR, -- virtual nodes and what the job holds of each, as logged
    selected_chunks VARCHAR, -- Resource_List.select
    torque_nodes VARCHAR, -- Resource_List.nodes, of Torque
    place VARCHAR, -- Resource_List.place
    dependency VARCHAR, -- depend: the jobs that it waits for, as a record of the queue names them
);

-- [rejects]
-- Every rejected line, verbatim, with the reason.
CREATE TABLE IF NOT EXISTS raw.rejects (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    reason VARCHAR NOT NULL, -- what was expected and what was found
    text VARCHAR NOT NULL, -- the line as it stands; bytes that are not UTF-8 appear as \xNN
);

-- [slurm_jobs]
-- Finished jobs of Slurm accounting logs (sacct -P), attempts of jobs that were requeued, and jobs that waited when the log was printed
-- (without end_s); job steps are folded into their job.
CREATE TABLE IF NOT EXISTS raw.slurm_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    job_id VARCHAR NOT NULL, -- JobID, with the array index
    raw_job_id VARCHAR NOT NULL, -- JobIDRaw, the id of the array task itself; JobID where the log has none
    array_tasks BIGINT NOT NULL, -- array tasks that the line represents, such as 3 for `12_[1-3]`, which never started
    cluster VARCHAR, -- Cluster
    partition VARCHAR, -- Partition
    qos VARCHAR, -- QOS
    account VARCHAR, -- Account
    group_name VARCHAR, -- Group
    user_name VARCHAR, -- User
    job_name VARCHAR, -- JobName
    submit_s BIGINT NOT NULL, -- Submit, Unix seconds
    eligible_s BIGINT, -- Eligible, Unix seconds
    start_s BIGINT, -- Start, Unix seconds; NULL for a job that never started, whatever its state
    end_s BIGINT, -- End, Unix seconds; NULL for a job that waited when the log was printed
    local_times BOOLEAN, -- whether the log has local times, and no Unix seconds; NULL where the reader did not note it
    elapsed_s BIGINT, -- Elapsed, seconds, without time suspended
    suspended_s BIGINT, -- Suspended, seconds
    time_limit_s BIGINT, -- Timelimit, seconds; NULL for UNLIMITED and Partition_Limit
    state VARCHAR, -- State, its first word
    exit_code BIGINT, -- ExitCode, before the colon
    signal BIGINT, -- ExitCode, after the colon
    nodes BIGINT, -- nodes
    procs BIGINT NOT NULL, -- processors allocated, or requested where the job never started
    requested_procs BIGINT, -- processors requested
    gpus BIGINT, -- GPUs allocated (gres/gpu), else those of AllocGRES, ReqGRES or the options of SubmitLine; NULL where none says how many
    requested_memory_kb BIGINT, -- ReqMem of the whole job, kilobytes; NULL for 0, which is all memory of the nodes, or is not tracked
    used_memory_kb BIGINT, -- memory of all tasks of the largest step, kilobytes. It is mem of TRESUsageInTot, else MaxRSS times NTasks, else MaxRSS. NULL without steps
    used_cpu_s DOUBLE, -- TotalCPU, seconds
    node_list VARCHAR, -- NodeList, as logged
    priority BIGINT, -- Priority when the log was written
    reason VARCHAR, -- Reason, why the job waited last
    constraints VARCHAR, -- Constraints, features of nodes that the job asked for
    reservation VARCHAR, -- Reservation
    usage_in_total VARCHAR, -- TRESUsageInTot, summed over the steps: cpu in seconds, sizes in K
    consumed_energy_j BIGINT, -- ConsumedEnergyRaw, joules
    admin_comment VARCHAR, -- AdminComment
    submit_line VARCHAR, -- SubmitLine
    requested_tres VARCHAR, -- ReqTRES, as logged
    allocated_tres VARCHAR, -- AllocTRES, as logged
    memory_per VARCHAR, -- whether memory was asked for by cpu, gpu or node; NULL where neither ReqMem nor SubmitLine says so
    asked_gpus VARCHAR, -- GPUs of SubmitLine, else ReqGRES, else AllocGRES, such as a100=2, or =2 without a type; NULL where none says how many
    dependency VARCHAR, -- --dependency of SubmitLine: the jobs that it waits for
);

-- [swf_jobs]
-- Accepted lines of SWF logs: the 18 fields of the format, -1 as NULL. Times with fractions are rounded up to whole seconds
-- (docs/reference/logs.md), everything else is untouched.
CREATE TABLE IF NOT EXISTS raw.swf_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    job_number BIGINT NOT NULL, -- field 1
    submit_s BIGINT NOT NULL, -- field 2, seconds since the log's second 0
    wait_s BIGINT, -- field 3, seconds; negative values are kept as they stand
    runtime_s BIGINT, -- field 4, seconds
    allocated_procs BIGINT, -- field 5
    average_cpu_s DOUBLE, -- field 6, CPU seconds per processor
    used_memory_kb DOUBLE, -- field 7, kilobytes per processor
    requested_procs BIGINT, -- field 8
    requested_walltime_s BIGINT, -- field 9, seconds
    requested_memory_kb DOUBLE, -- field 10, kilobytes per processor
    status BIGINT, -- field 11: 1 completed, 0 failed, 5 cancelled, 2 to 4 partial executions
    user_id BIGINT, -- field 12
    group_id BIGINT, -- field 13
    executable BIGINT, -- field 14
    queue BIGINT, -- field 15
    partition BIGINT, -- field 16
    preceding_job BIGINT, -- field 17
    think_time_s BIGINT, -- field 18, seconds
);

-- [vasp_electronic_steps]
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

-- [vasp_folders]
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

-- [vasp_ionic_steps]
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

-- [vasp_rejects]
-- Folders and files that should have been VASP runs, or part of one, and could not be read, with the reason.
CREATE TABLE IF NOT EXISTS raw.vasp_rejects (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- folder, below the source's
    file VARCHAR NOT NULL, -- name of the file; empty where it is about the folder
    reason VARCHAR NOT NULL, -- what was expected and what was found
);

-- [vasp_runs]
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
