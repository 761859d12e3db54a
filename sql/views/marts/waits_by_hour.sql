-- Waits on the real system by month and by weekday and hour of the submission, in the cluster's time zone.
CREATE OR REPLACE VIEW marts.waits_by_hour AS
{{ waits_by_month }}
    weekday AS weekday, -- 1 Monday to 7 Sunday
    hour_of_day AS hour_of_day, -- 0 to 23
{{ wait_statistics }}
{{ of_known_waits }}
