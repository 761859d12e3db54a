-- Waits on the real system by month and queue.
CREATE OR REPLACE VIEW marts.waits_by_queue AS
{{ waits_by_month }}
    queue AS queue, -- queue or partition
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}
