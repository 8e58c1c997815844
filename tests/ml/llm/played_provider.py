"""A small HTTP server that plays the providers: run as a process, it prints its port. Nothing here is imported by the platform.

``POST /control`` sets behaviours and empties the log, ``GET /control`` returns the log of calls. A behaviour is a JSON object:
``kind`` text | status | stream_error | drop | hang, ``when`` (substring of the body; else the next unconditional one is consumed),
``times`` (how often it applies; default 1, 0 for always), ``delay_s``, ``headers``, ``text``, ``stop_reason``, ``usage``, ``status``,
``body``, ``error_type``, ``content`` (overrides the content blocks). Without a behaviour the reply echoes the prompt.
"""

import argparse
import asyncio
import json
import os
import random
import re
import sys
from datetime import UTC, datetime
from typing import Any

CALLS: list[dict[str, Any]] = []
SCRIPT: list[dict[str, Any]] = []
BATCHES: dict[str, dict[str, Any]] = {}
FILES: dict[str, bytes] = {}
ERROR_STATUS = {"invalid_request_error": 400, "overloaded_error": 529, "rate_limit_error": 429}
SETTINGS: dict[str, Any] = {"delay_s": 0.0, "headers": {}, "polls_until_ended": 1}
STATE = {"in_flight": 0, "peak": 0, "log": 0}  # requests that an earlier test left hanging do not count
OPENAI_STOPS = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}


def prompt_of(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def behaviour_for(raw: str) -> dict[str, Any]:
    for place, behaviour in enumerate(SCRIPT):
        if behaviour.get("when", "") in raw:
            times = behaviour.get("times", 1)
            if times == 1:
                del SCRIPT[place]
            elif times > 1:
                behaviour["times"] = times - 1
            return behaviour
    return {"kind": "text"}


def message(body: dict[str, Any], behaviour: dict[str, Any]) -> dict[str, Any]:
    text = behaviour.get("text", f"echo {prompt_of(body)}")
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0} | behaviour.get(
        "usage", {}
    )
    content = behaviour.get("content", [{"type": "text", "text": text}])
    stop = behaviour.get("stop_reason", "end_turn")
    return {
        "id": f"msg_{len(CALLS)}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def completion(body: dict[str, Any], behaviour: dict[str, Any]) -> dict[str, Any]:
    text = behaviour.get("text", f"echo {prompt_of(body)}")
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} | behaviour.get("usage", {})
    said = {"role": "assistant", "content": text, "refusal": behaviour.get("refusal")}
    stop = OPENAI_STOPS[behaviour.get("stop_reason", "end_turn")]
    return {
        "id": f"chatcmpl-{len(CALLS)}", "object": "chat.completion", "created": 1, "model": body["model"], "usage": usage,
        "choices": [{"index": 0, "finish_reason": stop, "message": said, "logprobs": None}],
    }  # fmt: skip


