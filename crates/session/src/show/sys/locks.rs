//! Who waits for whom.

use super::As::{It, Text};
use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "innodb_lock_waits",
        columns: &[
            ("wait_started", "r.trx_wait_started", It),
            ("wait_age", "TIMEDIFF(NOW(), r.trx_wait_started)", It),
            (
                "wait_age_secs",
                "TIMESTAMPDIFF(SECOND, r.trx_wait_started, NOW())",
                It,
            ),
            (
                "locked_table",
                "CONCAT('`', rl.OBJECT_SCHEMA, '`.`', rl.OBJECT_NAME, '`')",
                It,
            ),
            ("locked_table_schema", "rl.OBJECT_SCHEMA", It),
            ("locked_table_name", "rl.OBJECT_NAME", It),
            ("locked_table_partition", "rl.PARTITION_NAME", It),
            ("locked_table_subpartition", "rl.SUBPARTITION_NAME", It),
            ("locked_index", "rl.INDEX_NAME", It),
            ("locked_type", "rl.LOCK_TYPE", It),
            ("waiting_trx_id", "r.trx_id", It),
            ("waiting_trx_started", "r.trx_started", It),
            ("waiting_trx_age", "TIMEDIFF(NOW(), r.trx_started)", It),
            ("waiting_trx_rows_locked", "r.trx_rows_locked", It),
            ("waiting_trx_rows_modified", "r.trx_rows_modified", It),
            ("waiting_pid", "r.trx_mysql_thread_id", It),
            ("waiting_query", "r.trx_query", Text),
            ("waiting_lock_id", "rl.ENGINE_LOCK_ID", It),
            ("waiting_lock_mode", "rl.LOCK_MODE", It),
            ("blocking_trx_id", "b.trx_id", It),
            ("blocking_pid", "b.trx_mysql_thread_id", It),
            ("blocking_query", "b.trx_query", Text),
            ("blocking_lock_id", "bl.ENGINE_LOCK_ID", It),
            ("blocking_lock_mode", "bl.LOCK_MODE", It),
            ("blocking_trx_started", "b.trx_started", It),
            ("blocking_trx_age", "TIMEDIFF(NOW(), b.trx_started)", It),
            ("blocking_trx_rows_locked", "b.trx_rows_locked", It),
            ("blocking_trx_rows_modified", "b.trx_rows_modified", It),
            (
                "sql_kill_blocking_query",
                "CONCAT('KILL QUERY ', b.trx_mysql_thread_id)",
                It,
            ),
            (
                "sql_kill_blocking_connection",
                "CONCAT('KILL ', b.trx_mysql_thread_id)",
                It,
            ),
        ],
        from: "FROM performance_schema.data_lock_waits w \
               JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
               JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
               JOIN performance_schema.data_locks bl ON bl.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID \
               JOIN performance_schema.data_locks rl ON rl.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
               ORDER BY r.trx_wait_started",
    },
    Pair {
        name: "schema_table_lock_waits",
        columns: &[
            ("object_schema", "g.OBJECT_SCHEMA", It),
            ("object_name", "g.OBJECT_NAME", It),
            ("waiting_thread_id", "pt.THREAD_ID", It),
            ("waiting_pid", "pt.PROCESSLIST_ID", It),
            (
                "waiting_account",
                "CONCAT(pt.PROCESSLIST_USER, '@', pt.PROCESSLIST_HOST)",
                It,
            ),
            ("waiting_lock_type", "p.LOCK_TYPE", It),
            ("waiting_lock_duration", "p.LOCK_DURATION", It),
            ("waiting_query", "pt.PROCESSLIST_INFO", Text),
            ("waiting_query_secs", "pt.PROCESSLIST_TIME", It),
            ("blocking_thread_id", "gt.THREAD_ID", It),
            ("blocking_pid", "gt.PROCESSLIST_ID", It),
            (
                "blocking_account",
                "CONCAT(gt.PROCESSLIST_USER, '@', gt.PROCESSLIST_HOST)",
                It,
            ),
            ("blocking_lock_type", "g.LOCK_TYPE", It),
            ("blocking_lock_duration", "g.LOCK_DURATION", It),
            (
                "sql_kill_blocking_query",
                "CONCAT('KILL QUERY ', gt.PROCESSLIST_ID)",
                It,
            ),
            (
                "sql_kill_blocking_connection",
                "CONCAT('KILL ', gt.PROCESSLIST_ID)",
                It,
            ),
        ],
        from: "FROM performance_schema.metadata_locks g \
               JOIN performance_schema.metadata_locks p ON p.OBJECT_TYPE = g.OBJECT_TYPE AND p.OBJECT_SCHEMA = g.OBJECT_SCHEMA \
                AND p.OBJECT_NAME = g.OBJECT_NAME AND p.OWNER_THREAD_ID <> g.OWNER_THREAD_ID \
               JOIN performance_schema.threads gt ON gt.THREAD_ID = g.OWNER_THREAD_ID \
               JOIN performance_schema.threads pt ON pt.THREAD_ID = p.OWNER_THREAD_ID \
               WHERE g.OBJECT_TYPE = 'TABLE' AND g.LOCK_STATUS = 'GRANTED' AND p.LOCK_STATUS = 'PENDING'",
    },
];
