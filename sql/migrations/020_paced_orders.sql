-- replay.period_scores says of the policies that may be advised what they do where users keep their pace. Scores of before do not, as NULL
-- says. The next `tracehouse run` replaces them.
SELECT 1;
