"""Which tests there are, and Millpond's copy of their sources: what MariaDB calls otherwise than MySQL 8 gets MySQL's name."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

PACKAGED = Path("/usr/share/mysql/mysql-test")


@dataclass(frozen=True)
class Suite:
    """Tests of one folder. `own_results`: the suite is for any engine, and what an engine answers otherwise than its result
    files is laid beside them: here, MariaDB's own answers with InnoDB count."""

    name: str
    tests: str
    results: str
    own_results: bool = False
    settings: dict = field(default_factory=dict, compare=False)
    env: dict = field(default_factory=dict, compare=False)


# The result files of main are those of a server whose character set is latin1.
LATIN1 = {"character_set_server": "latin1", "collation_server": "latin1_swedish_ci"}
ENGINE_SETTINGS = {"sql_mode": "NO_ENGINE_SUBSTITUTION"}
ENGINE = {"ENGINE": "InnoDB"}
SUITES = [
    Suite("main", "main", "main", settings=LATIN1),
    Suite("engines/funcs", "suite/engines/funcs/t", "suite/engines/funcs/r", True),
    Suite("engines/iuds", "suite/engines/iuds/t", "suite/engines/iuds/r", True),
    *(Suite(name, f"suite/{name}", f"suite/{name}", True, ENGINE_SETTINGS, ENGINE)
      for name in ("storage_engine", "storage_engine/trx", "storage_engine/parts")),
]


@dataclass(frozen=True)
class Test:
    suite: Suite
    name: str

    @property
    def full(self):
        return f"{self.suite.name}/{self.name}"

    def source(self, root):
        return root / self.suite.tests / f"{self.name}.test"

    def result(self, root):
        return root / self.suite.results / f"{self.name}.result"


# Includes and commands that only MariaDB's own driver or another kind of server can satisfy: what the test needs.
NEEDS = [
    (r"master-slave\.inc|have_log_bin|have_binlog_format|rpl_init|\brpl_end|show_binlog_events|start_slave", "replication"),
    (r"have_debug(_sync)?\.inc", "a debug build"),
    (r"(restart|start|kill|shutdown)_mysqld\.inc|shutdown_server|\bMYSQLD_BOOTSTRAP|mysqld\.1\.expect", "a server that it restarts"),
    (r"have_(archive|blackhole|example_plugin|federatedx?|udf|sphinx|connect|oqgraph|perfschema|sequence|aria|csv)\.inc|install (plugin|soname)",
     "another engine or a plugin"),
    (r"have_ssl|ssl_(ca|cert|key)|MYSQL_BINLOG\b|MYISAMCHK|MYISAMPACK|MYSQL_UPGRADE|mysql_upgrade", "MariaDB's files or tools"),
    (r"query_cache", "the query cache"),
    (r"wsrep|galera", "replication"),
]


# Tests whose sources don't tell it by an include, but fail for nothing else.
OF_OTHERS = {
    "main/almost_full": "MyISAM's data file, which is full at myisam_data_pointer_size",
    "main/auto_increment_ranges_myisam": "MyISAM as default_storage_engine",
    "main/fulltext_derived_4257": "MyISAM, which searches columns without a FULLTEXT index",
    "main/merge_mmap": "MERGE",
    "main/rollback": "MyISAM, whose rows a ROLLBACK leaves",
    "main/rowid_filter_myisam": "MyISAM, which defers the keys that ALTER TABLE disables",
    "main/subselect_notembedded": "the binary log, which it purges",
}


def asked_for(test, root):
    """What a test asks the server for before it begins."""
    found = re.findall(r"\b(have_\w+|check_ftwrl\w*|no_\w+)\.inc", read(test.source(root)))
    return ", ".join(dict.fromkeys(found)) or "something that it asks for"


def read(path):
    return path.read_bytes().decode("latin1")


def need(test, root):
    """What a test needs that no server of these runs has, by its source."""
    if test.name.startswith("rpl_"):
        return "replication"
    if test.full in OF_OTHERS:
        return OF_OTHERS[test.full]
    source = "\n".join([*statements(test.source(root)), *included(test.source(root), root)])
    for pattern, what in NEEDS:
        if re.search(pattern, source, re.I):
            return what
    return None


def statements(path):
    return [line for line in read(path).splitlines() if not line.startswith("#")]


def included(path, root, seen=None):
    """What a test includes by way of what it includes, by name."""
    seen = set() if seen is None else seen
    for line in statements(path):
        m = re.match(r"(?:--)?\s*source\s+([\w./-]+)", line)
        if m and m[1] not in seen and (root / m[1]).is_file():
            seen.add(m[1])
            included(root / m[1], root, seen)
    return sorted(seen)


def find(root, wanted):
    """The tests of the suites, or of those and of the tests named SUITE/TEST."""
    found = []
    for suite in SUITES:
        names = sorted(p.stem for p in (root / suite.tests).glob("*.test"))
        tests = [Test(suite, n) for n in names if Test(suite, n).result(root).exists()]
        found += [t for t in tests if not wanted or t.full in wanted or t.suite.name in wanted or t.suite.name.split("/")[0] in wanted]
    return found


# MariaDB's names of what MySQL 8 has under another, in tests and in results.
RENAMED = [
    (rb"information_schema\.((?:global|session)_(?:variables|status))\b", rb"performance_schema.\1"),
    (rb"'STORAGE_ENGINE'", rb"'DEFAULT_STORAGE_ENGINE'"),
    (rb"(@@(?:global\.|session\.)?)tx_isolation\b", rb"\1transaction_isolation"),
    (rb"(@@(?:global\.|session\.)?)storage_engine\b", rb"\1default_storage_engine"),
    # What MySQL 8 has no longer, where it isn't what a test is about: NULL for a key that isn't, \N for NULL.
    (rb"(AUTO_INCREMENT) NULL (KEY\b)", rb"\1 \2"),
    (rb"(?<=[(,])\\N(?=[,)])", rb"NULL"),
]


# Includes that ask for what every MySQL 8 has, by what only MariaDB answers so: a name, the columns and the default of SHOW COLLATION, symbolic
# links, which directories of partitions need in MariaDB.
ALWAYS_THERE = {f"include/{name}.inc" for name in ("have_partition", "have_innodb", "no_view_protocol", "have_utf8mb4", "have_utf16", "have_utf32", "have_symlink")}


def translate(data):
    for pattern, name in RENAMED:
        data = re.sub(pattern, name, data, flags=re.I)
    return data


def copy(target):
    """Millpond's copy of the tests; what is not a test or included by one is a link."""
    shutil.rmtree(target, ignore_errors=True)
    folders = ["main", "include", "suite/engines", "suite/storage_engine"]
    for path in (p for folder in folders for p in (PACKAGED / folder).rglob("*")):
        if path.is_file():
            to = target / path.relative_to(PACKAGED)
            to.parent.mkdir(parents=True, exist_ok=True)
            if str(path.relative_to(PACKAGED)) in ALWAYS_THERE:
                to.write_bytes(b"")
            elif path.suffix in (".test", ".inc", ".result", ".sql"):
                to.write_bytes(translate(path.read_bytes()))
            else:
                shutil.copyfile(path, to)
    for path in [*PACKAGED.iterdir(), *(PACKAGED / "suite").iterdir()]:
        to = target / path.relative_to(PACKAGED)
        if not to.exists():
            to.symlink_to(path)
    return target
