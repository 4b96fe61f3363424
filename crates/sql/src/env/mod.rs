//! What statements see of the session that runs them: its settings, variables and diagnostics, its temporary tables, and what it
//! provides beyond them ([`Services`]).
//!
//! It owns the state that a running statement reads and leaves behind, and knows neither statements nor tables' rows. A session
//! runs on one thread at a time, so nothing here is locked but [`user_locks`], which sessions share.
//!
//! | file | owns |
//! |---|---|
//! | `privileges` | which privileges statements need |
//! | `services` | what only a server's session has: its engine, KILL, locks by name, virtual tables |
//! | `virtual_table` | tables computed on demand, as statements know them |
//! | `temporary` | the session's temporary tables |
//! | `user_locks` | GET_LOCK |
//! | `locals` | local variables of stored programs |
//! | `lists` | what the running statement knows of long lists of IN |
//! | `locale` | names of months and days, forms of numbers |
//! | `sql_mode` | the names and bits of sql_mode |

pub(crate) mod lists;
pub mod locale;
mod locals;
pub mod privileges;
mod profiles;
mod services;
pub mod sql_mode;
pub mod temporary;
pub mod user_locks;
mod virtual_table;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{SqlError, SqlResult};
use crate::memory::Charge;
use crate::switches::Switches;
use crate::types::{Collation, Encoding, SqlType};
use crate::value::Value;

pub use crate::value::ConversionEnv;
pub use crate::value::env::{Diagnostic, Level, SqlMode, StrictWrite};
pub use lists::Lists;
pub use locals::{Local, Locals};
pub use profiles::{Profile, Profiles, Stage};
pub use services::{Around, Services, StoredFunction};
pub use virtual_table::{
    Asked, Emit, SYSTEM_SCHEMAS, VirtualColumn, VirtualTable, is_system_schema,
};

use temporary::TemporaryTables;

/// The part of a session that expressions see. Single-threaded interior mutability: a session runs one
/// statement at a time on one thread.
pub struct SessionEnv {
    /// Clock and zone, sql_mode, warnings: what conversion asks for; [`SessionEnv`] reads as one.
    pub conversion: ConversionEnv,
    /// Connection id.
    pub connection_id: u32,
    /// Current database, if any.
    pub database: RefCell<Option<String>>,
    /// `user@host` as the client gave it: USER().
    pub user: String,
    /// The account that it is, `user@host`: CURRENT_USER(). Within a stored program that runs by its definer's right, the definer.
    pub account: RefCell<String>,
    /// The roles that are active: CURRENT_ROLE().
    pub roles: RefCell<String>,
    /// `collation_connection`: that of literals.
    pub collation: Cell<Collation>,
    /// `lc_time_names`.
    pub names: Cell<&'static locale::Names>,
    /// `default_week_format`.
    pub week_format: Cell<u8>,
    /// What the client's bytes mean (`character_set_client`).
    pub client: Cell<Encoding>,
    /// `optimizer_switch`.
    pub switches: Cell<Switches>,
    /// `sql_auto_is_null`.
    pub auto_is_null: Cell<bool>,
    /// The number that the last INSERT made for an AUTO_INCREMENT column; 0 once `IS NULL` has found it.
    pub generated: Cell<u64>,
    /// `foreign_key_checks`.
    pub foreign_key_checks: Cell<bool>,
    /// LAST_INSERT_ID().
    pub last_insert_id: Cell<u64>,
    /// ROW_COUNT().
    pub row_count: Cell<i64>,
    /// FOUND_ROWS().
    pub found_rows: Cell<u64>,
    /// Rows that the current statement has read from tables.
    pub rows_examined: Cell<u64>,
    /// What the current statement did besides reading rows.
    pub effort: Effort,
    /// `@name` variables.
    pub user_vars: RefCell<HashMap<String, Value<'static>>>,
    /// The collations of those that hold strings.
    pub user_collations: RefCell<HashMap<String, Collation>>,
    /// What they take of the session's memory; `None` outside of a session.
    pub vars_charge: RefCell<Option<Charge>>,
    /// The current statement's long lists.
    pub lists: Lists,
    /// Reads `@@name`: (scope `"session"`, `"global"` or `""`, lower-case name).
    #[allow(clippy::type_complexity)]
    pub sys_var: Box<dyn Fn(&str, &str) -> SqlResult<Value<'static>> + Send>,
    /// What the session provides beyond this; `None` outside of a session.
    pub services: Option<Arc<dyn Services>>,
    /// When the statement must have ended (`max_execution_time`).
    pub deadline: Cell<Option<std::time::Instant>>,
    /// What the running statement's transaction and LOCK TABLES let programs do that it calls.
    pub limits: Cell<Limits>,
    /// The session's temporary tables.
    pub temporary: TemporaryTables,
    /// Profiles of the session's statements.
    pub profiles: Profiles,
    /// What the client has sent by name with the running statement; `None`: NULL.
    pub query_attributes: RefCell<Vec<(String, Option<String>)>>,
    /// Whether the running statement, or one of a program that it calls, has read a table without a key (SERVER_QUERY_NO_INDEX_USED).
    pub reads_whole: Cell<bool>,
}

