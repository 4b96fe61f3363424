//! What statements did, as performance_schema's summaries and histograms show it; see [`crate::digests`] for what is counted.
//!
//! TRUNCATE TABLE of one of them resets all, for they show the same counters.

use std::collections::BTreeMap;
use std::sync::Arc;

use millpond_sql::types::BaseType;
use millpond_sql::value::{DateTime, Value};

use super::table::{Columns, Context, Ty, Virtual, n, opt, s};
use crate::counters::Counter;
use crate::digests::{BUCKETS, Digests, Sums, Tally, bucket_ns, event_name, quantile};

const PS: &str = "performance_schema";
/// Picoseconds, performance_schema's unit, in a nanosecond.
const PS_PER_NS: u64 = 1000;

const BY_DIGEST: &str = "events_statements_summary_by_digest";
const BY_EVENT: &str = "events_statements_summary_global_by_event_name";
const HISTOGRAM_BY_DIGEST: &str = "events_statements_histogram_by_digest";
const HISTOGRAM: &str = "events_statements_histogram_global";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![by_digest(), by_event(), histograms(), histogram()],
        _ => Vec::new(),
    }
}

/// TRUNCATE TABLE of one of them: `false` if it is none.
pub(super) fn truncate(digests: &Digests, name: &str) -> bool {
    let one = [BY_DIGEST, BY_EVENT, HISTOGRAM_BY_DIGEST, HISTOGRAM];
    let is = one.iter().any(|t| t.eq_ignore_ascii_case(name));
    if is {
        digests.reset();
    }
    is
}

/// What all summaries of statements have in common.
pub(super) const COUNTS: [&str; 28] = [
    "COUNT_STAR",
    "SUM_TIMER_WAIT",
    "MIN_TIMER_WAIT",
    "AVG_TIMER_WAIT",
    "MAX_TIMER_WAIT",
    "SUM_LOCK_TIME",
    "SUM_ERRORS",
    "SUM_WARNINGS",
    "SUM_ROWS_AFFECTED",
    "SUM_ROWS_SENT",
    "SUM_ROWS_EXAMINED",
    "SUM_CREATED_TMP_DISK_TABLES",
    "SUM_CREATED_TMP_TABLES",
    "SUM_SELECT_FULL_JOIN",
    "SUM_SELECT_FULL_RANGE_JOIN",
    "SUM_SELECT_RANGE",
    "SUM_SELECT_RANGE_CHECK",
    "SUM_SELECT_SCAN",
    "SUM_SORT_MERGE_PASSES",
    "SUM_SORT_RANGE",
    "SUM_SORT_ROWS",
    "SUM_SORT_SCAN",
    "SUM_NO_INDEX_USED",
    "SUM_NO_GOOD_INDEX_USED",
    "SUM_CPU_TIME",
    "MAX_CONTROLLED_MEMORY",
    "MAX_TOTAL_MEMORY",
    "COUNT_SECONDARY",
];

/// The columns of [`COUNTS`]. No plan looks for indexes anew for each row, and none goes to a second engine; the processor's time is not measured.
pub(super) fn counts(sums: &Sums) -> impl Iterator<Item = Value<'static>> + use<> {
    let all: [u64; COUNTS.len()] = [
        sums.count,
        time(sums.ns),
        time(sums.min_ns),
        time(sums.ns).checked_div(sums.count).unwrap_or(0),
        time(sums.max_ns),
        time(sums.lock_ns),
        sums.errors,
        sums.warnings,
        sums.affected,
        sums.sent,
        sums.examined,
        sums.disk_tables,
        sums.tables,
        sums.full_joins,
        sums.range_joins,
        sums.ranges,
        0,
        sums.scans,
        sums.merge_passes,
        sums.sorted_ranges,
        sums.sort_rows,
        sums.sorted_scans,
        sums.no_index,
        0,
        0,
        sums.memory,
        sums.memory,
        0,
    ];
    all.into_iter().map(n)
}

/// Nanoseconds in picoseconds.
pub(super) fn time(ns: u64) -> u64 {
    ns.saturating_mul(PS_PER_NS)
}

