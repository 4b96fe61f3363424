//! What answers statements of the text protocol: Millpond in this process, or a peer (MySQL, MariaDB) at a URL.

#![allow(dead_code)] // Each test program uses a part of it.

use millpond_session::result::{ColumnMeta, Completion, FLAG_ENUM, FLAG_SET, ResultSink};
use millpond_session::types::{BaseType, SqlType};
use millpond_session::{ConnectionInfo, Session, Value, value};
use mysql::consts::{ColumnFlags, ColumnType};
use mysql::prelude::Queryable;

use crate::support::TestDb;

/// A row: `None` is NULL, the rest is as the text protocol has it.
pub type Row = Vec<Option<Vec<u8>>>;

/// What a statement answered.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One letter a column, empty where there is no result set: see [`letter`].
    pub types: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    pub affected: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
}

/// What a result set says of a column besides its letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Digits after the point, as the protocol tells them.
    pub decimals: u8,
}

/// How it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u16,
    /// SQLSTATE.
    pub state: String,
    pub message: String,
}

/// One session. A statement is one: texts of several are not for it.
pub trait Engine {
    fn run(&mut self, sql: &str) -> Result<Outcome, Failure>;
}

/// A session of an embedded instance.
pub struct Embedded(Session);

impl Embedded {
    pub fn connect(db: &TestDb) -> Embedded {
        let info = ConnectionInfo {
            user: "root".into(),
            host: "localhost".into(),
            ..ConnectionInfo::default()
        };
        Embedded(db.instance().connect(info).expect("connect"))
    }
}

#[derive(Default)]
struct Collect {
    columns: Vec<SqlType>,
    outcome: Outcome,
}

impl ResultSink for Collect {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.columns = columns.iter().map(|c| c.ty.clone()).collect();
        // Of several results the first says what the types are.
        if self.outcome.types.is_empty() {
            self.outcome.types = columns.iter().map(meta_letter).collect();
            self.outcome.columns = columns.iter().map(column).collect();
        }
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let cell = |(v, ty): (&Value<'_>, &SqlType)| {
            (!v.is_null()).then(|| {
                let mut text = Vec::new();
                value::write_text(v, ty, &mut text);
                text
            })
        };
        let cells = row.iter().zip(&self.columns).map(cell).collect();
        self.outcome.rows.push(cells);
        Ok(())
    }
    fn finish(&mut self, done: &Completion) -> std::io::Result<()> {
        self.outcome.affected = done.affected;
        self.outcome.last_insert_id = done.last_insert_id;
        self.outcome.warnings = done.warnings;
        Ok(())
    }
}

impl Engine for Embedded {
    fn run(&mut self, sql: &str) -> Result<Outcome, Failure> {
        let mut sink = Collect::default();
        match self.0.execute(sql, &mut sink) {
            Ok(()) => Ok(sink.outcome),
            Err(e) => Err(Failure {
                code: e.code,
                state: e.state.to_string(),
                message: e.message,
            }),
        }
    }
}

fn column(column: &ColumnMeta) -> Column {
    Column {
        name: column.name.clone(),
        decimals: column.ty.decimals,
    }
}

/// The letter of a column that is sent: of what is no ENUM or SET itself, but computed of one, that of a text.
fn meta_letter(column: &ColumnMeta) -> char {
    match letter(&column.ty) {
        'E' if column.flags & FLAG_ENUM == 0 => 'T',
        'M' if column.flags & FLAG_SET == 0 => 'T',
        letter => letter,
    }
}

/// J JSON, I integer, U unsigned integer, N DECIMAL, R FLOAT and DOUBLE, T text, E ENUM, M SET (several members), B bytes, D date, H time of day, S date and time, Y year, Z BIT, X NULL.
fn letter(ty: &SqlType) -> char {
    match ty.base {
        BaseType::Null => 'X',
        BaseType::TinyInt
        | BaseType::SmallInt
        | BaseType::MediumInt
        | BaseType::Int
        | BaseType::BigInt => {
            if ty.unsigned {
                'U'
            } else {
                'I'
            }
        }
        BaseType::Decimal => 'N',
        BaseType::Float | BaseType::Double => 'R',
        BaseType::Char
        | BaseType::VarChar
        | BaseType::TinyText
        | BaseType::Text
        | BaseType::MediumText
        | BaseType::LongText => 'T',
        BaseType::Binary
        | BaseType::VarBinary
        | BaseType::TinyBlob
        | BaseType::Blob
        | BaseType::MediumBlob
        | BaseType::LongBlob => 'B',
        BaseType::Date => 'D',
        BaseType::Time => 'H',
        BaseType::DateTime | BaseType::Timestamp => 'S',
        BaseType::Year => 'Y',
        BaseType::Enum => 'E',
        BaseType::Set => 'M',
        BaseType::Bit => 'Z',
        BaseType::Json => 'J',
        BaseType::Geometry
        | BaseType::Point
        | BaseType::LineString
        | BaseType::Polygon
        | BaseType::MultiPoint
        | BaseType::MultiLineString
        | BaseType::MultiPolygon
        | BaseType::GeomCollection => 'G',
    }
}

