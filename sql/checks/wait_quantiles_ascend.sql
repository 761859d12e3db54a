-- Predicted waits whose quantiles are negative, or not in order.
SELECT job_index, wait_p10_s, wait_p25_s, wait_p50_s, wait_p75_s, wait_p90_s
FROM predictions.wait_predictions
WHERE
    source = $source
    AND NOT coalesce(
        0 <= wait_p10_s AND wait_p10_s <= wait_p25_s AND wait_p25_s <= wait_p50_s AND wait_p50_s <= wait_p75_s AND wait_p75_s <= wait_p90_s,
        FALSE
    )
ORDER BY job_index
