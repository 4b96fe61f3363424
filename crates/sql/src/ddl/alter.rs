//! ALTER TABLE, CREATE INDEX, DROP INDEX: what changes a table without rewriting its rows.
//!
//! A change of several things at once is taken only if one atomic step of the store makes it. Whatever
//! needs new rows (adding a column, changing a type, a new primary key) is refused.

use millpond_store::{Isolation, TableDef};

use super::column::{self, read_default};
use super::create::{key_of, table_comment};
use super::key::{self, KeyKind, KeySpec, PRIMARY};
use super::{Ddl, Done, names, table_name};
use crate::error::{SqlError, SqlResult};
use crate::exec::{counter, store_error};
use crate::parse::{AlterOption, TableName, sp};
use crate::types::{Column, DefaultValue, Schema};

fn unsupported<T>(what: &str) -> SqlResult<T> {
    Err(SqlError::unsupported(what))
}

/// What ALTER TABLE reports where no row was copied.
fn no_rows() -> Done {
    Done {
        affected: 0,
        info: "Records: 0  Duplicates: 0  Warnings: 0".into(),
    }
}

fn unknown_column(name: &str, table: &str) -> SqlError {
    SqlError::new(1054, format!("Unknown column '{name}' in '{table}'"))
}

/// ALGORITHM and LOCK clauses: error 1846 for what the work isn't done by.
fn algorithm_and_lock(op: &sp::AlterTableOperation) -> SqlResult<bool> {
    let refused = |what: &str, instead: &str| {
        Err(SqlError::new(
            1846,
            format!(
                "{what} is not supported. Reason: the table is locked exclusively meanwhile. Try {instead}."
            ),
        ))
    };
    match op {
        sp::AlterTableOperation::Algorithm { algorithm, .. } => match algorithm {
            sp::AlterTableAlgorithm::Instant => refused("ALGORITHM=INSTANT", "ALGORITHM=INPLACE"),
            _ => Ok(true),
        },
        sp::AlterTableOperation::Lock { lock, .. } => match lock {
            sp::AlterTableLock::None => refused("LOCK=NONE", "LOCK=EXCLUSIVE"),
            sp::AlterTableLock::Shared => refused("LOCK=SHARED", "LOCK=EXCLUSIVE"),
            _ => Ok(true),
        },
        _ => Ok(false),
    }
}

