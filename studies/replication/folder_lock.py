"""A lock that lets one process at a time walk in a folder.

It belongs to an open file, so it ends with the process, however that ends. A walk outlives the command that started it
if only that command was killed; a second one beside it would write the same files.
"""

import fcntl
import os
from pathlib import Path

NAME = "walk.lock"


class FolderInUse(Exception):
    """Another process walks in the folder. `process`: its number."""

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


def lock_folder(folder: Path) -> int:
    """Take the lock and return the descriptor that holds it until it is closed. Raises FolderInUse."""
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process = os.pread(descriptor, 20, 0).decode()
        os.close(descriptor)
        raise FolderInUse(process) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor
