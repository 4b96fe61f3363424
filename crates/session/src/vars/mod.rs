//! System variables: what exists ([`table`]), what values they take, and where the values live.
//!
//! Global values are one immutable snapshot behind a short lock; a session starts with that snapshot (a
//! pointer, no copy) and gets one of its own at its first SET. What the hot path needs of them is
//! mirrored by the session into plain fields whenever a value changes, so nothing here is asked per
//! statement. This module decides what may be set to what; the effects are applied by
//! `session::set`.

mod table;

use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_sql::env::{locale, sql_mode};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::switches::Switches;
use millpond_sql::types::{Charset, Collation};
use millpond_sql::value::{Value, Zone};

/// MySQL's version number as far as behaviour goes.
pub const VERSION_NUMBER: &str = "8.0.45";
/// What `@@version` says and the handshake sends.
pub const VERSION: &str = concat!("8.0.45-millpond-", env!("CARGO_PKG_VERSION"));

/// Which values a variable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VarScope {
    /// One for the instance.
    Global,
    /// One per session.
    Session,
    /// One per session, and one for the instance that new sessions start with.
    Both,
}

/// What values a variable takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// ON, OFF.
    Bool,
    /// An unsigned integer, rounded down to a multiple of `step`.
    UInt { min: u64, max: u64, step: u64 },
    /// A number.
    Double { min: f64, max: f64 },
    /// Any text.
    Text { nullable: bool },
    /// One of these, by name or position.
    Enum(&'static [&'static str]),
    /// Some of these.
    Set(&'static [&'static str]),
    /// sql_mode.
    SqlMode,
    /// optimizer_switch; flags that are not named have their defaults.
    Switches,
    /// A character set.
    Charset,
    /// A character set of clients; NULL, if it may be: no conversion.
    ClientCharset { nullable: bool },
    /// A collation.
    Collation,
    /// `SYSTEM`, an offset such as `+02:00`, or a name such as `Europe/Zurich`.
    TimeZone,
    /// A locale.
    Locale,
    /// A storage engine: InnoDB.
    Engine,
}

/// A default, before the instance is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Default {
    Null,
    Bool(bool),
    UInt(u64),
    Double(f64),
    Text(&'static str),
}

/// Who may change a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// SET takes any valid value.
    Free,
    /// SET takes the default only: other behaviour isn't there.
    Fixed,
    /// Set at start only.
    ReadOnly,
}

/// A system variable.
#[derive(Debug)]
pub(crate) struct Def {
    pub name: &'static str,
    pub scope: VarScope,
    pub kind: Kind,
    pub default: Default,
    pub access: Access,
}

/// A value of a system variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum VarValue {
    Null,
    Bool(bool),
    UInt(u64),
    Double(f64),
    Text(Arc<str>),
}

impl From<Default> for VarValue {
    fn from(d: Default) -> VarValue {
        match d {
            Default::Null => VarValue::Null,
            Default::Bool(b) => VarValue::Bool(b),
            Default::UInt(v) => VarValue::UInt(v),
            Default::Double(v) => VarValue::Double(v),
            Default::Text(s) => VarValue::Text(s.into()),
        }
    }
}

impl VarValue {
    /// As `SELECT @@x` gives it.
    pub fn to_value(&self) -> Value<'static> {
        match self {
            VarValue::Null => Value::Null,
            VarValue::Bool(b) => Value::Int(i64::from(*b)),
            VarValue::UInt(v) => Value::UInt(*v),
            VarValue::Double(v) => Value::Double(*v),
            VarValue::Text(s) => Value::string(s.to_string()),
        }
    }
    /// As SHOW VARIABLES prints it.
    pub fn show(&self) -> String {
        match self {
            VarValue::Null => String::new(),
            VarValue::Bool(true) => "ON".into(),
            VarValue::Bool(false) => "OFF".into(),
            VarValue::UInt(v) => v.to_string(),
            VarValue::Double(v) => format!("{v:.6}"),
            VarValue::Text(s) => s.to_string(),
        }
    }
    /// As a number; texts and NULL have none.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            VarValue::Bool(b) => Some(u64::from(*b)),
            VarValue::UInt(v) => Some(*v),
            VarValue::Double(v) => Some(*v as u64),
            VarValue::Null | VarValue::Text(_) => None,
        }
    }
    /// As a text; empty for anything else.
    pub fn as_str(&self) -> &str {
        match self {
            VarValue::Text(s) => s,
            _ => "",
        }
    }
}

