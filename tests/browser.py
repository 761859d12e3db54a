"""A headless Chromium for tests of pages, steered through a pipe: no driver and no package are needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 60


def chromium() -> str:
    """The program; the test is skipped where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs Chromium: apt-get install -y chromium")
    return path


class Browser:
    """One page. `with Browser() as browser: browser.open(path, width)`."""

    def __enter__(self) -> Browser:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # what the browser reads, and what it writes
        command = [chromium(), *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"]
        # the browser has its ends as 3 and 4
        script = f'exec 3<&{ours[0]} 4>&{theirs[1]} "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command], pass_fds=(ours[0], theirs[1]), stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read = ours[1], theirs[0]
        self.number, self.session, self.buffer, self.events = 0, "", b"", []
        target = self.call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in target if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the Chrome DevTools Protocol; events that come meanwhile are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)
        raise TimeoutError(method)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            chunk = os.read(self.read, 1 << 20)
            if not chunk:
                raise ConnectionError("the browser has ended")
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path: Path, width: int, height: int = 900) -> None:
        """Opens a file in a window of that many CSS pixels, and waits until its charts are drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.visit(path.resolve().as_uri())

    def visit(self, address: str) -> None:
        """Opens a page in the window as it is."""
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE_S
        while self.value("document.readyState") != "complete":
            assert time.monotonic() < deadline, "the page was not loaded"
            time.sleep(0.1)
        time.sleep(0.3)

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, words: str) -> bool:
        """Presses the first button that can be seen and whose text begins so. False where there is none, or it cannot be pressed."""
        script = """[...document.querySelectorAll("button, a[role=button]")].find(
            each => each.innerText.trim().startsWith(%s) && each.offsetParent && !each.disabled)"""
        return bool(self.value(f"(each => each ? (each.click(), true) : false)({script % json.dumps(words)})"))

    def requests(self) -> list[str]:
        """What the page has asked for since it was opened, the page itself left out."""
        urls = [
            each["params"]["request"]["url"] for each in self.events if each["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]

    def faults(self) -> list[str]:
        """Errors of scripts, and of what the page may not do."""
        errors = [str(each["params"]) for each in self.events if each["method"] == "Runtime.exceptionThrown"]
        entries = [each["params"]["entry"] for each in self.events if each["method"] == "Log.entryAdded"]
        return errors + [entry["text"] for entry in entries if entry["level"] == "error"]

    def screenshot(self, file: Path) -> None:
        """The whole page as PNG."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        file.write_bytes(base64.b64decode(shown["data"]))

    def pdf(self, file: Path) -> None:
        """The page as the browser prints it."""
        printed = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        file.write_bytes(base64.b64decode(printed["data"]))
