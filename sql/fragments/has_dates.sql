        -- SWF without UnixStartTime counts from a second 0 that nobody knows
        format <> 'swf' OR year(clock_zero) > 1970 AS has_dates