/// All variables, by name.
pub(crate) fn all() -> &'static [Def] {
    table::VARS
}

/// Position of a variable by its lower-case name.
pub(crate) fn find(name: &str) -> Option<usize> {
    table::VARS.binary_search_by(|d| d.name.cmp(name)).ok()
}

/// Position of a variable; error 1193 if there is none.
pub(crate) fn lookup(name: &str) -> SqlResult<usize> {
    find(name).ok_or_else(|| SqlError::new(1193, format!("Unknown system variable '{name}'")))
}

/// Position of a variable the code itself names.
///
/// # Panics
/// If there is none: a typing error in the caller.
pub(crate) fn known(name: &str) -> usize {
    find(name).unwrap_or_else(|| panic!("no system variable {name}"))
}

/// Error 1231.
pub(crate) fn wrong_value(def: &Def, shown: &str) -> SqlError {
    SqlError::new(
        1231,
        format!(
            "Variable '{}' can't be set to the value of '{shown}'",
            def.name
        ),
    )
}

fn wrong_type(def: &Def) -> SqlError {
    SqlError::new(
        1232,
        format!("Incorrect argument type to variable '{}'", def.name),
    )
}

/// The outcome of converting a value: what to store, and whether it was clamped (warning 1292).
#[derive(Debug)]
pub(crate) struct Converted {
    pub value: VarValue,
    pub clamped: bool,
}

