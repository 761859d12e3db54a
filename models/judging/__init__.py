"""Is one policy better than another? Blocks of one long replay, and intervals that know that neighbouring blocks are alike."""
