//! What was done to files: performance_schema's file tables. TRUNCATE TABLE of a summary resets both.

use millpond_sql::types::BaseType;
use millpond_sql::value::Value;
use millpond_store::io::{FileCounts, FileKind, FileStats, OpStats};

use super::table::{Columns, Context, Ty, Virtual, n, s};

const PS: &str = "performance_schema";
/// Picoseconds, performance_schema's unit, in a nanosecond.
const PS_PER_NS: u64 = 1000;

const BY_FILE: &str = "file_summary_by_instance";
const BY_KIND: &str = "file_summary_by_event_name";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![instances(), by_file(), by_kind()],
        _ => Vec::new(),
    }
}

/// TRUNCATE TABLE of one of the summaries: `false` if it is none.
pub(super) fn truncate(counts: &FileCounts, name: &str) -> bool {
    let is = [BY_FILE, BY_KIND]
        .iter()
        .any(|t| t.eq_ignore_ascii_case(name));
    if is {
        counts.reset();
    }
    is
}

/// The instrument of a kind of file.
pub(super) fn event_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Data => "wait/io/file/innodb/innodb_data_file",
        FileKind::Log => "wait/io/file/innodb/innodb_log_file",
        FileKind::Doublewrite => "wait/io/file/innodb/innodb_dblwr_file",
        FileKind::Temporary => "wait/io/file/innodb/innodb_temp_file",
    }
}

const COUNTS: [&str; 22] = [
    "COUNT_STAR",
    "SUM_TIMER_WAIT",
    "MIN_TIMER_WAIT",
    "AVG_TIMER_WAIT",
    "MAX_TIMER_WAIT",
    "COUNT_READ",
    "SUM_TIMER_READ",
    "MIN_TIMER_READ",
    "AVG_TIMER_READ",
    "MAX_TIMER_READ",
    "SUM_NUMBER_OF_BYTES_READ",
    "COUNT_WRITE",
    "SUM_TIMER_WRITE",
    "MIN_TIMER_WRITE",
    "AVG_TIMER_WRITE",
    "MAX_TIMER_WRITE",
    "SUM_NUMBER_OF_BYTES_WRITE",
    "COUNT_MISC",
    "SUM_TIMER_MISC",
    "MIN_TIMER_MISC",
    "AVG_TIMER_MISC",
    "MAX_TIMER_MISC",
];

/// [`COUNTS`] with their types: bytes are signed in MySQL.
fn typed() -> impl Iterator<Item = (&'static str, Ty)> {
    let ty = |name: &str| match name.contains("BYTES") {
        true => Ty::Of(BaseType::BigInt, 0),
        false => Ty::Num,
    };
    COUNTS.into_iter().map(move |c| (c, ty(c)))
}

/// The columns of [`COUNTS`].
fn counts(stats: &FileStats) -> Vec<Value<'static>> {
    let time = |ns: u64| n(ns.saturating_mul(PS_PER_NS));
    let five = |op: &OpStats| {
        [
            n(op.count),
            time(op.ns),
            time(op.min_ns),
            n(op.ns
                .saturating_mul(PS_PER_NS)
                .checked_div(op.count)
                .unwrap_or(0)),
            time(op.max_ns),
        ]
    };
    let mut all = OpStats::default();
    for op in [&stats.reads, &stats.writes, &stats.others] {
        all.add(op);
    }
    let mut row = Vec::with_capacity(COUNTS.len() + 3);
    row.extend(five(&all));
    row.extend(five(&stats.reads));
    row.push(n(stats.reads.bytes));
    row.extend(five(&stats.writes));
    row.push(n(stats.writes.bytes));
    row.extend(five(&stats.others));
    row
}

fn path(cx: &Context<'_>, name: &str) -> Value<'static> {
    let directory = cx.facts.instance.global_text("datadir").unwrap_or_default();
    s(format!("{directory}{name}"))
}

fn instances() -> Virtual {
    const COLUMNS: Columns = &[
        ("FILE_NAME", Ty::Str(512)),
        ("EVENT_NAME", Ty::Str(128)),
        ("OPEN_COUNT", Ty::UInt),
    ];
    Virtual::new(PS, "file_instances", COLUMNS, |cx, emit| {
        let files = cx.facts.instance.0.files.files();
        files
            .iter()
            .try_for_each(|f| emit(&[path(cx, &f.name), s(event_name(f.kind)), n(f.open)]))
    })
}

fn by_file() -> Virtual {
    let mut columns = vec![
        ("FILE_NAME", Ty::Str(512)),
        ("EVENT_NAME", Ty::Str(128)),
        ("OBJECT_INSTANCE_BEGIN", Ty::Num),
    ];
    columns.extend(typed());
    Virtual::new(PS, BY_FILE, &columns, |cx, emit| {
        for (number, f) in (1u64..).zip(cx.facts.instance.0.files.files()) {
            let mut row = vec![path(cx, &f.name), s(event_name(f.kind)), n(number)];
            row.extend(counts(&f.stats));
            emit(&row)?;
        }
        Ok(())
    })
}

fn by_kind() -> Virtual {
    let mut columns = vec![("EVENT_NAME", Ty::Str(128))];
    columns.extend(typed());
    Virtual::new(PS, BY_KIND, &columns, |cx, emit| {
        for (kind, stats) in cx.facts.instance.0.files.kinds() {
            let mut row = vec![s(event_name(kind))];
            row.extend(counts(&stats));
            emit(&row)?;
        }
        Ok(())
    })
}
