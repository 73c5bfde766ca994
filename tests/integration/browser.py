"""A real Chromium without a window, driven over WebDriver: pages from files, keys and pointer, what it logs and asks for.

Only the standard library: what is needed of the protocol is a few requests.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import harness

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--force-device-scale-factor=1", "--hide-scrollbars"
]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# How long an answer may take: only a browser that hangs takes longer, also where it gets a tenth of a processor.
ANSWER_S = 300


def missing():
    """What of Chromium is not there, or nothing."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"no {program} here: install chromium and chromium-driver"
    return None


class BrowserError(AssertionError):
    """The browser refused a command."""


class Browser:
    """One browser with an empty profile of its own; `close` ends it."""

    def __init__(self, width=1280, height=900):
        self._profile = tempfile.mkdtemp(prefix="plimsoll-browser-")
        self._session = None
        self._driver = None
        try:
            self._base = f"http://127.0.0.1:{self._start_driver()}"
            options = {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS, f"--user-data-dir={self._profile}", f"--window-size={width},{height}"],
            }
            self._session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }}})["sessionId"]
        except BaseException:
            self.close()
            raise

    def _start_driver(self):
        """Returns its port. A driver that draws a port which is taken, for one of the two kinds of addresses, ends."""
        for _ in range(3):
            # A group of its own, so that the browser ends with its driver in any case.
            self._driver = subprocess.Popen(["chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, start_new_session=True)
            for line in self._driver.stdout:
                match = re.search(r"started successfully on port (\d+)", line)
                if match:
                    return match.group(1)
            self._driver.stdout.close()
            self._driver.wait()
            self._driver = None
        raise BrowserError("chromedriver did not start")

    def close(self):
        if self._session is not None:
            try:
                self._call("DELETE", f"/session/{self._session}")
            except (OSError, BrowserError):
                pass  # It is ended below.
        if self._driver is not None:
            try:
                os.killpg(self._driver.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._driver.wait(ANSWER_S)
            self._driver.stdout.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        # Never through a proxy: the driver is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=ANSWER_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            told = json.load(error)["value"]
            raise BrowserError(f"{told['error']}: {told['message']}") from None

    def _do(self, method, path, body=None):
        return self._call(method, f"/session/{self._session}{path}", body)

    def open(self, path):
        """Loads a file and waits until it is loaded."""
        self._do("POST", "/url", {"url": pathlib.Path(path).resolve().as_uri()})

    def script(self, code, *arguments):
        """Runs the body of a function in the page and returns what it returns."""
        return self._do("POST", "/execute/sync", {"script": code, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self._do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def set_size(self, width, height, mobile=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def set_dark(self, dark):
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def find(self, selector):
        return self._do("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._do("POST", f"/element/{self.find(selector)}/click", {})

    def keys(self, *keys):
        """Types keys to whatever has the focus; several at once where one is a tuple."""
        actions = []
        for key in keys:
            together = key if isinstance(key, tuple) else (key,)
            actions += [{"type": "keyDown", "value": one} for one in together]
            actions += [{"type": "keyUp", "value": one} for one in reversed(together)]
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def pointer(self, *steps):
        """Moves the mouse: ("move", x, y) in the window, ("down",), ("up",)."""
        actions = []
        for step in steps:
            if step[0] == "move":
                actions.append({"type": "pointerMove", "duration": 0, "x": round(step[1]), "y": round(step[2])})
            else:
                actions.append({"type": "pointerDown" if step[0] == "down" else "pointerUp", "button": 0})
        self._do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def console(self):
        """What the page has said since the last call: errors, warnings, and everything else."""
        return [f"{entry['level']}: {entry['message']}" for entry in self._do("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """Every address that was asked for since the last call."""
        found = []
        for entry in self._do("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def picture(self, x, y, width, height):
        """A part of the page, which need not be in sight, as PNG."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True,
                             clip={"x": x, "y": y, "width": width, "height": height, "scale": 1})
        return base64.b64decode(shot["data"])

    def pdf(self):
        return base64.b64decode(self.devtools("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])


@unittest.skipIf(missing(), missing())
class BrowserTest(harness.PlimsollTest):
    """Tests of pages, in one browser for all of a class."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.browser.set_size(1280, 900)
        self.browser.set_dark(False)
        self.browser.open("/dev/null")
        self.browser.console()
        self.browser.requests()

    def assert_quiet(self):
        """The page has complained of nothing, and has asked for nothing but itself."""
        self.assertEqual(self.browser.console(), [])
        for url in self.browser.requests():
            self.assertRegex(url, "^file://")
