"""Statistics of arrays; no module here knows an export or a file."""
