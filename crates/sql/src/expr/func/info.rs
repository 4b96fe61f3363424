//! Functions that ask the session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Call, Computed, Func};
use crate::value::Value;

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.cx.session;
    Ok(match f {
        Func::Database => match &*s.database.borrow() {
            Some(d) => Value::string(d.clone()),
            None => Value::Null,
        },
        Func::User | Func::CurrentUser => Value::str(&s.user),
        Func::Version => (s.sys_var)("", "version")?,
        Func::ConnectionId => Value::UInt(s.connection_id as u64),
        Func::LastInsertId => {
            if c.len() == 1 {
                // LAST_INSERT_ID(x) sets what later calls give.
                s.last_insert_id.set(c.value(0)?.to_bits());
            }
            Value::UInt(s.last_insert_id.get())
        }
        Func::RowCount => Value::Int(s.row_count.get()),
        Func::FoundRows => Value::UInt(s.found_rows.get()),
        Func::Charset => Value::str(c.args[0].ty.collation.charset()),
        Func::CollationOf => Value::str(c.args[0].ty.collation.name()),
        _ => Value::string(uuid()),
    })
}

/// 100 ns steps from 1582-10-15, where UUIDs count from, to 1970.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;

/// A version 1 UUID: time and a node made up at start.
fn uuid() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| (d.as_nanos() / 100) as u64)
        + GREGORIAN;
    // Never the same time twice.
    let stamp = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(now.max(last + 1))
        })
        .map_or(now, |last| now.max(last + 1));
    let node = node();
    format!(
        "{:08x}-{:04x}-1{:03x}-{:04x}-{:012x}",
        stamp as u32,
        (stamp >> 32) as u16,
        (stamp >> 48) as u16 & 0xfff,
        0x8000 | (node >> 48) as u16 & 0x3fff,
        node & 0xffff_ffff_ffff | 0x0100_0000_0000,
    )
}

fn node() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    static NODE: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *NODE.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}
