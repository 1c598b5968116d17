"""Many short programs, each in a process of its own, for the price of one `import torch`: forked before the device opens."""

import json
import os
import subprocess
import sys

PARENT = """
import json, os, signal, sys, tempfile, time
import torch

def child(code, environment, out, error):
    signal.signal(signal.SIGINT, signal.default_int_handler)   # a background job of a script starts with it ignored
    os.dup2(out, 1)
    os.dup2(error, 2)
    for name, value in environment.items():
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    exec(compile(code, "program", "exec"), {"__name__": "__main__", "torch": torch})

jobs, limit, results = *json.load(sys.stdin), {}
for name, (code, environment) in jobs.items():
    files = [tempfile.TemporaryFile("w+") for _ in range(2)]
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        child(code, environment, files[0].fileno(), files[1].fileno())
        sys.exit(0)     # the whole way out: what it finds is under test
    end, status = time.monotonic() + limit, None
    while status is None:
        done, status_ = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(status_)
        elif time.monotonic() > end:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            status = "hangs"
        else:
            time.sleep(0.01)
    texts = []
    for file in files:
        file.seek(0)
        texts.append(file.read())
    results[name] = [status, *texts]
print("RESULTS" + json.dumps(results))
"""


def run_forked(programs: dict, limit: float = 60) -> dict:
    """name -> code, or (code, environment); gives name -> [exit code or "hangs", stdout, stderr]."""
    jobs = {name: [job, {}] if isinstance(job, str) else list(job) for name, job in programs.items()}
    done = subprocess.run(
        [sys.executable, "-c", PARENT],
        input=json.dumps([jobs, limit]),
        capture_output=True,
        text=True,
        timeout=limit * (len(jobs) + 1),
        env=dict(os.environ),
    )
    assert done.returncode == 0 and "RESULTS" in done.stdout, (
        done.returncode,
        done.stdout[-500:],
        done.stderr[-3000:],
    )
    return json.loads(done.stdout.split("RESULTS")[1])