/// Converts what SET gives to a variable's own type. `strict`: out of range is an error, not a clamp.
pub(crate) fn convert(def: &Def, value: &Value<'_>, strict: bool) -> SqlResult<Converted> {
    let text = match value {
        Value::Bytes(b) => Some(String::from_utf8_lossy(b).into_owned()),
        _ => None,
    };
    let shown = || {
        if value.is_null() {
            "NULL".to_string()
        } else {
            String::from_utf8_lossy(&value.to_text()).into_owned()
        }
    };
    let plain = |value| {
        Ok(Converted {
            value,
            clamped: false,
        })
    };
    if value.is_null() {
        return match def.kind {
            Kind::Text { nullable: true } | Kind::ClientCharset { nullable: true } => {
                plain(VarValue::Null)
            }
            _ => Err(wrong_value(def, "NULL")),
        };
    }
    match def.kind {
        Kind::Bool => {
            let b = match (value, text.as_deref()) {
                (Value::Int(0) | Value::UInt(0), _) => false,
                (Value::Int(1) | Value::UInt(1), _) => true,
                (_, Some(t)) if t.eq_ignore_ascii_case("on") || t.eq_ignore_ascii_case("true") => {
                    true
                }
                (_, Some(t))
                    if t.eq_ignore_ascii_case("off") || t.eq_ignore_ascii_case("false") =>
                {
                    false
                }
                (Value::Double(_) | Value::Decimal(_), _) => return Err(wrong_type(def)),
                _ => return Err(wrong_value(def, &shown())),
            };
            plain(VarValue::Bool(b))
        }
        Kind::UInt { min, max, step } => {
            let (given, negative) = match value {
                Value::Int(v) => ((*v).max(0) as u64, *v < 0),
                Value::UInt(v) => (*v, false),
                _ => return Err(wrong_type(def)),
            };
            let fitted = given.clamp(min, max);
            let clamped = negative || fitted != given;
            if clamped && strict {
                return Err(wrong_value(def, &shown()));
            }
            let rounded = (fitted - fitted % step).max(min);
            Ok(Converted {
                value: VarValue::UInt(rounded),
                clamped: clamped || rounded != given,
            })
        }
        Kind::Double { min, max } => {
            let given = match value {
                Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
                    value.to_f64()
                }
                _ => return Err(wrong_type(def)),
            };
            let fitted = given.clamp(min, max);
            if fitted != given && strict {
                return Err(wrong_value(def, &shown()));
            }
            Ok(Converted {
                value: VarValue::Double(fitted),
                clamped: fitted != given,
            })
        }
        Kind::Text { .. } => match text {
            Some(t) => plain(VarValue::Text(t.into())),
            None => Err(wrong_type(def)),
        },
        Kind::Enum(names) => {
            let name = match (value, &text) {
                (_, Some(t)) => names.iter().find(|n| n.eq_ignore_ascii_case(t)),
                (Value::Int(i), _) => usize::try_from(*i).ok().and_then(|i| names.get(i)),
                (Value::UInt(i), _) => usize::try_from(*i).ok().and_then(|i| names.get(i)),
                _ => return Err(wrong_type(def)),
            };
            match name {
                Some(n) => plain(VarValue::Text((*n).into())),
                None => Err(wrong_value(def, &shown())),
            }
        }
        Kind::Set(names) => {
            let Some(t) = text else {
                return Err(wrong_type(def));
            };
            let mut chosen = Vec::new();
            for part in t.split(',').map(str::trim).filter(|p| !p.is_empty()) {
                match names.iter().find(|n| n.eq_ignore_ascii_case(part)) {
                    Some(n) if chosen.contains(n) => {}
                    Some(n) => chosen.push(*n),
                    None => return Err(wrong_value(def, part)),
                }
            }
            plain(VarValue::Text(chosen.join(",").into()))
        }
        Kind::SqlMode => {
            let bits = match (value, &text) {
                (_, Some(t)) => sql_mode::parse(t)?,
                (Value::Int(_) | Value::UInt(_), _) => sql_mode::from_bits(value.to_u64())?,
                _ => return Err(wrong_type(def)),
            };
            plain(VarValue::Text(sql_mode::format(bits).into()))
        }
        Kind::Switches => {
            let all = Switches::default();
            let switches = switched(value, all, all)?;
            plain(VarValue::Text(switches.to_string().into()))
        }
        Kind::Charset | Kind::ClientCharset { .. } => {
            let Some(t) = text else {
                return Err(wrong_type(def));
            };
            let name = match def.kind {
                Kind::ClientCharset { nullable: false } => client_charset_name(&t)?,
                _ => charset_name(&t)?,
            };
            plain(VarValue::Text(name.into()))
        }
        Kind::Collation => {
            let Some(t) = text else {
                return Err(wrong_type(def));
            };
            plain(VarValue::Text(Collation::by_name(&t)?.name().into()))
        }
        Kind::TimeZone => {
            let Some(t) = text else {
                return Err(unknown_time_zone(&shown()));
            };
            let zone = zone(&t)?;
            plain(VarValue::Text(match zone.name() {
                _ if t.eq_ignore_ascii_case("system") => "SYSTEM".into(),
                Some(name) => name.into(),
                None => t.into(),
            }))
        }
        Kind::Locale => {
            let names = locale::names(&text.unwrap_or_else(shown))?;
            plain(VarValue::Text(names.locale.into()))
        }
        Kind::Engine => {
            let Some(t) = text else {
                return Err(wrong_type(def));
            };
            if t.eq_ignore_ascii_case("innodb") || t.eq_ignore_ascii_case("millpond") {
                plain(VarValue::Text("InnoDB".into()))
            } else {
                Err(SqlError::new(1286, format!("Unknown storage engine '{t}'")))
            }
        }
    }
}

/// What a text or a number says of `optimizer_switch`: of the flags that it does not name, the value `now` holds.
pub(crate) fn switched(
    value: &Value<'_>,
    now: Switches,
    defaults: Switches,
) -> SqlResult<Switches> {
    match value {
        Value::Bytes(b) => now.with(&String::from_utf8_lossy(b), defaults),
        Value::Int(_) | Value::UInt(_) => Switches::of_bits(value.to_u64()),
        _ => Err(wrong_type(&all()[known("optimizer_switch")])),
    }
}

