"""Cursors of the protocol, through MariaDB's C client: python suite_cursors.py SOCKET [libmariadb.so.3]

The client is called as it is from C, by ctypes: no package for Python asks for cursors.
"""

import ctypes
import ctypes.util
import sys
import unittest

SOCKET = sys.argv.pop(1)
LIBRARY = sys.argv.pop(1) if len(sys.argv) > 1 else "libmariadb.so.3"

LONGLONG, VAR_STRING = 8, 253
CURSOR_TYPE, PREFETCH_ROWS = 1, 2
NO_DATA, TRUNCATED = 100, 101
LONGEST = 100_000


class Bind(ctypes.Structure):
    """MYSQL_BIND of Connector/C 3."""

    _fields_ = [
        ("length", ctypes.POINTER(ctypes.c_ulong)),
        ("is_null", ctypes.POINTER(ctypes.c_char)),
        ("buffer", ctypes.c_void_p),
        ("error", ctypes.POINTER(ctypes.c_char)),
        ("u", ctypes.c_void_p),
        ("store_param_func", ctypes.c_void_p),
        ("fetch_result", ctypes.c_void_p),
        ("skip_result", ctypes.c_void_p),
        ("buffer_length", ctypes.c_ulong),
        ("offset", ctypes.c_ulong),
        ("length_value", ctypes.c_ulong),
        ("flags", ctypes.c_uint),
        ("pack_length", ctypes.c_uint),
        ("buffer_type", ctypes.c_int),
        ("error_value", ctypes.c_char),
        ("is_unsigned", ctypes.c_char),
        ("long_data_used", ctypes.c_char),
        ("is_null_value", ctypes.c_char),
        ("extension", ctypes.c_void_p),
    ]


lib = ctypes.CDLL(LIBRARY)
for name in ("mysql_init", "mysql_real_connect", "mysql_stmt_init", "mysql_store_result"):
    getattr(lib, name).restype = ctypes.c_void_p
for name in ("mysql_error", "mysql_stmt_error"):
    getattr(lib, name).restype = ctypes.c_char_p


class Connection:
    def __init__(self):
        self.mysql = ctypes.c_void_p(lib.mysql_init(None))
        socket = SOCKET.encode()
        done = lib.mysql_real_connect(self.mysql, None, b"root", None, None, 0, socket, ctypes.c_ulong(0))
        assert done, lib.mysql_error(self.mysql)

    def run(self, sql):
        assert not lib.mysql_query(self.mysql, sql.encode()), lib.mysql_error(self.mysql)
        result = lib.mysql_store_result(self.mysql)
        if result:
            lib.mysql_free_result(ctypes.c_void_p(result))

    def close(self):
        lib.mysql_close(self.mysql)


class Statement:
    """A statement of a number and a text, read through a cursor, some rows at a time."""

    def __init__(self, conn, sql, rows):
        self.stmt = ctypes.c_void_p(lib.mysql_stmt_init(conn.mysql))
        for attribute, value in [(CURSOR_TYPE, 1), (PREFETCH_ROWS, rows)]:
            given = ctypes.c_ulong(value)
            assert not lib.mysql_stmt_attr_set(self.stmt, attribute, ctypes.byref(given))
        sql = sql.encode()
        self.check(lib.mysql_stmt_prepare(self.stmt, sql, ctypes.c_ulong(len(sql))))
        self.number = ctypes.c_longlong()
        self.text = ctypes.create_string_buffer(LONGEST)
        self.lengths = (ctypes.c_ulong * 2)()
        self.nulls = (ctypes.c_char * 2)()
        self.binds = (Bind * 2)()
        for at, (kind, buffer) in enumerate([(LONGLONG, self.number), (VAR_STRING, self.text)]):
            bind = self.binds[at]
            bind.buffer_type = kind
            bind.buffer = ctypes.cast(ctypes.byref(buffer), ctypes.c_void_p)
            bind.buffer_length = ctypes.sizeof(buffer)
            bind.length = ctypes.cast(ctypes.byref(self.lengths, at * ctypes.sizeof(ctypes.c_ulong)), ctypes.POINTER(ctypes.c_ulong))
            bind.is_null = ctypes.cast(ctypes.byref(self.nulls, at), ctypes.POINTER(ctypes.c_char))

    def check(self, failed):
        assert not failed, (lib.mysql_stmt_errno(self.stmt), lib.mysql_stmt_error(self.stmt))

    def execute(self):
        self.check(lib.mysql_stmt_execute(self.stmt))
        self.check(lib.mysql_stmt_bind_result(self.stmt, self.binds))

    def fetch(self):
        done = lib.mysql_stmt_fetch(self.stmt)
        if done == NO_DATA:
            return None
        assert done == 0, (done, lib.mysql_stmt_errno(self.stmt), lib.mysql_stmt_error(self.stmt))
        number = None if self.nulls[0] != b"\0" else self.number.value
        text = None if self.nulls[1] != b"\0" else self.text.raw[: self.lengths[1]].decode()
        return number, text

    def rest(self):
        return list(iter(self.fetch, None))

    def close(self):
        lib.mysql_stmt_close(self.stmt)


