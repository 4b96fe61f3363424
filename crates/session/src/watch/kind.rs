//! Kinds of statements, and the classes under which the time line counts them.

use std::borrow::Cow;

use millpond_sql::parse::ast::{
    AdminStatement, Ident, ObjectName, SchemaStatement, StatementKind as Parsed, TableStatement,
};

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

/// Database (if named) and table that a DDL statement is about; of several tables, their names with commas between.
pub(crate) fn object(kind: &Parsed) -> (Option<String>, Option<String>) {
    use TableStatement as T;
    let text = |name: &Ident| name.as_str().to_string();
    let tables = |names: &mut dyn Iterator<Item = Cow<'_, ObjectName>>| {
        let mut names = names.peekable();
        let database = names.peek().and_then(|t| t.database.as_ref()).map(text);
        let each: Vec<String> = names.map(|t| text(&t.name)).collect();
        (database, Some(each.join(",")))
    };
    let table = |name: &ObjectName| tables(&mut std::iter::once(Cow::Borrowed(name)));
    match kind {
        Parsed::Table(statement) => match &**statement {
            T::Create(create) => table(&create.name),
            T::CreateLike { name, .. } | T::Truncate(name) => table(name),
            T::Drop { names, .. } => tables(&mut names.iter()),
            T::Rename { tables: pairs, .. } => {
                tables(&mut pairs.iter().map(|pair| Cow::Owned(pair.0.clone())))
            }
            T::CreateIndex(create) => table(&create.table),
            T::DropIndex { table: t, .. } => table(t),
            T::Import(_) => (None, None),
        },
        Parsed::AlterTable(alter) => table(&alter.name),
        Parsed::Admin(statement) => match &**statement {
            AdminStatement::Maintain { tables: names, .. } => tables(&mut names.iter()),
            _ => (None, None),
        },
        Parsed::Schema(statement) => match &**statement {
            SchemaStatement::CreateDatabase { name, .. }
            | SchemaStatement::CreateDatabaseLike { name, .. }
            | SchemaStatement::DropDatabase { name, .. } => (Some(text(name)), None),
            SchemaStatement::AlterDatabase { name, .. } => (name.as_ref().map(text), None),
            _ => (None, None),
        },
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond_sql::env::SqlMode;

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
            let statement = millpond_sql::parse::parse_one(sql, SqlMode::DEFAULT).unwrap();
            let (d, t) = object(statement.kind());
            assert_eq!((d.as_deref(), t.as_deref()), (database, table), "{sql}");
        }
    }
}
