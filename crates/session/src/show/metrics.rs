//! information_schema.INNODB_METRICS, and what InnoDB says of compressed pages.
//!
//! The metrics are those of InnoDB's that SHOW STATUS has: always on, never reset. There are no compressed pages, so what is counted of them
//! is 0.

use millpond_sql::types::BaseType;
use millpond_sql::value::{DateTime, Value};

use super::table::{Columns, Ty, Virtual, n, s};

const IS: &str = "information_schema";
const BIG: Ty = Ty::Of(BaseType::BigInt, 0);
const INT: Ty = Ty::Of(BaseType::Int, 0);

/// Name, subsystem, whether it is a value rather than a counter, the status variable, what it is.
type Metric = (&'static str, &'static str, bool, &'static str, &'static str);

#[rustfmt::skip]
const METRICS: &[Metric] = &[
    ("lock_deadlocks", "lock", false, "Innodb_deadlocks", "Number of deadlocks"),
    ("lock_row_lock_current_waits", "lock", true, "Innodb_row_lock_current_waits", "Number of row locks that are waited for now"),
    ("lock_row_lock_time", "lock", false, "Innodb_row_lock_time", "Milliseconds that row locks were waited for"),
    ("lock_row_lock_time_avg", "lock", true, "Innodb_row_lock_time_avg", "Milliseconds that a row lock was waited for on average"),
    ("lock_row_lock_time_max", "lock", true, "Innodb_row_lock_time_max", "Milliseconds that a row lock was waited for at most"),
    ("lock_row_lock_waits", "lock", false, "Innodb_row_lock_waits", "Number of waits for row locks"),
    ("buffer_pool_reads", "buffer", false, "Innodb_buffer_pool_reads", "Number of reads from disk"),
    ("buffer_pool_read_requests", "buffer", false, "Innodb_buffer_pool_read_requests", "Number of requests for pages"),
    ("buffer_pool_wait_free", "buffer", false, "Innodb_buffer_pool_wait_free", "Number of waits for a free frame"),
    ("buffer_pool_pages_total", "buffer", true, "Innodb_buffer_pool_pages_total", "Pages of the buffer pool"),
    ("buffer_pool_pages_misc", "buffer", true, "Innodb_buffer_pool_pages_misc", "Pages of dropped tables in the buffer pool"),
    ("buffer_pool_pages_data", "buffer", true, "Innodb_buffer_pool_pages_data", "Pages in the buffer pool that hold data"),
    ("buffer_pool_bytes_data", "buffer", true, "Innodb_buffer_pool_bytes_data", "Bytes in the buffer pool that hold data"),
    ("buffer_pool_pages_dirty", "buffer", true, "Innodb_buffer_pool_pages_dirty", "Pages that are to be written"),
    ("buffer_pool_bytes_dirty", "buffer", true, "Innodb_buffer_pool_bytes_dirty", "Bytes that are to be written"),
    ("buffer_pool_pages_free", "buffer", true, "Innodb_buffer_pool_pages_free", "Free pages of the buffer pool"),
    ("buffer_pages_created", "buffer", false, "Innodb_pages_created", "Number of pages created"),
    ("buffer_pages_written", "buffer", false, "Innodb_pages_written", "Number of pages written"),
    ("buffer_pages_read", "buffer", false, "Innodb_pages_read", "Number of pages read"),
    ("buffer_data_reads", "buffer", false, "Innodb_data_read", "Bytes read"),
    ("buffer_data_written", "buffer", false, "Innodb_data_written", "Bytes written"),
    ("os_data_reads", "os", false, "Innodb_data_reads", "Number of reads"),
    ("os_data_writes", "os", false, "Innodb_data_writes", "Number of writes"),
    ("os_log_bytes_written", "os", false, "Innodb_os_log_written", "Bytes of log written"),
    ("os_log_fsyncs", "os", false, "Innodb_os_log_fsyncs", "Number of syncs of the log"),
    ("trx_rseg_history_len", "transaction", true, "Innodb_history_list_length", "Length of the history list"),
    ("log_write_requests", "log", false, "Innodb_log_write_requests", "Number of writes to the log buffer"),
    ("log_writes", "log", false, "Innodb_log_writes", "Number of writes of the log"),
    ("log_lsn_current", "log", true, "Innodb_redo_log_current_lsn", "Current log sequence number"),
    ("log_lsn_last_flush", "log", true, "Innodb_redo_log_flushed_to_disk_lsn", "Log sequence number up to which the log is durable"),
    ("log_lsn_last_checkpoint", "log", true, "Innodb_redo_log_checkpoint_lsn", "Log sequence number of the last checkpoint"),
    ("adaptive_hash_searches", "adaptive_hash_index", false, "Innodb_adaptive_hash_hash_searches", "Number of searches by the hash index"),
    ("adaptive_hash_searches_btree", "adaptive_hash_index", false, "Innodb_adaptive_hash_non_hash_searches", "Number of searches by a tree"),
    ("file_num_open_files", "file_system", true, "Innodb_num_open_files", "Number of files that are open"),
    ("innodb_dblwr_writes", "server", false, "Innodb_dblwr_writes", "Number of batches of the doublewrite file"),
    ("innodb_dblwr_pages_written", "server", false, "Innodb_dblwr_pages_written", "Pages written by way of the doublewrite file"),
    ("innodb_page_size", "server", true, "Innodb_page_size", "Bytes of a page"),
    ("dml_reads", "dml", false, "Innodb_rows_read", "Number of rows read"),
    ("dml_inserts", "dml", false, "Innodb_rows_inserted", "Number of rows inserted"),
    ("dml_deletes", "dml", false, "Innodb_rows_deleted", "Number of rows deleted"),
    ("dml_updates", "dml", false, "Innodb_rows_updated", "Number of rows updated"),
];

