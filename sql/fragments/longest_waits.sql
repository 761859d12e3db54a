    max(wait_s) AS max_wait_s, -- longest wait, seconds
    avg(eligible_wait_s) AS average_eligible_wait_s, -- mean wait in which nothing but resources held jobs back, seconds
