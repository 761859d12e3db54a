-- The bounded key of docs/guides/adopting.md as Slurm's nice value. Copy this file into the folder of slurm.conf.
--
-- With the weights of that page, the priority of a job is a constant, plus the seconds since it became eligible, minus its nice value.
-- Slurm starts the highest priority first. So the order is that of the key, lowest first:
--
--     eligible time + min(requested seconds * sqrt(processors), MOST_SECONDS)

local MOST_SECONDS = 12 * 3600   -- jobs that become eligible more than this later never go first
local DEFAULT_MINUTES = 24 * 60  -- for a job without --time: the DefaultTime of your partitions, else their MaxTime
local CPUS_PER_NODE = 64         -- for jobs that ask for whole nodes with --exclusive
local NICE_OFFSET = 2147483648   -- Slurm keeps nice values above this number

-- A number that the job asks for, or the default. Slurm writes what is not set as the largest numbers of 16 and 32 bits.
local function asked(value, default)
   if value == nil or value >= 65533 and value <= 65535 or value >= 4294967293 then
      return default
   end
   return value
end

local function processors(job)
   local nodes = math.max(asked(job.min_nodes, 1), 1)
   if job.shared == 0 then  -- --exclusive
      return nodes * CPUS_PER_NODE
   end
   local tasks = math.max(asked(job.num_tasks, 1), nodes * math.max(asked(job.ntasks_per_node, 1), 1))
   return math.max(asked(job.min_cpus, 1), tasks * math.max(asked(job.cpus_per_task, 1), 1))
end

function slurm_job_submit(job, partitions, user)
   local seconds = 60 * asked(job.time_limit, DEFAULT_MINUTES)
   local key = math.floor(math.min(seconds * math.sqrt(processors(job)), MOST_SECONDS))
   job.nice = asked(job.nice, NICE_OFFSET) + key  -- what the user gave with --nice still counts
   return slurm.SUCCESS
end

-- A job that is changed while it waits keeps its nice value.
function slurm_job_modify(job, record, partitions, user)
   return slurm.SUCCESS
end

return slurm.SUCCESS