def anthropic_events(full: dict[str, Any], behaviour: dict[str, Any]) -> list[dict[str, Any]]:
    start = {**full, "content": [], "stop_reason": None, "usage": {**full["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for place, block in enumerate(full["content"]):
        events.append({"type": "content_block_start", "index": place, "content_block": {**block, "text": ""}})
        text = block.get("text", "")
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            events.append({"type": "content_block_delta", "index": place, "delta": {"type": "text_delta", "text": part}})
        events.append({"type": "content_block_stop", "index": place})
    if behaviour["kind"] == "stream_error":
        after = behaviour.get("after_text", "")
        events = events[:1]
        if after:
            events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
            events.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": after}})
        kind = behaviour.get("error_type", "overloaded_error")
        return [*events, {"type": "error", "error": {"type": kind, "message": "Overloaded"}}]
    ending = {"stop_reason": full["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": full["usage"]["output_tokens"]}})
    return [*events, {"type": "message_stop"}]


def openai_events(full: dict[str, Any], behaviour: dict[str, Any]) -> list[dict[str, Any]]:
    base = {"id": full["id"], "object": "chat.completion.chunk", "created": 1, "model": full["model"]}
    text = full["choices"][0]["message"]["content"] or ""
    pieces = [text[: len(text) // 2], text[len(text) // 2 :]]
    if behaviour["kind"] == "stream_error":
        after = behaviour.get("after_text", "")
        pieces = [after] if after else []
    chunks: list[dict[str, Any]] = [
        {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}]} for piece in pieces
    ]
    if behaviour["kind"] == "stream_error":
        return [*chunks, {"error": {"type": "overloaded_error", "message": "Overloaded"}}]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": full["choices"][0]["finish_reason"]}]})
    return [*chunks, {**base, "choices": [], "usage": full["usage"]}]


async def send(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str], kind: str = "application/json") -> None:
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()


async def answer_model(writer: asyncio.StreamWriter, path: str, raw: bytes, sent: dict[str, str]) -> bool:
    """Returns whether the connection stays open."""
    text = raw.decode()
    body = json.loads(text)
    behaviour = behaviour_for(text)
    kept = {name: value for name, value in sent.items() if name in ("x-api-key", "authorization", "x-stainless-retry-count")}
    CALLS.append({"path": path, "body": body, "kind": behaviour["kind"], "headers": kept, "at_s": asyncio.get_running_loop().time()})
    headers = {**SETTINGS["headers"], **behaviour.get("headers", {})}
    await asyncio.sleep(behaviour.get("delay_s", SETTINGS["delay_s"]))
    openai = path.endswith("/chat/completions")
    match behaviour["kind"]:
        case "drop":
            return False
        case "hang":
            await asyncio.sleep(60)
            return False
        case "status":
            status = behaviour["status"]
            kinds = {429: "rate_limit_error", 529: "overloaded_error", 400: "invalid_request_error", 413: "request_too_large"}
            named = kinds.get(status, "api_error")
            default = {"type": "error", "error": {"type": named, "message": behaviour.get("message", "scripted")}}
            await send(writer, status, json.dumps(behaviour.get("body", default)).encode(), headers)
            return True
    full = completion(body, behaviour) if openai else message(body, behaviour)
    if not body.get("stream"):
        if behaviour["kind"] == "stream_error":
            await send(writer, 529, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', headers)
        else:
            await send(writer, 200, json.dumps(full).encode(), headers)
        return True
    if openai:
        events = openai_events(full, behaviour)
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        if behaviour["kind"] == "text":
            lines.append("data: [DONE]\n\n")
    else:
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in anthropic_events(full, behaviour)]
    await send(writer, 200, "".join(lines).encode(), headers, "text/event-stream")
    return True


def batch_view(batch: dict[str, Any], base: str) -> dict[str, Any]:
    ended = batch["polls"] >= SETTINGS["polls_until_ended"]
    counts = {"processing": 0 if ended else len(batch["results"]), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    for result in batch["results"] if ended else []:
        counts[result["result"]["type"]] += 1
    return {
        "id": batch["id"], "type": "message_batch", "processing_status": "ended" if ended else "in_progress", "request_counts": counts,
        "created_at": batch["created_at"], "expires_at": batch["created_at"], "ended_at": batch["created_at"] if ended else None,
        "archived_at": None, "cancel_initiated_at": None,
        "results_url": f"{base}/v1/messages/batches/{batch['id']}/results" if ended else None,
    }  # fmt: skip


def batch_result(item: dict[str, Any]) -> dict[str, Any]:
    behaviour = behaviour_for(json.dumps(item))
    match behaviour["kind"]:
        case "text":
            result: dict[str, Any] = {"type": "succeeded", "message": message(item["params"], behaviour)}
        case "errored":
            error = {"type": behaviour.get("error_type", "api_error"), "message": behaviour.get("message", "scripted")}
            result = {"type": "errored", "error": {"type": "error", "error": error, "request_id": None}}
        case other:
            result = {"type": other}
    return {"custom_id": item["custom_id"], "result": result}


async def answer_batch(writer: asyncio.StreamWriter, method: str, path: str, raw: bytes, base: str) -> bool:
    CALLS.append({"path": f"{method} {path}", "body": json.loads(raw) if raw else None, "kind": "batch"})
    if method == "POST":
        items = json.loads(raw)["requests"]
        ids = [item["custom_id"] for item in items]
        if len(set(ids)) < len(ids) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids):
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "custom_id: duplicate or malformed"}}
            await send(writer, 400, json.dumps(error).encode(), {})
            return True
        results = [batch_result(item) for item in items]
        random.Random(len(BATCHES)).shuffle(results)
        created = datetime.now(UTC).isoformat()
        batch = {"id": f"msgbatch_{len(BATCHES)}", "results": results, "polls": 0, "created_at": created}
        BATCHES[str(batch["id"])] = batch
        if SETTINGS.get("drop_upload"):
            return False
    elif path.endswith("/batches"):
        views = [batch_view(one, base) for one in reversed(BATCHES.values()) if "metadata" not in one]
        page = {"data": views, "has_more": False, "first_id": None, "last_id": None}
        await send(writer, 200, json.dumps(page).encode(), {})
        return True
    else:
        batch = BATCHES[path.split("/")[4]]
        if path.endswith("/results"):
            lines = "".join(json.dumps(result) + "\n" for result in batch["results"])
            await send(writer, 200, lines.encode(), {}, "application/x-jsonl")
            return True
        batch["polls"] += 1
    await send(writer, 200, json.dumps(batch_view(batch, base)).encode(), {})
    return True


