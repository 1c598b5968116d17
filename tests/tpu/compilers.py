"""Many programs through libtpu: child processes by batch, time limits, one by one where a child died.

The largest programs go first, so that none is left to one process at the end.
"""

import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
# A process takes 0.6 s of CPU to start, a program 0.05 s.
BATCH = 256
# Bytes of text from which a program has a process of its own.
LARGE = 100_000
# Seconds of CPU for one answer (the backward pass of resnet18 takes 160), and to start a process.
LIMIT, START = 900, 60
# Seconds without any use of the CPU: a hang. A process may be stopped for minutes while others measure.
STALL = 300


class Child:
    def __init__(self, topology):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "aot.py"), topology],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.lines, self.errors, self.is_late = queue.Queue(), [], False
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.drain, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def drain(self):
        for line in self.process.stderr:
            self.errors = (self.errors + [line.strip()])[-40:]

    def cpu_seconds(self):
        """Of the process and its threads; 0 when it is gone."""
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait(self, limit):
        """The next line, None: the process has ended. queue.Empty after `limit` seconds of CPU or a hang."""
        began = used = self.cpu_seconds()
        since = time.monotonic()
        while True:
            try:
                return self.lines.get(timeout=min(5, limit))
            except queue.Empty:
                now = self.cpu_seconds()
                if now > used:
                    used, since = now, time.monotonic()
                if now - began >= limit or time.monotonic() - since >= min(limit, STALL):
                    raise

    def ask(self, path, limit):
        """The answer, or None after a death or `limit` seconds (wait); `why` says which."""
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
            line = self.wait(limit)
        except queue.Empty:
            self.why, self.is_late = f"no answer in {limit} s of CPU, or none was used", True
            return None
        except OSError:
            line = None
        if line is None:
            code = self.process.wait()
            fatal = [e for e in self.errors if e.startswith("F") or "Check failed" in e] or self.errors[-1:]
            self.why = f"the compiler ended with status {code}: {' '.join(fatal)[:300]}"
            return None
        return json.loads(line)

    def close(self):
        self.process.kill()
        self.process.wait()


def compile_all(paths, topology, jobs=2, progress=None, until=float("inf")):
    """path -> report. A program that kills or stalls the compiler gets the status "died". What was not begun by
    `until` (time.monotonic) is left out."""
    waiting = queue.Queue()
    paths = sorted(map(str, paths), key=os.path.getsize, reverse=True)
    while paths and os.path.getsize(paths[0]) > LARGE:
        waiting.put([paths.pop(0)])
    size = min(BATCH, max(32, len(paths) // (4 * jobs)))
    for i in range(0, len(paths), size):
        waiting.put(paths[i : i + size])
    answers, lock = {}, threading.Lock()

    def keep(path, answer):
        with lock:
            answers[path] = answer
            if progress:
                progress(path, answer)

    def batch(programs, limit):
        """Programs without an answer, why, and whether the first took too long."""
        child = Child(topology)
        try:
            for number, path in enumerate(programs):
                if time.monotonic() > until:
                    break
                answer = child.ask(path, limit + (START if number == 0 else 0))
                if answer is None:
                    return programs[number:], child.why, child.is_late
                keep(path, answer)
        finally:
            child.close()
        return [], None, False

    def work():
        while True:
            try:
                programs = waiting.get_nowait() if time.monotonic() < until else []
            except queue.Empty:
                return
            if not programs:
                return
            while programs:
                programs, why, is_late = batch(programs, LIMIT)
                if programs:  # the first had no answer
                    first, programs, left = programs[0], programs[1:], True
                    if not is_late:  # a process of its own: then only it can be to blame
                        left, why, _ = batch([first], LIMIT)
                    if left:
                        keep(first, {"path": first, "status": "died", "reason": why})

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
