-- Lines of one source by what became of them and why.
SELECT outcome, reason, sum(lines)::BIGINT AS lines
FROM raw.line_counts
WHERE source = $source
GROUP BY ALL
ORDER BY ALL
