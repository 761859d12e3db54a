-- The findings of one source, those that found something first.
SELECT finding, found, unit, share, example, meaning
FROM marts.trace_health
WHERE source = $source
ORDER BY found = 0, share DESC NULLS LAST, finding
