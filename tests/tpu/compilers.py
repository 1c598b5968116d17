"""Many programs through libtpu: child processes by batch, time limits, one by one where a child died."""

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
# Seconds of CPU for one answer (libtpu takes a minute for a whole gradient), and to start a process; as many
# without any use of the CPU are a hang. A machine with other work makes neither.
LIMIT, START = 300, 60


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
        self.lines, self.errors = queue.Queue(), []
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
        """The next line, None: the process has ended. queue.Empty after `limit` seconds of or without CPU."""
        began = used = self.cpu_seconds()
        since = time.monotonic()
        while True:
            try:
                return self.lines.get(timeout=min(5, limit))
            except queue.Empty:
                now = self.cpu_seconds()
                if now > used:
                    used, since = now, time.monotonic()
                if now - began >= limit or time.monotonic() - since >= limit:
                    raise

    def ask(self, path, limit):
        """The answer, or None after a death or `limit` seconds (wait); `why` says which."""
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
            line = self.wait(limit)
        except queue.Empty:
            self.why = f"no answer in {limit} s of CPU, or none was used"
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


def compile_all(paths, topology, jobs=2, progress=None):
    """path -> report. A program that kills or stalls the compiler gets the status "died"."""
    waiting = queue.Queue()
    paths = [str(p) for p in paths]
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
        """Programs without an answer, and why."""
        child = Child(topology)
        try:
            for number, path in enumerate(programs):
                answer = child.ask(path, limit + (START if number == 0 else 0))
                if answer is None:
                    return programs[number:], child.why
                keep(path, answer)
        finally:
            child.close()
        return [], None

    def work():
        while True:
            try:
                programs = waiting.get_nowait()
            except queue.Empty:
                return
            while programs:
                programs, _ = batch(programs, LIMIT)
                if programs:  # the first had no answer: a process of its own, so that only it can be to blame
                    first, programs = programs[0], programs[1:]
                    left, why = batch([first], LIMIT)
                    if left:
                        keep(first, {"path": first, "status": "died", "reason": why})

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