/// A character set under its canonical name.
pub(crate) fn charset_name(name: &str) -> SqlResult<&'static str> {
    Ok(Charset::by_name(name)?.name())
}

/// The same of a character set that statements may come in; error 1231 for one in which ASCII is not ASCII.
pub(crate) fn client_charset_name(name: &str) -> SqlResult<&'static str> {
    let charset = Charset::by_name(name)?;
    if !charset.is_clients() {
        return Err(SqlError::new(
            1231,
            format!(
                "Variable 'character_set_client' can't be set to the value of '{}'",
                charset.name()
            ),
        ));
    }
    Ok(charset.name())
}

fn unknown_time_zone(name: &str) -> SqlError {
    SqlError::new(1298, format!("Unknown or incorrect time zone: '{name}'"))
}

/// The zone that a `time_zone` value means; `SYSTEM` is UTC, which `system_time_zone` says.
pub(crate) fn zone(name: &str) -> SqlResult<Zone> {
    if name.eq_ignore_ascii_case("system") {
        return Ok(Zone::UTC);
    }
    Zone::by_name(name).ok_or_else(|| unknown_time_zone(name))
}

/// Global values.
pub(crate) struct Globals {
    values: RwLock<Arc<Vec<VarValue>>>,
}

impl Globals {
    /// Every variable at its default.
    pub fn new() -> Globals {
        Globals {
            values: RwLock::new(Arc::new(
                table::VARS.iter().map(|d| d.default.into()).collect(),
            )),
        }
    }
    /// The values now.
    pub fn snapshot(&self) -> Arc<Vec<VarValue>> {
        self.values.read().clone()
    }
    /// One value.
    pub fn get(&self, index: usize) -> VarValue {
        self.values.read()[index].clone()
    }
    /// Replaces one value.
    pub fn put(&self, index: usize, value: VarValue) {
        Arc::make_mut(&mut *self.values.write())[index] = value;
    }
}

/// The values a session started with, which sessions share, and those it has set.
struct Values {
    start: Arc<Vec<VarValue>>,
    own: Vec<(usize, VarValue)>,
}

impl Values {
    fn get(&self, index: usize) -> &VarValue {
        match self.own.iter().find(|(i, _)| *i == index) {
            Some((_, v)) => v,
            None => &self.start[index],
        }
    }
    fn put(&mut self, index: usize, value: VarValue) {
        match self.own.iter_mut().find(|(i, _)| *i == index) {
            Some((_, v)) => *v = value,
            None if self.start[index] == value => {}
            None => self.own.push((index, value)),
        }
    }
}

/// A session's values, and the few facts about it that are variables too. Shared with the closure
/// through which expressions read `@@x`, hence the locks; they are never contended.
pub(crate) struct SessionVars {
    pub globals: Arc<Globals>,
    values: Mutex<Values>,
    /// Connection id (`pseudo_thread_id`).
    pub id: u32,
    /// LAST_INSERT_ID(), mirrored when it changes.
    pub last_insert_id: AtomicU64,
    /// Warnings and errors of the previous statement.
    pub warnings: AtomicU64,
    /// Errors of the previous statement.
    pub errors: AtomicU64,
    /// Start of the statement in microseconds since 1970 UTC.
    pub now_us: AtomicU64,
}