/// A time in microseconds since 1970 UTC.
pub(super) fn moment(us: u64, cx: &Context<'_>) -> Value<'static> {
    let (seconds, fraction) = (us / 1_000_000, us % 1_000_000);
    let seconds = i64::try_from(seconds).ok();
    seconds
        .and_then(|t| DateTime::from_unix(t, fraction as u32, cx.env.zone.get()))
        .map_or(Value::Null, Value::DateTime)
}

/// SCHEMA_NAME and DIGEST.
fn names(tally: &Tally) -> [Value<'static>; 2] {
    let hex = |d: &crate::digests::Digest| {
        let digits = d.hash.iter().map(|b| format!("{b:02x}"));
        digits.collect::<String>()
    };
    [
        opt(tally.schema.as_deref()),
        opt(tally.digest.as_ref().map(hex)),
    ]
}

/// The tallies that have a digest, by schema and text; and what the others counted that should have one.
fn tallies(cx: &Context<'_>) -> (Vec<Arc<Tally>>, Vec<Arc<Tally>>) {
    let all = cx.facts.instance.0.digests.all();
    let (mut known, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|t| t.digest.is_some());
    rest.retain(|t| t.kind.is_some());
    let key = |t: &Arc<Tally>| {
        let text = t.digest.as_ref().map(|d| d.text.clone());
        (t.schema.clone(), text)
    };
    known.sort_by_cached_key(key);
    (known, rest)
}

fn merged(list: &[Arc<Tally>]) -> (Sums, [u64; BUCKETS]) {
    let (mut sums, mut buckets) = (Sums::default(), [0; BUCKETS]);
    for t in list {
        sums.add(&t.sums());
        for (to, from) in buckets.iter_mut().zip(t.buckets()) {
            *to += from;
        }
    }
    (sums, buckets)
}

fn by_digest() -> Virtual {
    const MOMENT: Ty = Ty::Of(BaseType::Timestamp, 6);
    let mut columns = vec![
        ("SCHEMA_NAME", Ty::NullStr(64)),
        ("DIGEST", Ty::NullStr(64)),
        ("DIGEST_TEXT", Ty::NullText),
    ];
    columns.extend(COUNTS.map(|c| (c, Ty::Num)));
    columns.extend([
        ("FIRST_SEEN", MOMENT),
        ("LAST_SEEN", MOMENT),
        ("QUANTILE_95", Ty::Num),
        ("QUANTILE_99", Ty::Num),
        ("QUANTILE_999", Ty::Num),
        ("QUERY_SAMPLE_TEXT", Ty::NullText),
        ("QUERY_SAMPLE_SEEN", MOMENT),
        ("QUERY_SAMPLE_TIMER_WAIT", Ty::Num),
    ]);
    Virtual::new(PS, BY_DIGEST, &columns, |cx, emit| {
        let (known, rest) = tallies(cx);
        let mut row = |list: &[Arc<Tally>]| {
            let first = &list[0];
            let (sums, buckets) = merged(list);
            let mut row = Vec::with_capacity(48);
            row.extend(names(first));
            row.push(opt(first.digest.as_ref().map(|d| &*d.text)));
            row.extend(counts(&sums));
            row.extend([moment(sums.first_us, cx), moment(sums.last_us, cx)]);
            for part in [0.95, 0.99, 0.999] {
                row.push(n(quantile(&buckets, part, sums.max_ns) * PS_PER_NS));
            }
            let sample = first.sample().filter(|_| list.len() == 1);
            let (text, seen, ns) = match &sample {
                Some((text, us, ns)) => (Some(&**text), *us, *ns),
                None => (None, 0, 0),
            };
            row.extend([opt(text), moment(seen, cx), n(ns.saturating_mul(PS_PER_NS))]);
            emit(&row)
        };
        known
            .iter()
            .try_for_each(|t| row(std::slice::from_ref(t)))?;
        match rest.is_empty() {
            true => Ok(()),
            false => row(&rest),
        }
    })
}

fn by_event() -> Virtual {
    let mut columns = vec![("EVENT_NAME", Ty::Str(128))];
    columns.extend(COUNTS.map(|c| (c, Ty::Num)));
    Virtual::new(PS, BY_EVENT, &columns, |cx, emit| {
        let mut by_name: BTreeMap<String, Sums> =
            instruments().map(|n| (n, Sums::default())).collect();
        for t in cx.facts.instance.0.digests.all() {
            by_name
                .entry(event_name(t.kind))
                .or_default()
                .add(&t.sums());
        }
        for (name, sums) in by_name {
            let row: Vec<_> = std::iter::once(s(name)).chain(counts(&sums)).collect();
            emit(&row)?;
        }
        Ok(())
    })
}

/// The instruments of statements.
pub(super) fn instruments() -> impl Iterator<Item = String> {
    let kinds = Counter::ALL.iter().copied();
    let kinds = kinds.filter(|k| Counter::NAMES[*k as usize].starts_with("Com_"));
    kinds.map(|k| event_name(Some(k))).chain([event_name(None)])
}

/// The columns of one bucket.
const BUCKET: [(&str, Ty); 6] = [
    ("BUCKET_NUMBER", Ty::UInt),
    ("BUCKET_TIMER_LOW", Ty::Num),
    ("BUCKET_TIMER_HIGH", Ty::Num),
    ("COUNT_BUCKET", Ty::Num),
    ("COUNT_BUCKET_AND_LOWER", Ty::Num),
    ("BUCKET_QUANTILE", Ty::Double),
];

/// The values of [`BUCKET`], of each bucket.
fn bucket_rows(counts: &[u64; BUCKETS]) -> impl Iterator<Item = [Value<'static>; 6]> + '_ {
    let total: u64 = counts.iter().sum();
    let mut lower = 0;
    counts.iter().enumerate().map(move |(bucket, count)| {
        lower += count;
        let (from, to) = bucket_ns(bucket);
        let part = match total {
            0 => 0.0,
            _ => lower as f64 / total as f64,
        };
        [
            n(bucket as u64),
            n(from.saturating_mul(PS_PER_NS)),
            n(to.saturating_mul(PS_PER_NS)),
            n(*count),
            n(lower),
            Value::Double(part),
        ]
    })
}

fn histograms() -> Virtual {
    let mut columns = vec![
        ("SCHEMA_NAME", Ty::NullStr(64)),
        ("DIGEST", Ty::NullStr(64)),
    ];
    columns.extend(BUCKET);
    Virtual::new(PS, HISTOGRAM_BY_DIGEST, &columns, |cx, emit| {
        let (known, rest) = tallies(cx);
        let mut all = |list: &[Arc<Tally>]| {
            let names = names(&list[0]);
            let (_, buckets) = merged(list);
            for bucket in bucket_rows(&buckets) {
                let row: Vec<_> = names.iter().cloned().chain(bucket).collect();
                emit(&row)?;
            }
            Ok(())
        };
        known
            .iter()
            .try_for_each(|t| all(std::slice::from_ref(t)))?;
        match rest.is_empty() {
            true => Ok(()),
            false => all(&rest),
        }
    })
}

fn histogram() -> Virtual {
    const COLUMNS: Columns = &BUCKET;
    Virtual::new(PS, HISTOGRAM, COLUMNS, |cx, emit| {
        let (_, buckets) = merged(&cx.facts.instance.0.digests.all());
        bucket_rows(&buckets).try_for_each(|row| emit(&row))
    })
}