/// Sizes of compressed pages.
const PAGE_SIZES: [u64; 5] = [1024, 2048, 4096, 8192, 16_384];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![
            metrics(),
            compressed("INNODB_CMP"),
            compressed("INNODB_CMP_RESET"),
            buddies("INNODB_CMPMEM"),
            buddies("INNODB_CMPMEM_RESET"),
        ],
        _ => Vec::new(),
    }
}

fn metrics() -> Virtual {
    const NULL_BIG: Ty = Ty::NullOf(BaseType::BigInt, 0);
    const NULL_FLOAT: Ty = Ty::NullOf(BaseType::Float, 0);
    const COLUMNS: Columns = &[
        ("NAME", Ty::Str(193)),
        ("SUBSYSTEM", Ty::Str(193)),
        ("COUNT", BIG),
        ("MAX_COUNT", NULL_BIG),
        ("MIN_COUNT", NULL_BIG),
        ("AVG_COUNT", NULL_FLOAT),
        ("COUNT_RESET", BIG),
        ("MAX_COUNT_RESET", NULL_BIG),
        ("MIN_COUNT_RESET", NULL_BIG),
        ("AVG_COUNT_RESET", NULL_FLOAT),
        ("TIME_ENABLED", Ty::NullTime),
        ("TIME_DISABLED", Ty::NullTime),
        ("TIME_ELAPSED", NULL_BIG),
        ("TIME_RESET", Ty::NullTime),
        ("STATUS", Ty::Str(8)),
        ("TYPE", Ty::Str(64)),
        ("COMMENT", Ty::Str(193)),
    ];
    Virtual::new(IS, "INNODB_METRICS", COLUMNS, |cx, emit| {
        let instance = &cx.facts.instance;
        let counters = instance.engine().status().counters;
        let elapsed = instance.began().elapsed().as_secs();
        let now = millpond_sql::env::now_us() / 1_000_000;
        let began = i64::try_from(now.saturating_sub(elapsed)).unwrap_or(0);
        let began = DateTime::from_unix(began, 0, cx.env.zone.get());
        let began = began.map_or(Value::Null, Value::DateTime);
        for (name, subsystem, is_value, variable, comment) in METRICS {
            let Some((_, count)) = counters.iter().find(|c| c.0 == *variable) else {
                continue;
            };
            // What is counted from the start is as many a second; of a value there is no such thing.
            let average = match is_value {
                true => Value::Null,
                false => Value::Double(*count as f64 / elapsed.max(1) as f64),
            };
            let count = || n(*count);
            emit(&[
                s(*name),
                s(*subsystem),
                count(),
                Value::Null,
                Value::Null,
                average.clone(),
                count(),
                Value::Null,
                Value::Null,
                average,
                began.clone(),
                Value::Null,
                n(elapsed),
                Value::Null,
                s("enabled"),
                s(if *is_value { "value" } else { "status_counter" }),
                s(*comment),
            ])?;
        }
        Ok(())
    })
}

fn compressed(name: &'static str) -> Virtual {
    const COLUMNS: Columns = &[
        ("page_size", INT),
        ("compress_ops", INT),
        ("compress_ops_ok", INT),
        ("compress_time", INT),
        ("uncompress_ops", INT),
        ("uncompress_time", INT),
    ];
    Virtual::new(IS, name, COLUMNS, |_, emit| {
        PAGE_SIZES
            .iter()
            .try_for_each(|size| emit(&[*size, 0, 0, 0, 0, 0].map(n)))
    })
}

fn buddies(name: &'static str) -> Virtual {
    const COLUMNS: Columns = &[
        ("page_size", INT),
        ("buffer_pool_instance", INT),
        ("pages_used", INT),
        ("pages_free", INT),
        ("relocation_ops", BIG),
        ("relocation_time", INT),
    ];
    Virtual::new(IS, name, COLUMNS, |cx, emit| {
        let pools = cx.facts.instance.engine().pool_instances().len() as u64;
        for pool in 0..pools {
            for size in PAGE_SIZES {
                emit(&[size, pool, 0, 0, 0, 0].map(n))?;
            }
        }
        Ok(())
    })
}