/// What a statement does besides reading rows, for statistics. Work of other threads than the session's is not in it.
#[derive(Clone, Debug, Default)]
pub struct Effort {
    /// Rows that ORDER BY sorted.
    pub sort_rows: Cell<u64>,
    /// Passes over what a sort had on disk before its last.
    pub merge_passes: Cell<u64>,
    /// Computed tables that did not fit into memory.
    pub disk_tables: Cell<u64>,
}

impl Effort {
    /// Another statement begins.
    #[inline]
    pub fn clear(&self) {
        self.sort_rows.set(0);
        self.merge_passes.set(0);
        self.disk_tables.set(0);
    }
    /// A computed table goes to disk.
    #[cold]
    pub fn spill(&self) {
        self.disk_tables.set(self.disk_tables.get() + 1);
    }
}

/// What a statement's programs may not do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Write: the transaction is READ ONLY.
    pub read_only: bool,
    /// Write: the statement makes a table, and its owner's one transaction that writes is the definition's.
    pub defines: bool,
    /// Use tables: LOCK TABLES, or FLUSH TABLES WITH READ LOCK, is in force.
    pub locked: bool,
    /// Read without locks: the statement around locks what it reads.
    pub lock_reads: bool,
}

impl Deref for SessionEnv {
    type Target = ConversionEnv;

    #[inline]
    fn deref(&self) -> &ConversionEnv {
        &self.conversion
    }
}

/// A session's user variables may take this part of what the server's statements may.
const VARIABLES_SHARE: usize = 4;

/// The longest value that the environment of definitions lets functions make: the most that `max_allowed_packet` can be.
const LONGEST_BYTES: u64 = 1 << 30;