def openai_batch_result(item: dict[str, Any]) -> dict[str, Any]:
    behaviour = behaviour_for(json.dumps(item))
    line: dict[str, Any] = {"id": f"batch_req_{len(CALLS)}", "custom_id": item["custom_id"], "response": None, "error": None}
    match behaviour["kind"]:
        case "text":
            line["response"] = {"status_code": 200, "request_id": "r", "body": completion(item["body"], behaviour)}
        case "errored":
            kind = behaviour.get("error_type", "api_error")
            body = {"error": {"type": kind, "message": behaviour.get("message", "scripted")}}
            line["response"] = {"status_code": ERROR_STATUS.get(kind, 500), "request_id": "r", "body": body}
        case other:
            line["error"] = {"code": f"batch_{other}", "message": "not processed in time"}
    return line


def openai_batch_view(batch: dict[str, Any]) -> dict[str, Any]:
    ended = batch["polls"] >= SETTINGS["polls_until_ended"]
    failed = batch.get("problem") if ended else None
    status = "failed" if failed else "completed" if ended else "in_progress"
    done = ended and not failed
    errors = {"object": "list", "data": [{"code": "invalid", "message": failed, "line": 1, "param": None}]} if failed else None
    return {
        "id": batch["id"], "object": "batch", "endpoint": "/v1/chat/completions", "errors": errors, "input_file_id": batch["input"],
        "completion_window": "24h", "status": status, "output_file_id": batch["output"] if done else None,
        "error_file_id": batch["lost"] if done else None, "created_at": batch["created_at"], "metadata": batch["metadata"],
        "request_counts": {"total": batch["total"], "completed": 0, "failed": 0},
    }  # fmt: skip


def keep_file(content: bytes) -> str:
    FILES[f"file-{len(FILES)}"] = content
    return f"file-{len(FILES) - 1}"


