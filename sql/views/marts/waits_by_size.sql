-- Waits on the real system by month and size.
CREATE OR REPLACE VIEW marts.waits_by_size AS
{{ waits_by_month }}
    size_class AS size_class, -- size class: serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}
