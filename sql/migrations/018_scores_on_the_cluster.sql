-- replay.period_scores and marts.leaderboard say on which cluster policies were replayed. Scores of before are over a row of processors, as
-- NULL says. The next `tracehouse run` replaces them.
SELECT 1;
