//! INNODB_BUFFER_POOL_STATS: a row for each instance of the buffer pool, with MySQL's columns.
//!
//! What Millpond has none of (compressed pages, read-ahead) is 0; what it does not count as InnoDB does is NULL.

use super::table::{Ty, Virtual, n};
use millpond_sql::value::Value;
use millpond_store::pool::{InstanceLook, InstanceStats};

type Cell = fn(&InstanceLook) -> Value<'static>;

/// Column, type, and what is in it; POOL_ID comes before them.
const COLUMNS: &[(&str, Ty, Cell)] = &[
    ("POOL_SIZE", Ty::Num, |l| n(l.now.size)),
    ("FREE_BUFFERS", Ty::Num, |l| n(l.now.free)),
    ("DATABASE_PAGES", Ty::Num, |l| n(l.now.young + l.now.old)),
    ("OLD_DATABASE_PAGES", Ty::Num, |l| n(l.now.old)),
    ("MODIFIED_DATABASE_PAGES", Ty::Num, |l| n(l.now.dirty)),
    ("PENDING_DECOMPRESS", Ty::Num, zero),
    ("PENDING_READS", Ty::Num, |l| n(l.now.pending_reads)),
    ("PENDING_FLUSH_LRU", Ty::NullNum, null),
    ("PENDING_FLUSH_LIST", Ty::NullNum, null),
    ("PAGES_MADE_YOUNG", Ty::Num, |l| n(l.now.made_young)),
    ("PAGES_NOT_MADE_YOUNG", Ty::Num, |l| n(l.now.not_young)),
    ("PAGES_MADE_YOUNG_RATE", Ty::Double, |l| {
        rate(l, |s| s.made_young)
    }),
    ("PAGES_MADE_NOT_YOUNG_RATE", Ty::Double, |l| {
        rate(l, |s| s.not_young)
    }),
    ("NUMBER_PAGES_READ", Ty::Num, |l| n(l.now.reads)),
    ("NUMBER_PAGES_CREATED", Ty::Num, |l| n(l.now.created)),
    ("NUMBER_PAGES_WRITTEN", Ty::Num, |l| n(l.now.written)),
    ("PAGES_READ_RATE", Ty::Double, |l| rate(l, |s| s.reads)),
    ("PAGES_CREATE_RATE", Ty::Double, |l| rate(l, |s| s.created)),
    ("PAGES_WRITTEN_RATE", Ty::Double, |l| rate(l, |s| s.written)),
    ("NUMBER_PAGES_GET", Ty::NullNum, |l| or_null(l.now.gets)),
    ("HIT_RATE", Ty::NullNum, |l| {
        or_null(l.per_thousand(|s| s.reads).map(|missed| {
            // Without a request nothing was missed.
            1000u64.saturating_sub(missed)
        }))
    }),
    ("YOUNG_MAKE_PER_THOUSAND_GETS", Ty::NullNum, |l| {
        or_null(l.per_thousand(|s| s.made_young))
    }),
    ("NOT_YOUNG_MAKE_PER_THOUSAND_GETS", Ty::NullNum, |l| {
        or_null(l.per_thousand(|s| s.not_young))
    }),
    ("NUMBER_PAGES_READ_AHEAD", Ty::Num, zero),
    ("NUMBER_READ_AHEAD_EVICTED", Ty::Num, zero),
    ("READ_AHEAD_RATE", Ty::Double, none_a_second),
    ("READ_AHEAD_EVICTED_RATE", Ty::Double, none_a_second),
    ("LRU_IO_TOTAL", Ty::NullNum, null),
    ("LRU_IO_CURRENT", Ty::NullNum, null),
    ("UNCOMPRESS_TOTAL", Ty::Num, zero),
    ("UNCOMPRESS_CURRENT", Ty::Num, zero),
];

fn zero(_: &InstanceLook) -> Value<'static> {
    n(0u64)
}

fn none_a_second(_: &InstanceLook) -> Value<'static> {
    Value::Double(0.0)
}

fn null(_: &InstanceLook) -> Value<'static> {
    Value::Null
}

fn or_null(v: Option<u64>) -> Value<'static> {
    v.map_or(Value::Null, n)
}

fn rate(l: &InstanceLook, number: fn(&InstanceStats) -> u64) -> Value<'static> {
    Value::Double(l.rate(number))
}

pub(super) fn buffer_pool_stats() -> Virtual {
    let columns = std::iter::once(("POOL_ID", Ty::Num));
    let columns: Vec<_> = columns
        .chain(COLUMNS.iter().map(|(name, ty, _)| (*name, *ty)))
        .collect();
    Virtual::new(
        "information_schema",
        "INNODB_BUFFER_POOL_STATS",
        &columns,
        |cx, emit| {
            let looks = cx.facts.instance.engine().pool_instances();
            for (id, look) in looks.iter().enumerate() {
                let mut row = vec![n(id as u64)];
                row.extend(COLUMNS.iter().map(|(_, _, cell)| cell(look)));
                emit(&row)?;
            }
            Ok(())
        },
    )
}
