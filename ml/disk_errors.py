"""What a full, read-only or forbidden disk means to a user, whatever library met it first."""

import errno
import os
import re
from collections.abc import Iterator

_GOES_ON = "then run the same command: it goes on from what is written"
_REMEDIES = {
    errno.ENOSPC: f"Free some space, {_GOES_ON}",
    errno.EFBIG: f"Raise the limit on the size of files (ulimit -f), {_GOES_ON}",
    errno.EIO: f"Free some space or mend the disk, {_GOES_ON}",
    errno.ENAMETOOLONG: "Give a shorter name",
    errno.EROFS: "Make it writable, or name another folder in the setting `data`",
    errno.ENOTDIR: "A file stands where a folder belongs: name another folder in the setting `data`",
    errno.EACCES: "Give yourself the right to write there, or name another folder in the setting `data`",
}
_SAME = {errno.EDQUOT: errno.ENOSPC, errno.EPERM: errno.EACCES}
_SQLITE = {
    "database or disk is full": (errno.ENOSPC, "the disk is full"),
    "disk i/o error": (errno.EIO, "the disk is full, limited or broken"),  # SQLite says no more, also where a disk is full
    "readonly database": (errno.EROFS, "the disk is read-only"),
    "unable to open database file": (errno.EACCES, "a database cannot be opened for writing"),
}
_RUST = re.compile(r"\(os error (\d+)\)")  # how Polars, Lance and tokenizers tell the operating system's errors, in texts alone


def disk_error(error: BaseException) -> str | None:
    """One sentence with a remedy where the error, or one that it was caused by, is the disk's; else None."""
    for one in _causes(error):
        number = one.errno if isinstance(one, OSError) else None
        place, told = "", None
        if number is not None and isinstance(one, OSError):
            place, told = f"file {one.filename}: " if one.filename else "", one.strerror
        elif (said := _RUST.search(str(one))) is not None:
            number = int(said[1])
            told = os.strerror(number)
        number = _SAME.get(number, number) if number is not None else None
        if number in _REMEDIES:
            return f"{place}{(told or 'the disk refuses').lower()}. {_REMEDIES[number]}"
        for words, (number, told) in _SQLITE.items():
            if type(one).__name__ == "OperationalError" and words in str(one).lower():
                return f"{told}. {_REMEDIES[number]}"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its cause, the cause of that, and so on; each once."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__
