-- New columns say what a wait prediction is (its median, its mean or a constant), and which split a score of remaining times is of.
-- Others have the cap and the verdict of a priority key, and ratios in the typical block of a replay. They are empty in existing rows.
-- Policies are no longer compared in windows that begin on an empty cluster. The next evaluation of a source ranks them.
DROP TABLE IF EXISTS replay.window_scores;
DROP TABLE IF EXISTS marts.leaderboard;
