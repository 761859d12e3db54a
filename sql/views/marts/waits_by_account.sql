-- Waits on the real system by month and account.
CREATE OR REPLACE VIEW marts.waits_by_account AS
{{ waits_by_month }}
    account AS account, -- account
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}
