        -- docs/reference/logs.md says which exit status means what
        CASE
            WHEN deleted_s IS NOT NULL THEN 'cancelled'
            WHEN exit_status = 0 THEN 'completed'
            WHEN exit_status IS NULL THEN 'unknown'
            WHEN is_torque AND exit_status = -10 THEN 'out_of_memory'
            WHEN is_torque AND exit_status IN (-11, -12) THEN 'timeout'
            WHEN is_torque AND exit_status IN (-3, -13, -14) THEN 'requeued'
            WHEN exit_status IN (-28, -29) THEN 'timeout'
            WHEN exit_status IN (-26, -27) THEN 'out_of_memory'
            WHEN exit_status IN (-4, -5, -6, -14, -20) THEN 'node_failure'
            WHEN exit_status IN (-3, -11, -15, -16, -18) THEN 'requeued'
            WHEN exit_status = -19 OR was_deleted THEN 'cancelled'
            -- ended by SIGTERM or SIGKILL at its limit
            WHEN exit_status IN (137, 143, 265, 271) AND end_s - start_s - suspended_s >= nullif(requested_walltime_s, 0) THEN 'timeout'
            ELSE 'failed'
        END AS status,
