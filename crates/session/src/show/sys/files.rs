//! What was done to files.

use super::As::{Bytes, It, Time};
use super::Pair;

/// Bytes an operation.
macro_rules! average {
    ($sum:literal, $count:literal) => {
        concat!("IFNULL(", $sum, " / NULLIF(", $count, ", 0), 0)")
    };
}

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "io_global_by_file_by_bytes",
        columns: &[
            ("file", "FILE_NAME", It),
            ("count_read", "COUNT_READ", It),
            ("total_read", "SUM_NUMBER_OF_BYTES_READ", Bytes),
            (
                "avg_read",
                average!("SUM_NUMBER_OF_BYTES_READ", "COUNT_READ"),
                Bytes,
            ),
            ("count_write", "COUNT_WRITE", It),
            ("total_written", "SUM_NUMBER_OF_BYTES_WRITE", Bytes),
            (
                "avg_write",
                average!("SUM_NUMBER_OF_BYTES_WRITE", "COUNT_WRITE"),
                Bytes,
            ),
            (
                "total",
                "SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE",
                Bytes,
            ),
            (
                "write_pct",
                "IFNULL(ROUND(100 * SUM_NUMBER_OF_BYTES_WRITE / NULLIF(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE, 0), 2), 0.00)",
                It,
            ),
        ],
        from: "FROM performance_schema.file_summary_by_instance \
               ORDER BY SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE DESC",
    },
    Pair {
        name: "io_global_by_file_by_latency",
        columns: &[
            ("file", "FILE_NAME", It),
            ("total", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("count_read", "COUNT_READ", It),
            ("read_latency", "SUM_TIMER_READ", Time),
            ("count_write", "COUNT_WRITE", It),
            ("write_latency", "SUM_TIMER_WRITE", Time),
            ("count_misc", "COUNT_MISC", It),
            ("misc_latency", "SUM_TIMER_MISC", Time),
        ],
        from: "FROM performance_schema.file_summary_by_instance ORDER BY SUM_TIMER_WAIT DESC",
    },
    Pair {
        name: "io_global_by_wait_by_bytes",
        columns: &[
            ("event_name", "SUBSTRING_INDEX(EVENT_NAME, '/', -2)", It),
            ("total", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("min_latency", "MIN_TIMER_WAIT", Time),
            ("avg_latency", "AVG_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
            ("count_read", "COUNT_READ", It),
            ("total_read", "SUM_NUMBER_OF_BYTES_READ", Bytes),
            (
                "avg_read",
                average!("SUM_NUMBER_OF_BYTES_READ", "COUNT_READ"),
                Bytes,
            ),
            ("count_write", "COUNT_WRITE", It),
            ("total_written", "SUM_NUMBER_OF_BYTES_WRITE", Bytes),
            (
                "avg_written",
                average!("SUM_NUMBER_OF_BYTES_WRITE", "COUNT_WRITE"),
                Bytes,
            ),
            (
                "total_requested",
                "SUM_NUMBER_OF_BYTES_WRITE + SUM_NUMBER_OF_BYTES_READ",
                Bytes,
            ),
        ],
        from: "FROM performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0 \
               ORDER BY SUM_NUMBER_OF_BYTES_WRITE + SUM_NUMBER_OF_BYTES_READ DESC",
    },
    Pair {
        name: "io_global_by_wait_by_latency",
        columns: &[
            ("event_name", "SUBSTRING_INDEX(EVENT_NAME, '/', -2)", It),
            ("total", "COUNT_STAR", It),
            ("total_latency", "SUM_TIMER_WAIT", Time),
            ("avg_latency", "AVG_TIMER_WAIT", Time),
            ("max_latency", "MAX_TIMER_WAIT", Time),
            ("read_latency", "SUM_TIMER_READ", Time),
            ("write_latency", "SUM_TIMER_WRITE", Time),
            ("misc_latency", "SUM_TIMER_MISC", Time),
            ("count_read", "COUNT_READ", It),
            ("total_read", "SUM_NUMBER_OF_BYTES_READ", Bytes),
            (
                "avg_read",
                average!("SUM_NUMBER_OF_BYTES_READ", "COUNT_READ"),
                Bytes,
            ),
            ("count_write", "COUNT_WRITE", It),
            ("total_written", "SUM_NUMBER_OF_BYTES_WRITE", Bytes),
            (
                "avg_written",
                average!("SUM_NUMBER_OF_BYTES_WRITE", "COUNT_WRITE"),
                Bytes,
            ),
        ],
        from: "FROM performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0 ORDER BY SUM_TIMER_WAIT DESC",
    },
];
