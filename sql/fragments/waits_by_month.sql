SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
