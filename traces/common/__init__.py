"""What all readers share: blocks of files, parsed lines, texts, pseudonyms."""
