"""Finding one JSON or Python literal in a model's text. What the value should hold is ``ml.llm.replies``'s business.

Parse before repair, and repair only what cannot change a text: JSON first, then a Python literal, then the same two with typographic quotes
that stand as delimiters made plain. Anything that leaves a choice (a stray quote, a repeated name, two different answers) is a failure.
"""

import ast
import io
import json
import re
import tokenize
import warnings
from dataclasses import dataclass
from itertools import pairwise

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPENS_LITERAL = re.compile(r"""\{|\[(?=\s*(?:[\[{\]"'“‘\-\d]|(?:true|false|null|True|False|None)\b))""")
_CLOSERS = {"“": "”", "”": "”", "„": "”", "‘": "’"}
_AFTER_STRING = re.compile(r"\s*[,:\]}]")
_NAMES = {"true": True, "false": False, "null": None}


class LiteralError(ValueError):
    """The text holds no literal, or leaves a choice."""


@dataclass(frozen=True)
class Found:
    """A literal and the text around it."""

    value: object
    around: str


def without_thinking(text: str) -> str:
    """The text after a closed thinking block and a byte order mark."""
    return _THINKING.sub("", text.lstrip("\ufeff"), count=1)


def find_literal(text: str) -> Found:
    """The first balanced object or list in the text, or the whole text where that is one literal.

    Raises LiteralError where there is none, where it does not parse, or where a second object with the same names says otherwise.
    """
    text = without_thinking(text).strip()
    try:
        return Found(parse(text), "")
    except LiteralError:
        pass
    start = _OPENS_LITERAL.search(text)
    if start is None:
        raise LiteralError("no object or list in the reply")
    value, end = _parse_from(text, start.start())
    first, rest = _alone(value), text[end:]
    stray = re.search(r"[\[{}\]]", rest)
    if stray is not None and stray.group() in "]}":
        raise LiteralError("brackets are left over after the object, so a quote inside it was not escaped")
    place = 0
    while isinstance(first, dict) and (more := _OPENS_LITERAL.search(rest, place)) is not None:
        try:
            other, place = _parse_from(rest, more.start())
        except LiteralError:
            break
        second = _alone(other)
        if isinstance(second, dict) and second.keys() == first.keys() and second != first:
            raise LiteralError("two objects with the same names and different values")
    return Found(value, (text[: start.start()] + " " + rest).strip(" \n`"))


def parse(text: str) -> object:
    """The whole text as JSON, else as a Python literal, else either of them after typographic delimiters were made plain."""
    try:
        return _json(text)
    except LiteralError as error:
        reason = error
    for candidate in (text, plain_delimiters(text)):
        if candidate is None:
            continue
        for read in (_json, _python):
            try:
                return read(candidate)
            except LiteralError as error:
                reason = reason if "twice" in str(reason) else error
    raise reason


def plain_delimiters(text: str) -> str | None:
    """The text with typographic quotes that open and close strings made plain; None where there are none or one stays open.

    Their content is kept letter for letter, and quotes inside plain strings are not looked at.
    """
    out: list[str] = []
    place, changed = 0, False
    while place < len(text):
        character = text[place]
        if character in "\"'":
            end = _end_of_string(text, place)
            if end is None:
                return None
            out.append(text[place:end])
            place = end
        elif character in _CLOSERS:
            closer = _CLOSERS[character]
            end = text.find(closer, place + 1)
            while end != -1 and not _AFTER_STRING.match(text, end + 1):
                end = text.find(closer, end + 1)
            if end == -1:
                return None
            out.append(json.dumps(text[place + 1 : end], ensure_ascii=False))
            place, changed = end + 1, True
        else:
            out.append(character)
            place += 1
    return "".join(out) if changed else None


def _parse_from(text: str, start: int) -> tuple[object, int]:
    """The literal that opens at ``start`` and where it ends."""
    try:
        return _decoder(strict=True).raw_decode(text, start)
    except (ValueError, RecursionError):
        end = _balanced_end(text, start)
    if end is None:
        raise LiteralError("the object or list is not closed")
    return parse(text[start:end]), end


def _balanced_end(text: str, start: int) -> int | None:
    """The index after the bracket that closes the one at ``start``; brackets inside strings of any quotes do not count."""
    depth, place = 0, start
    while place < len(text):
        character = text[place]
        if character in "\"'":
            end = _end_of_string(text, place)
            if end is None:
                return None
            place = end
            continue
        if character in _CLOSERS:
            closer = text.find(_CLOSERS[character], place + 1)
            while closer != -1 and not _AFTER_STRING.match(text, closer + 1):
                closer = text.find(_CLOSERS[character], closer + 1)
            if closer == -1:
                return None
            place = closer + 1
            continue
        depth += (character in "[{(") - (character in "]})")
        place += 1
        if depth == 0:
            return place
    return None


def _end_of_string(text: str, start: int) -> int | None:
    quote, place = text[start], start + 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text[place] == quote:
            return place + 1
        else:
            place += 1
    return None


def _alone(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _json(text: str) -> object:
    for strict in (True, False):  # the second lets raw line ends stand inside strings, as models write them
        try:
            return _decoder(strict=strict).decode(text)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = f"no JSON: {error}"
    raise LiteralError(reason)


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, strict=strict)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise LiteralError("one name stands twice in an object")
    return names


def _no_constant(word: str) -> object:
    raise LiteralError(f"{word} is no value")


def _python(text: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a model's text is kept as it is and no business of the user's
            tree = ast.parse(text.strip(), mode="eval")
        strings_in_a_row = _has_strings_in_a_row(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError) as error:
        raise LiteralError(f"no Python literal: {error}") from error
    if strings_in_a_row:
        raise LiteralError("two strings without a comma between them")
    try:
        return _value(tree.body)
    except RecursionError as error:
        raise LiteralError("nested too deeply") from error


def _has_strings_in_a_row(text: str) -> bool:
    """Python joins neighbouring strings without a word; in a reply that is an inner quote that was not escaped."""
    skipped = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in skipped]
    return any(one == two == tokenize.STRING for one, two in pairwise(kinds))


def _value(node: ast.AST) -> object:
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as number)):
            return -number if isinstance(sign, ast.USub) else number
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part) for part in parts]
        case ast.Dict(keys=names, values=parts):
            pairs: list[tuple[str, object]] = []
            for named, part in zip(names, parts, strict=True):
                key = _value(named) if named is not None else None
                if not isinstance(key, str):
                    raise LiteralError("a name that is no text")
                pairs.append((key, _value(part)))
            return _unique(pairs)
        case _:
            raise LiteralError("an expression where a value was asked")
