"""Look for words in files, as bytes; a program too, for files that another program must not close (`find_apart`)."""

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

BLOCK = 1 << 20


def contains_word(path: Path, words: Collection[bytes]) -> bool:
    """Return whether a file has one of these words in it. Blocks overlap, so that none is missed at a block's end."""
    overlap = max(map(len, words), default=1) - 1
    with path.open("rb") as file:
        tail = b""
        while block := file.read(BLOCK):
            if any(each in tail + block for each in words):
                return True
            tail = (tail + block)[-overlap:] if overlap else b""
    return False


def find_apart(paths: Sequence[Path], words: Collection[bytes]) -> list[Path]:
    """Return the files that have one of these words in them, read by a process of its own.

    A process that closes a file of SQLite's loses all its locks of it (POSIX). Others then take it for gone, and delete
    the log that it still writes to: https://www.sqlite.org/howtocorrupt.html, section 2.2.
    """
    request = json.dumps([[str(path) for path in paths], [word.hex() for word in words]])
    command = [sys.executable, "-I", __file__]
    result = subprocess.run(command, input=request, capture_output=True, text=True, check=True)  # noqa: S603 - our own file
    return [Path(path) for path in json.loads(result.stdout)]


def main() -> None:
    paths, hexes = json.load(sys.stdin)
    words = [bytes.fromhex(word) for word in hexes]
    json.dump([path for path in paths if contains_word(Path(path), words)], sys.stdout)


if __name__ == "__main__":
    main()
