//! performance_schema.persisted_variables and variables_info: what variables will be at the next start, and where they have what they are from.

use super::table::{Columns, Ty, Virtual, opt, s};
use crate::instance::Source;
use crate::vars::{self, Kind, VarScope};
use millpond_sql::types::BaseType;
use millpond_sql::value::{DateTime, Value};

const PS: &str = "performance_schema";
/// Microseconds.
const SECOND: i64 = 1_000_000;

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![persisted_variables(), variables_info()],
        _ => Vec::new(),
    }
}

fn persisted_variables() -> Virtual {
    const COLUMNS: Columns = &[
        ("VARIABLE_NAME", Ty::Str(64)),
        ("VARIABLE_VALUE", Ty::NullStr(1024)),
    ];
    Virtual::new(PS, "persisted_variables", COLUMNS, |cx, emit| {
        for (name, entry) in cx.facts.instance.0.persisted.entries() {
            emit(&[s(name), opt(entry.value)])?;
        }
        Ok(())
    })
}

/// The least and the greatest value of a variable: 0 for what isn't a number, as MySQL has it.
fn range(kind: Kind) -> [String; 2] {
    match kind {
        Kind::UInt { min, max, .. } => [min.to_string(), max.to_string()],
        Kind::Double { min, max } => [format!("{min:.0}"), format!("{max:.0}")],
        _ => ["0".into(), "0".into()],
    }
}

fn variables_info() -> Virtual {
    const COLUMNS: Columns = &[
        ("VARIABLE_NAME", Ty::Str(64)),
        ("VARIABLE_SOURCE", Ty::Str(12)),
        ("VARIABLE_PATH", Ty::NullStr(1024)),
        ("MIN_VALUE", Ty::NullStr(64)),
        ("MAX_VALUE", Ty::NullStr(64)),
        ("SET_TIME", Ty::NullOf(BaseType::Timestamp, 6)),
        ("SET_USER", Ty::NullStr(32)),
        ("SET_HOST", Ty::NullStr(255)),
    ];
    Virtual::new(PS, "variables_info", COLUMNS, |cx, emit| {
        let inner = &cx.facts.instance.0;
        let sources = inner.sources.lock().clone();
        let zone = cx.env.zone.get();
        for (index, def) in vars::all().iter().enumerate() {
            if def.scope == VarScope::Session {
                continue;
            }
            let (name, by) = match sources.get(&index) {
                None => ("COMPILED", None),
                Some(Source::Start) => ("COMMAND_LINE", None),
                Some(Source::Persisted(by)) => ("PERSISTED", Some(by)),
                Some(Source::Set(by)) => ("DYNAMIC", Some(by)),
            };
            let path = match name {
                "PERSISTED" => inner.persisted.path().display().to_string(),
                _ => String::new(),
            };
            let [least, most] = range(def.kind);
            let time = by.map_or(Value::Null, |by| {
                let (seconds, micros) = (by.at_us.div_euclid(SECOND), by.at_us.rem_euclid(SECOND));
                let time = DateTime::from_unix(seconds, micros as u32, zone);
                time.map_or(Value::Null, Value::DateTime)
            });
            emit(&[
                s(def.name),
                s(name),
                s(path),
                s(least),
                s(most),
                time,
                opt(by.map(|by| by.user.clone())),
                opt(by.map(|by| by.host.clone())),
            ])?;
        }
        Ok(())
    })
}
