//! Tables and their indexes.

use super::As::{Bytes, It, Time};
use super::{Pair, Single};

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "schema_index_statistics",
        columns: &[
            ("table_schema", "OBJECT_SCHEMA", It),
            ("table_name", "OBJECT_NAME", It),
            ("index_name", "INDEX_NAME", It),
            ("rows_selected", "COUNT_FETCH", It),
            ("select_latency", "SUM_TIMER_FETCH", Time),
            ("rows_inserted", "COUNT_INSERT", It),
            ("insert_latency", "SUM_TIMER_INSERT", Time),
            ("rows_updated", "COUNT_UPDATE", It),
            ("update_latency", "SUM_TIMER_UPDATE", Time),
            ("rows_deleted", "COUNT_DELETE", It),
            ("delete_latency", "SUM_TIMER_DELETE", Time),
        ],
        from: "FROM performance_schema.table_io_waits_summary_by_index_usage \
               WHERE INDEX_NAME IS NOT NULL ORDER BY COUNT_STAR DESC",
    },
    Pair {
        name: "schema_tables_with_full_table_scans",
        columns: &[
            ("object_schema", "OBJECT_SCHEMA", It),
            ("object_name", "OBJECT_NAME", It),
            ("rows_full_scanned", "COUNT_READ", It),
            ("latency", "SUM_TIMER_WAIT", Time),
        ],
        from: "FROM performance_schema.table_io_waits_summary_by_index_usage \
               WHERE INDEX_NAME IS NULL AND COUNT_READ > 0 ORDER BY COUNT_READ DESC",
    },
    Pair {
        name: "schema_table_statistics",
        columns: &[
            ("table_schema", "t.OBJECT_SCHEMA", It),
            ("table_name", "t.OBJECT_NAME", It),
            ("total_latency", "t.SUM_TIMER_WAIT", Time),
            ("rows_fetched", "t.COUNT_FETCH", It),
            ("fetch_latency", "t.SUM_TIMER_FETCH", Time),
            ("rows_inserted", "t.COUNT_INSERT", It),
            ("insert_latency", "t.SUM_TIMER_INSERT", Time),
            ("rows_updated", "t.COUNT_UPDATE", It),
            ("update_latency", "t.SUM_TIMER_UPDATE", Time),
            ("rows_deleted", "t.COUNT_DELETE", It),
            ("delete_latency", "t.SUM_TIMER_DELETE", Time),
            ("io_read_requests", "f.COUNT_READ", It),
            ("io_read", "f.SUM_NUMBER_OF_BYTES_READ", Bytes),
            ("io_read_latency", "f.SUM_TIMER_READ", Time),
            ("io_write_requests", "f.COUNT_WRITE", It),
            ("io_write", "f.SUM_NUMBER_OF_BYTES_WRITE", Bytes),
            ("io_write_latency", "f.SUM_TIMER_WRITE", Time),
            ("io_misc_requests", "f.COUNT_MISC", It),
            ("io_misc_latency", "f.SUM_TIMER_MISC", Time),
        ],
        // Of a table that shares its file with others nothing is known of files.
        from: "FROM performance_schema.table_io_waits_summary_by_table t \
               LEFT JOIN information_schema.INNODB_TABLES i ON i.NAME = CONCAT(t.OBJECT_SCHEMA, '/', t.OBJECT_NAME) AND i.SPACE_TYPE = 'Single' \
               LEFT JOIN performance_schema.file_summary_by_instance f ON f.FILE_NAME = CONCAT(@@datadir, 'tables/', i.SPACE) \
               ORDER BY t.COUNT_STAR DESC",
    },
];

