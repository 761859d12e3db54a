-- New columns are empty until the next ingest, which reads the logs of Slurm and PBS again. core.jobs has requested_nodes, gpu_types, memory_per,
-- features, is_exclusive, reason and priority, and Slurm's reservation. raw.slurm_jobs has requested_tres, allocated_tres and memory_per.
-- raw.pbs_records has exec_vnode, selected_chunks, torque_nodes and place. The tables core.job_nodes, core.nodes,
-- core.partitions, core.limits and core.reservations are new.
SELECT 1;
