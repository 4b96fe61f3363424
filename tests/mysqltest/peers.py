"""The servers that the suites run against: one to a worker, fresh after whatever may have left something behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from servers import NEEDED, PATH, die_with_parent, install, which  # noqa: E402, F401

# What both servers get: what the suites take for granted.
SETTINGS = {
    "character_set_server": "utf8mb4",
    "collation_server": "utf8mb4_general_ci",
    "sql_mode": "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
    "log_bin_trust_function_creators": "1",
    "event_scheduler": "OFF",
}
SYSTEM = {"information_schema", "performance_schema", "mysql", "sys", "mtr", "test"}
START_SECONDS = 60
# What MariaDB's driver makes before a test.
DATABASES = "CREATE DATABASE test; CREATE DATABASE mtr; CREATE PROCEDURE mtr.add_suppression(t TEXT) BEGIN END"


class Server:
    """A server of one worker. `dir` holds what MariaDB's driver calls the vardir: tmp, std_data, the server's data."""

    name = ""

    def __init__(self, directory, tests, settings):
        self.dir = directory
        self.settings = {**SETTINGS, **settings}
        self.process = None
        shutil.rmtree(self.dir, ignore_errors=True)
        for sub in ("tmp", "log"):
            (self.dir / sub).mkdir(parents=True)
        (self.dir / "std_data").symlink_to(tests / "std_data")
        self.socket = self.dir / "s"
        self.data = self.dir / "mysqld.1" / "data"
        self.log = self.dir / "log" / "server"

    def spawn(self, command, **env):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent, env={**os.environ, "PATH": PATH, "TZ": "GMT-3", **env})

    def wait_for(self, found):
        deadline = time.monotonic() + START_SECONDS
        while not (result := found()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{self.name} did not start:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.02)
        return result

    def sql(self, statement, timeout=20):
        """What a statement answers, or `None` if it cannot be run."""
        try:
            done = subprocess.run(
                [which("mariadb"), "--no-defaults", "-N", "-B", "-uroot", f"--socket={self.socket}", "-e", statement],
                capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process = None

    def tidy(self):
        """Makes the server as good as new, and says whether that could be done."""
        names = self.sql("SHOW DATABASES")
        if names is None:
            return False
        # Names as the client prints them; a stranger one means a fresh server.
        dropped = [n for n in names.split("\n") if n and n not in SYSTEM]
        if any(not re.fullmatch(r"\w+", n) for n in dropped):
            return False
        statements = [f"DROP DATABASE `{n}`" for n in dropped + ["test"]] + ["CREATE DATABASE test"]
        return self.sql("SET foreign_key_checks = 0; " + "; ".join(statements)) is not None

    def clear_tmp(self):
        shutil.rmtree(self.dir / "tmp", ignore_errors=True)
        (self.dir / "tmp").mkdir()


class Millpond(Server):
    """Starts within milliseconds: every test gets a data directory of its own."""

    name = "Millpond"

    def __init__(self, binary, *args):
        super().__init__(*args)
        self.binary = binary

    def start(self):
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        self.socket.unlink(missing_ok=True)
        # The zone that TZ names for MariaDB, which leaves prepared transactions to their sessions.
        settings = {"time_zone": "+03:00", "xa_detach_on_prepare": "OFF", **self.settings}
        sets = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
        self.spawn([self.binary, "serve", "--data", self.data, "--socket", self.socket, "--skip-networking", "--pool", "64M",
                    "--log-level", "warn", "--set", f"secure_file_priv={self.dir}", "--set", "local_infile=ON", *sets])
        self.wait_for(self.socket.exists)
        self.sql(DATABASES)

    def renew(self, failed):
        self.start()

    def version(self):
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True).stdout.strip()

    def panics(self):
        """What the server's log says of panics since it started."""
        return re.findall(r"panicked at .*(?:\n.*)?", self.log.read_text(errors="replace"))


class MariaDB(Server):
    """scripts/with-mariadb around a command that waits. A new one after each test that failed, as it takes seconds."""

    name = "MariaDB"
    OPTIONS = ("--default-storage-engine=InnoDB --local-infile --max-heap-table-size=1M --sort-buffer-size=256K "
               "--performance-schema=ON --innodb-log-file-size=10M --histogram-type=json_hb --use-stat-tables=preferably")

    def start(self):
        self.stop()
        self.log.unlink(missing_ok=True)
        self.socket.unlink(missing_ok=True)
        options = [f"--{name.replace('_', '-')}={value}" for name, value in self.settings.items()]
        options = f"{self.OPTIONS} --secure-file-priv={self.dir} {' '.join(options)}"
        # The data directory is a folder's folder in TMPDIR, so that std_data is where tests look for it.
        waits = f'echo "url $MARIADB_URL"; exec tail --pid={os.getpid()} -f /dev/null'
        self.spawn([ROOT / "scripts" / "with-mariadb", "bash", "-c", waits], TMPDIR=str(self.dir), MARIADB_OPTIONS=options)
        url = self.wait_for(lambda: re.search(r"^url .*socket=(.*)", self.log.read_text(errors="replace"), re.M))
        self.socket.symlink_to(url[1])
        self.data = Path(url[1]).parent / "data"
        self.sql(DATABASES)

    def renew(self, failed):
        if failed or not self.is_running() or not self.tidy():
            self.start()

    def version(self):
        return subprocess.run([which("mariadbd"), "--version"], capture_output=True, text=True).stdout.strip()

    def panics(self):
        return []
