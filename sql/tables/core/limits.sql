-- Limits of the clusters that sources name, one a row, whoever sets them.
CREATE TABLE IF NOT EXISTS core.limits (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    cluster VARCHAR NOT NULL, -- name of the cluster
    valid_from TIMESTAMP, -- when this configuration begins to hold, UTC; NULL for always
    owner VARCHAR NOT NULL, -- where it is set: cluster, partition, qos, account or user
    owner_name VARCHAR NOT NULL, -- name of the owner; account/user for an association
    counts VARCHAR NOT NULL, -- what is counted: running, submitted, job, node, outstanding, used or waiting_eligible
    each VARCHAR NOT NULL, -- whose jobs are counted together: all, user, account, group, project or job
    who VARCHAR, -- the one user, group or account that it holds for; NULL for each
    resource VARCHAR NOT NULL, -- jobs, nodes, cpu, mem (MiB), gpu, time (seconds), or a resource by the scheduler's name
    bound BIGINT NOT NULL, -- at most so much, in resource-seconds for outstanding and used
    is_least BOOLEAN NOT NULL, -- whether the bound is a least amount instead
    is_soft BOOLEAN NOT NULL, -- whether it holds only while others wait
    origin VARCHAR NOT NULL, -- file, line and key that it came from
);
