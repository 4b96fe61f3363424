//! The exposition: Prometheus' text format 0.0.4.
//!
//! SHOW GLOBAL STATUS and numeric global variables go out under mysqld_exporter's names, so that dashboards made for it work:
//! `mysql_global_status_threads_connected`, `mysql_global_status_commands_total{command="select"}`,
//! `mysql_global_variables_max_connections`. What MySQL has no name for is called `millpond_*`.

use millpond_session::Instance;
use millpond_session::watch::{self, KindLatency, LOG_BUCKETS};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Its media type.
pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The doubling buckets that go out: from 16 microseconds to 16.8 seconds.
const BUCKETS: std::ops::RangeInclusive<usize> = 4..=24;
const _: () = assert!(*BUCKETS.end() < LOG_BUCKETS);

/// One metric: its samples by labels.
struct Family {
    kind: &'static str,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

/// Families by name: the format wants each in one piece.
#[derive(Default)]
struct Page(BTreeMap<String, Family>);

impl Page {
    /// Adds a sample; `labels` is what goes between the braces, or empty.
    fn add(
        &mut self,
        name: &str,
        kind: &'static str,
        help: &'static str,
        labels: String,
        value: f64,
    ) {
        let family = self.0.entry(name.to_string()).or_insert_with(|| Family {
            kind,
            help,
            samples: Vec::new(),
        });
        family.samples.push((labels, value));
    }

    fn write(&self, out: &mut String) {
        for (name, family) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "# HELP {name} {}", family.help);
            let _ = writeln!(out, "# TYPE {name} {}", family.kind);
            for (labels, value) in &family.samples {
                let _ = match labels.as_str() {
                    "" => writeln!(out, "{name} {value}"),
                    labels => writeln!(out, "{name}{{{labels}}} {value}"),
                };
            }
        }
    }
}

/// A label, its value escaped.
fn label(name: &str, value: &str) -> String {
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

/// All metrics as text.
pub(super) fn exposition(instance: &Instance) -> String {
    let mut page = Page::default();
    page.add(
        "mysql_up",
        "gauge",
        "Whether the server answers.",
        String::new(),
        1.0,
    );
    let version = instance.global_text("version").unwrap_or_default();
    page.add(
        "mysql_version_info",
        "gauge",
        "The server's version.",
        label("version", &version),
        1.0,
    );
    for (name, value) in instance.global_status() {
        if let Ok(value) = value.parse() {
            status(&mut page, &name.to_ascii_lowercase(), value);
        }
    }
    for (name, value) in instance.numeric_variables() {
        let name = format!("mysql_global_variables_{name}");
        page.add(
            &name,
            "gauge",
            "A global system variable.",
            String::new(),
            value,
        );
    }
    waits(&mut page);
    let record = instance.watch();
    page.add(
        "millpond_ddl_statements_total",
        "counter",
        "DDL statements begun.",
        String::new(),
        record.ddl_count() as f64,
    );
    let longest = record.stalls().first().map_or(0, |s| s.length_us());
    page.add(
        "millpond_longest_stall_seconds",
        "gauge",
        "Longest time within the last five minutes in which statements ran and none ended.",
        String::new(),
        seconds(longest),
    );
    let mut out = String::with_capacity(64 << 10);
    page.write(&mut out);
    durations(&mut out, &record.latencies());
    out
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// A status variable under the name that mysqld_exporter gives it; `name` in lower case.
fn status(page: &mut Page, name: &str, value: f64) {
    const HELP: &str = "From SHOW GLOBAL STATUS.";
    let mut labelled = |metric: &str, kind, label_name: &str, of: &str| {
        let name = format!("mysql_global_status_{metric}");
        page.add(&name, kind, HELP, label(label_name, of), value);
    };
    if let Some(of) = name.strip_prefix("com_") {
        return labelled("commands_total", "counter", "command", of);
    }
    if let Some(of) = name.strip_prefix("handler_") {
        return labelled("handlers_total", "counter", "handler", of);
    }
    if let Some(of) = name.strip_prefix("innodb_rows_") {
        return labelled("innodb_row_ops_total", "counter", "operation", of);
    }
    match name.strip_prefix("innodb_buffer_pool_pages_") {
        Some("total") => {}
        Some("dirty") => page.add(
            "mysql_global_status_buffer_pool_dirty_pages",
            "gauge",
            HELP,
            String::new(),
            value,
        ),
        Some(of @ ("data" | "free" | "misc" | "old")) => {
            labelled("buffer_pool_pages", "gauge", "state", of);
        }
        Some(of) => labelled("buffer_pool_page_changes_total", "counter", "operation", of),
        None => {
            let name = format!("mysql_global_status_{name}");
            page.add(&name, "untyped", HELP, String::new(), value);
        }
    }
}

fn waits(page: &mut Page) {
    for w in watch::waits() {
        let event = label("event_name", w.class.event_name());
        page.add(
            "mysql_perf_schema_events_waits_total",
            "counter",
            "Waits for latches, locks and disks.",
            event.clone(),
            w.count as f64,
        );
        page.add(
            "mysql_perf_schema_events_waits_seconds_total",
            "counter",
            "Seconds waited for latches, locks and disks.",
            event,
            w.total_ns as f64 / 1e9,
        );
    }
}

/// The histograms of latency, whose samples have three names.
fn durations(out: &mut String, latencies: &[KindLatency]) {
    const NAME: &str = "millpond_statement_duration_seconds";
    let _ = writeln!(out, "# HELP {NAME} Latency of statements by kind.");
    let _ = writeln!(out, "# TYPE {NAME} histogram");
    for l in latencies {
        let kind = label("kind", l.kind.name());
        for end in BUCKETS {
            let count: u64 = l.log[..=end].iter().sum();
            let le = seconds(1 << end);
            let _ = writeln!(out, "{NAME}_bucket{{{kind},le=\"{le}\"}} {count}");
        }
        let _ = writeln!(out, "{NAME}_bucket{{{kind},le=\"+Inf\"}} {}", l.count);
        let _ = writeln!(out, "{NAME}_sum{{{kind}}} {}", seconds(l.sum_us));
        let _ = writeln!(out, "{NAME}_count{{{kind}}} {}", l.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_mysqld_exporter_s() {
        let mut page = Page::default();
        for name in [
            "com_select",
            "com_insert",
            "handler_commit",
            "innodb_rows_read",
            "innodb_buffer_pool_pages_data",
            "innodb_buffer_pool_pages_dirty",
            "innodb_buffer_pool_pages_total",
            "innodb_buffer_pool_pages_flushed",
            "threads_connected",
        ] {
            status(&mut page, name, 7.0);
        }
        let mut out = String::new();
        page.write(&mut out);
        let samples: Vec<&str> = out.lines().filter(|l| !l.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "mysql_global_status_buffer_pool_dirty_pages 7",
                "mysql_global_status_buffer_pool_page_changes_total{operation=\"flushed\"} 7",
                "mysql_global_status_buffer_pool_pages{state=\"data\"} 7",
                "mysql_global_status_commands_total{command=\"select\"} 7",
                "mysql_global_status_commands_total{command=\"insert\"} 7",
                "mysql_global_status_handlers_total{handler=\"commit\"} 7",
                "mysql_global_status_innodb_row_ops_total{operation=\"read\"} 7",
                "mysql_global_status_threads_connected 7",
            ]
        );
        assert_eq!(label("a", "x\"\\\n"), r#"a="x\"\\\n""#);
    }
}
