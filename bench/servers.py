"""What the benchmarks share: Millpond, MariaDB and MySQL started alike in directories of their own, and tables of results."""

import ctypes
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

# Program that shows a package is installed, and the package.
NEEDED = {
    "sysbench": "sysbench",
    "mariadb": "mariadb-client",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def say(message):
    print(message, file=sys.stderr, flush=True)


def which(program):
    return shutil.which(program, path=PATH)


def install(programs):
    """Installs what is missing where that is possible, else says what to install."""
    missing = sorted({NEEDED[p] for p in programs if not which(p)})
    if not missing:
        return
    words = " ".join(missing)
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = shutil.which("apt-get")
    if not apt or (sudo and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode != 0):
        fail(f"needs {words}; install it, e.g. with: sudo apt-get install {words}")
    say(f"installing {words}")
    env = ["env", "DEBIAN_FRONTEND=noninteractive"]
    subprocess.run(sudo + env + [apt, "-qq", "update"], check=False, stdout=subprocess.DEVNULL)
    done = subprocess.run(sudo + env + [apt, "-qq", "install", "-y", "--no-install-recommends", *missing])
    if done.returncode != 0:
        fail(f"apt-get could not install {words}")


def build():
    say("building millpond (release)")
    if subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "millpond-cli"], cwd=ROOT).returncode != 0:
        fail("cargo build failed")
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    return Path(target) / "release" / "millpond"


def die_with_parent():
    """Runs in the child: ends it if this process is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Server:
    """A server process with a data directory of its own. Both go when it is stopped, unless `args.keep` names a directory
    for the data: then a later run finds it there."""

    live = set()
    # Runs in the child before the server does.
    prepare_child = staticmethod(die_with_parent)

    def __init__(self, name, args):
        self.name = name
        self.keep = getattr(args, "keep", None)
        if self.keep:
            self.dir = self.keep / name
            self.dir.mkdir(parents=True, exist_ok=True)
        else:
            args.dir.mkdir(parents=True, exist_ok=True)
            self.dir = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=args.dir))
        self.is_new = not (self.dir / "data").exists()
        # Paths of Unix sockets are at most 107 bytes long: not below a deep data directory.
        self.socket_dir = Path(tempfile.mkdtemp(prefix="bench-"))
        self.socket = self.socket_dir / "s"
        self.process = None
        self.version = None
        Server.live.add(self)

    def spawn(self, command):
        self.log = open(self.dir / "log", "ab")
        self.process = subprocess.Popen(
            [str(c) for c in command],
            stdout=self.log,
            stderr=self.log,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": PATH},
            preexec_fn=self.prepare_child,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.stderr.write((self.dir / "log").read_text(errors="replace")[-3000:])
                fail(f"{self.name} did not start")
            time.sleep(0.05)

    def cpu_seconds(self):
        """CPU time that the process has used, from its CPU-time clock (nanoseconds, where /proc counts in ticks)."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def peak_rss(self):
        """Most memory that was resident so far, bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text).group(1)) * 1024

    def end(self):
        """Ends the process; its data stay."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(300 if self.keep else 30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.socket.unlink(missing_ok=True)

    def stop(self):
        self.end()
        if not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.socket_dir, ignore_errors=True)
        Server.live.discard(self)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connections(args):
    """As many clients as any bench has, at every server."""
    return getattr(args, "connections", 1_000) + 100


def start_millpond(args, variables=(), server=None, tcp=False):
    """`variables`: NAME=VALUE of system variables. `server`: one that has ended and is to start again. `tcp`: it listens on a port of its own too (`port`)."""
    s = server or Server("millpond", args)
    network = ["--skip-networking"]
    if tcp:
        s.port = free_port()
        network = ["--port", s.port]
    s.spawn([
        args.binary, "serve", "--data", s.dir / "data", "--socket", s.socket, *network, "--pool", args.pool,
        "--log-size", args.log_size, "--max-connections", connections(args),
        "--set", "innodb_flush_log_at_trx_commit=1", "--set", "max_prepared_stmt_count=100000",
        "--log-level", "warn", *(word for v in variables for word in ("--set", v)),
    ])
    s.version = subprocess.run([args.binary, "--version"], capture_output=True, text=True).stdout.strip()
    return s


