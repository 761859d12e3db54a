"""Takes the screenshots of docs/images from a running Dagster UI, in a headless Chromium.

    apt-get install -y chromium chromium-driver    # Debian's names; once
    .venv/bin/pip install -c constraints.txt -e '.[screenshots]'
    .venv/bin/tracehouse run birch larch           # so that there is something to see
    .venv/bin/tracehouse ui &                      # leave it running, and drop a log into its inbox
    .venv/bin/python docs/take_screenshots.py --report warehouse/data/reports/larch.html

Every picture is taken only after the text that it is about has appeared; otherwise the script says what is missing and
ends with status 1, and it does so too if a page asked any other host for anything.
"""

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from PIL import Image
from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDTH, HEIGHT = 1700, 1000
MOST_BYTES = 250_000
PATIENCE_S = 60


class NotSeen(Exception):
    """Something that must be on a page is not there."""


class Camera:
    """A browser that looks at one UI and keeps pictures in one folder."""

    def __init__(self, browser: webdriver.Chrome, url: str, out: Path) -> None:
        self.browser, self.url, self.out = browser, url.rstrip("/"), out

    def open(self, path: str, *texts: str) -> None:
        """Opens a page of the UI and waits until it shows every one of `texts`."""
        self.browser.get(self.url + path)
        for text in texts:
            self.wait_for(f"the text {text!r}", f"//*[text()[contains(., {json.dumps(text)})]]")

    def wait(self) -> WebDriverWait[webdriver.Chrome]:
        return WebDriverWait(self.browser, PATIENCE_S, ignored_exceptions=[WebDriverException])

    def wait_for(self, what: str, xpath: str) -> WebElement:
        def shown(browser: webdriver.Chrome) -> WebElement | Literal[False]:
            return next((e for e in browser.find_elements(By.XPATH, xpath) if e.is_displayed()), False)

        try:
            return self.wait().until(shown)
        except TimeoutException:
            raise NotSeen(f"{self.browser.current_url} did not show {what} within {PATIENCE_S} s") from None

    def click(self, what: str, xpath: str) -> None:
        self.wait_for(what, xpath).click()

    def size(self, width: int = WIDTH, height: int = HEIGHT, scale: float = 1.0) -> None:
        """Sets the page's size in CSS pixels, and how many pixels of the picture make one of them."""
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
        )

    def take(self, name: str) -> None:
        """Keeps what is seen now as `name`.png, in as few colours as make it small enough."""
        time.sleep(1.5)  # spinners and fades
        picture = Image.open(io.BytesIO(self.browser.get_screenshot_as_png())).convert("RGB")
        for colours in (256, 128, 64, 32):
            packed = io.BytesIO()
            picture.quantize(colours, dither=Image.Dither.NONE).save(packed, format="png", optimize=True)
            if packed.tell() < MOST_BYTES:
                break
        path = self.out / f"{name}.png"
        path.write_bytes(packed.getvalue())
        print(f"{path}  {picture.width} x {picture.height}, {packed.tell() / 1000:.0f} kB")

    def other_hosts(self) -> set[str]:
        """Hosts that were asked for anything so far, other than the UI's own."""
        found = set()
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.add(message["params"]["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                found.add(message["params"]["url"])
        remote = [urlsplit(url) for url in found if urlsplit(url).scheme in ("http", "https", "ws", "wss")]
        return {address.netloc for address in remote} - {urlsplit(self.url).netloc}


def asset_metadata(camera: Camera, asset: str, source: str, key: str, name: str) -> None:
    """An asset's metadata for one source, with the plot under `key` opened: Dagster shows long Markdown on a click."""
    camera.open(f"/assets/{asset}?view=partitions&partition={source}", "Metadata", key)
    row = f"//tr[.//*[normalize-space(text())='{key}'] or normalize-space(td[1])='{key}']"
    camera.click(f"the plot {key!r}", f"{row}//*[contains(text(), 'Show Markdown')]")
    plot = camera.wait_for(f"the plot {key!r}", "//img[starts-with(@src, 'data:image/png')]")
    if not camera.browser.execute_script("return arguments[0].complete && arguments[0].naturalWidth > 100", plot):
        raise NotSeen(f"the plot {key!r} of {asset} is there but was not drawn")
    camera.take(name)


def asset_checks(camera: Camera) -> None:
    camera.open("/assets/core/jobs?view=checks", "every_record_is_a_job", "times_are_ordered", "Execute")
    camera.take("asset-checks")


def schedule(camera: Camera) -> None:
    camera.size(height=560)
    camera.open("/locations/pipelines.definitions/schedules/nightly_retraining", "nightly_retraining", "0 3 * * *")
    camera.take("schedule")


def sensor(camera: Camera) -> None:
    """The sensor, and which of its ticks in the last hour asked for a run: drop a log into the inbox for one."""
    camera.size(height=660)
    camera.open("/locations/pipelines.definitions/sensors/inbox_sensor", "inbox_sensor", "Latest tick", "Evaluations")
    if not camera.browser.find_elements(By.CSS_SELECTOR, "input[type=checkbox]:checked"):
        raise NotSeen("inbox_sensor is not running")
    camera.click("the ticks of an hour", "//button[normalize-space()='1hr']")
    camera.click("the choice of ticks", "//button[contains(., 'All ticks')]")
    camera.click("the choice of ticks that asked for runs", "//*[@role='menuitem'][contains(., 'Requested')]")
    camera.take("sensor")


def report(camera: Camera, path: Path) -> None:
    """The top of a report, what would change, and the top on a phone."""
    camera.size(1280, 1250)
    camera.browser.get(path.resolve().as_uri())
    camera.wait_for("the summary", "//h2[text()='Summary']")
    camera.wait_for("a chart", "//*[starts-with(@id, 'chart-started-within-')]")
    camera.take("report")
    camera.wait_for("the comparison", "//h2[text()='What would change']")
    camera.browser.execute_script("document.getElementById('what-would-change').scrollIntoView()")
    camera.take("report-changes")
    camera.size(390, 844, scale=2)
    camera.browser.execute_script("window.scrollTo(0, 0)")
    camera.take("report-phone")
    camera.size()


@contextmanager
def opened(chrome: Path, driver: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(chrome)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service(str(driver)))
        try:
            yield browser
        finally:
            browser.quit()


def main() -> int:
    parser = argparse.ArgumentParser(description="Screenshots of a running `tracehouse ui`.")
    parser.add_argument("--url", default="http://127.0.0.1:3000", help="address of the UI (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="folder of the pictures (%(default)s)")
    parser.add_argument("--report", type=Path, help="an HTML report, for its three pictures")
    parser.add_argument("--only-report", action="store_true", help="leave out the pictures of the UI")
    parser.add_argument("--source", default="larch", help="source whose metadata is shown (%(default)s)")
    parser.add_argument("--chrome", type=Path, default=Path("/usr/bin/chromium"))
    parser.add_argument("--driver", type=Path, default=Path("/usr/bin/chromedriver"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with opened(args.chrome, args.driver) as browser:
        camera = Camera(browser, args.url, args.out)
        camera.size()
        try:
            if not args.only_report:
                asset_metadata(camera, "policies/scheduling_policy", args.source, "training", "asset-metadata")
                asset_checks(camera)
                schedule(camera)
                sensor(camera)
            if args.report:
                report(camera, args.report)
            if hosts := camera.other_hosts():
                raise NotSeen(f"the pages asked other hosts: {', '.join(sorted(hosts))}")
        except NotSeen as missing:
            print(f"error: {missing}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
