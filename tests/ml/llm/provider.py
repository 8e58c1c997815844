"""Handle of the played provider, for tests. The server itself is ``played_provider.py``, a process of its own."""

import json
import urllib.request


class Provider:
    """Handle of the server process in ``played_provider.py``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def play(self, *script: dict, **settings: object) -> None:
        """Sets the behaviours and empties the log."""
        self._control({"script": list(script), "settings": settings})

    def play_on(self, *script: dict) -> None:
        """Sets the behaviours and keeps the log."""
        self._control({"script": list(script), "keep_log": True})

    def calls(self) -> list[dict]:
        return self._control(None)["calls"]

    def peak(self) -> int:
        return self._control(None)["peak"]

    def _control(self, wanted: dict | None) -> dict:
        data = json.dumps(wanted).encode() if wanted is not None else None
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/control", data=data), timeout=20) as response:
            return json.load(response)
