//! Sessions, users and hosts.

use super::As::{Bytes, It, Text, Time};
use super::{Column, Pair};

/// What is summed up of a user's or a host's accounts.
macro_rules! summary {
    ($name:literal, $of:literal, $others:literal, $other:literal) => {
        &[
            ($name, $of, It),
            ("statements", "SUM(STATEMENTS)", It),
            ("statement_latency", "SUM(STATEMENT_TIME)", Time),
            (
                "statement_avg_latency",
                "IFNULL(SUM(STATEMENT_TIME) / NULLIF(SUM(STATEMENTS), 0), 0)",
                Time,
            ),
            ("table_scans", "SUM(TABLE_SCANS)", It),
            ("file_ios", "SUM(FILE_IOS)", It),
            ("file_io_latency", "SUM(FILE_IO_TIME)", Time),
            ("current_connections", "SUM(CURRENT_CONNECTIONS)", It),
            ("total_connections", "SUM(TOTAL_CONNECTIONS)", It),
            ($others, concat!("COUNT(DISTINCT ", $other, ")"), It),
            ("current_memory", "SUM(CURRENT_MEMORY)", Bytes),
            ("total_memory_allocated", "MAX(MAX_MEMORY)", Bytes),
        ]
    };
}

/// Of what is not watched while a statement runs there is NULL, as in MySQL where its consumers are off.
const PROCESSES: &[Column] = &[
    ("thd_id", "t.THREAD_ID", It),
    ("conn_id", "t.PROCESSLIST_ID", It),
    (
        "user",
        "CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST)",
        It,
    ),
    ("db", "t.PROCESSLIST_DB", It),
    ("command", "t.PROCESSLIST_COMMAND", It),
    ("state", "t.PROCESSLIST_STATE", It),
    ("time", "t.PROCESSLIST_TIME", It),
    ("current_statement", "t.PROCESSLIST_INFO", Text),
    ("execution_engine", "t.EXECUTION_ENGINE", It),
    (
        "statement_latency",
        "IF(t.PROCESSLIST_INFO IS NULL, NULL, t.PROCESSLIST_TIME * 1000000000000)",
        Time,
    ),
    (
        "progress",
        "ROUND(100 * g.WORK_COMPLETED / NULLIF(g.WORK_ESTIMATED, 0), 2)",
        It,
    ),
    ("lock_latency", "CAST(NULL AS UNSIGNED)", Time),
    ("cpu_latency", "CAST(NULL AS UNSIGNED)", Time),
    ("rows_examined", "CAST(NULL AS UNSIGNED)", It),
    ("rows_sent", "CAST(NULL AS UNSIGNED)", It),
    ("rows_affected", "CAST(NULL AS UNSIGNED)", It),
    ("tmp_tables", "CAST(NULL AS UNSIGNED)", It),
    ("tmp_disk_tables", "CAST(NULL AS UNSIGNED)", It),
    ("full_scan", "CAST(NULL AS CHAR(3))", It),
    ("last_statement", "CAST(NULL AS CHAR(64))", It),
    ("last_statement_latency", "CAST(NULL AS UNSIGNED)", Time),
    ("current_memory", "t.TOTAL_MEMORY", Bytes),
    ("last_wait", "CAST(NULL AS CHAR(128))", It),
    ("last_wait_latency", "CAST(NULL AS UNSIGNED)", Time),
    ("source", "CAST(NULL AS CHAR(64))", It),
    (
        "trx_latency",
        "TIMESTAMPDIFF(SECOND, x.trx_started, NOW()) * 1000000000000",
        Time,
    ),
    ("trx_state", "IF(x.trx_id IS NULL, NULL, 'ACTIVE')", It),
    ("trx_autocommit", "CAST(NULL AS CHAR(3))", It),
    ("pid", "p.ATTR_VALUE", It),
    ("program_name", "a.ATTR_VALUE", It),
];

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "user_summary",
        columns: summary!("user", "USER", "unique_hosts", "HOST"),
        from: "FROM information_schema.MILLPOND_ACCOUNTS GROUP BY USER ORDER BY SUM(STATEMENT_TIME) DESC",
    },
    Pair {
        name: "host_summary",
        columns: summary!("host", "HOST", "unique_users", "USER"),
        from: "FROM information_schema.MILLPOND_ACCOUNTS GROUP BY HOST ORDER BY SUM(STATEMENT_TIME) DESC",
    },
    Pair {
        name: "user_summary_by_statement_type",
        columns: &[
            ("user", "USER", It),
            ("statement", "SUBSTRING_INDEX(EVENT_NAME, '/', -1)", It),
            ("total", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
            ("lock_latency", "SUM_LOCK_TIME", Time),
            ("cpu_latency", "SUM_CPU_TIME", Time),
            ("rows_sent", "SUM_ROWS_SENT", It),
            ("rows_examined", "SUM_ROWS_EXAMINED", It),
            ("rows_affected", "SUM_ROWS_AFFECTED", It),
            (
                "full_scans",
                "SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED",
                It,
            ),
        ],
        from: "FROM performance_schema.events_statements_summary_by_user_by_event_name ORDER BY USER, SUM_TIMER_WAIT DESC",
    },
    Pair {
        name: "host_summary_by_statement_type",
        columns: &[
            ("host", "HOST", It),
            ("statement", "SUBSTRING_INDEX(EVENT_NAME, '/', -1)", It),
            ("total", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
            ("lock_latency", "SUM_LOCK_TIME", Time),
            ("cpu_latency", "SUM_CPU_TIME", Time),
            ("rows_sent", "SUM_ROWS_SENT", It),
            ("rows_examined", "SUM_ROWS_EXAMINED", It),
            ("rows_affected", "SUM_ROWS_AFFECTED", It),
            (
                "full_scans",
                "SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED",
                It,
            ),
        ],
        from: "FROM performance_schema.events_statements_summary_by_host_by_event_name ORDER BY HOST, SUM_TIMER_WAIT DESC",
    },
    Pair {
        name: "processlist",
        columns: PROCESSES,
        from: "FROM performance_schema.threads t LEFT JOIN performance_schema.events_stages_current g ON g.THREAD_ID = t.THREAD_ID \
               LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id = t.PROCESSLIST_ID \
               LEFT JOIN performance_schema.session_connect_attrs p ON p.PROCESSLIST_ID = t.PROCESSLIST_ID AND p.ATTR_NAME = '_pid' \
               LEFT JOIN performance_schema.session_connect_attrs a ON a.PROCESSLIST_ID = t.PROCESSLIST_ID AND a.ATTR_NAME = 'program_name' \
               ORDER BY t.PROCESSLIST_TIME DESC",
    },
    Pair {
        name: "session",
        columns: PROCESSES,
        from: "FROM performance_schema.threads t LEFT JOIN performance_schema.events_stages_current g ON g.THREAD_ID = t.THREAD_ID \
               LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id = t.PROCESSLIST_ID \
               LEFT JOIN performance_schema.session_connect_attrs p ON p.PROCESSLIST_ID = t.PROCESSLIST_ID AND p.ATTR_NAME = '_pid' \
               LEFT JOIN performance_schema.session_connect_attrs a ON a.PROCESSLIST_ID = t.PROCESSLIST_ID AND a.ATTR_NAME = 'program_name' \
               WHERE t.PROCESSLIST_ID IS NOT NULL AND t.PROCESSLIST_COMMAND <> 'Daemon' ORDER BY t.PROCESSLIST_TIME DESC",
    },
];
