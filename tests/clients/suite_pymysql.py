"""Smoke suite for PyMySQL: python suite_pymysql.py SOCKET PORT"""

import datetime
import decimal
import os
import ssl
import sys
import tempfile
import threading
import time
import unittest

import pymysql
from pymysql.constants import CLIENT, COMMAND

SOCKET, PORT = sys.argv.pop(1), int(sys.argv.pop(1))
# The certificate of who signed the server's.
CA = os.environ["MILLPOND_CA"]


def connect(**options):
    options.setdefault("unix_socket", SOCKET)
    return pymysql.connect(user="root", charset="utf8mb4", **options)


def until(condition):
    """Waits for what another thread or the server brings about; the bound only ends a run that would never end."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


class Tls(unittest.TestCase):
    def setUp(self):
        self.root = connect()
        # FLUSH PRIVILEGES forgets what is remembered of passwords: the client has to send its own.
        with self.root.cursor() as cur:
            cur.execute("CREATE USER tls_py@localhost IDENTIFIED WITH caching_sha2_password BY 'pw' REQUIRE SSL")
            cur.execute("FLUSH PRIVILEGES")

    def tearDown(self):
        with self.root.cursor() as cur:
            cur.execute("DROP USER tls_py@localhost")
        self.root.close()

    def login(self, context):
        return pymysql.connect(host="localhost", port=PORT, user="tls_py", password="pw", ssl=context)

    def test_versions(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.create_default_context(cafile=CA)
            context.minimum_version = context.maximum_version = version
            conn = self.login(context)
            with conn.cursor() as cur:
                cur.execute("SHOW STATUS LIKE 'Ssl_version'")
                self.assertEqual(cur.fetchone()[1], version.name.replace("_", "."))
                cur.execute("SELECT REPEAT('x', 5000000)")
                self.assertEqual(len(cur.fetchone()[0]), 5000000)
            conn.close()

    def test_an_unknown_authority(self):
        with self.assertRaises(pymysql.err.OperationalError) as e:
            self.login(ssl.create_default_context())
        self.assertIn("CERTIFICATE_VERIFY_FAILED", str(e.exception))

    def test_an_account_that_asks_for_it(self):
        with self.assertRaises(pymysql.err.OperationalError) as e:
            pymysql.connect(unix_socket=SOCKET, user="tls_py", password="pw")
        self.assertEqual(e.exception.args[0], 1045)


class Suite(unittest.TestCase):
    def setUp(self):
        self.conn = connect()
        self.cur = self.conn.cursor()
        self.run_sql("DROP DATABASE IF EXISTS suite_py")
        self.run_sql("CREATE DATABASE suite_py")
        self.conn.select_db("suite_py")

    def tearDown(self):
        self.conn.rollback()
        self.run_sql("DROP DATABASE IF EXISTS suite_py")
        self.conn.close()

    def run_sql(self, sql, args=None):
        return self.cur.execute(sql, args)

    def rows(self, sql, args=None):
        self.cur.execute(sql, args)
        return list(self.cur.fetchall())

    def fails(self, code, sql, args=None):
        with self.assertRaises(pymysql.MySQLError) as caught:
            self.run_sql(sql, args)
        self.assertEqual(caught.exception.args[0], code, caught.exception)

    def test_identity(self):
        self.assertIn("millpond", self.conn.get_server_info())
        self.assertEqual(self.rows("SELECT VERSION()")[0][0], self.conn.get_server_info())
        self.assertEqual(self.rows("SELECT CONNECTION_ID()")[0][0], self.conn.thread_id())
        self.assertEqual(self.rows("SELECT DATABASE()"), [("suite_py",)])

    def test_tcp(self):
        conn = connect(unix_socket=None, host="127.0.0.1", port=PORT)
        with conn.cursor() as cur:
            cur.execute("SELECT 1 + 1")
            self.assertEqual(cur.fetchall(), ((2,),))
        conn.close()

    def test_local_files(self):
        def load(conn, path, more=""):
            with conn.cursor() as cur:
                cur.execute(f"LOAD DATA LOCAL INFILE '{path}' {more} INTO TABLE t FIELDS TERMINATED BY ','")
                return cur.rowcount

        self.run_sql("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))")
        sender = connect(local_infile=True, database="suite_py", autocommit=True)
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.writelines(f"{n},text {n}\n" for n in range(100_000))
            file.flush()
            with self.assertRaises(pymysql.MySQLError) as caught:
                load(sender, file.name)
            self.assertEqual(caught.exception.args[0], 3948)
            self.run_sql("SET GLOBAL local_infile = ON")
            try:
                self.assertEqual(load(sender, file.name), 100_000)
                self.assertEqual(load(sender, file.name), 0)
                with self.assertRaises(pymysql.MySQLError):
                    load(self.conn, file.name)
                with self.assertRaises(pymysql.MySQLError):
                    load(sender, file.name + ".gone")
                self.assertEqual(self.rows("SELECT COUNT(*), SUM(a), MAX(b) FROM t")[0][0], 100_000)
                # A statement that fails in the middle of the file leaves the connection as it was.
                file.write("x,bad\n")
                file.flush()
                with self.assertRaises(pymysql.MySQLError) as caught:
                    load(sender, file.name, "REPLACE")
                self.assertEqual(caught.exception.args[0], 1366)
                sender.ping(reconnect=False)
            finally:
                self.run_sql("SET GLOBAL local_infile = OFF")
        sender.close()

    def test_every_type(self):
        self.run_sql(
            """CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, t TINYINT, ut TINYINT UNSIGNED, s SMALLINT,
            m MEDIUMINT, b BIGINT, ub BIGINT UNSIGNED, d DECIMAL(20, 6), f DOUBLE, c CHAR(10), v VARCHAR(100), x TEXT,
            bi BINARY(4), vb VARBINARY(100), bl BLOB, da DATE, dt DATETIME, df DATETIME(6), ts TIMESTAMP NULL,
            e ENUM('red', 'green'))"""
        )
        row = (
            -128, 255, -32768, 8388607, -(2**63), 2**64 - 1, decimal.Decimal("-12345678901234.567891"), 0.1, "char",
            "väriä 🎨 'quoted' \\ \n \x1a", "text" * 1000, b"\0\xff\x01\x02", b"\xfe\x00'\"\\", bytes(range(256)) * 10,
            datetime.date(2024, 2, 29), datetime.datetime(1999, 12, 31, 23, 59, 59),
            datetime.datetime(2024, 1, 2, 3, 4, 5, 678901), datetime.datetime(2024, 6, 1, 12, 0, 0), "green",
        )
        marks = ", ".join(["%s"] * len(row))
        columns = "t, ut, s, m, b, ub, d, f, c, v, x, bi, vb, bl, da, dt, df, ts, e"
        self.assertEqual(self.run_sql(f"INSERT INTO t ({columns}) VALUES ({marks})", row), 1)
        self.assertEqual(self.cur.lastrowid, 1)
        self.run_sql("INSERT INTO t (id) VALUES (10)")
        self.assertEqual(self.rows(f"SELECT {columns} FROM t WHERE id = 1"), [row])
        self.assertEqual(self.rows(f"SELECT {columns} FROM t WHERE id = 10"), [(None,) * len(row)])
        self.assertEqual(self.run_sql("UPDATE t SET v = %s WHERE id = 1", ("new",)), 1)
        self.assertEqual(self.run_sql("UPDATE t SET v = %s WHERE id = 1", ("new",)), 0)
        self.assertEqual(self.run_sql("DELETE FROM t"), 2)

    def test_ddl(self):
        self.run_sql("CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL DEFAULT 'x', KEY k (v))")
        self.run_sql("CREATE TABLE b LIKE a")
        self.run_sql("INSERT INTO a (id) VALUES (1), (2)")
        self.run_sql("INSERT INTO b SELECT * FROM a")
        self.run_sql("CREATE UNIQUE INDEX u ON b (id, v)")
        self.run_sql("DROP INDEX k ON b")
        self.assertIn("UNIQUE KEY `u` (`id`,`v`)", self.rows("SHOW CREATE TABLE b")[0][1])
        self.run_sql("TRUNCATE TABLE b")
        self.assertEqual(self.rows("SELECT COUNT(*) FROM b"), [(0,)])
        self.run_sql("RENAME TABLE b TO c")
        self.assertEqual(self.rows("SHOW TABLES"), [("a",), ("c",)])
        self.run_sql("DROP TABLE a, c")
        self.assertEqual(self.rows("SHOW TABLES"), [])

    def test_errors(self):
        self.run_sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(3) NOT NULL)")
        self.run_sql("INSERT INTO t VALUES (1, 'a')")
        self.fails(1062, "INSERT INTO t VALUES (1, 'b')")
        self.fails(1048, "INSERT INTO t VALUES (2, NULL)")
        self.fails(1406, "INSERT INTO t VALUES (2, 'long')")
        self.fails(1366, "INSERT INTO t VALUES ('x', 'a')")
        self.fails(1054, "SELECT nothing FROM t")
        self.fails(1146, "SELECT * FROM nowhere")
        self.fails(1049, "USE nowhere")
        self.fails(1050, "CREATE TABLE t (id INT)")
        self.fails(1051, "DROP TABLE nowhere")
        self.fails(1064, "SELEKT 1")
        self.fails(1007, "CREATE DATABASE suite_py")
        self.assertEqual(self.rows("SELECT COUNT(*) FROM t"), [(1,)])

    def test_access_is_denied(self):
        for options in [{"user": "bob"}, {"user": "root", "password": "x"}]:
            with self.assertRaises(pymysql.err.OperationalError) as caught:
                pymysql.connect(unix_socket=SOCKET, **options)
            self.assertEqual(caught.exception.args[0], 1045)

    def test_warnings(self):
        self.run_sql("SET sql_mode = ''")
        self.run_sql("CREATE TABLE t (v VARCHAR(3))")
        self.run_sql("INSERT INTO t VALUES ('long')")
        self.assertEqual(self.rows("SHOW WARNINGS"), [("Warning", 1265, "Data truncated for column 'v' at row 1")])
        self.assertEqual(self.rows("SELECT v FROM t"), [("lon",)])

    def test_transactions(self):
        other = connect(database="suite_py", autocommit=True)
        self.run_sql("CREATE TABLE t (id INT PRIMARY KEY)")
        self.conn.begin()
        self.run_sql("INSERT INTO t VALUES (1)")
        with other.cursor() as cur:
            cur.execute("SELECT * FROM t")
            self.assertEqual(cur.fetchall(), ())
            self.conn.commit()
            cur.execute("SELECT * FROM t")
            self.assertEqual(cur.fetchall(), ((1,),))
        self.run_sql("INSERT INTO t VALUES (2)")
        self.run_sql("SAVEPOINT s")
        self.run_sql("INSERT INTO t VALUES (3)")
        self.run_sql("ROLLBACK TO s")
        self.conn.commit()
        self.run_sql("INSERT INTO t VALUES (4)")
        self.conn.rollback()
        self.assertEqual(self.rows("SELECT * FROM t"), [(1,), (2,)])
        other.close()

    def test_lock_wait_timeout(self):
        other = connect(database="suite_py")
        self.run_sql("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        self.run_sql("INSERT INTO t VALUES (1, 1)")
        self.conn.commit()
        self.run_sql("UPDATE t SET v = 2 WHERE id = 1")
        with other.cursor() as cur:
            cur.execute("SET innodb_lock_wait_timeout = 1")
            with self.assertRaises(pymysql.MySQLError) as caught:
                cur.execute("UPDATE t SET v = 3 WHERE id = 1")
            self.assertEqual(caught.exception.args[0], 1205)
        other.close()

    def test_many_results(self):
        conn = connect(database="suite_py", client_flag=CLIENT.MULTI_STATEMENTS)
        with conn.cursor() as cur:
            cur.execute("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); SELECT * FROM t; SELEKT")
            self.assertTrue(cur.nextset())
            self.assertEqual(cur.rowcount, 2)
            self.assertTrue(cur.nextset())
            self.assertEqual(cur.fetchall(), ((1,), (2,)))
            with self.assertRaises(pymysql.err.ProgrammingError):
                cur.nextset()
        conn.close()
        self.fails(1064, "SELECT 1; SELECT 2")

    def test_big_packets(self):
        size = 20 * 1024 * 1024 + 7
        self.run_sql("CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB)")
        blob = bytes(range(251)) * (size // 251 + 1)
        self.run_sql("INSERT INTO t VALUES (1, %s)", (blob,))
        self.conn.commit()
        self.assertEqual(self.rows("SELECT LENGTH(b) FROM t"), [(len(blob),)])
        self.assertTrue(self.rows("SELECT b FROM t")[0][0] == blob)
        self.assertTrue(self.rows("SELECT %s", ("é" * size,))[0][0] == "é" * size)

    def test_streamed_rows(self):
        self.run_sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100))")
        self.cur.executemany("INSERT INTO t VALUES (%s, %s)", [(i, "v" * 100) for i in range(20_000)])
        self.conn.commit()
        cur = pymysql.cursors.SSCursor(self.conn)
        cur.execute("SELECT * FROM t ORDER BY id")
        self.assertEqual(sum(1 for _ in cur), 20_000)
        cur.close()

    def test_kill(self):
        victim = connect()
        victim_id = victim.thread_id()
        self.conn.kill(victim_id)
        with self.assertRaises(pymysql.MySQLError):
            victim.cursor().execute("SELECT 1")
        # The victim's thread goes when it has noticed.
        until(lambda: all(r[0] != victim_id for r in self.rows("SHOW PROCESSLIST")))
        self.fails(1094, f"KILL {victim_id}")

        self.run_sql("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        self.run_sql("INSERT INTO t VALUES (1, 0)")
        self.conn.commit()
        self.run_sql("UPDATE t SET v = 1")
        waiter = connect(database="suite_py")
        caught = []

        def wait():
            try:
                with waiter.cursor() as cur:
                    cur.execute("UPDATE t SET v = 2")
            except pymysql.MySQLError as e:
                caught.append(e.args[0])

        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: self.rows("SELECT COUNT(*) FROM performance_schema.data_lock_waits") == [(1,)])
        self.run_sql(f"KILL QUERY {waiter.thread_id()}")
        thread.join()
        self.assertEqual(caught, [1317])
        waiter.ping(reconnect=False)
        waiter.close()

    def test_reset_and_ping(self):
        self.run_sql("SET @x = 5, autocommit = 0")
        self.conn._execute_command(COMMAND.COM_RESET_CONNECTION if hasattr(COMMAND, "COM_RESET_CONNECTION") else 0x1F, b"")
        self.conn._read_ok_packet()
        self.assertEqual(self.rows("SELECT @x, @@autocommit"), [(None, 1)])
        self.conn.ping(reconnect=False)

    def test_show(self):
        self.assertIn(("suite_py",), self.rows("SHOW DATABASES"))
        variables = dict(self.rows("SHOW VARIABLES"))
        self.assertEqual(variables["version"], self.conn.get_server_info())
        self.assertIn("Uptime", dict(self.rows("SHOW GLOBAL STATUS")))
        self.assertIn("millpond", str(self.rows("SHOW ENGINES")).lower())
        self.assertIn("BUFFER POOL", self.rows("SHOW ENGINE INNODB STATUS")[0][2].upper())

    def test_bytes_that_are_no_text_are_none(self):
        self.assertEqual(
            self.rows("SELECT CONVERT(x'e9' USING utf8mb4), CAST(x'ff' AS CHAR), CHAR(255 USING utf8mb4), x'e9'"),
            [(None, None, None, b"\xe9")],
        )


unittest.main(verbosity=2)
