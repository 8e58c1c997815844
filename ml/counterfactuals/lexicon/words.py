"""How word lists are written: one string, words apart by blanks."""


def words(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())
