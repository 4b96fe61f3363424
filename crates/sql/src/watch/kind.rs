//! Kinds of statements, and the classes under which the time line counts them.

use crate::parse::{Change, Kind, Maintenance};

macro_rules! kinds {
    ($($variant:ident = $name:literal, $class:ident;)*) => {
        /// What kind of statement one is, as far as records tell them apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum StatementKind { $($variant,)* }

        impl StatementKind {
            /// All of them, by number.
            pub const ALL: &'static [StatementKind] = &[$(StatementKind::$variant,)*];

            /// As SQL writes it.
            pub const fn name(self) -> &'static str {
                match self { $(StatementKind::$variant => $name,)* }
            }

            /// Its class.
            #[inline]
            pub const fn class(self) -> Class {
                match self { $(StatementKind::$variant => Class::$class,)* }
            }
        }
    };
}

kinds! {
    Select = "SELECT", Select;
    Insert = "INSERT", Insert;
    Replace = "REPLACE", Replace;
    Update = "UPDATE", Update;
    Delete = "DELETE", Delete;
    Begin = "BEGIN", Other;
    Commit = "COMMIT", Commit;
    Rollback = "ROLLBACK", Commit;
    CreateTable = "CREATE TABLE", Ddl;
    DropTable = "DROP TABLE", Ddl;
    TruncateTable = "TRUNCATE TABLE", Ddl;
    AlterTable = "ALTER TABLE", Ddl;
    RenameTable = "RENAME TABLE", Ddl;
    OptimizeTable = "OPTIMIZE TABLE", Ddl;
    CreateIndex = "CREATE INDEX", Ddl;
    DropIndex = "DROP INDEX", Ddl;
    CreateDatabase = "CREATE DATABASE", Ddl;
    AlterDatabase = "ALTER DATABASE", Ddl;
    DropDatabase = "DROP DATABASE", Ddl;
    Set = "SET", Other;
    Show = "SHOW", Other;
    Other = "OTHER", Other;
}

/// Under what the time line counts a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Class {
    Select,
    Insert,
    Replace,
    Update,
    Delete,
    /// COMMIT and ROLLBACK.
    Commit,
    Ddl,
    Other,
}

impl Class {
    /// All of them, by number.
    pub const ALL: [Class; 8] = [
        Class::Select,
        Class::Insert,
        Class::Replace,
        Class::Update,
        Class::Delete,
        Class::Commit,
        Class::Ddl,
        Class::Other,
    ];

    /// As the time line shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Select => "SELECT",
            Class::Insert => "INSERT",
            Class::Replace => "REPLACE",
            Class::Update => "UPDATE",
            Class::Delete => "DELETE",
            Class::Commit => "COMMIT",
            Class::Ddl => "DDL",
            Class::Other => "OTHER",
        }
    }
}

impl StatementKind {
    /// Whether it defines data.
    #[inline]
    pub const fn is_ddl(self) -> bool {
        matches!(self.class(), Class::Ddl)
    }
}

/// The kind of a parsed statement.
pub(crate) fn of(kind: &Kind) -> StatementKind {
    use StatementKind as S;
    match kind {
        Kind::Query(_) => S::Select,
        Kind::Insert(i) if i.replace_into => S::Replace,
        Kind::Insert(_) => S::Insert,
        Kind::Update(_) => S::Update,
        Kind::Delete(_) => S::Delete,
        Kind::Several(s) => match s.change {
            Change::Update(_) => S::Update,
            Change::Delete(_) => S::Delete,
        },
        Kind::Begin { .. } => S::Begin,
        Kind::Commit { .. } => S::Commit,
        Kind::Rollback { .. } => S::Rollback,
        Kind::CreateTable(_) | Kind::CreateTableLike { .. } => S::CreateTable,
        Kind::DropTables { .. } => S::DropTable,
        Kind::Truncate(_) => S::TruncateTable,
        Kind::AlterTable { .. } => S::AlterTable,
        Kind::RenameTables(_) => S::RenameTable,
        Kind::Maintain {
            op: Maintenance::Optimize,
            ..
        } => S::OptimizeTable,
        Kind::CreateIndex(_) => S::CreateIndex,
        Kind::DropIndex { .. } => S::DropIndex,
        Kind::CreateDatabase { .. } => S::CreateDatabase,
        Kind::AlterDatabase { .. } => S::AlterDatabase,
        Kind::DropDatabase { .. } => S::DropDatabase,
        Kind::Set(_) => S::Set,
        Kind::Show(_) | Kind::Describe { .. } => S::Show,
        _ => S::Other,
    }
}

