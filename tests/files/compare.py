"""Writes and reads random files on two servers and prints where they differ: python compare.py SOCKET PEER-SOCKET FOLDER CASES SEED

A case is a table with random rows, which SELECT ... INTO OUTFILE writes under a random FIELDS and LINES, and LOAD DATA of what was written, or of something
else, with a random IGNORE, REPLACE, list of columns and sql_mode. Files must agree byte by byte; rows, counts, warnings and error codes of what was loaded, too.
FOLDER is where both servers may read and write. What is known to differ is left out: see `is_odd`."""

import random
import sys
from pathlib import Path

import pymysql

FIELDS_END = [None, "\t", ",", ";", "||", "<>", "", "n", "N", "0", "a", "\\", '"', "ab"]
QUOTES = [None, None, "", '"', "'", "n", "x", "\\"]
ESCAPES = [None, None, "", "\\", '"', "x", "^", "n"]
LINES_START = [None, None, "", ">", "xx"]
LINES_END = [None, "\n", "\r\n", "|", "", "end", ",", '"']
PIECES = list("abnN0x12.-\"'\\\t\n\r,;|<>^é Zrt\0") + ["NULL", "\\N", "end", ""]
TABLES = ["s VARCHAR(20), t VARCHAR(20)", "s VARCHAR(8), t DECIMAL(6,2)", "s TEXT, t TEXT", "s CHAR(5), t DATE"]


def quoted(text):
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\0", "\\0")):
        text = text.replace(plain, escaped)
    return f"'{text}'"


def text(pieces):
    return "".join(random.choice(PIECES) for _ in range(random.randrange(pieces)))


def clauses(*parts):
    return " ".join(f"{words} {quoted(value)}" for words, value in parts if value is not None)


def file_format():
    """FIELDS and LINES."""
    quote = random.choice(["", "OPTIONALLY "]) + "ENCLOSED BY"
    fields = clauses(("TERMINATED BY", random.choice(FIELDS_END)), (quote, random.choice(QUOTES)), ("ESCAPED BY", random.choice(ESCAPES)))
    lines = clauses(("STARTING BY", random.choice(LINES_START)), ("TERMINATED BY", random.choice(LINES_END)))
    return (f" FIELDS {fields}" if fields else "") + (f" LINES {lines}" if lines else "")


def is_odd(form):
    """Nobody's way to load a file: lines that begin but don't end, and widths, which MySQL counts in bytes of the longest characters."""
    fields, _, lines = form.partition(" LINES ")
    return "TERMINATED BY ''" in fields or "STARTING BY" in lines and "TERMINATED BY ''" in lines


class Server:
    def __init__(self, socket):
        self.cursor = pymysql.connect(unix_socket=socket, user="root", charset="utf8mb4", autocommit=True).cursor()
        self.run("DROP DATABASE IF EXISTS random_files")
        self.run("CREATE DATABASE random_files CHARACTER SET utf8mb4")
        self.run("USE random_files")

    def run(self, sql, args=None):
        """Rows affected and warnings, or the error's code."""
        try:
            self.cursor.execute(sql, args)
            count = self.cursor.rowcount
            self.cursor.execute("SHOW COUNT(*) WARNINGS")
            return count, self.cursor.fetchone()[0]
        except pymysql.MySQLError as e:
            return f"error {e.args[0]}"

    def rows(self, sql):
        self.cursor.execute(sql)
        return self.cursor.fetchall()


def row(columns):
    s = None if random.random() < 0.15 else text(6)
    if s and "CHAR" in columns:
        s = s[:5]
    t = random.choice([None, "2024-01-02"]) if "DATE" in columns else random.choice([None, -12.5, 517.68]) if "DECIMAL" in columns else text(6)
    return random.choice([None, 0, -5, 12, 2147483647]), s, t


def case(servers, folder, number):
    """One case; the differences, in words."""
    columns = random.choice(TABLES)
    rows = [row(columns) for _ in range(random.randrange(5))]
    form = file_format()
    written = []
    for n, server in enumerate(servers):
        server.run("SET sql_mode = 'STRICT_TRANS_TABLES'")
        server.run("DROP TABLE IF EXISTS t")
        server.run(f"CREATE TABLE t (i INT, {columns})")
        for r in rows:
            server.run("INSERT INTO t VALUES (%s, %s, %s)", r)
        path = folder / f"{number}-{n}"
        # MariaDB warns that it may warn of more.
        done = server.run(f"SELECT * FROM t INTO OUTFILE '{path}'{form}")
        written.append((done if isinstance(done, str) else done[0], path.read_bytes() if path.exists() else b""))
        path.unlink(missing_ok=True)
    if written[0] != written[1]:
        yield f"{columns}{form}: {written[0]} here, {written[1]} there"

    bytes_ = written[1][1] if random.random() < 0.5 else text(60).encode()
    if random.random() < 0.5:
        bytes_ += text(20).encode()
    path = folder / f"{number}"
    path.write_bytes(bytes_)
    if random.random() < 0.3:
        form = file_format()
    load = (f"LOAD DATA INFILE '{path}' {random.choice(['', 'IGNORE', 'REPLACE'])} INTO TABLE t CHARACTER SET utf8mb4{form}" + random.choice(["", "", " IGNORE 1 LINES"])
            + random.choice(["", "", "", " (i, s)", " (s, @v)", " (@v, i) SET s = concat(@v, '!')"]))
    mode = random.choice(["", "STRICT_TRANS_TABLES"])
    loaded = []
    for server in servers:
        for sql in (f"SET sql_mode = '{mode}'", "TRUNCATE t", "SET @v = NULL"):
            server.run(sql)
        done = server.run(load)
        loaded.append((done, server.rows("SELECT * FROM t")))
    path.unlink()
    if loaded[0] != loaded[1] and not is_odd(form):
        yield f"{columns}, '{mode}', {load} of {bytes_}: {loaded[0]} here, {loaded[1]} there"


def main():
    socket, peer, folder, cases, seed = sys.argv[1:]
    random.seed(int(seed))
    servers = [Server(socket), Server(peer)]
    differences = 0
    for number in range(int(cases)):
        for difference in case(servers, Path(folder), number):
            differences += 1
            print(difference)
    print(f"{differences} differences in {cases} cases (seed {seed})")
    return differences > 0


sys.exit(main())
