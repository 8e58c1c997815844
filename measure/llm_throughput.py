"""How fast the LLM client is against what the provider allows: calls of a fixed delay, a bound in flight, then the same run from the cache.

Prints the ratio to the ideal, calls * delay / in_flight, and the processor time a call. The provider is the tests' played server in a
process of its own, and the real SDK talks to it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.limits import Limits
from ml.llm.requests import Request
from ml.vocabulary import Status

SERVER = Path(__file__).parent.parent / "tests" / "ml" / "llm" / "played_provider.py"


def control(url: str, wanted: dict | None) -> dict:
    data = json.dumps(wanted).encode() if wanted is not None else None
    with urllib.request.urlopen(urllib.request.Request(f"{url}/control", data=data), timeout=20) as response:
        return json.load(response)


def measure(backend: AnthropicBackend | OpenAIBackend, url: str, calls: int, delay_s: float, in_flight: int) -> bool:
    """Prints one table; true where both bounds hold."""
    requests = [Request(f"row {place}", "echo", {}, "Answer briefly.", f"question {place}") for place in range(calls)]
    ideal_s = calls * delay_s / in_flight
    with tempfile.TemporaryDirectory() as folder:
        cache = ReplyCache(Path(folder) / "replies.sqlite")
        control(url, {"settings": {"delay_s": delay_s}})
        began, used = time.perf_counter(), time.process_time()
        replies = Client(backend, cache, limits=Limits(in_flight=in_flight)).run(requests)
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - used
        log = control(url, None)
        right = all(reply.status is Status.OK and reply.text == f"echo question {place}" for place, reply in enumerate(replies))
        control(url, {})
        began = time.perf_counter()
        again = Client(backend, cache, limits=Limits(in_flight=in_flight)).run(requests)
        cached_s = time.perf_counter() - began
        repeated = len(control(url, None)["calls"])
        same = [reply.text for reply in again] == [reply.text for reply in replies]
        cache.close()
    print(f"{backend.provider}: {calls} calls of {delay_s:g} s, {in_flight} in flight (peak {log['peak']})")
    ratio = wall_s / ideal_s
    print(f"  first run   {wall_s:6.2f} s, ideal {ideal_s:.2f} s, ratio {ratio:.3f}; {cpu_s / calls * 1e3:.2f} ms of processor a call")
    print(f"  cached run  {cached_s:6.2f} s, {repeated} calls; replies {'right' if right and same else 'WRONG'}")
    return right and same and repeated == 0 and cached_s < 2.0 and ratio <= 1.15 and log["peak"] <= in_flight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that the provider takes")
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--backend", choices=("anthropic", "openai", "both"), default="anthropic")
    chosen = parser.parse_args()
    with subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        backends: list[AnthropicBackend | OpenAIBackend] = []
        if chosen.backend in ("anthropic", "both"):
            backends.append(AnthropicBackend("claude-haiku-4-5", api_key="none", base_url=url))
        if chosen.backend in ("openai", "both"):
            backends.append(OpenAIBackend("gpt-4o-mini", base_url=f"{url}/v1"))
        held = [measure(backend, url, chosen.calls, chosen.delay, chosen.in_flight) for backend in backends]
        server.stdin.close()
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
