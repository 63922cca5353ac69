"""Tables of results, one module each, which compute rows from an export and a bootstrap."""