impl Ddl<'_> {
    /// A table's definition and schema.
    fn definition(&self, database: &str, table: &str) -> SqlResult<(TableDef, Schema)> {
        let def = self
            .engine
            .table_def(database, table)
            .map_err(|e| store_error(e, table))?;
        let schema = Schema::of(&def)?;
        Ok((def, schema))
    }

    fn add_index(&self, database: &str, table: &str, spec: &KeySpec) -> SqlResult<Done> {
        let (def, schema) = self.definition(database, table)?;
        if spec.kind == KeyKind::Primary {
            if schema.indexes.iter().any(|i| i.name == PRIMARY) {
                return Err(SqlError::new(1068, "Multiple primary key defined"));
            }
            return unsupported("ALTER TABLE ... ADD PRIMARY KEY");
        }
        let index = key::index(spec, &schema.columns, &schema.indexes)?;
        let (name, unique) = (index.name.clone(), index.unique);
        let mut indexes = schema.indexes.clone();
        indexes.push(index);
        let wider = Schema::new(
            schema.columns,
            indexes,
            schema.collation,
            schema.comment,
            schema.created,
        );
        let index_body = wider.index_body(wider.indexes.len() - 1);
        self.engine
            .create_index(
                self.owner,
                database,
                table,
                (name, unique, index_body),
                def.body,
            )
            .map_err(|e| store_error(e, table))?;
        Ok(no_rows())
    }

    /// CREATE INDEX.
    pub(super) fn create_index_statement(&self, create: &sp::CreateIndex) -> SqlResult<Done> {
        let (database, table) = self.target(&table_name(&create.table_name)?)?;
        for op in &create.alter_options {
            if !algorithm_and_lock(op)? {
                return unsupported(&op.to_string());
            }
        }
        if create.if_not_exists || create.predicate.is_some() || !create.include.is_empty() {
            return Err(SqlError::syntax("near 'CREATE INDEX'"));
        }
        key::options(&create.index_options)?;
        let name = match &create.name {
            Some(name) => Some(table_name(name)?.name),
            None => None,
        };
        let spec = KeySpec {
            kind: if create.unique {
                KeyKind::Unique
            } else {
                KeyKind::Plain
            },
            name,
            parts: key::parts(&create.columns)?,
        };
        self.add_index(&database, &table, &spec)
    }

    /// DROP INDEX.
    pub(super) fn drop_index(&self, table: &TableName, name: &str) -> SqlResult<Done> {
        let (database, table) = self.target(table)?;
        let (def, schema) = self.definition(&database, &table)?;
        let Some(at) = schema
            .indexes
            .iter()
            .position(|i| i.name.eq_ignore_ascii_case(name) && !i.parts.is_empty())
        else {
            return Err(SqlError::new(
                1091,
                format!("Can't DROP '{name}'; check that column/key exists"),
            ));
        };
        if at == 0 {
            return unsupported("dropping the clustered index");
        }
        let stored = schema.indexes[at].name.clone();
        let mut rest = schema.indexes.clone();
        rest.remove(at);
        key::check_auto_increment(&schema.columns, &rest)?;
        self.engine
            .drop_index(self.owner, &database, &table, &stored, def.body)
            .map_err(|e| store_error(e, &table))?;
        Ok(no_rows())
    }

    /// Replaces a table's columns where the stored rows stay as they are.
    fn put_columns(
        &self,
        database: &str,
        table: &str,
        schema: Schema,
        columns: Vec<Column>,
    ) -> SqlResult<Done> {
        let changed = Schema::new(
            columns,
            schema.indexes,
            schema.collation,
            schema.comment,
            schema.created,
        );
        self.engine
            .set_table_body(self.owner, database, table, changed.table_body())
            .map_err(|e| store_error(e, table))?;
        Ok(no_rows())
    }

    /// ALTER TABLE with changes to columns or keys.
    pub(super) fn alter_table(&self, alter: &sp::AlterTable) -> SqlResult<Done> {
        let (database, table) = self.target(&table_name(&alter.name)?)?;
        let mut changes = Vec::new();
        for op in &alter.operations {
            if !algorithm_and_lock(op)? {
                changes.push(op);
            }
        }
        let op = match changes.as_slice() {
            [] => {
                self.definition(&database, &table)?;
                return Ok(no_rows());
            }
            [op] => *op,
            _ => return unsupported("several changes in one ALTER TABLE"),
        };
        use sp::AlterTableOperation as Op;
        let name = TableName {
            database: Some(database.clone()),
            name: table.clone(),
        };
        match op {
            Op::AddConstraint { constraint, .. } => {
                self.add_index(&database, &table, &key_of(constraint)?)
            }
            Op::DropIndex { name: index } => self.drop_index(&name, &index.value),
            Op::DropConstraint { name: index, .. } => self.drop_index(&name, &index.value),
            Op::DropPrimaryKey { .. } => unsupported("ALTER TABLE ... DROP PRIMARY KEY"),
            Op::RenameTable { table_name: to } => {
                let to = match to {
                    sp::RenameTableNameKind::As(n) | sp::RenameTableNameKind::To(n) => n,
                };
                self.rename_tables(&[(name, table_name(to)?)])
            }
            Op::RenameColumn {
                old_column_name,
                new_column_name,
            } => self.rename_column(
                &database,
                &table,
                &old_column_name.value,
                &new_column_name.value,
            ),
            Op::AlterColumn { column_name, op } => {
                self.alter_default(&database, &table, &column_name.value, op)
            }
            Op::ModifyColumn {
                col_name,
                data_type,
                options,
                column_position: None,
            } => self.change_column(
                &database,
                &table,
                &col_name.value,
                &col_name.value,
                data_type,
                options,
            ),
            Op::ChangeColumn {
                old_name,
                new_name,
                data_type,
                options,
                column_position: None,
            } => self.change_column(
                &database,
                &table,
                &old_name.value,
                &new_name.value,
                data_type,
                options,
            ),
            Op::AutoIncrement { value, .. } => {
                let next = value
                    .to_string()
                    .parse()
                    .map_err(|_| SqlError::syntax(format_args!("near '{value}'")))?;
                self.alter_options(&name, &[AlterOption::AutoIncrement(next)])
            }
            other => unsupported(&format!("ALTER TABLE ... {other}")),
        }
    }

    fn rename_column(&self, database: &str, table: &str, from: &str, to: &str) -> SqlResult<Done> {
        names::column(to)?;
        let (_, schema) = self.definition(database, table)?;
        let at = schema
            .column(from)
            .ok_or_else(|| unknown_column(from, table))?;
        if schema.column(to).is_some_and(|other| other != at) {
            return Err(SqlError::new(1060, format!("Duplicate column name '{to}'")));
        }
        let mut columns = schema.columns.clone();
        columns[at].name = to.to_string();
        self.put_columns(database, table, schema, columns)
    }

    fn alter_default(
        &self,
        database: &str,
        table: &str,
        name: &str,
        op: &sp::AlterColumnOperation,
    ) -> SqlResult<Done> {
        let (_, schema) = self.definition(database, table)?;
        let at = schema
            .column(name)
            .ok_or_else(|| unknown_column(name, table))?;
        let mut columns = schema.columns.clone();
        columns[at].default = match op {
            sp::AlterColumnOperation::SetDefault { value } => {
                read_default(value, &columns[at], self.env)?
            }
            sp::AlterColumnOperation::DropDefault => DefaultValue::None,
            other => return unsupported(&format!("ALTER TABLE ... ALTER COLUMN {other}")),
        };
        self.put_columns(database, table, schema, columns)
    }

    /// MODIFY and CHANGE, as far as the stored values stay as they are.
    fn change_column(
        &self,
        database: &str,
        table: &str,
        from: &str,
        to: &str,
        data_type: &sp::DataType,
        options: &[sp::ColumnOption],
    ) -> SqlResult<Done> {
        let (_, schema) = self.definition(database, table)?;
        let at = schema
            .column(from)
            .ok_or_else(|| unknown_column(from, table))?;
        if schema.column(to).is_some_and(|other| other != at) {
            return Err(SqlError::new(1060, format!("Duplicate column name '{to}'")));
        }
        let spec = column::read(
            to,
            data_type,
            options,
            schema.collation,
            self.mode,
            self.env,
        )?;
        if spec.primary || spec.unique {
            return unsupported("ALTER TABLE ... MODIFY with a key");
        }
        let mut changed = spec.column;
        let primary = schema
            .indexes
            .iter()
            .any(|i| i.name == PRIMARY && i.parts.iter().any(|p| p.column == at));
        if primary && !spec.explicit_null {
            changed.nullable = false;
        }
        let old = &schema.columns[at];
        if changed.ty != old.ty || changed.nullable != old.nullable {
            return unsupported("ALTER TABLE ... MODIFY to another type or nullability");
        }
        let mut columns = schema.columns.clone();
        columns[at] = changed;
        key::check_auto_increment(&columns, &schema.indexes)?;
        self.put_columns(database, table, schema, columns)
    }

    /// ALTER TABLE with table options only.
    pub(super) fn alter_options(
        &self,
        table: &TableName,
        options: &[AlterOption],
    ) -> SqlResult<Done> {
        let (database, name) = self.target(table)?;
        let (_, schema) = self.definition(&database, &name)?;
        let stored = options
            .iter()
            .filter(|o| matches!(o, AlterOption::Comment(_) | AlterOption::Rename(_)))
            .count();
        if stored > 1 {
            return unsupported("several changes in one ALTER TABLE");
        }
        for option in options {
            match option {
                AlterOption::Engine(engine) => {
                    self.engine_option(engine, &name)?;
                    return unsupported("ALTER TABLE ... ENGINE");
                }
                AlterOption::Force => return unsupported("ALTER TABLE ... FORCE"),
                AlterOption::Comment(text) => {
                    let changed = Schema::new(
                        schema.columns.clone(),
                        schema.indexes.clone(),
                        schema.collation,
                        table_comment(text, &name)?,
                        schema.created,
                    );
                    self.engine
                        .set_table_body(self.owner, &database, &name, changed.table_body())
                        .map_err(|e| store_error(e, &name))?;
                }
                AlterOption::AutoIncrement(next) => {
                    self.start_counting(&database, &name, &schema, *next)?;
                }
                AlterOption::Rename(to) => {
                    self.rename_tables(&[(table.clone(), to.clone())])?;
                }
                AlterOption::Keys => self.env.note(
                    1031,
                    format!("Table storage engine for '{name}' doesn't have this option"),
                ),
            }
        }
        Ok(no_rows())
    }

    /// Lets a table's AUTO_INCREMENT column go on at `next` at least. Values already given stay given.
    fn start_counting(
        &self,
        database: &str,
        table: &str,
        schema: &Schema,
        next: u64,
    ) -> SqlResult<()> {
        if next == 0 || !schema.columns.iter().any(|c| c.auto_increment) {
            return Ok(());
        }
        let wrap = |e| store_error(e, table);
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let mut set = || {
            let open = self
                .engine
                .open_table(&mut txn, database, table)
                .map_err(wrap)?;
            counter::start(self.engine, &open, schema)?;
            open.auto_increment_seen(next - 1);
            open.save_auto_increment().map_err(wrap)
        };
        let done = set();
        self.engine.commit(txn).map_err(wrap)?;
        done
    }
}
