//! `/status.json`: all that the status page shows, as it is now. Times are microseconds, sizes bytes.

use super::seconds::seconds;
use millpond_session::watch::{DdlEvent, KindLatency, Stall, Watch};
use millpond_session::{Alike, Instance};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Stalls, DDL statements, statements by digest: so many are told.
const STALLS: usize = 10;
const DDL: usize = 12;
const STATEMENTS: usize = 15;
/// Characters of a digest text.
const TEXT: usize = 300;

pub(super) fn figures(instance: &Instance) -> Value {
    let status: HashMap<String, String> = instance.global_status().into_iter().collect();
    let number = |name: &str| status.get(name).and_then(|v| v.parse::<u64>().ok());
    let watch = instance.watch();
    let (ticks, ddl) = (watch.ticks(), watch.ddl_events());
    let stalls = watch.stalls();
    let longest = stalls.iter().take(STALLS).map(|s| stall(watch, s, &ddl));
    let by_second = seconds(watch, &ticks, &ddl);
    let by_second = by_second
        .iter()
        .map(|s| json!([s.at, s.statements, s.max_us, s.ddl]));
    let latencies = watch.latencies();
    json!({
        "now_us": watch.wall_us(watch.now_ns()),
        "version": instance.global_text("version"),
        "uptime": number("Uptime"),
        "queries": number("Queries"),
        "slow_queries": number("Slow_queries"),
        "connections": number("Threads_connected"),
        "running": number("Threads_running"),
        "max_connections": instance.global_u64("max_connections"),
        "seconds": by_second.collect::<Vec<_>>(),
        "stalls": longest.collect::<Vec<_>>(),
        "ddl_statements": watch.ddl_count(),
        "ddl": ddl.iter().rev().take(DDL).map(|e| event(watch, e)).collect::<Vec<_>>(),
        "kinds": latencies.iter().map(kind).collect::<Vec<_>>(),
        "pool": {
            "page_bytes": number("Innodb_page_size"),
            "total": number("Innodb_buffer_pool_pages_total"),
            "data": number("Innodb_buffer_pool_pages_data"),
            "dirty": number("Innodb_buffer_pool_pages_dirty"),
            "free": number("Innodb_buffer_pool_pages_free"),
            "stale": number("Innodb_buffer_pool_pages_misc"),
            "requests": number("Innodb_buffer_pool_read_requests"),
            "reads": number("Innodb_buffer_pool_reads"),
            "flushed": number("Innodb_buffer_pool_pages_flushed"),
        },
        "log": {
            "capacity": instance.global_u64("innodb_redo_log_capacity"),
            "age": number("Innodb_redo_log_current_lsn").zip(number("Innodb_redo_log_checkpoint_lsn"))
                .map(|(now, then)| now.saturating_sub(then)),
            "written": number("Innodb_os_log_written"),
            "syncs": number("Innodb_os_log_fsyncs"),
        },
        "graveyard": {
            "spaces": number("Millpond_graveyard_spaces"),
            "bytes": number("Millpond_graveyard_bytes"),
            "reclaimed": number("Millpond_reclaimed_bytes"),
        },
        "statements": instance.heaviest_statements(STATEMENTS).iter().map(alike).collect::<Vec<_>>(),
    })
}

fn us(ns: u64) -> u64 {
    ns / 1000
}

/// What DDL is about, never its text.
fn event(watch: &Watch, e: &DdlEvent) -> Value {
    json!({
        "kind": e.kind.name(),
        "about": about(e),
        "start_us": watch.wall_us(e.start_ns),
        "took_us": e.end_ns.map(|end| us(end.saturating_sub(e.start_ns))),
        "error": e.error,
    })
}

fn about(e: &DdlEvent) -> String {
    let parts = [e.database.as_deref(), e.table.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(".")
}

/// A stall and the DDL that ran at some time of it.
fn stall(watch: &Watch, stall: &Stall, ddl: &[DdlEvent]) -> Value {
    let start = watch.tick_start_us(stall.tick);
    let end = start + stall.length_us();
    let meanwhile = ddl.iter().filter(|e| {
        let ended = e.end_ns.map(|ns| watch.wall_us(ns));
        watch.wall_us(e.start_ns) < end && ended.is_none_or(|at| at > start)
    });
    let named = meanwhile.map(|e| format!("{} {}", e.kind.name(), about(e)).trim().to_string());
    json!({
        "start_us": start,
        "length_us": stall.length_us(),
        "ddl": named.take(DDL).collect::<Vec<_>>(),
    })
}

/// `log`: statements by buckets of latency that double; the last with any ends the list.
fn kind(l: &KindLatency) -> Value {
    let used = l
        .log
        .iter()
        .rposition(|n| *n > 0)
        .map_or(0, |last| last + 1);
    json!({
        "kind": l.kind.name(),
        "count": l.count,
        "sum_us": l.sum_us,
        "max_us": l.max_us,
        "log": l.log[..used],
    })
}

fn alike(s: &Alike) -> Value {
    let text: String = s.text.chars().take(TEXT).collect();
    json!({
        "schema": s.schema,
        "text": text,
        "count": s.count,
        "total_us": us(s.total_ns),
        "max_us": us(s.max_ns),
        "p95_us": us(s.p95_ns),
        "examined": s.examined,
        "no_index": s.no_index,
        "errors": s.errors,
    })
}
