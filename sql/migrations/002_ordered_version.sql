-- The version becomes a number, so that a warehouse of a newer tracehouse is recognized. It is written at the end of each upgrade.
DELETE FROM core.schema_version;