impl SessionEnv {
    /// What `IS NULL` finds of an AUTO_INCREMENT column: nothing (0), or the number made last; `None` if it is what it says.
    pub fn found_by_null(&self) -> Option<u64> {
        self.auto_is_null.get().then(|| self.generated.get())
    }
    /// The environment that definitions are bound in, and columns computed: nobody's, and the same everywhere. It is not strict, knows no
    /// clock, and takes what is a date in any mode.
    pub fn of_definitions() -> SessionEnv {
        let conversion = ConversionEnv::default();
        conversion.sql_mode.set(SqlMode {
            strict: false,
            no_zero_date: false,
            no_zero_in_date: false,
            error_for_division_by_zero: false,
            ..SqlMode::DEFAULT
        });
        SessionEnv {
            conversion,
            connection_id: 0,
            database: RefCell::default(),
            user: String::new(),
            account: RefCell::default(),
            roles: RefCell::default(),
            collation: Cell::new(Collation::DEFAULT),
            names: Cell::new(locale::ENGLISH),
            week_format: Cell::default(),
            client: Cell::default(),
            switches: Cell::default(),
            auto_is_null: Cell::default(),
            generated: Cell::default(),
            foreign_key_checks: Cell::default(),
            last_insert_id: Cell::default(),
            row_count: Cell::default(),
            found_rows: Cell::default(),
            rows_examined: Cell::default(),
            effort: Effort::default(),
            user_vars: RefCell::default(),
            user_collations: RefCell::default(),
            vars_charge: RefCell::default(),
            lists: Default::default(),
            sys_var: Box::new(|_, name| match name {
                "max_allowed_packet" => Ok(Value::UInt(LONGEST_BYTES)),
                name => Err(SqlError::new(
                    1193,
                    format!("Unknown system variable '{name}'"),
                )),
            }),
            services: None,
            deadline: Cell::default(),
            limits: Cell::default(),
            temporary: TemporaryTables::default(),
            profiles: Profiles::default(),
            query_attributes: Default::default(),
            reads_whole: Default::default(),
        }
    }
    /// Assigns to `@name`; error 1038 if the session's variables have grown too large.
    pub fn set_user_var(&self, name: &str, value: Value<'static>) -> SqlResult<()> {
        let value = match value {
            // Variables have no documents, but their texts.
            Value::Json(j) => Value::Bytes(j.to_text().into()),
            value => value,
        };
        let cost = |v: &Value<'_>| match v {
            Value::Bytes(b) => b.len(),
            _ => 0,
        };
        let mut vars = self.user_vars.borrow_mut();
        if let Some(charge) = &mut *self.vars_charge.borrow_mut() {
            let own = name.len() + size_of::<Value<'static>>();
            let before = vars.get(name).map_or(0, |v| own + cost(v));
            let more = (own + cost(&value)).saturating_sub(before);
            let most = charge.account().server_limit() / VARIABLES_SHARE;
            if more > 0 {
                if charge.used() + more > most {
                    return Err(SqlError::new(
                        1038,
                        format!(
                            "Out of memory for user variables: they would take more than {most} bytes; \
                             consider increasing temptable_max_ram"
                        ),
                    ));
                }
                charge.grow(more)?;
            } else {
                charge.shrink(before - own - cost(&value));
            }
        }
        match vars.get_mut(name) {
            Some(v) => *v = value,
            None => {
                vars.insert(name.to_string(), value);
            }
        }
        Ok(())
    }
    /// Assigns to `@name` a value of an expression of a type: a string keeps its collation.
    pub fn set_typed_var(&self, name: &str, value: Value<'static>, ty: &SqlType) -> SqlResult<()> {
        let string = ty.is_string() && matches!(value, Value::Bytes(_));
        self.set_user_var(name, value)?;
        let mut collations = self.user_collations.borrow_mut();
        match collations.get_mut(name) {
            Some(known) if string => *known = ty.collation,
            None if string => {
                collations.insert(name.to_string(), ty.collation);
            }
            Some(_) => {
                collations.remove(name);
            }
            None => {}
        }
        Ok(())
    }
    /// The collation of `@name`, if it holds a string.
    pub fn collation_of_var(&self, name: &str) -> Option<Collation> {
        self.user_collations.borrow().get(name).copied()
    }
    /// Forgets all variables.
    pub fn clear_user_vars(&self) {
        self.user_vars.borrow_mut().clear();
        self.user_collations.borrow_mut().clear();
        if let Some(charge) = &mut *self.vars_charge.borrow_mut() {
            charge.clear();
        }
    }
    /// The virtual table of this name, both compared without regard to case; `None` if `database` is not a system schema or has
    /// no such table, and outside of a session.
    pub fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        self.services.as_ref()?.virtual_table(database, name)
    }
    /// Whether somebody has told the statement to end.
    pub fn is_interrupted(&self) -> bool {
        self.services.as_ref().is_some_and(|s| s.is_interrupted())
    }
    /// Whether the statement has run for longer than `max_execution_time`.
    pub fn is_overdue(&self) -> bool {
        let now = std::time::Instant::now();
        self.deadline.get().is_some_and(|d| d <= now)
    }
}

/// Microseconds since 1970 UTC.
pub fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| d.as_micros() as u64)
}

/// 3024.
pub fn overdue() -> SqlError {
    SqlError::new(
        3024,
        "Query execution was interrupted, maximum statement execution time exceeded",
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::error::SqlError;
    use crate::value::Zone;

    /// A session at 2024-01-31 12:34:56.789012 UTC, two hours east of it.
    pub fn env() -> SessionEnv {
        let conversion = ConversionEnv {
            now: Cell::new((1_706_704_496, 789_012)),
            zone: Cell::new(Zone::Fixed(7200)),
            ..ConversionEnv::default()
        };
        SessionEnv {
            conversion,
            connection_id: 5,
            database: RefCell::new(Some("test".into())),
            user: "root@localhost".into(),
            account: RefCell::new("root@localhost".into()),
            roles: RefCell::new("NONE".into()),
            collation: Cell::new(Collation::DEFAULT),
            names: Cell::new(locale::ENGLISH),
            week_format: Cell::default(),
            client: Cell::default(),
            switches: Cell::default(),
            auto_is_null: Cell::default(),
            generated: Cell::default(),
            foreign_key_checks: Cell::new(true),
            last_insert_id: Cell::new(42),
            row_count: Cell::new(3),
            found_rows: Cell::new(4),
            rows_examined: Cell::new(0),
            effort: Effort::default(),
            user_vars: RefCell::default(),
            user_collations: RefCell::default(),
            vars_charge: RefCell::default(),
            sys_var: Box::new(|_, name| {
                Err(SqlError::new(
                    1193,
                    format!("Unknown system variable '{name}'"),
                ))
            }),
            services: None,
            deadline: Cell::default(),
            limits: Cell::default(),
            temporary: TemporaryTables::default(),
            profiles: Profiles::default(),
            query_attributes: Default::default(),
            reads_whole: Default::default(),
            lists: Default::default(),
        }
    }
}
