-- Advance reservations of the clusters that sources name.
CREATE TABLE IF NOT EXISTS core.reservations (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    cluster VARCHAR NOT NULL, -- name of the cluster
    valid_from TIMESTAMP, -- when this configuration begins to hold, UTC; NULL for always
    reservation VARCHAR NOT NULL, -- name of the reservation
    begin_time TIMESTAMP NOT NULL, -- begin, UTC; the first one where it repeats
    end_time TIMESTAMP NOT NULL, -- end, UTC
    repeats VARCHAR, -- how it repeats: daily, weekly, weekday, weekend, or a rule of RFC 5545; NULL for once
    node_list VARCHAR, -- its nodes, as a list of host names; NULL for all, or where it counts CPUs
    cpus BIGINT, -- its CPUs, where it counts CPUs; NULL where it has nodes
    users VARCHAR, -- users that may use it, with commas between; NULL for none named
    accounts VARCHAR, -- accounts that may use it, with commas between; NULL for none named
    flags VARCHAR, -- flags as the scheduler spells them, with commas between; NULL for none
);