ROWS = 1000


def row(n):
    return n, None if n % 7 == 0 else f"row {n} " * (n % 50)


class Suite(unittest.TestCase):
    def setUp(self):
        self.conn = Connection()
        self.conn.run("DROP DATABASE IF EXISTS suite_cursors")
        self.conn.run("CREATE DATABASE suite_cursors")
        self.conn.run("USE suite_cursors")
        self.conn.run("CREATE TABLE t (id BIGINT PRIMARY KEY, s TEXT)")
        quoted = ", ".join(f"({n}, {'NULL' if s is None else repr(s)})" for n, s in map(row, range(ROWS)))
        self.conn.run(f"INSERT INTO t VALUES {quoted}")

    def tearDown(self):
        self.conn.run("DROP DATABASE suite_cursors")
        self.conn.close()

    def test_rows_come_in_portions_of_any_size(self):
        for rows in (1, 7, 500, ROWS, ROWS + 1):
            s = Statement(self.conn, "SELECT id, s FROM t ORDER BY id", rows)
            # Again through the same statement, too.
            for _ in range(2):
                s.execute()
                self.assertEqual(s.rest(), [row(n) for n in range(ROWS)], rows)
            s.close()

    def test_the_connection_is_free_between_portions(self):
        up = Statement(self.conn, "SELECT id, s FROM t ORDER BY id", 10)
        down = Statement(self.conn, "SELECT id, s FROM t ORDER BY id DESC", 3)
        up.execute()
        down.execute()
        for n in range(ROWS):
            if n == 100:
                # The rows are those of when it was opened.
                self.conn.run("DELETE FROM t WHERE id > 50")
                self.conn.run("COMMIT")
            self.assertEqual(up.fetch(), row(n))
            self.assertEqual(down.fetch(), row(ROWS - 1 - n))
        self.assertIsNone(up.fetch())
        self.assertIsNone(down.fetch())
        up.close()
        down.close()

    def test_none_and_one_row(self):
        for where, rows in [("id < 0", []), ("id = 5", [row(5)])]:
            s = Statement(self.conn, f"SELECT id, s FROM t WHERE {where}", 2)
            s.execute()
            self.assertEqual(s.rest(), rows)
            s.close()

    def test_results_larger_than_memory_allows(self):
        self.conn.run("SET tmp_table_size = 65536")
        s = Statement(self.conn, "SELECT a.id, REPEAT(a.s, 5) FROM t a JOIN t b ON b.id < 20 ORDER BY a.id", 100)
        s.execute()
        wanted = [(n, t and t * 5) for n, t in map(row, range(ROWS)) for _ in range(20)]
        self.assertEqual(s.rest(), wanted)
        s.close()

    def test_what_has_no_rows_is_done_at_once(self):
        s = Statement(self.conn, "UPDATE t SET s = 'x' WHERE id = 1", 5)
        s.check(lib.mysql_stmt_execute(s.stmt))
        s.close()
        s = Statement(self.conn, "SELECT id, s FROM t WHERE id = 1", 5)
        s.execute()
        self.assertEqual(s.rest(), [(1, "x")])
        s.close()


if __name__ == "__main__":
    unittest.main()