/// The same of a column that came over the wire.
fn wire_letter(column: &mysql::Column) -> char {
    const BINARY: u16 = 63;
    match column.column_type() {
        ColumnType::MYSQL_TYPE_NULL => 'X',
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG => {
            if column.flags().contains(ColumnFlags::UNSIGNED_FLAG) {
                'U'
            } else {
                'I'
            }
        }
        ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => 'N',
        ColumnType::MYSQL_TYPE_JSON => 'J',
        ColumnType::MYSQL_TYPE_GEOMETRY => 'G',
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => 'R',
        ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => 'D',
        ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_TIME2 => 'H',
        ColumnType::MYSQL_TYPE_DATETIME
        | ColumnType::MYSQL_TYPE_DATETIME2
        | ColumnType::MYSQL_TYPE_TIMESTAMP
        | ColumnType::MYSQL_TYPE_TIMESTAMP2 => 'S',
        ColumnType::MYSQL_TYPE_YEAR => 'Y',
        ColumnType::MYSQL_TYPE_BIT => 'Z',
        _ if column.flags().contains(ColumnFlags::ENUM_FLAG) => 'E',
        _ if column.flags().contains(ColumnFlags::SET_FLAG) => 'M',
        _ if column.character_set() == BINARY => 'B',
        _ => 'T',
    }
}

fn wire_column(column: &mysql::Column) -> Column {
    Column {
        name: column.name_str().into_owned(),
        decimals: column.decimals(),
    }
}

/// A connection to a server.
pub struct Peer {
    conn: mysql::Conn,
    mariadb: bool,
}

impl Peer {
    /// Connects and sets what the peers' defaults differ in.
    pub fn connect(url: &str) -> Peer {
        let mut conn = mysql::Conn::new(url).expect("a server at the URL");
        let version: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
        let mariadb = version.contains("MariaDB");
        let collation = if mariadb {
            "utf8mb4_uca1400_nopad_ai_ci"
        } else {
            "utf8mb4_0900_ai_ci"
        };
        for sql in [
            format!("SET NAMES utf8mb4 COLLATE {collation}"),
            "SET time_zone = '+00:00'".into(),
            "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
             ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
                .into(),
        ] {
            conn.query_drop(sql).unwrap();
        }
        Peer { conn, mariadb }
    }

    pub fn mariadb(&self) -> bool {
        self.mariadb
    }

    /// The statement in the peer's own names: MariaDB calls the collations of Unicode 9 otherwise.
    fn translated(&self, sql: &str) -> String {
        if !self.mariadb {
            return sql.to_string();
        }
        sql.replace("utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci")
            .replace("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
    }
}

impl Engine for Peer {
    fn run(&mut self, sql: &str) -> Result<Outcome, Failure> {
        let failure = |e: mysql::Error| match e {
            mysql::Error::MySqlError(e) => Failure {
                code: e.code,
                state: e.state,
                message: e.message,
            },
            e => panic!("{sql}: {e}"),
        };
        let sql = self.translated(sql);
        let mut answer = self.conn.query_iter(&sql).map_err(failure)?;
        let mut outcome = Outcome {
            types: answer.columns().as_ref().iter().map(wire_letter).collect(),
            columns: answer.columns().as_ref().iter().map(wire_column).collect(),
            ..Outcome::default()
        };
        let cell = |v: mysql::Value| match v {
            mysql::Value::NULL => None,
            mysql::Value::Bytes(b) => Some(b),
            other => panic!("the text protocol has no {other:?}"),
        };
        while let Some(set) = answer.iter() {
            for row in set {
                let row = row.map_err(failure)?.unwrap();
                outcome.rows.push(row.into_iter().map(cell).collect());
            }
        }
        drop(answer);
        outcome.affected = self.conn.affected_rows();
        outcome.last_insert_id = self.conn.last_insert_id();
        outcome.warnings = self.conn.warnings();
        Ok(outcome)
    }
}
