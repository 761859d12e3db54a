-- features.written_parts is empty in a warehouse that is there: its features are computed once more.
SELECT 1;
