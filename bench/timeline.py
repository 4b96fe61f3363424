"""sysbench's read_write with what every transaction took (timeline.lua)."""

import subprocess
from pathlib import Path

from servers import die_with_parent, fail, sql, which

SCRIPT = Path(__file__).resolve().parent / "timeline.lua"


class Load:
    """Runs read_write on tables of its own until `seconds` are over. With a rate, transactions a second, it is sent whatever answers come; else `threads` clients
    each send the next when the last has ended."""

    def __init__(self, server, threads, seconds, tables=2, rows=50_000, rate=0):
        self.threads, self.prefix = threads, server.dir / "timeline"
        sql(server, "CREATE DATABASE IF NOT EXISTS sbtest")
        self.command = [
            which("sysbench"), str(SCRIPT), f"--mysql-socket={server.socket}", "--mysql-user=root", f"--tables={tables}", f"--table-size={rows}",
            f"--threads={threads}", f"--rate={rate}", f"--time={seconds}", f"--timeline={self.prefix}",
        ]
        made = subprocess.run([*self.command, "prepare"], capture_output=True, text=True)
        if made.returncode != 0:
            fail(f"sysbench could not make its tables in {server.name}: {made.stdout[-500:]}")
        self.process = None

    def start(self):
        self.process = subprocess.Popen([*self.command, "run"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=die_with_parent)

    def ended(self):
        """Waits for the end. (when it ended, seconds of CLOCK_MONOTONIC; milliseconds) of each transaction."""
        said = self.process.communicate()[0]
        if self.process.returncode != 0:
            fail(f"sysbench: {said[-500:]}")
        lines = (line.split() for n in range(self.threads) for line in Path(f"{self.prefix}-{n}").read_text().splitlines())
        return [(float(stop), float(ms)) for stop, ms in lines]


def window(transactions, start, end):
    """What those that ended from `start` to `end` took, and how many there were in each tenth of a second."""
    took, tenths = [], [0] * round((end - start) * 10)
    for stop, ms in transactions:
        if start <= stop < end:
            took.append(ms)
            tenths[min(int((stop - start) * 10), len(tenths) - 1)] += 1
    if not took:
        fail("sysbench did no transaction")
    took.sort()
    median = sorted(tenths)[len(tenths) // 2]
    return {"transactions": len(took), "p99.9_ms": took[int(len(took) * 0.999)], "worst_ms": took[-1],
            "median_in_100_ms": median, "fewest_in_100_ms": min(tenths), "tenths": tenths}
