//! The server: waits, metrics, its version.

use super::As::{Bytes, It, Time};
use super::{Pair, Single};

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "memory_global_total",
        columns: &[(
            "total_allocated",
            "SUM(CURRENT_NUMBER_OF_BYTES_USED)",
            Bytes,
        )],
        from: "FROM performance_schema.memory_summary_global_by_event_name",
    },
    Pair {
        name: "memory_global_by_current_bytes",
        columns: &[
            ("event_name", "EVENT_NAME", It),
            ("current_count", "CURRENT_COUNT_USED", It),
            ("current_alloc", "CURRENT_NUMBER_OF_BYTES_USED", Bytes),
            (
                "current_avg_alloc",
                "IFNULL(CURRENT_NUMBER_OF_BYTES_USED / NULLIF(CURRENT_COUNT_USED, 0), 0)",
                Bytes,
            ),
            ("high_count", "HIGH_COUNT_USED", It),
            ("high_alloc", "HIGH_NUMBER_OF_BYTES_USED", Bytes),
            (
                "high_avg_alloc",
                "IFNULL(HIGH_NUMBER_OF_BYTES_USED / NULLIF(HIGH_COUNT_USED, 0), 0)",
                Bytes,
            ),
        ],
        from: "FROM performance_schema.memory_summary_global_by_event_name \
               WHERE CURRENT_NUMBER_OF_BYTES_USED > 0 ORDER BY CURRENT_NUMBER_OF_BYTES_USED DESC",
    },
    Pair {
        name: "waits_global_by_latency",
        columns: &[
            ("events", "EVENT_NAME", It),
            ("total", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("avg_latency", "AVG_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
        ],
        from: "FROM performance_schema.events_waits_summary_global_by_event_name \
           WHERE SUM_TIMER_WAIT > 0 ORDER BY SUM_TIMER_WAIT DESC",
    },
];

pub(super) const SINGLES: &[Single] = &[
    (
        "version",
        "SELECT '2.1.3' AS sys_version, VERSION() AS mysql_version",
    ),
    (
        "metrics",
        "SELECT LOWER(VARIABLE_NAME) AS Variable_name, VARIABLE_VALUE AS Variable_value, 'Global Status' AS Type, 'YES' AS Enabled \
         FROM performance_schema.global_status \
         UNION ALL SELECT 'NOW()', CAST(NOW(3) AS CHAR), 'System Time', 'YES' \
         UNION ALL SELECT 'UNIX_TIMESTAMP()', CAST(ROUND(UNIX_TIMESTAMP(NOW(3)), 3) AS CHAR), 'System Time', 'YES' \
         ORDER BY Type, Variable_name",
    ),
    (
        "ps_check_lost_instrumentation",
        "SELECT VARIABLE_NAME AS variable_name, VARIABLE_VALUE AS variable_value FROM performance_schema.global_status \
         WHERE VARIABLE_NAME LIKE 'perf%lost' AND VARIABLE_VALUE > 0",
    ),
];