/// Database (if named) and table that a DDL statement is about; of several tables, their names with commas between.
pub(crate) fn object(kind: &Kind) -> (Option<String>, Option<String>) {
    use crate::parse::TableName;
    let table = |t: &TableName| (t.database.clone(), Some(t.name.clone()));
    let tables = |names: &[TableName]| {
        let database = names.first().and_then(|t| t.database.clone());
        let each: Vec<&str> = names.iter().map(|t| &*t.name).collect();
        (database, Some(each.join(",")))
    };
    let parsed = |name| crate::ddl::table_name(name).map_or((None, None), |t| table(&t));
    match kind {
        Kind::CreateTable(c) => parsed(&c.name),
        Kind::CreateTableLike { name, .. } => table(name),
        Kind::DropTables { names, .. } | Kind::Maintain { tables: names, .. } => tables(names),
        Kind::Truncate(t) => table(t),
        Kind::AlterTable { table: t, .. } | Kind::DropIndex { table: t, .. } => table(t),
        Kind::RenameTables(pairs) => {
            let from: Vec<TableName> = pairs.iter().map(|(from, _)| from.clone()).collect();
            tables(&from)
        }
        Kind::CreateIndex(c) => parsed(&c.table_name),
        Kind::CreateDatabase { name, .. } | Kind::DropDatabase { name, .. } => {
            (Some(name.clone()), None)
        }
        Kind::AlterDatabase { name, .. } => (name.clone(), None),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::env::SqlMode;

    fn parsed(sql: &str) -> Kind {
        crate::parse::parse_one(sql, SqlMode::DEFAULT).unwrap().kind
    }

    #[test]
    fn numbers_are_positions() {
        for (i, k) in StatementKind::ALL.iter().enumerate() {
            assert_eq!(*k as usize, i);
        }
        for (i, c) in Class::ALL.iter().enumerate() {
            assert_eq!(*c as usize, i);
        }
    }

    #[test]
    fn statements_have_kinds() {
        for (sql, name, ddl) in [
            ("SELECT 1", "SELECT", false),
            ("REPLACE INTO t VALUES (1)", "REPLACE", false),
            ("COMMIT", "COMMIT", false),
            ("OPTIMIZE TABLE t", "OPTIMIZE TABLE", true),
            ("ANALYZE TABLE t", "OTHER", false),
            ("ALTER TABLE t ENGINE=InnoDB", "ALTER TABLE", true),
            ("DROP DATABASE d", "DROP DATABASE", true),
            ("DESC t", "SHOW", false),
        ] {
            let kind = of(&parsed(sql));
            assert_eq!((kind.name(), kind.is_ddl()), (name, ddl), "{sql}");
        }
    }

    #[test]
    fn ddl_names_its_object() {
        for (sql, database, table) in [
            ("CREATE TABLE d.t (a INT)", Some("d"), Some("t")),
            ("CREATE TABLE t LIKE d.u", None, Some("t")),
            ("DROP TABLE d.a, d.b", Some("d"), Some("a,b")),
            ("TRUNCATE t", None, Some("t")),
            ("ALTER TABLE t ADD COLUMN b INT", None, Some("t")),
            ("CREATE INDEX i ON d.t (a)", Some("d"), Some("t")),
            ("DROP INDEX i ON t", None, Some("t")),
            ("RENAME TABLE a TO b", None, Some("a")),
            ("DROP DATABASE d", Some("d"), None),
        ] {
            let (d, t) = object(&parsed(sql));
            assert_eq!((d.as_deref(), t.as_deref()), (database, table), "{sql}");
        }
    }
}
