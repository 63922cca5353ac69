"""Statistics of arrays: nothing here knows an export or a file."""
