"""One module a table of results: an export and a bootstrap in, rows out."""