pub(super) const SINGLES: &[Single] = &[
    (
        "schema_unused_indexes",
        "SELECT u.OBJECT_SCHEMA AS object_schema, u.OBJECT_NAME AS object_name, u.INDEX_NAME AS index_name \
         FROM performance_schema.table_io_waits_summary_by_index_usage u \
         JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA = u.OBJECT_SCHEMA AND s.TABLE_NAME = u.OBJECT_NAME \
            AND s.INDEX_NAME = u.INDEX_NAME AND s.SEQ_IN_INDEX = 1 \
         WHERE u.COUNT_STAR = 0 AND s.NON_UNIQUE = 1 AND u.OBJECT_SCHEMA NOT IN ('mysql', 'sys') \
         ORDER BY u.OBJECT_SCHEMA, u.OBJECT_NAME, u.INDEX_NAME",
    ),
    (
        "schema_auto_increment_columns",
        "SELECT c.TABLE_SCHEMA AS table_schema, c.TABLE_NAME AS table_name, c.COLUMN_NAME AS column_name, \
            c.DATA_TYPE AS data_type, c.COLUMN_TYPE AS column_type, c.is_unsigned = 0 AS is_signed, \
            c.is_unsigned AS is_unsigned, c.max_value AS max_value, t.AUTO_INCREMENT AS auto_increment, \
            t.AUTO_INCREMENT / c.max_value AS auto_increment_ratio \
         FROM (SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, \
                LOCATE('unsigned', COLUMN_TYPE) > 0 AS is_unsigned, \
                CASE DATA_TYPE WHEN 'tinyint' THEN 255 WHEN 'smallint' THEN 65535 WHEN 'mediumint' THEN 16777215 \
                    WHEN 'int' THEN 4294967295 WHEN 'bigint' THEN 18446744073709551615 END \
                >> IF(LOCATE('unsigned', COLUMN_TYPE) > 0, 0, 1) AS max_value \
            FROM information_schema.COLUMNS \
            WHERE EXTRA LIKE '%auto_increment%' AND DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') \
                AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')) c \
         JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME \
         WHERE t.TABLE_TYPE = 'BASE TABLE' \
         ORDER BY t.AUTO_INCREMENT / c.max_value DESC, c.max_value",
    ),
    (
        "schema_object_overview",
        "SELECT ROUTINE_SCHEMA AS db, ROUTINE_TYPE AS object_type, COUNT(*) AS count \
         FROM information_schema.ROUTINES GROUP BY ROUTINE_SCHEMA, ROUTINE_TYPE \
         UNION ALL SELECT TABLE_SCHEMA, TABLE_TYPE, COUNT(*) FROM information_schema.TABLES GROUP BY TABLE_SCHEMA, TABLE_TYPE \
         UNION ALL SELECT TABLE_SCHEMA, CONCAT('INDEX (', INDEX_TYPE, ')'), COUNT(*) \
            FROM information_schema.STATISTICS GROUP BY TABLE_SCHEMA, INDEX_TYPE \
         UNION ALL SELECT TRIGGER_SCHEMA, 'TRIGGER', COUNT(*) FROM information_schema.TRIGGERS GROUP BY TRIGGER_SCHEMA \
         UNION ALL SELECT EVENT_SCHEMA, 'EVENT', COUNT(*) FROM information_schema.EVENTS GROUP BY EVENT_SCHEMA \
         ORDER BY db, object_type",
    ),
    (
        "x$schema_flattened_keys",
        "SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, INDEX_NAME AS index_name, \
            MAX(NON_UNIQUE) AS non_unique, MAX(SUB_PART IS NOT NULL) AS subpart_exists, \
            GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS index_columns \
         FROM information_schema.STATISTICS \
         WHERE INDEX_TYPE = 'BTREE' AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
         GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME HAVING COUNT(*) = COUNT(COLUMN_NAME)",
    ),
    (
        // An index is of no use beside another that begins with its columns, unless it is unique and the other does not say the same.
        "schema_redundant_indexes",
        "SELECT r.table_schema AS table_schema, r.table_name AS table_name, \
            r.index_name AS redundant_index_name, r.index_columns AS redundant_index_columns, \
            r.non_unique AS redundant_index_non_unique, \
            d.index_name AS dominant_index_name, d.index_columns AS dominant_index_columns, \
            d.non_unique AS dominant_index_non_unique, \
            IF(r.subpart_exists OR d.subpart_exists, 1, 0) AS subpart_exists, \
            CONCAT('ALTER TABLE `', r.table_schema, '`.`', r.table_name, '` DROP INDEX `', r.index_name, '`') AS sql_drop_index \
         FROM sys.`x$schema_flattened_keys` r JOIN sys.`x$schema_flattened_keys` d \
            ON d.table_schema = r.table_schema AND d.table_name = r.table_name AND d.index_name <> r.index_name \
         WHERE r.index_name <> 'PRIMARY' AND ( \
            (r.index_columns = d.index_columns \
                AND (r.non_unique > d.non_unique \
                    OR r.non_unique = d.non_unique AND (d.index_name = 'PRIMARY' OR r.index_name > d.index_name))) \
            OR (r.non_unique = 1 AND LEFT(d.index_columns, CHAR_LENGTH(r.index_columns) + 1) = CONCAT(r.index_columns, ',')) \
            OR (d.non_unique = 0 AND LEFT(r.index_columns, CHAR_LENGTH(d.index_columns) + 1) = CONCAT(d.index_columns, ',')))",
    ),
];
