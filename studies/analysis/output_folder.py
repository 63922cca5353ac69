"""The folder of results: what may be written into it, and how old results make place for new ones.

FILES lists what a run wrote, so that the next one removes what is no longer true: an exhibit of other data beside the
new ones would end up in a paper.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile

from studies.analysis import AnalysisError

FILES = "files.txt"  # one path a line
EXHIBITS = re.compile(r"(figure|table)-\d+\.\w+")  # in paper/; how many there are is only known at the end
NAMED = 3  # files in a message


def refuse_input_folder(folder: Path, out: Path) -> None:
    """Raise AnalysisError where the results would stand among what is read, or around it."""
    read, written = folder.resolve(), out.resolve()
    if written == read:
        raise AnalysisError(f"{out}: is the folder that is read; give another one for the results")
    if written.is_relative_to(read):
        raise AnalysisError(f"{out}: is inside {folder}, which is read; give a folder outside of it for the results")
    if read.is_relative_to(written):
        raise AnalysisError(f"{out}: holds {folder}, which is read; give a folder beside it for the results")


def refuse_files_of_others(out: Path, names: Collection[str]) -> None:
    """Raise AnalysisError where files would be overwritten that no earlier run has listed."""
    ours = set(_listed(out))
    existing = {name for name in names if (out / name).exists()}
    with suppress(OSError):  # there is no such folder
        existing |= {f"paper/{path.name}" for path in (out / "paper").iterdir() if EXHIBITS.fullmatch(path.name)}
    others = sorted(name for name in existing if name not in ours or (out / name).is_dir())
    if others:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        raise AnalysisError(
            f"{out}: holds files that this run would overwrite and that no earlier one lists in {FILES}: "
            f"{', '.join(others[:NAMED])}{more}. Give another folder, or move them away"
        )


@contextmanager
def new_folder(out: Path) -> Iterator[None]:
    """Create the folder before the tables, which may take an hour; remove a new one where these come to nothing."""
    is_new = not out.exists()
    _create(out)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # by now someone has put something into it
                out.rmdir()
        raise


def _create(out: Path) -> None:
    """Create the folder; raise AnalysisError where nothing could be written into it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except FileExistsError as error:
        raise AnalysisError(f"{out}: is a file, not a folder") from error
    except OSError as error:
        raise AnalysisError(f"{out}: is no folder that can be written into ({error.strerror})") from error


def replace_results(files: Mapping[str, bytes], out: Path) -> None:
    """Write all files, or none, and remove those of an earlier run: a full disk leaves earlier results as they are."""
    refuse_files_of_others(out, files)
    before = _listed(out)
    with TemporaryDirectory(prefix=".analysis-", dir=out) as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        # Whatever breaks from here on, the next run knows all files as ours.
        _list(Path(folder), out, {*before, *files})
        for name in set(before) - set(files):
            (out / name).unlink(missing_ok=True)
        for name in files:
            (out / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).replace(out / name)


def listing_of(names: Collection[str]) -> bytes:
    """Return the content of FILES, which lists itself too."""
    return "".join(f"{name}\n" for name in sorted({*names, FILES})).encode()


def _list(folder: Path, out: Path, names: Collection[str]) -> None:
    (folder / "listed").write_bytes(listing_of(names))
    (folder / "listed").replace(out / FILES)


def _listed(out: Path) -> list[str]:
    """Return the files that an earlier run wrote; a path that leads elsewhere is none of them.

    A file of this name that does not list itself is someone else's.
    """
    try:
        names = (out / FILES).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    if FILES not in names:
        return []
    return [name for name in names if _is_below(PurePosixPath(name)) and not (out / name).is_dir()]


def _is_below(path: PurePosixPath) -> bool:
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts
