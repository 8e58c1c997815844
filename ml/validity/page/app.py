"""The review page: a small web application on this machine. Every click is an answer kept in ``ml.validity.answers``; pages hold no state.

Starlette and Jinja make the pages, htmx swaps the answer panel, Pico CSS styles it; all files are served from here, none from the net.
"""

import re
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import polars as pl
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from ml.disk_errors import disk_error
from ml.errors import InputError
from ml.tables.store import decode_key, encode_key
from ml.validity.agreement import sum_up
from ml.validity.answers import Answer, AnswerLog, clean_name
from ml.validity.page.shown import ClipStore, Shown
from ml.validity.questions import MEANING, PUBLISHED_VALID_SHARE, QUESTIONS
from ml.vocabulary import MistakeType

HERE: Final = Path(__file__).parent
LONGEST_COMMENT: Final = 1000
VERDICTS: Final = {"yes": True, "no": False, "open": None}
ASKED: Final = {
    "different": "Does the instruction ask for something different from what the person does?",
    "feasible": "Could it be followed with what is there?",
    "of_type": "Is the difference {article} {mistake_type} mistake?",
}
LETTERS: Final = {"different": ("1", "q"), "feasible": ("2", "w"), "of_type": ("3", "e")}


class ReviewPage:
    """The pages over ``pairs`` (in order of position). ``sample``, ``checks``: the tables, for the summary."""

    def __init__(self, pairs: Sequence[Shown], log: AnswerLog, clips: ClipStore, sample: pl.DataFrame, checks: pl.DataFrame) -> None:
        self.pairs, self.log, self.clips, self.sample, self.checks = pairs, log, clips, sample, checks
        self.templates = Jinja2Templates(HERE / "templates")
        self.templates.env.filters["clock"] = clock
        self.templates.env.filters["quoted"] = encode_key

    def app(self, hosts: Sequence[str] = ("*",)) -> Starlette:
        """``hosts``: names under which the page may be asked for; others are refused, so that no foreign site can reach it by name."""
        routes = [
            Route("/", self.names),
            Route("/begin", self.begin, methods=["POST"]),
            Route("/summary", self.summary),
            Route("/clip/{pair_id}", self.clip),
            Route("/review/{reviewer}", self.next_open),
            Route("/review/{reviewer}/undo", self.undo, methods=["POST"]),
            Route("/review/{reviewer}/{position:int}", self.pair),
            Route("/review/{reviewer}/{position:int}/answer", self.answer, methods=["POST"]),
            Mount("/static", StaticFiles(directory=HERE / "static"), name="static"),
        ]

        @asynccontextmanager
        async def closing(_: Starlette) -> AsyncIterator[None]:
            yield
            self.clips.close()

        handlers: Any = {InputError: _refused, OSError: _disk, sqlite3.OperationalError: _disk}
        return Starlette(
            routes=routes,
            lifespan=closing,
            exception_handlers=handlers,
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        )

    def _page(self, request: Request, name: str, values: Mapping[str, Any]) -> Response:
        return self.templates.TemplateResponse(request, name, dict(values), headers={"Cache-Control": "no-store"})

    def names(self, request: Request) -> Response:
        """Who is there, and how far."""
        done: dict[str, int] = {}
        for reviewer, answers in self._by_reviewer().items():
            done[reviewer] = sum(answer.is_complete for answer in answers.values())
        return self._page(request, "names.html", {"reviewers": done, "total": len(self.pairs)})

    def _by_reviewer(self) -> dict[str, dict[str, Answer]]:
        wanted = {(pair.pair_id, pair.shown_sha256) for pair in self.pairs}
        found: dict[str, dict[str, Answer]] = {}
        for answer in self.log.answers():
            if (answer.pair_id, answer.shown_sha256) in wanted:
                found.setdefault(answer.reviewer, {})[answer.pair_id] = answer
        return found

    async def begin(self, request: Request) -> Response:
        _own_site(request)
        form = await _form(request)
        return RedirectResponse(f"/review/{encode_key(clean_name(form.get('reviewer', '')))}", 303)

    def next_open(self, request: Request) -> Response:
        """To the first pair that is not complete, counted from ``after``; to the summary when all are."""
        reviewer = _reviewer(request)
        answers = self._mine(reviewer)
        after = request.query_params.get("after", "-1")
        start = int(after) + 1 if re.fullmatch("[0-9]{1,9}", after) else 0
        order = [*self.pairs[start:], *self.pairs[:start]]
        open_pair = next((pair for pair in order if not _complete(answers.get(pair.pair_id))), None)
        where = "/summary" if open_pair is None else f"/review/{encode_key(reviewer)}/{open_pair.position}"
        return RedirectResponse(where, 303)

    def _mine(self, reviewer: str) -> dict[str, Answer]:
        shown = {pair.pair_id: pair.shown_sha256 for pair in self.pairs}
        return {a.pair_id: a for a in self.log.answers(reviewer) if shown.get(a.pair_id) == a.shown_sha256}

    def _found(self, request: Request) -> tuple[str, Shown]:
        reviewer, position = _reviewer(request), request.path_params["position"]
        if not 0 <= position < len(self.pairs):
            raise HTTPException(404, f"There is no pair {position + 1}; the sample has {len(self.pairs)}.")
        return reviewer, self.pairs[position]

    def pair(self, request: Request) -> Response:
        """One pair: clip, texts, time line, questions."""
        reviewer, pair = self._found(request)
        self.clips.make_ready([pair, *self.pairs[pair.position + 1 :]])
        return self._page(request, "pair.html", self._values(reviewer, pair))

    def _values(self, reviewer: str, pair: Shown) -> dict[str, Any]:
        answers = self._mine(reviewer)
        answer = answers.get(pair.pair_id, Answer(reviewer, pair.pair_id, pair.shown_sha256))
        kind = MistakeType(pair.mistake_type)
        words = {"article": "a", "mistake_type": pair.mistake_type}
        open_question = next((name for name in QUESTIONS if getattr(answer, name) is None), None)
        return {
            "reviewer": reviewer,
            "pair": pair,
            "answer": answer,
            "questions": [
                {
                    "name": name,
                    "text": ASKED[name].format(**words),
                    "hint": f"A {pair.mistake_type} mistake is about {MEANING[kind]}." if name == "of_type" else "",
                    "value": getattr(answer, name),
                    "letters": LETTERS[name],
                    "is_next": name == open_question,
                }
                for name in QUESTIONS
            ],
            "states": [_state(answers.get(one.pair_id)) for one in self.pairs],
            "done": sum(_complete(one) for one in answers.values()),
            "total": len(self.pairs),
            "revealed": answer.is_complete,
        }

    async def answer(self, request: Request) -> Response:
        """One change, kept before the panel comes back: ``field`` with ``value``."""
        _own_site(request)
        reviewer, pair = self._found(request)
        form = await _form(request)
        changes = read_change(pair, form.get("field", ""), form.get("value", ""))
        await run_in_threadpool(self.log.change, reviewer, pair.pair_id, pair.shown_sha256, changes)
        values = await run_in_threadpool(self._values, reviewer, pair)
        return self._page(request, "answer.html", values | {"is_swap": True})

    def undo(self, request: Request) -> Response:
        """Take back the latest change and show the pair that it belongs to."""
        _own_site(request)
        reviewer = _reviewer(request)
        pair_id = self.log.undo(reviewer)
        position = next((pair.position for pair in self.pairs if pair.pair_id == pair_id), None)
        where = f"/review/{encode_key(reviewer)}" + ("" if position is None else f"/{position}")
        return Response(status_code=204, headers={"HX-Redirect": where})

    def clip(self, request: Request) -> Response:
        """The clip as MP4; players ask for parts of it by range."""
        pair = next((one for one in self.pairs if one.pair_id == request.path_params["pair_id"]), None)
        if pair is None:
            raise HTTPException(404, "There is no such pair in the sample.")
        return FileResponse(self.clips.get(pair), media_type="video/mp4", headers={"Cache-Control": "private, max-age=3600"})

    def summary(self, request: Request) -> Response:
        """What has been answered so far, summed up as the asset does it."""
        review = sum_up(self.sample, self.log.frame(), self.checks)
        rows = review.rows_by_key(("measure", "question", "group"), named=True, unique=True)
        values = {
            "reviewers": {name: sum(_complete(a) for a in answers.values()) for name, answers in self._by_reviewer().items()},
            "total": len(self.pairs),
            "shares": [rows["valid_share", name, "all"] | {"name": name} for name in ("valid", *QUESTIONS)],
            "people": [row for row in review.to_dicts() if row["measure"] == "agreement" and row["question"] == "valid"],
            "kappas": {row["group"]: row["value"] for row in review.to_dicts() if row["measure"] == "kappa" and row["question"] == "valid"},
            "check": [rows["check_agreement", name, "all"] | {"name": name} for name in ("valid", *QUESTIONS)],
            "errors": [row for row in review.to_dicts() if row["measure"] == "timestamp_error_share" and row["group"] == "all"],
            "published": PUBLISHED_VALID_SHARE,
        }
        return self._page(request, "summary.html", values)


def read_change(pair: Shown, field: str, value: str) -> dict[str, Any]:
    """Fields of an answer from what a button or box sends. Raises ``InputError`` for what no answer can be."""
    if field in QUESTIONS and value in VERDICTS:
        return {field: VERDICTS[value]}
    if field == "comment":
        return {"comment": " ".join(value.split())[:LONGEST_COMMENT] or None}
    if field == "never_apparent" and value in ("yes", "no"):
        return {"never_apparent": value == "yes", "apparent_s": None}
    if field == "apparent_s":
        if value == "":
            return {"apparent_s": None, "never_apparent": False}
        try:
            t_s = float(value)
        except ValueError:
            t_s = float("nan")
        if pair.clip_start_s - 0.5 <= t_s <= pair.clip_end_s + 0.5:
            return {"apparent_s": round(min(max(t_s, pair.clip_start_s), pair.clip_end_s), 3), "never_apparent": False}
        raise InputError(f"{value!r} is no moment of this clip", field="apparent_s", remedy="Mark a moment while the clip is shown")
    raise InputError(f"{field!r} cannot be {value!r}", field=field or "field", remedy=f"Questions take {', '.join(VERDICTS)}")


def clock(seconds: float) -> str:
    """1:05.3"""
    minutes, rest = divmod(round(seconds, 1), 60)
    return f"{int(minutes)}:{rest:04.1f}"


def _complete(answer: Answer | None) -> bool:
    return answer is not None and answer.is_complete


def _state(answer: Answer | None) -> str:
    if answer is None:
        return "new"
    if not answer.is_complete:
        return "open"
    return "valid" if answer.is_valid else "invalid"


def _own_site(request: Request) -> None:
    """Browsers say where a request comes from; another site's page must not answer for a reviewer."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "Answers are taken from this page only.")


def _reviewer(request: Request) -> str:
    """The name in the address, where it stands as a key of a safe alphabet."""
    try:
        return clean_name(decode_key(request.path_params["reviewer"]))
    except ValueError as error:
        raise HTTPException(404, "There is no such reviewer.") from error


async def _form(request: Request) -> dict[str, str]:
    """Fields of a form that is sent url-encoded, the first of each name."""
    fields = parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return dict(reversed(fields))


async def _refused(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 422)


async def _disk(_: Request, error: Exception) -> Response:
    """A full or forbidden disk is told beside the questions; any other error is a bug."""
    told = disk_error(error)
    if told is None:
        raise error
    return PlainTextResponse(told.replace("run the same command: it goes on from what is written", "repeat the click"), 507)
