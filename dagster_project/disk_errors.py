"""What a full, read-only or forbidden disk means to a user, whatever library met it first."""

import errno
from collections.abc import Iterator

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REMEDIES = {
    errno.ENOSPC: "Free some space, then run the same command: it goes on from what is written",
    errno.EROFS: "Make it writable, or name another folder in the setting `data`",
    errno.ENOTDIR: "A file stands where a folder belongs: name another folder in the setting `data`",
    errno.EACCES: "Give yourself the right to write there, or name another folder in the setting `data`",
}
_SQLITE = {
    "database or disk is full": (errno.ENOSPC, "the disk is full"),
    "readonly database": (errno.EROFS, "the disk is read-only"),
    "unable to open database file": (errno.EACCES, "a database cannot be opened for writing"),
}


def disk_error(error: BaseException) -> str | None:
    """One sentence with a remedy where the error, or one that it was caused by, is the disk's; else None."""
    for one in _causes(error):
        if isinstance(one, OSError) and one.errno is not None:
            number = errno.ENOSPC if one.errno in _FULL else errno.EACCES if one.errno == errno.EPERM else one.errno
            if number in _REMEDIES:
                place = f"file {one.filename}: " if one.filename else ""
                return f"{place}{(one.strerror or 'the disk refuses').lower()}. {_REMEDIES[number]}"
        for words, (number, told) in _SQLITE.items():
            if type(one).__name__ == "OperationalError" and words in str(one):
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
