"""The review page through HTTP: a server process as `interject review` runs it, with films, killed and started again."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import av
import httpx
import polars as pl
import pytest

from ml.tables.store import TableStore, encode_key
from ml.validity.answers import AnswerLog
from ml.validity.sample import draw_sample
from tests.ml.comist.made import recording, recordings
from tests.ml.counterfactuals.conftest import make_narrations
from tests.ml.validity.made import checks, pair, pairs
from tests.ml.video.films import make_film, number_of

PAIRS = 5
ANN = f"/review/{encode_key('Ann / Ä')}"


@pytest.fixture
def data(tmp_path) -> Path:
    film = make_film(tmp_path / "film.mp4", 250)  # 10 s, picture k at k / 25 s
    rows = [pair(f"p{n}", clip_start_s=2.0 + n, clip_end_s=5.0 + n, t_s=3.0 + n) for n in range(PAIRS - 1)]
    rows.append(pair("gone", "cook/2", instruction="Stir <b>well</b>"))
    known = recordings(recording("cook/1", video_path=str(film)), recording("cook/2", video_path=str(tmp_path / "gone.mp4")))
    store = TableStore(tmp_path / "data" / "tables")
    store.write("validity_sample", draw_sample(pairs(*rows), known))
    told = make_narrations("The person opens a bag.", "The person adds rice.", recording_id="cook/1")
    store.write("narrations", told, "cook/1")
    store.write("validity_check", checks(p0="yyn"), "cook/1")
    return tmp_path / "data"


@dataclass
class Server:
    process: subprocess.Popen[str]
    client: httpx.Client

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.process.pid, number)
        self.process.wait(20)


def start(data: Path) -> Server:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "INTERJECT_DATA": str(data)}
    command = [sys.executable, "-c", "from dagster_project.cli import main; main()", "review", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False)
    for _ in range(600):
        try:
            client.get("/")
            return Server(process, client)
        except httpx.TransportError:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
    raise TimeoutError


@pytest.fixture
def server(data) -> Iterator[Server]:
    made = start(data)
    yield made
    if made.process.poll() is None:
        made.kill(signal.SIGINT)


def place(data: Path, pair_id: str) -> int:
    sample = TableStore(data / "tables").read("validity_sample")
    return int(sample.filter(pl.col("pair_id") == pair_id)["position"][0])


def send(client: httpx.Client, position: int, field: str, value: str, reviewer: str = ANN) -> httpx.Response:
    return client.post(f"{reviewer}/{position}/answer", data={"field": field, "value": value})


def complete(client: httpx.Client, position: int, at_s: float, reviewer: str = ANN) -> None:
    for field in ("different", "feasible", "of_type"):
        assert send(client, position, field, "yes", reviewer).status_code == 200
    assert send(client, position, "apparent_s", str(at_s), reviewer).status_code == 200


def test_a_review_from_the_name_to_the_summary(server, data):
    client = server.client
    begun = client.post("/begin", data={"reviewer": " Ann / Ä "})
    assert (begun.status_code, begun.headers["location"]) == (303, ANN)
    assert client.get(ANN).headers["location"] == f"{ANN}/0"
    p0 = place(data, "p0")
    page = client.get(f"{ANN}/{p0}").text
    for shown in ("Add 3 cups of rice", "Add 2 cups of rice", "You add 3 cups; 2 were asked.", "The person opens a bag.", "/clip/p0"):
        assert shown in page
    assert "how much or how many" in page
    assert "veiled" in page  # the inferred time waits for the reviewer's own
    panel = send(client, p0, "different", "yes").text
    assert 'aria-pressed="true"' in panel
    assert "0 of 5 done" in panel
    complete(client, p0, 3.25)
    page = client.get(f"{ANN}/{p0}").text
    assert "yours 1.2 s" in page
    assert "veiled" not in page
    assert "1 of 5 done" in page
    assert client.get(f"{ANN}?after={p0}").headers["location"] != f"{ANN}/{p0}"
    for other in (n for n in range(PAIRS) if n != p0):
        for field, value in (("different", "no"), ("feasible", "yes"), ("of_type", "yes")):
            send(client, other, field, value)
    assert client.get(ANN).headers["location"] == "/summary"
    summary = client.get("/summary").text
    assert "20.0 %" in summary
    assert "5 of 5" in summary
    assert "(-2.5, 2.5) s" in summary
    told = AnswerLog(data / "review" / "answers.sqlite").answers()
    assert {answer.reviewer for answer in told} == {"Ann / Ä"}
    assert sum(bool(answer.is_valid) for answer in told) == 1


def test_a_busy_port_is_told_before_its_address(data):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-c", "from dagster_project.cli import main; main()", "review", "--no-browser", "--port", str(port)]
        environment = {**os.environ, "INTERJECT_DATA": str(data)}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"interject: field port: port {port} of 127.0.0.1 is in use. End the program")


def test_a_full_disk_is_told_and_costs_no_more_than_the_click(server):
    assert send(server.client, 0, "different", "yes").status_code == 200
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (100, before[1]))
    refused = send(server.client, 0, "feasible", "yes")
    assert refused.status_code == 507
    assert refused.text == "the disk is full, limited or broken. Free some space or mend the disk, then repeat the click"
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
    assert send(server.client, 0, "feasible", "yes").status_code == 200


def test_answers_change_and_undo_leads_back_to_their_pair(server, data):
    client = server.client
    complete(client, 0, TableStore(data / "tables").read("validity_sample")["t_s"][0])
    send(client, 1, "different", "no")
    send(client, 1, "different", "open")
    assert "1: new" not in client.get(f"{ANN}/1").text
    for _ in range(2):
        assert client.post(f"{ANN}/undo").headers["hx-redirect"] == f"{ANN}/1"
    assert client.post(f"{ANN}/undo").headers["hx-redirect"] == f"{ANN}/0"
    page = client.get(f"{ANN}/0").text
    assert "0 of 5 done" in page
    assert 'class="mark yours' not in page
    send(client, 0, "comment", "Hard  to see &\nso on")
    assert 'value="Hard to see &amp; so on"' in client.get(f"{ANN}/0").text


def test_nothing_is_lost_on_kill_and_restart(server, data):
    complete(server.client, 2, TableStore(data / "tables").read("validity_sample")["t_s"][2])
    send(server.client, 3, "feasible", "no")
    server.kill()
    again = start(data)
    try:
        assert "1 of 5 done" in again.client.get(f"{ANN}/2").text
        assert re.search(r'aria-pressed="true" data-key="w', again.client.get(f"{ANN}/3").text)
        assert "Ann / Ä" in again.client.get("/").text
    finally:
        again.kill(signal.SIGINT)


def test_two_browsers_of_one_reviewer_and_of_two(server):
    work = [
        (who, position, field) for who in (ANN, "/review/Ben") for position in range(4) for field in ("different", "feasible", "of_type")
    ]

    def post(item):
        who, position, field = item
        return send(server.client, position, field, "no", who).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(post, work)) == {200}
    for who in (ANN, "/review/Ben"):
        assert "4 of 5 done" in server.client.get(f"{who}/0").text
    summary = server.client.get("/summary").text
    assert "Ann / Ä &amp; Ben" in summary


def test_the_clip_is_what_the_step_shows_and_is_served_by_range(server, data, tmp_path):
    whole = server.client.get("/clip/p1")  # 3 s to 6 s
    assert whole.headers["content-type"] == "video/mp4"
    part = server.client.get("/clip/p1", headers={"Range": "bytes=100-299"})
    assert part.status_code == 206
    assert part.content == whole.content[100:300]
    assert part.headers["content-range"] == f"bytes 100-299/{len(whole.content)}"
    (tmp_path / "clip.mp4").write_bytes(whole.content)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert [number_of(frame.to_ndarray(format="rgb24")) for frame in frames] == list(range(75, 150))
        assert [round(float(frame.time), 3) for frame in frames[:3]] == [0.0, 0.04, 0.08]
    assert whole.content.index(b"moov") < whole.content.index(b"mdat")  # players begin before the end has come


def test_what_cannot_be_is_refused_in_words(server, data):
    client = server.client
    assert client.get("/clip/gone").status_code == 422
    assert "gone.mp4" in client.get("/clip/gone").text
    assert client.get("/clip/unknown").status_code == 404
    assert client.get(f"{ANN}/99").status_code == 404
    for odd in ("--5", "-5", "²", "٣", "9" * 5000, "x", ""):
        assert client.get(ANN, params={"after": odd}).headers["location"] == f"{ANN}/0"
    assert client.post("/begin", data={"reviewer": "  "}).status_code == 422
    for field, value in (("different", "maybe"), ("apparent_s", "900"), ("apparent_s", "nan"), ("valid", "yes"), ("", "")):
        assert send(client, 0, field, value).status_code == 422
    assert not AnswerLog(data / "review" / "answers.sqlite").answers()
    page = client.get(f"{ANN}/{place(data, 'gone')}").text
    assert "Stir &lt;b&gt;well&lt;/b&gt;" in page


def test_another_site_can_neither_answer_nor_ask(server):
    other = {"Sec-Fetch-Site": "cross-site"}
    assert server.client.post(f"{ANN}/0/answer", data={"field": "different", "value": "no"}, headers=other).status_code == 403
    assert server.client.post(f"{ANN}/undo", headers=other).status_code == 403
    assert server.client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_all_files_come_from_the_page_itself(server):
    page = server.client.get(f"{ANN}/0").text
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert not [link for link in links if link.startswith(("http", "//"))]
    for link in {link for link in links if link.startswith("/static/")}:
        assert server.client.get(link).status_code == 200


def test_without_a_sample_the_command_says_what_to_do(tmp_path):
    code = "from dagster_project.cli import main; main()"
    environment = {**os.environ, "INTERJECT_DATA": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code, "review", "--no-browser"], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "validity_sample" in run.stderr
