"""Ports are taken, or refused in words, before anything else is done."""

import socket

import pytest
from typer.testing import CliRunner

from dagster_project.cli import app
from dagster_project.listening import free_port, listen
from ml.errors import InputError


def test_what_listens_answers_and_its_port_is_busy():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 is in use"):
            listen("127.0.0.1", port)
    assert free_port("127.0.0.1", port) == port
    assert free_port("127.0.0.1", 0) > 0


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host.invalid"])
def test_an_address_that_is_not_this_machines_is_refused(host):
    with pytest.raises(InputError, match="field host: this machine cannot listen"):
        listen(host, 0)


def test_the_ui_does_not_start_on_a_busy_port(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path / "data"))
    with listen("127.0.0.1", 0) as taken:
        result = CliRunner().invoke(app, ["ui", "--port", str(taken.getsockname()[1])])
    assert isinstance(result.exception, InputError)
    assert (result.exception.field, result.output) == ("port", "")
    assert not (tmp_path / "data").exists()