def start_mariadb(args):
    s = Server("mariadb", args)
    data = s.dir / "data"
    user = ["--user=root"] if os.geteuid() == 0 else []
    if s.is_new:
        made = subprocess.run(
            [which("mariadb-install-db"), "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal", *user],
            capture_output=True, text=True, env={**os.environ, "PATH": PATH},
        )
        if made.returncode != 0:
            fail(f"mariadb-install-db failed:\n{made.stdout[-1500:]}{made.stderr[-1500:]}")
    s.spawn([
        which("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={s.socket}", f"--pid-file={s.dir}/pid",
        "--skip-networking", f"--innodb-buffer-pool-size={args.pool}", f"--innodb-log-file-size={args.log_size}",
        "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin", f"--max-connections={connections(args)}",
        "--max-prepared-stmt-count=100000", *user, *(f"--{option}" for option in getattr(args, "mariadb_option", [])),
    ])
    s.version = subprocess.run([which("mariadbd"), "--version"], capture_output=True, text=True).stdout.strip()
    return s


def start_mysql(args):
    s = Server("mysql", args)
    programs = Path(subprocess.run([ROOT / "scripts" / "fetch-mysql"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    share = programs.parent / "files/usr/share/mysql"
    common = [
        programs / "mysqld", "--no-defaults", f"--datadir={s.dir}/data", f"--basedir={programs.parent}/files/usr", "--secure-file-priv=",
        f"--lc-messages-dir={share}", f"--character-sets-dir={share}/charsets", *(["--user=root"] if os.geteuid() == 0 else []),
    ]
    if s.is_new:
        made = subprocess.run([*common, "--initialize-insecure"], capture_output=True, text=True)
        if made.returncode != 0:
            fail(f"mysqld --initialize-insecure failed:\n{made.stderr[-3000:]}")
    s.spawn([
        *common, f"--socket={s.socket}", f"--pid-file={s.dir}/pid", "--skip-networking", "--mysqlx=OFF", f"--innodb-buffer-pool-size={args.pool}",
        f"--innodb-redo-log-capacity={args.log_size}", "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin", f"--max-connections={connections(args)}",
        "--max-prepared-stmt-count=100000",
    ])
    s.version = subprocess.run([programs / "mysqld", "--version"], capture_output=True, text=True).stdout.strip()
    return s


STARTERS = {"millpond": start_millpond, "mariadb": start_mariadb}
NAMES = {"mariadb": "MariaDB", "mysql": "MySQL"}


def sql(server, statement, timeout=60):
    """Runs one statement with the client that comes with the server package, `timeout` seconds at most."""
    done = subprocess.run([which("mariadb"), "--no-defaults", f"--socket={server.socket}", "-uroot", "-e", statement],
                          capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        fail(f"{statement} on {server.name}: {done.stderr.strip()}")


def syncs_per_second(directory):
    """What a commit costs on this disk at the least."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=directory) as f:
        os.write(f.fileno(), bytes(1 << 20))
        os.fdatasync(f.fileno())
        start, n = time.monotonic(), 0
        while time.monotonic() - start < 0.5:
            os.pwrite(f.fileno(), bytes(512), n % 2000 * 512)
            os.fdatasync(f.fileno())
            n += 1
        return n / (time.monotonic() - start)


def machine(args):
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": model.group(1) if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "fdatasyncs_per_second": round(syncs_per_second(args.dir)),
    }


def table(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = []
    for n, row in enumerate(rows):
        cells = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("| " + " | ".join(cells) + " |")
        if n == 0:
            lines.append("|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|")
    return "\n".join(lines)
