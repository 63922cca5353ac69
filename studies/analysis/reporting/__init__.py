"""The report and its figures, from the tables of results."""
