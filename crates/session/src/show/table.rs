//! A virtual table made of a column list and a function.

use std::sync::Arc;

use crate::accounts::access::Access;
use crate::instance::Facts;
use millpond_sql::env::privileges::PROCESS;
use millpond_sql::env::{Asked, Emit, SessionEnv, VirtualColumn, VirtualTable};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::types::{BaseType, Collation, SqlType};
use millpond_sql::value::Value;

/// Column kinds that virtual tables need.
#[derive(Clone, Copy)]
pub(super) enum Ty {
    /// A text of up to so many characters.
    Str(u32),
    /// The same, or NULL.
    NullStr(u32),
    /// One of these texts.
    Enum(&'static [&'static str]),
    /// A long text.
    Text,
    /// A long text or NULL.
    NullText,
    /// An unsigned integer.
    Num,
    /// The same, or NULL.
    NullNum,
    /// An unsigned INT.
    UInt,
    /// The same, or NULL.
    NullUInt,
    /// A floating-point number.
    Double,
    /// A decimal of so many digits, so many of them behind the point.
    Decimal(u32, u8),
    /// The same, or NULL.
    NullDecimal(u32, u8),
    /// A date and time, or NULL.
    NullTime,
    /// Another type, with so many digits after the second.
    Of(BaseType, u8),
    /// The same, or NULL.
    NullOf(BaseType, u8),
}

pub(super) type Columns = &'static [(&'static str, Ty)];

/// What tables of information_schema are called that tell what goes on inside: they take PROCESS.
const INSIDE: [&str; 2] = ["INNODB_", "MILLPOND_"];

/// What makes the rows.
pub(super) type Produce = Box<dyn Fn(&Context<'_>, &mut Emit<'_>) -> SqlResult<()> + Send + Sync>;

/// What a producer reads.
pub(super) struct Context<'a> {
    pub env: &'a SessionEnv,
    pub facts: &'a Facts,
    asked: Asked<'a>,
}

impl Context<'_> {
    /// Whether the reader looks at one of these columns.
    pub fn reads(&self, columns: &[usize]) -> bool {
        let read = self.asked.read;
        read.is_none_or(|read| columns.iter().any(|c| read.contains(c)))
    }

    /// What the session may.
    pub fn access(&self) -> Arc<Access> {
        self.facts.guard.access(&self.facts.instance.0.accounts)
    }

    /// The text that column `column` must equal, if the reader said so.
    pub fn known(&self, column: usize) -> Option<String> {
        self.asked
            .known
            .iter()
            .find(|(c, _)| *c == column)
            .map(|(_, v)| String::from_utf8_lossy(&v.to_text()).into_owned())
    }
}

/// A virtual table.
pub(super) struct Virtual {
    database: &'static str,
    name: &'static str,
    columns: Vec<VirtualColumn>,
    produce: Produce,
}

impl Virtual {
    pub fn new(
        database: &'static str,
        name: &'static str,
        columns: &[(&'static str, Ty)],
        produce: impl Fn(&Context<'_>, &mut Emit<'_>) -> SqlResult<()> + Send + Sync + 'static,
    ) -> Virtual {
        Virtual {
            database,
            name,
            columns: columns.iter().map(|(n, t)| column(n, *t)).collect(),
            produce: Box::new(produce),
        }
    }
}

fn column(name: &'static str, ty: Ty) -> VirtualColumn {
    let text = |n| SqlType::varchar(n, Collation::DEFAULT);
    let long = || SqlType {
        collation: Collation::DEFAULT,
        ..SqlType::new(BaseType::LongText)
    };
    let unsigned = || SqlType {
        unsigned: true,
        ..SqlType::new(BaseType::Int)
    };
    let (ty, nullable) = match ty {
        Ty::Str(n) => (text(n), false),
        Ty::NullStr(n) => (text(n), true),
        Ty::Enum(members) => {
            let members = members.iter().map(|m| m.to_string()).collect();
            let collation = Collation::Utf8mb4GeneralCi;
            (SqlType::enumeration(members, collation), false)
        }
        Ty::Text => (long(), false),
        Ty::NullText => (long(), true),
        Ty::Num => (SqlType::ubigint(), false),
        Ty::NullNum => (SqlType::ubigint(), true),
        Ty::UInt => (unsigned(), false),
        Ty::NullUInt => (unsigned(), true),
        Ty::Double => (SqlType::new(BaseType::Double), false),
        Ty::Decimal(digits, scale) => (SqlType::decimal(digits, scale), false),
        Ty::NullDecimal(digits, scale) => (SqlType::decimal(digits, scale), true),
        Ty::NullTime => (SqlType::datetime(0), true),
        Ty::Of(base, 0) => (SqlType::new(base), false),
        Ty::Of(base, fsp) => (SqlType::temporal(base, fsp), false),
        Ty::NullOf(base, 0) => (SqlType::new(base), true),
        Ty::NullOf(base, fsp) => (SqlType::temporal(base, fsp), true),
    };
    VirtualColumn { name, ty, nullable }
}

impl VirtualTable for Virtual {
    fn database(&self) -> &str {
        self.database
    }
    fn name(&self) -> &str {
        self.name
    }
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn rows(&self, session: &SessionEnv, asked: Asked<'_>, emit: &mut Emit<'_>) -> SqlResult<()> {
        let Some(facts) = Facts::of(session) else {
            return Err(SqlError::new(1105, "system tables need a session"));
        };
        let cx = Context {
            env: session,
            facts,
            asked,
        };
        if INSIDE.iter().any(|start| self.name.starts_with(start)) {
            cx.access().check_global(PROCESS)?;
        }
        (self.produce)(&cx, emit)
    }
}

/// A text value.
pub(super) fn s(text: impl Into<String>) -> Value<'static> {
    Value::string(text.into())
}

/// A text value or NULL.
pub(super) fn opt(text: Option<impl Into<String>>) -> Value<'static> {
    text.map_or(Value::Null, s)
}

/// A number.
pub(super) fn n(number: impl Into<u64>) -> Value<'static> {
    Value::UInt(number.into())
}
