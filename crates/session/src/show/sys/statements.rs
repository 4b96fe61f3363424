//! Statements by digest.

use super::As::{Bytes, It, Text, Time};
use super::{Pair, Single};

/// Shown of a part in percent.
macro_rules! percent {
    ($part:literal, $of:literal) => {
        concat!(
            "ROUND(IFNULL(",
            $part,
            " / NULLIF(",
            $of,
            ", 0), 0) * 100, 4)"
        )
    };
}

/// A sum for each execution.
macro_rules! each {
    ($sum:literal) => {
        concat!("ROUND(IFNULL(", $sum, " / NULLIF(COUNT_STAR, 0), 0))")
    };
}

const WHOLE: &str = "IF(SUM_NO_GOOD_INDEX_USED > 0 OR SUM_NO_INDEX_USED > 0, '*', '')";

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "statement_analysis",
        columns: &[
            ("query", "DIGEST_TEXT", Text),
            ("db", "SCHEMA_NAME", It),
            ("full_scan", WHOLE, It),
            ("exec_count", "COUNT_STAR", It),
            ("err_count", "SUM_ERRORS", It),
            ("warn_count", "SUM_WARNINGS", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
            ("avg_latency", "AVG_TIMER_WAIT", Time),
            ("lock_latency", "SUM_LOCK_TIME", Time),
            ("cpu_latency", "SUM_CPU_TIME", Time),
            ("rows_sent", "SUM_ROWS_SENT", It),
            ("rows_sent_avg", each!("SUM_ROWS_SENT"), It),
            ("rows_examined", "SUM_ROWS_EXAMINED", It),
            ("rows_examined_avg", each!("SUM_ROWS_EXAMINED"), It),
            ("rows_affected", "SUM_ROWS_AFFECTED", It),
            ("rows_affected_avg", each!("SUM_ROWS_AFFECTED"), It),
            ("tmp_tables", "SUM_CREATED_TMP_TABLES", It),
            ("tmp_disk_tables", "SUM_CREATED_TMP_DISK_TABLES", It),
            ("rows_sorted", "SUM_SORT_ROWS", It),
            ("sort_merge_passes", "SUM_SORT_MERGE_PASSES", It),
            ("max_controlled_memory", "MAX_CONTROLLED_MEMORY", Bytes),
            ("max_total_memory", "MAX_TOTAL_MEMORY", Bytes),
            ("digest", "DIGEST", It),
            ("first_seen", "FIRST_SEEN", It),
            ("last_seen", "LAST_SEEN", It),
        ],
        from: "FROM performance_schema.events_statements_summary_by_digest ORDER BY SUM_TIMER_WAIT DESC",
    },
    Pair {
        name: "statements_with_full_table_scans",
        columns: &[
            ("query", "DIGEST_TEXT", Text),
            ("db", "SCHEMA_NAME", It),
            ("exec_count", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("no_index_used_count", "SUM_NO_INDEX_USED", It),
            ("no_good_index_used_count", "SUM_NO_GOOD_INDEX_USED", It),
            (
                "no_index_used_pct",
                "ROUND(IFNULL(SUM_NO_INDEX_USED / NULLIF(COUNT_STAR, 0), 0) * 100)",
                It,
            ),
            ("rows_sent", "SUM_ROWS_SENT", It),
            ("rows_examined", "SUM_ROWS_EXAMINED", It),
            ("rows_sent_avg", each!("SUM_ROWS_SENT"), It),
            ("rows_examined_avg", each!("SUM_ROWS_EXAMINED"), It),
            ("first_seen", "FIRST_SEEN", It),
            ("last_seen", "LAST_SEEN", It),
            ("digest", "DIGEST", It),
        ],
        from: "FROM performance_schema.events_statements_summary_by_digest \
               WHERE (SUM_NO_INDEX_USED > 0 OR SUM_NO_GOOD_INDEX_USED > 0) AND DIGEST_TEXT NOT LIKE 'SHOW%' \
               ORDER BY ROUND(IFNULL(SUM_NO_INDEX_USED / NULLIF(COUNT_STAR, 0), 0) * 100) DESC, SUM_TIMER_WAIT DESC",
    },
    Pair {
        name: "statements_with_errors_or_warnings",
        columns: &[
            ("query", "DIGEST_TEXT", Text),
            ("db", "SCHEMA_NAME", It),
            ("exec_count", "COUNT_STAR", It),
            ("errors", "SUM_ERRORS", It),
            ("error_pct", percent!("SUM_ERRORS", "COUNT_STAR"), It),
            ("warnings", "SUM_WARNINGS", It),
            ("warning_pct", percent!("SUM_WARNINGS", "COUNT_STAR"), It),
            ("first_seen", "FIRST_SEEN", It),
            ("last_seen", "LAST_SEEN", It),
            ("digest", "DIGEST", It),
        ],
        from: "FROM performance_schema.events_statements_summary_by_digest \
               WHERE SUM_ERRORS > 0 OR SUM_WARNINGS > 0 ORDER BY SUM_ERRORS DESC, SUM_WARNINGS DESC",
    },
    Pair {
        name: "statements_with_runtimes_in_95th_percentile",
        columns: &[
            ("query", "DIGEST_TEXT", Text),
            ("db", "SCHEMA_NAME", It),
            ("full_scan", WHOLE, It),
            ("exec_count", "COUNT_STAR", It),
            ("err_count", "SUM_ERRORS", It),
            ("warn_count", "SUM_WARNINGS", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
            ("avg_latency", "AVG_TIMER_WAIT", Time),
            ("rows_sent", "SUM_ROWS_SENT", It),
            ("rows_sent_avg", each!("SUM_ROWS_SENT"), It),
            ("rows_examined", "SUM_ROWS_EXAMINED", It),
            ("rows_examined_avg", each!("SUM_ROWS_EXAMINED"), It),
            ("first_seen", "FIRST_SEEN", It),
            ("last_seen", "LAST_SEEN", It),
            ("digest", "DIGEST", It),
        ],
        from: "FROM performance_schema.events_statements_summary_by_digest \
               JOIN sys.`x$ps_digest_95th_percentile_by_avg_us` p ON ROUND(AVG_TIMER_WAIT / 1000000) >= p.avg_us \
               ORDER BY AVG_TIMER_WAIT DESC",
    },
    Pair {
        name: "statements_with_sorting",
        columns: &[
            ("query", "DIGEST_TEXT", Text),
            ("db", "SCHEMA_NAME", It),
            ("exec_count", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("sort_merge_passes", "SUM_SORT_MERGE_PASSES", It),
            ("avg_sort_merges", each!("SUM_SORT_MERGE_PASSES"), It),
            ("sorts_using_scans", "SUM_SORT_SCAN", It),
            ("sort_using_range", "SUM_SORT_RANGE", It),
            ("rows_sorted", "SUM_SORT_ROWS", It),
            ("avg_rows_sorted", each!("SUM_SORT_ROWS"), It),
            ("first_seen", "FIRST_SEEN", It),
            ("last_seen", "LAST_SEEN", It),
            ("digest", "DIGEST", It),
        ],
        from: "FROM performance_schema.events_statements_summary_by_digest WHERE SUM_SORT_ROWS > 0 ORDER BY SUM_TIMER_WAIT DESC",
    },
    Pair {
        name: "statements_with_temp_tables",
        columns: &[
            ("query", "DIGEST_TEXT", Text),
            ("db", "SCHEMA_NAME", It),
            ("exec_count", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("memory_tmp_tables", "SUM_CREATED_TMP_TABLES", It),
            ("disk_tmp_tables", "SUM_CREATED_TMP_DISK_TABLES", It),
            (
                "avg_tmp_tables_per_query",
                each!("SUM_CREATED_TMP_TABLES"),
                It,
            ),
            (
                "tmp_tables_to_disk_pct",
                "ROUND(IFNULL(SUM_CREATED_TMP_DISK_TABLES / NULLIF(SUM_CREATED_TMP_TABLES, 0), 0) * 100)",
                It,
            ),
            ("first_seen", "FIRST_SEEN", It),
            ("last_seen", "LAST_SEEN", It),
            ("digest", "DIGEST", It),
        ],
        from: "FROM performance_schema.events_statements_summary_by_digest WHERE SUM_CREATED_TMP_TABLES > 0 \
               ORDER BY SUM_CREATED_TMP_DISK_TABLES DESC, SUM_CREATED_TMP_TABLES DESC",
    },
];

pub(super) const SINGLES: &[Single] = &[
    (
        "x$ps_digest_avg_latency_distribution",
        "SELECT COUNT(*) AS cnt, ROUND(AVG_TIMER_WAIT / 1000000) AS avg_us \
         FROM performance_schema.events_statements_summary_by_digest GROUP BY ROUND(AVG_TIMER_WAIT / 1000000)",
    ),
    (
        "x$ps_digest_95th_percentile_by_avg_us",
        "SELECT d.avg_us AS avg_us, SUM(u.cnt) / MAX(t.total) AS percentile \
         FROM sys.`x$ps_digest_avg_latency_distribution` d JOIN sys.`x$ps_digest_avg_latency_distribution` u ON u.avg_us <= d.avg_us \
         JOIN (SELECT COUNT(*) AS total FROM performance_schema.events_statements_summary_by_digest) t \
         GROUP BY d.avg_us HAVING SUM(u.cnt) / MAX(t.total) > 0.95 ORDER BY percentile LIMIT 1",
    ),
];
