"""Log formats: readers, writers and generators. Text in, typed tables out."""
