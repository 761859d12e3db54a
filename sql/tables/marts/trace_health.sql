-- What looks wrong in a log, after Feitelson and Tsafrir ("Workload sanitation for performance evaluation", 2006): one row per
-- source and finding, also where nothing was found. The rules are in docs/reference/semantics.md.
CREATE TABLE IF NOT EXISTS marts.trace_health (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    finding VARCHAR NOT NULL, -- such as flurries
    found BIGINT NOT NULL, -- how many, of `unit`
    unit VARCHAR NOT NULL, -- jobs, days, lines, records or user-weeks
    share DOUBLE, -- of all of the source
    example VARCHAR, -- the worst of them, or the first
    meaning VARCHAR NOT NULL, -- what the rule is, and what to do about it
);
