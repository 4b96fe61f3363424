// A tour of a server by JDBC: Smoke URL USER PASSWORD, where URL names the driver (jdbc:mysql:..., jdbc:mariadb:...).
// Prints a line for each thing tried, and ends with 1 if one was not as it should be.

import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

public class Smoke {
    static int failed = 0;

    interface Step {
        void run() throws Exception;
    }

    static void step(String name, Step step) {
        try {
            step.run();
            System.out.println("ok    " + name);
        } catch (Throwable e) {
            failed++;
            System.out.println("FAIL  " + name + ": " + e);
        }
    }

    static void same(Object wanted, Object got) {
        if (!Objects.equals(wanted, got)) {
            throw new AssertionError("wanted " + wanted + ", got " + got);
        }
    }

    static String one(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getString(1);
        }
    }

    static List<String> names(ResultSet r, String column) throws SQLException {
        List<String> out = new ArrayList<>();
        while (r.next()) {
            out.add(r.getString(column));
        }
        return out;
    }

    public static void main(String[] args) throws Exception {
        String url = args[0], user = args[1], password = args[2];
        boolean mysql = url.startsWith("jdbc:mysql:");
        String more = url.contains("?") ? "&" : "?";
        String db = "smoke_" + (mysql ? "mysql" : "mariadb");
        Connection c = DriverManager.getConnection(url, user, password);
        DatabaseMetaData meta = c.getMetaData();
        System.out.println(meta.getDriverName() + " " + meta.getDriverVersion() + ", " + meta.getDatabaseProductName() + " "
            + meta.getDatabaseProductVersion());
        try (Statement s = c.createStatement()) {
            s.execute("DROP DATABASE IF EXISTS " + db);
            s.execute("CREATE DATABASE " + db + " CHARACTER SET utf8mb4");
        }
        c.setCatalog(db);
        step("types, by statement and prepared on either side", () -> types(c, url + more, user, password, db));
        step("generated keys", () -> keys(c));
        step("a batch", () -> batch(c));
        step("batches that are rewritten", () -> {
            try (Connection d = connect(url + more + "rewriteBatchedStatements=true", user, password, db)) {
                batch(d);
            }
        });
        step("commit, rollback, savepoints", () -> transactions(c));
        step("isolation levels", () -> isolation(c));
        step("a procedure with OUT parameters and results", () -> procedure(c));
        step("rows streamed, and by a cursor", () -> streams(c, url + more, user, password, db));
        step("several statements at once", () -> {
            try (Connection d = connect(url + more + "allowMultiQueries=true", user, password, db); Statement s = d.createStatement()) {
                same(true, s.execute("SELECT 1; SELECT 2; DO 1"));
                same(true, s.getMoreResults());
                same(false, s.getMoreResults());
                same(0, s.getUpdateCount());
            }
        });
        step("metadata", () -> metadata(c, db));
        step("rows that are updated through a result", () -> updatable(c));
        step("errors and their states", () -> errors(c));
        step("a statement that takes too long", () -> timeout(c));
        step("compression", () -> {
            String how = mysql ? "useCompression=true" : "useCompression";
            try (Connection d = connect(url + more + how, user, password, db)) {
                same("300000", one(d, "SELECT LENGTH('" + "x".repeat(300000) + "')"));
            }
        });
        step("TLS", () -> {
            String how = mysql ? "sslMode=REQUIRED" : "sslMode=trust";
            try (Connection d = connect(url.replaceAll("[?&](sslMode|useSSL)=[A-Za-z]*", "") + "?" + how, user, password, db)) {
                String cipher = "SHOW STATUS LIKE 'Ssl_version'";
                try (Statement s = d.createStatement(); ResultSet r = s.executeQuery(cipher)) {
                    r.next();
                    same(true, r.getString(2).startsWith("TLS"));
                }
            }
        });
        if (mysql) {
            step("query attributes", () -> attributes(c));
        }
        try (Statement s = c.createStatement()) {
            s.execute("DROP DATABASE " + db);
        }
        c.close();
        System.out.println(failed == 0 ? "all as it should be" : failed + " not as they should be");
        System.exit(failed == 0 ? 0 : 1);
    }

    static Connection connect(String url, String user, String password, String db) throws SQLException {
        Connection c = DriverManager.getConnection(url, user, password);
        c.setCatalog(db);
        return c;
    }

    static void types(Connection c, String url, String user, String password, String db) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE types (id INT PRIMARY KEY, b BIT(1), i8 TINYINT, u64 BIGINT UNSIGNED, d DECIMAL(30,10), f DOUBLE, dt DATETIME(6), "
                + "ts TIMESTAMP(3) NULL, da DATE, t TIME(6), y YEAR, s VARCHAR(50), bl BLOB, tx LONGTEXT, j JSON, e ENUM('x','y'), st SET('a','b'))");
        }
        String[] ways = url.startsWith("jdbc:mysql:")
            ? new String[] {"useServerPrepStmts=false", "useServerPrepStmts=true"}
            : new String[] {"useServerPrepStmts=false", "useServerPrepStmts=true", "useServerPrepStmts=true&useBulkStmts=true"};
        int id = 0;
        for (String way : ways) {
            try (Connection d = connect(url + way, user, password, db)) {
                id++;
                Timestamp moment = Timestamp.valueOf("2024-02-29 23:59:58.123456");
                try (PreparedStatement p = d.prepareStatement("INSERT INTO types VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")) {
                    p.setInt(1, id);
                    p.setBoolean(2, true);
                    p.setByte(3, (byte) -128);
                    p.setBigDecimal(4, new BigDecimal("18446744073709551615"));
                    p.setBigDecimal(5, new BigDecimal("-12345678901234567890.0123456789"));
                    p.setDouble(6, 1.5e300);
                    p.setTimestamp(7, moment);
                    p.setNull(8, Types.TIMESTAMP);
                    p.setDate(9, java.sql.Date.valueOf("1999-12-31"));
                    p.setString(10, "-12:34:56.789");
                    p.setInt(11, 2155);
                    p.setString(12, "gr\u00fc\u00df \uD83D\uDE00 \\ ' \"");
                    p.setBytes(13, new byte[] {0, -1, 39, 92});
                    p.setCharacterStream(14, new java.io.StringReader("z".repeat(100000)));
                    p.setString(15, "{\"a\": [1, 2]}");
                    p.setString(16, "y");
                    p.setString(17, "a,b");
                    same(1, p.executeUpdate());
                }
                try (PreparedStatement p = d.prepareStatement("SELECT *, CAST(t AS CHAR) AS text FROM types WHERE id = ?")) {
                    p.setInt(1, id);
                    for (int round = 0; round < 2; round++) {
                        try (ResultSet r = p.executeQuery()) {
                            same(true, r.next());
                            same(true, r.getBoolean("b"));
                            same((byte) -128, r.getByte("i8"));
                            same(new BigDecimal("18446744073709551615"), r.getBigDecimal("u64"));
                            same(new BigDecimal("-12345678901234567890.0123456789"), r.getBigDecimal("d"));
                            same(1.5e300, r.getDouble("f"));
                            same(moment, r.getTimestamp("dt"));
                            same(null, r.getTimestamp("ts"));
                            same("1999-12-31", r.getDate("da").toString());
                            // Connector/J loses the sign of a TIME that comes in the binary protocol.
                            same("12:34:56.789000", r.getString("t").replace("-", ""));
                            same("-12:34:56.789000", r.getString("text"));
                            same(2155, r.getInt("y") == 0 ? r.getShort("y") : r.getInt("y"));
                            same("gr\u00fc\u00df \uD83D\uDE00 \\ ' \"", r.getString("s"));
                            same(true, Arrays.equals(new byte[] {0, -1, 39, 92}, r.getBytes("bl")));
                            same(100000, r.getString("tx").length());
                            same("{\"a\": [1, 2]}", r.getString("j"));
                            same("y", r.getString("e"));
                            same("a,b", r.getString("st"));
                            same(false, r.next());
                        }
                    }
                }
            }
        }
    }

    static void keys(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE autos (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)");
        }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO autos (v) VALUES (?), (?)", Statement.RETURN_GENERATED_KEYS)) {
            p.setInt(1, 1);
            p.setInt(2, 2);
            same(2, p.executeUpdate());
            try (ResultSet r = p.getGeneratedKeys()) {
                r.next();
                same(1L, r.getLong(1));
                // MariaDB's driver has the first one only.
                if (r.next()) {
                    same(2L, r.getLong(1));
                }
            }
        }
    }

    static void batch(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("DROP TABLE IF EXISTS batches");
            s.execute("CREATE TABLE batches (id INT PRIMARY KEY, v VARCHAR(20))");
        }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO batches (id, v) VALUES (?, ?)")) {
            for (int i = 0; i < 500; i++) {
                p.setInt(1, i);
                p.setString(2, "v" + i);
                p.addBatch();
            }
            same(500, p.executeBatch().length);
        }
        same("500", one(c, "SELECT COUNT(*) FROM batches"));
        try (PreparedStatement p = c.prepareStatement("INSERT INTO batches (id, v) VALUES (?, 'x')")) {
            for (int i : new int[] {1000, 1, 1001}) {
                p.setInt(1, i);
                p.addBatch();
            }
            try {
                p.executeBatch();
                throw new AssertionError("a duplicate passed");
            } catch (BatchUpdateException e) {
                same(1062, e.getErrorCode());
            }
        }
    }

    static void transactions(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE tx (id INT PRIMARY KEY)");
            c.setAutoCommit(false);
            s.execute("INSERT INTO tx VALUES (1)");
            Savepoint point = c.setSavepoint("p");
            s.execute("INSERT INTO tx VALUES (2)");
            c.rollback(point);
            c.commit();
            s.execute("INSERT INTO tx VALUES (3)");
            c.rollback();
            same("1", one(c, "SELECT GROUP_CONCAT(id) FROM tx"));
            c.setReadOnly(true);
            try {
                s.execute("INSERT INTO tx VALUES (4)");
                throw new AssertionError("written while read only");
            } catch (SQLException e) {
                // The driver or the server refuses it.
            } catch (AssertionError e) {
                // MariaDB's driver makes nothing of it by default.
                if (!c.getMetaData().getDriverName().startsWith("MariaDB")) {
                    throw e;
                }
            }
        } finally {
            c.rollback();
            c.setReadOnly(false);
            c.setAutoCommit(true);
        }
    }

    static void isolation(Connection c) throws Exception {
        int before = c.getTransactionIsolation();
        int[] levels = {Connection.TRANSACTION_READ_UNCOMMITTED, Connection.TRANSACTION_READ_COMMITTED,
            Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE};
        for (int level : levels) {
            c.setTransactionIsolation(level);
            same(level, c.getTransactionIsolation());
        }
        c.setTransactionIsolation(before);
    }

    static void procedure(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE PROCEDURE proc(IN a INT, INOUT b INT, OUT c VARCHAR(10)) BEGIN SELECT a; SET b = a + b, c = 'out'; END");
            s.execute("CREATE FUNCTION func(a INT) RETURNS INT DETERMINISTIC RETURN a * 2");
        }
        try (CallableStatement p = c.prepareCall("{CALL proc(?, ?, ?)}")) {
            p.setInt(1, 4);
            p.setInt(2, 5);
            p.registerOutParameter(2, Types.INTEGER);
            p.registerOutParameter(3, Types.VARCHAR);
            same(true, p.execute());
            try (ResultSet r = p.getResultSet()) {
                r.next();
                same(4, r.getInt(1));
            }
            same(9, p.getInt(2));
            same("out", p.getString(3));
        }
        try (CallableStatement p = c.prepareCall("{? = CALL func(?)}")) {
            p.registerOutParameter(1, Types.INTEGER);
            p.setInt(2, 21);
            p.execute();
            same(42, p.getInt(1));
        }
    }

    static void streams(Connection c, String url, String user, String password, String db) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(100))");
            s.execute("INSERT INTO many WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM q WHERE n < 1000) SELECT n, REPEAT('v', 90) FROM q");
        }
        String cursor = url.startsWith("jdbc:mysql:") ? "useCursorFetch=true&defaultFetchSize=50" : "useServerPrepStmts=true&defaultFetchSize=50";
        try (Connection d = connect(url + cursor, user, password, db)) {
            for (int size : new int[] {50, url.startsWith("jdbc:mysql:") ? Integer.MIN_VALUE : 1}) {
                try (PreparedStatement p = d.prepareStatement("SELECT id, v FROM many ORDER BY id", ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
                    p.setFetchSize(size);
                    try (ResultSet r = p.executeQuery()) {
                        int rows = 0;
                        while (r.next()) {
                            same(++rows, r.getInt(1));
                        }
                        same(1000, rows);
                    }
                }
            }
        }
    }

    static void metadata(Connection c, String db) throws Exception {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'n' COMMENT 'its name', UNIQUE KEY by_name (name))");
            s.execute("CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT, CONSTRAINT c_p FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)");
            s.execute("CREATE VIEW look AS SELECT name FROM parent");
        }
        DatabaseMetaData m = c.getMetaData();
        try (ResultSet r = m.getTables(db, null, "%", new String[] {"VIEW"})) {
            same(List.of("look"), names(r, "TABLE_NAME"));
        }
        try (ResultSet r = m.getTables(db, null, "%arent", new String[] {"TABLE"})) {
            same(List.of("parent"), names(r, "TABLE_NAME"));
        }
        try (ResultSet r = m.getColumns(db, null, "parent", "%")) {
            r.next();
            same(Types.INTEGER, r.getInt("DATA_TYPE"));
            r.next();
            same("name VARCHAR 20 n its name NO", r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME") + " " + r.getInt("COLUMN_SIZE") + " "
                + r.getString("COLUMN_DEF").replace("'", "") + " " + r.getString("REMARKS") + " " + r.getString("IS_NULLABLE"));
        }
        try (ResultSet r = m.getPrimaryKeys(db, null, "child")) {
            same(List.of("id"), names(r, "COLUMN_NAME"));
        }
        try (ResultSet r = m.getIndexInfo(db, null, "parent", true, false)) {
            same(Set.of("PRIMARY", "by_name"), new HashSet<>(names(r, "INDEX_NAME")));
        }
        try (ResultSet r = m.getImportedKeys(db, null, "child")) {
            r.next();
            same("parent id c_p " + DatabaseMetaData.importedKeyCascade,
                r.getString("PKTABLE_NAME") + " " + r.getString("PKCOLUMN_NAME") + " " + r.getString("FK_NAME") + " " + r.getInt("DELETE_RULE"));
        }
        try (ResultSet r = m.getExportedKeys(db, null, "parent")) {
            // Connector/J has a row for each unique key of the parent.
            same(Set.of("child"), new HashSet<>(names(r, "FKTABLE_NAME")));
        }
        try (ResultSet r = m.getProcedures(db, null, "proc")) {
            same(List.of("proc"), names(r, "PROCEDURE_NAME"));
        }
        try (ResultSet r = m.getProcedureColumns(db, null, "proc", "%")) {
            same(List.of("a", "b", "c"), names(r, "COLUMN_NAME"));
        }
        try (ResultSet r = m.getTypeInfo()) {
            same(true, names(r, "TYPE_NAME").contains("BIGINT"));
        }
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT p.id AS x, COUNT(*) FROM parent p GROUP BY 1")) {
            ResultSetMetaData columns = r.getMetaData();
            same("x id parent", columns.getColumnLabel(1) + " " + columns.getColumnName(1) + " " + columns.getTableName(1));
            same(Types.BIGINT, columns.getColumnType(2));
        }
    }

    static void updatable(Connection c) throws Exception {
        try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            s.execute("CREATE TABLE upd (id INT PRIMARY KEY, v VARCHAR(10))");
            s.execute("INSERT INTO upd VALUES (1, 'a'), (2, 'b')");
            try (ResultSet r = s.executeQuery("SELECT id, v FROM upd ORDER BY id")) {
                r.next();
                r.updateString("v", "changed");
                r.updateRow();
                r.moveToInsertRow();
                r.updateInt("id", 3);
                r.updateString("v", "new");
                r.insertRow();
                r.absolute(2);
                r.deleteRow();
            }
        }
        same("1changed,3new", one(c, "SELECT GROUP_CONCAT(id, v ORDER BY id) FROM upd"));
    }

    static void errors(Connection c) throws Exception {
        Object[][] cases = {{"SELECT", 1064, "42000"}, {"SELECT * FROM nosuch", 1146, "42S02"}, {"INSERT INTO parent VALUES (1, 'a'), (1, 'b')", 1062, "23000"},
            {"USE nosuch", 1049, "42000"}, {"INSERT INTO child (parent) VALUES (99)", 1452, "23000"}};
        for (Object[] one : cases) {
            try (Statement s = c.createStatement()) {
                s.execute((String) one[0]);
                throw new AssertionError(one[0] + " passed");
            } catch (SQLException e) {
                same(one[1], e.getErrorCode());
                same(true, e.getSQLState().startsWith((String) one[2]));
            }
        }
        try (Statement s = c.createStatement()) {
            s.execute("SELECT 1/0");
            same(1365, s.getWarnings().getErrorCode());
        }
    }

    static void timeout(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            try {
                s.executeQuery("SELECT COUNT(*) FROM many a JOIN many b JOIN many d WHERE SLEEP(0.01) = 1");
                throw new AssertionError("it came to an end");
            } catch (SQLException e) {
                same(true, e instanceof SQLTimeoutException || e.getErrorCode() == 1317 || e.getErrorCode() == 1969 || e.getErrorCode() == 3024);
            }
        }
        same("1", one(c, "SELECT 1"));
    }

    /** Connector/J's own interface, by reflection so that this compiles without the driver. */
    static void attributes(Connection c) throws Exception {
        Class<?> type = Class.forName("com.mysql.cj.jdbc.JdbcStatement");
        String ask = "SELECT mysql_query_attribute_string('n'), mysql_query_attribute_string('m')";
        try (Statement s = c.createStatement(); PreparedStatement p = c.prepareStatement(ask)) {
            type.getMethod("setAttribute", String.class, Object.class).invoke(s, "n", "value");
            try (ResultSet r = s.executeQuery(ask)) {
                r.next();
                same("value null", r.getString(1) + " " + r.getString(2));
            }
            type.getMethod("setAttribute", String.class, Object.class).invoke(p, "m", 17);
            try (ResultSet r = p.executeQuery()) {
                r.next();
                same("null 17", r.getString(1) + " " + r.getString(2));
            }
        }
    }
}