async def answer_openai_batch(writer: asyncio.StreamWriter, method: str, path: str, raw: bytes) -> bool:
    if path.endswith("/v1/files"):
        lines = [line for line in raw.split(b"\n") if line.startswith(b'{"custom_id"')]  # the part of the form that is the file
        CALLS.append({"path": f"{method} {path}", "body": [json.loads(line) for line in lines], "kind": "file"})
        file = {"id": keep_file(b"\n".join(lines)), "object": "file", "bytes": len(raw), "created_at": 1, "filename": "batch.jsonl"}
        await send(writer, 200, json.dumps({**file, "purpose": "batch", "status": "processed"}).encode(), {})
        return True
    if "/files/" in path:
        await send(writer, 200, FILES[path.split("/")[3]], {}, "application/octet-stream")
        return True
    CALLS.append({"path": f"{method} {path}", "body": json.loads(raw) if raw else None, "kind": "batch"})
    if method == "POST":
        body = json.loads(raw)
        results = [openai_batch_result(json.loads(line)) for line in FILES[body["input_file_id"]].split(b"\n")]
        random.Random(len(BATCHES)).shuffle(results)
        good = [one for one in results if (one["response"] or {}).get("status_code") == 200]
        lost = [one for one in results if one not in good]
        written = ["\n".join(json.dumps(one) for one in part).encode() for part in (good, lost)]
        batch = {
            "id": f"batch_{len(BATCHES)}", "input": body["input_file_id"], "polls": 0, "total": len(results),
            "created_at": int(datetime.now(UTC).timestamp()), "metadata": body.get("metadata"), "problem": SETTINGS.get("batch_problem"),
            "output": keep_file(written[0]) if good else None, "lost": keep_file(written[1]) if lost else None,
        }  # fmt: skip
        BATCHES[str(batch["id"])] = batch
        if SETTINGS.get("drop_upload"):
            return False
    elif path.endswith("/batches"):
        ours = [openai_batch_view(one) for one in reversed(BATCHES.values()) if "metadata" in one]
        await send(writer, 200, json.dumps({"object": "list", "data": ours, "has_more": False}).encode(), {})
        return True
    else:
        batch = BATCHES[path.split("/")[3]]
        batch["polls"] += 1
    await send(writer, 200, json.dumps(openai_batch_view(batch)).encode(), {})
    return True


async def control(writer: asyncio.StreamWriter, method: str, raw: bytes) -> None:
    if method == "POST":
        wanted = json.loads(raw)
        SCRIPT[:] = wanted.get("script", [])
        SETTINGS.clear()
        SETTINGS.update({"delay_s": 0.0, "headers": {}, "polls_until_ended": 1} | wanted.get("settings", {}))
        if not wanted.get("keep_log"):
            CALLS.clear()
            STATE.update(in_flight=0, log=STATE["log"] + 1)
        STATE["peak"] = STATE["in_flight"]
    await send(writer, 200, json.dumps({"calls": CALLS, "peak": STATE["peak"], "left": SCRIPT}).encode(), {})


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    host, port = writer.get_extra_info("sockname")[:2]
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            first, *lines = head.decode().strip().split("\r\n")
            method, path, _ = first.split(" ")
            sent = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            raw = await reader.readexactly(int(sent.get("content-length", "0")))
            path = path.partition("?")[0]
            if path == "/control":
                await control(writer, method, raw)
            elif path.startswith(("/v1/batches", "/v1/files")):
                if not await answer_openai_batch(writer, method, path, raw):
                    break
            elif "/batches" in path:
                if not await answer_batch(writer, method, path, raw, f"http://{host}:{port}"):
                    break
            elif path.endswith("/count_tokens"):
                CALLS.append({"path": path, "body": json.loads(raw), "kind": "count"})
                await send(writer, 200, json.dumps({"input_tokens": len(prompt_of(json.loads(raw)))}).encode(), {})
            else:
                log = STATE["log"]
                STATE["in_flight"] += 1
                STATE["peak"] = max(STATE["peak"], STATE["in_flight"])
                try:
                    stays = await answer_model(writer, path, raw, sent)
                finally:
                    STATE["in_flight"] -= log == STATE["log"]
                if not stays:
                    break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    server = await asyncio.start_server(serve, "127.0.0.1", parser.parse_args().port, limit=2**26, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # it ends with the process that started it, open connections or not


if __name__ == "__main__":
    asyncio.run(main())
