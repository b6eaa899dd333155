"""Chromium without a window, driven through a pipe by the DevTools protocol: no port, and no package for it."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

from mount_harness import LIMIT, tool

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
KEYS = {"Escape": 27, "Enter": 13, "Tab": 9}


def program():
    return tool(*PROGRAMS)


class Browser:
    """One page. @home: a directory for its profile, which is removed at the end."""

    def __init__(self, home, width=1000, height=600):
        self.home, self.number, self.waiting, self.errors = home, 0, b"", []
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        def pipes():  # 3 and 4, by way of numbers that are neither
            low, high = os.dup2(to_read, 30), os.dup2(to_write, 31)
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--user-data-dir=" + home, "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=home))
        os.close(to_read)
        os.close(to_write)
        self.session = None
        (page,) = (t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def stop(self):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.home, ignore_errors=True)

    def receive(self, end):
        """The next message."""
        while b"\0" not in self.waiting:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("no answer from the browser")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise ConnectionError("the browser has ended")
            self.waiting += data
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def take(self, message):
        """Keeps what went wrong in the page."""
        if message.get("method") == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif message.get("method") == "Page.javascriptDialogOpening":
            self.errors.append("dialog: " + message["params"]["message"])
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"]["text"])

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + LIMIT
        while True:
            answer = self.receive(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.take(answer)

    def open(self, path):
        """Opens a file, and returns when it is loaded."""
        self.ask("Page.navigate", url="file://" + path)
        end = time.monotonic() + LIMIT
        while self.evaluate("document.readyState + location.href") != "complete" + "file://" + path:
            if time.monotonic() > end:
                raise TimeoutError(path)
            time.sleep(0.01)

    def evaluate(self, expression):
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", expression))
        return found["result"].get("value")

    def point(self, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        self.point(x, y)
        for kind in "mousePressed", "mouseReleased":
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name):
        """One key: that of a character, or one of KEYS."""
        text = {} if name in KEYS else {"text": name}
        code = KEYS.get(name, ord(name[0].upper()))
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def dark(self, wanted=True):
        value = "dark" if wanted else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
