-- The new table features.user_habits is empty until the next run of the pipeline. A priority key has no verdict of its own any more:
-- replay/evaluation judges it on the site.
ALTER TABLE policies.priority_keys DROP COLUMN IF EXISTS verdict;
ALTER TABLE policies.priority_keys DROP COLUMN IF EXISTS bounded_slowdown_ratio;
ALTER TABLE policies.priority_keys DROP COLUMN IF EXISTS wait_ratio;
