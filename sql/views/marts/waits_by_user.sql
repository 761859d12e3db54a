-- Waits on the real system by month and user.
CREATE OR REPLACE VIEW marts.waits_by_user AS
{{ waits_by_month }}
    user_name AS user_name, -- user
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}