impl SessionVars {
    /// A session that starts with the global values of now.
    pub fn new(globals: Arc<Globals>, id: u32) -> SessionVars {
        let values = Mutex::new(Values {
            start: globals.snapshot(),
            own: Vec::new(),
        });
        SessionVars {
            globals,
            values,
            id,
            last_insert_id: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            now_us: AtomicU64::new(0),
        }
    }
    /// Forgets all SETs.
    pub fn reset(&self) {
        *self.values.lock() = Values {
            start: self.globals.snapshot(),
            own: Vec::new(),
        };
    }
    /// The session's value of a variable, or the global one where there's no other.
    pub fn get(&self, index: usize) -> VarValue {
        if let Some(v) = self.computed(index) {
            return v;
        }
        match table::VARS[index].scope {
            VarScope::Global => self.globals.get(index),
            VarScope::Both | VarScope::Session => self.values.lock().get(index).clone(),
        }
    }
    /// By name; for names the code itself knows.
    pub fn named(&self, name: &str) -> VarValue {
        self.get(known(name))
    }
    /// Sets the session's value.
    pub fn put(&self, index: usize, value: VarValue) {
        self.values.lock().put(index, value);
    }
    fn computed(&self, index: usize) -> Option<VarValue> {
        let load = |a: &AtomicU64| Some(VarValue::UInt(a.load(Ordering::Relaxed)));
        match table::VARS[index].name {
            "last_insert_id" | "identity" => load(&self.last_insert_id),
            "warning_count" => load(&self.warnings),
            "error_count" => load(&self.errors),
            "pseudo_thread_id" => Some(VarValue::UInt(u64::from(self.id))),
            "timestamp" => Some(VarValue::Double(
                self.now_us.load(Ordering::Relaxed) as f64 / 1e6,
            )),
            _ => None,
        }
    }
    /// What `@@name`, `@@session.name` and `@@global.name` read.
    pub fn read(&self, scope: &str, name: &str) -> SqlResult<VarValue> {
        let index = lookup(name)?;
        let def = &table::VARS[index];
        match (scope, def.scope) {
            ("global", VarScope::Session) => Err(SqlError::new(
                1238,
                format!("Variable '{name}' is a SESSION variable"),
            )),
            ("session" | "local", VarScope::Global) => Err(SqlError::new(
                1238,
                format!("Variable '{name}' is a GLOBAL variable"),
            )),
            ("global", _) => Ok(self.globals.get(index)),
            _ => Ok(self.get(index)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, v: Value<'_>, strict: bool) -> SqlResult<VarValue> {
        convert(&all()[known(name)], &v, strict).map(|c| c.value)
    }

    #[test]
    fn table_is_sorted_and_defaults_are_valid() {
        for pair in all().windows(2) {
            assert!(
                pair[0].name < pair[1].name,
                "{} {}",
                pair[0].name,
                pair[1].name
            );
        }
        for def in all() {
            let value = VarValue::from(def.default);
            if matches!(
                def.kind,
                Kind::UInt { .. } | Kind::Enum(_) | Kind::SqlMode | Kind::Bool
            ) {
                let back = convert(def, &value.to_value(), true);
                assert_eq!(
                    back.unwrap_or_else(|e| panic!("{e}")).value,
                    value,
                    "{}",
                    def.name
                );
            }
        }
    }

    #[test]
    fn wrong_values_are_refused_as_mysql_refuses_them() {
        assert_eq!(
            set("autocommit", Value::Int(2), true).unwrap_err().code,
            1231
        );
        assert_eq!(
            set("autocommit", Value::Double(1.0), true)
                .unwrap_err()
                .code,
            1232
        );
        assert_eq!(
            set("autocommit", Value::str("off"), true),
            Ok(VarValue::Bool(false))
        );
        assert_eq!(
            set("wait_timeout", Value::str("10"), true)
                .unwrap_err()
                .code,
            1232
        );
        assert_eq!(
            set("wait_timeout", Value::Int(0), true).unwrap_err().code,
            1231
        );
        assert_eq!(
            set("wait_timeout", Value::Int(0), false),
            Ok(VarValue::UInt(1))
        );
        assert_eq!(
            set("sql_mode", Value::str("NOPE"), true).unwrap_err().code,
            1231
        );
        assert_eq!(
            set(
                "sql_mode",
                Value::str("ansi_quotes,strict_all_tables"),
                true
            ),
            Ok(VarValue::Text("ANSI_QUOTES,STRICT_ALL_TABLES".into()))
        );
        assert_eq!(
            set("transaction_isolation", Value::str("read-committed"), true),
            Ok(VarValue::Text("READ-COMMITTED".into()))
        );
        assert_eq!(
            set("character_set_connection", Value::str("klingon"), true)
                .unwrap_err()
                .code,
            1115
        );
    }
}
