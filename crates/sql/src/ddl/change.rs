//! A table's definition while ALTER TABLE changes it: columns that know where their values come from, and keys by
//! the names of their columns. Pure: nothing here touches the store.

use super::check::{self, CheckSpec};
use super::column::{self, ColumnSpec, read_default};
use super::create::{Elements, check_row_size, elements};
use super::expressions;
use super::foreign_keys;
use super::fulltext;
use super::functional;
use super::instant;
use super::key::{self, KeyKind, KeySpec, PRIMARY, TextKey};
use super::names;
use super::options::Options;
use super::spatial;
use crate::catalog::{ForeignKey, KeptOptions, Step};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use millpond_store::engine::Place;

use crate::parse::ast::{self, AlterAction, Ident, Part, PlainAlter, Position};
use crate::types::{Collation, Column, DefaultValue, Index, Schema, Visibility};

/// A column of the changed table.
struct Changing {
    column: Column,
    /// Its position before, if it was there.
    from: Option<usize>,
    explicit_null: bool,
    /// The statement has said already what it is to be.
    changed: bool,
}

/// A definition being changed.
pub(super) struct Change<'a> {
    database: &'a str,
    table: &'a str,
    old: &'a Schema,
    mode: u64,
    env: &'a SessionEnv,
    columns: Vec<Changing>,
    /// Names of columns that are dropped, or named otherwise.
    gone: Vec<String>,
    keys: Vec<KeySpec>,
    checks: Vec<CheckSpec>,
    foreign_keys: Vec<ForeignKey>,
    new_foreign_keys: Vec<foreign_keys::Spec>,
    renamed: Vec<(String, String)>,
    collation: Collation,
    comment: String,
    options: KeptOptions,
    /// The rows are to be written anew, whatever else changes.
    pub anew: bool,
    /// ORDER BY: columns of the old definition, and whether the last come first.
    order: Vec<(usize, bool)>,
}

/// What a change comes to.
pub(super) struct Changed {
    pub schema: Schema,
    /// For each new column, the old one its values come from.
    pub from: Vec<Option<usize>>,
    /// How many of its foreign keys, the first, it had before.
    pub kept_keys: usize,
    /// Names of columns, before and now, that have others.
    pub renamed: Vec<(String, String)>,
    /// Bodies that other tables get by the same step.
    pub others: Vec<((String, String), Vec<u8>)>,
    /// Where its rows are written anew, if elsewhere.
    pub place: Option<Place>,
    /// The order in which they are, if another than they had: columns of the old definition, and whether the last come first.
    pub order: Vec<(usize, bool)>,
}

impl Changed {
    /// The same columns.
    pub fn same(schema: Schema) -> Changed {
        Changed {
            from: (0..schema.columns.len()).map(Some).collect(),
            kept_keys: schema.foreign_keys.len(),
            renamed: Vec::new(),
            others: Vec::new(),
            place: None,
            order: Vec::new(),
            schema,
        }
    }
}

fn missing(name: &str) -> SqlError {
    SqlError::new(
        1091,
        format!("Can't DROP '{name}'; check that column/key exists"),
    )
}

/// Error 3940.
fn no_constraint(name: &str) -> SqlError {
    SqlError::new(3940, format!("Constraint '{name}' does not exist."))
}

/// The order asked for, which a clustered index makes needless.
fn settled_order(
    order: Vec<(usize, bool)>,
    indexes: &[Index],
    table: &str,
    env: &SessionEnv,
) -> Vec<(usize, bool)> {
    if order.is_empty() || key::is_hidden_in(indexes) {
        return order;
    }
    let m = format!(
        "ORDER BY ignored as there is a user-defined clustered index in the table '{table}'"
    );
    env.warn(1105, m);
    Vec::new()
}

fn unsupported<T>(what: &str) -> SqlResult<T> {
    Err(SqlError::unsupported(what))
}

/// A stored index as a statement would ask for it.
fn spec_of(index: &Index, schema: &Schema) -> KeySpec {
    let name = |column: usize| schema.columns[column].name.clone();
    let parts = index.parts.iter();
    let parts = parts.map(|p| (name(p.column), p.prefix, p.desc));
    let whole = |columns: &[usize]| columns.iter().map(|c| (name(*c), None, false)).collect();
    KeySpec {
        kind: if index.fulltext.is_some() {
            KeyKind::Fulltext
        } else if index.spatial.is_some() {
            KeyKind::Spatial
        } else if index.name == PRIMARY {
            KeyKind::Primary
        } else if index.unique {
            KeyKind::Unique
        } else {
            KeyKind::Plain
        },
        name: Some(index.name.clone()),
        parts: match (&index.fulltext, index.spatial) {
            (Some(f), _) => whole(&f.columns),
            (_, Some(column)) => whole(&[column]),
            _ => parts.collect(),
        },
        text: match &index.fulltext {
            Some(f) => TextKey::Made(f.parser, f.stopwords),
            None => TextKey::Words,
        },
        exprs: Vec::new(),
        comment: index.comment.clone(),
        visible: index.visible,
        btree: index.btree,
        implied: index.implied,
    }
}

impl<'a> Change<'a> {
    /// No change yet.
    pub fn of(
        (database, table): (&'a str, &'a str),
        old: &'a Schema,
        mode: u64,
        env: &'a SessionEnv,
    ) -> Change<'a> {
        let columns = old.columns.iter().enumerate().map(|(i, c)| Changing {
            column: c.clone(),
            from: Some(i),
            explicit_null: false,
            changed: false,
        });
        // In the order in which they are listed, so that a rebuilt table lists them the same way.
        let keys = old
            .index_order()
            .into_iter()
            .map(|i| spec_of(&old.indexes[i], old));
        Change {
            database,
            table,
            old,
            mode,
            env,
            columns: columns.collect(),
            gone: Vec::new(),
            keys: keys.collect(),
            checks: check::existing(old),
            foreign_keys: old.foreign_keys.clone(),
            new_foreign_keys: Vec::new(),
            renamed: Vec::new(),
            collation: old.collation,
            comment: old.comment.clone(),
            options: old.options.clone(),
            anew: false,
            order: Vec::new(),
        }
    }

    /// The position of a column that is to be another. A statement says once of a column what it is to be: it isn't found again.
    fn unchanged(&self, name: &str) -> SqlResult<usize> {
        let at = self.position(name)?;
        match self.columns[at].changed {
            true => Err(self.unknown(name)),
            false => Ok(at),
        }
    }

    /// Error 1054.
    fn unknown(&self, name: &str) -> SqlError {
        SqlError::new(1054, format!("Unknown column '{name}' in '{}'", self.table))
    }

    fn position(&self, name: &str) -> SqlResult<usize> {
        self.columns
            .iter()
            .position(|c| c.column.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| self.unknown(name))
    }

    fn read(&self, def: &ast::ColumnDef) -> SqlResult<ColumnSpec> {
        let table = (self.table, self.collation);
        column::read(def, table, self.mode, self.env)
    }

    fn key_of_column(&mut self, spec: &ColumnSpec) {
        let name = &spec.column.name;
        if spec.primary {
            self.keys.push(KeySpec::of_column(KeyKind::Primary, name));
        }
        if spec.unique {
            self.keys.push(KeySpec::of_column(KeyKind::Unique, name));
        }
    }

    /// Error 1060 if another column has the name.
    fn check_free(&self, name: &str, except: Option<usize>) -> SqlResult<()> {
        let taken = self
            .columns
            .iter()
            .enumerate()
            .any(|(i, c)| Some(i) != except && c.column.name.eq_ignore_ascii_case(name));
        if taken {
            return Err(SqlError::new(
                1060,
                format!("Duplicate column name '{name}'"),
            ));
        }
        Ok(())
    }

    fn place(&mut self, column: Changing, position: Option<&Position>, at: usize) -> SqlResult<()> {
        let at = match position {
            None => at,
            Some(Position::First) => 0,
            Some(Position::After(other)) => self.position(other.as_str())? + 1,
        };
        self.columns.insert(at, column);
        Ok(())
    }

    fn add_column(&mut self, def: &ast::ColumnDef, position: Option<&Position>) -> SqlResult<()> {
        let spec = self.read(def)?;
        self.check_free(&spec.column.name, None)?;
        self.key_of_column(&spec);
        let added = Changing {
            column: spec.column,
            from: None,
            explicit_null: spec.explicit_null,
            changed: false,
        };
        self.place(added, position, self.columns.len())
    }

    fn drop_column(&mut self, name: &str) -> SqlResult<()> {
        let at = self.position(name).map_err(|_| missing(name))?;
        if self.columns.len() == 1 {
            return Err(SqlError::new(
                1090,
                "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
            ));
        }
        self.gone.push(self.columns.remove(at).column.name);
        for key in &mut self.keys {
            key.parts.retain(|(c, ..)| !c.eq_ignore_ascii_case(name));
        }
        self.keys.retain(|k| !k.parts.is_empty());
        check::drop_of_column(&mut self.checks, name)
    }

    /// Keys know their columns by name.
    fn rename_in_keys(&mut self, from: &str, to: &str) {
        if from != to {
            let names = [(from.to_string(), to.to_string())];
            for key in &mut self.foreign_keys {
                foreign_keys::rename_columns(&mut key.columns, &names);
                if key.parent.0 == self.database && key.parent.1 == self.table {
                    foreign_keys::rename_columns(&mut key.parent_columns, &names);
                }
            }
            self.renamed.extend(names);
        }
        for key in &mut self.keys {
            for (c, ..) in &mut key.parts {
                if c.eq_ignore_ascii_case(from) {
                    *c = to.to_string();
                }
            }
        }
    }

    fn change_column(
        &mut self,
        from: &str,
        def: &ast::ColumnDef,
        position: Option<&Position>,
    ) -> SqlResult<()> {
        let to = def.name.as_str();
        let at = self.unchanged(from)?;
        self.check_free(to, Some(at))?;
        let mut spec = self.read(def)?;
        let is_kept = |c: &Column| c.generated.as_ref().is_some_and(|g| g.in_rows);
        if let Some(g) = &mut spec.column.generated {
            // As the table has it: foreign keys may have been made when all of them were.
            g.in_rows |= is_kept(&self.columns[at].column);
        }
        self.rename_in_keys(from, to);
        self.key_of_column(&spec);
        expressions::check_change(&self.columns[at].column, &spec.column)?;
        let old = self.columns.remove(at);
        self.renamed_column(&old.column.name, to);
        let changed = Changing {
            column: spec.column,
            from: old.from,
            explicit_null: spec.explicit_null,
            changed: true,
        };
        self.place(changed, position, at)
    }

    fn rename_column(&mut self, from: &str, to: &str) -> SqlResult<()> {
        names::column(to)?;
        let at = self.position(from)?;
        self.check_free(to, Some(at))?;
        self.rename_in_keys(from, to);
        let from = std::mem::replace(&mut self.columns[at].column.name, to.to_string());
        self.renamed_column(&from, to);
        Ok(())
    }

    /// Notes that a column has another name.
    fn renamed_column(&mut self, from: &str, to: &str) {
        if !from.eq_ignore_ascii_case(to) {
            self.gone.push(from.to_string());
        }
    }

    /// ALTER COLUMN SET DEFAULT, DROP DEFAULT (`None`).
    fn set_default(&mut self, name: &str, to: Option<&ast::DefaultValue>) -> SqlResult<()> {
        let at = self.unchanged(name)?;
        self.columns[at].changed = true;
        let column = &mut self.columns[at].column;
        if column.generated.is_some() {
            return Err(column::usage_with_generated("DEFAULT"));
        }
        column.default = match to {
            Some(value) => read_default(value, column, self.table, self.env)?,
            None => DefaultValue::None,
        };
        Ok(())
    }

    /// Adds a key.
    pub fn add_key(&mut self, key: KeySpec) {
        self.keys.push(key);
    }

    /// Drops a key by name; error 1091 if there's none.
    pub fn drop_key(&mut self, name: &str) -> SqlResult<()> {
        let at = self
            .keys
            .iter()
            .position(|k| {
                k.name
                    .as_deref()
                    .is_some_and(|n| n.eq_ignore_ascii_case(name))
            })
            .ok_or_else(|| missing(name))?;
        self.keys.remove(at);
        Ok(())
    }

    /// Adds the CHECK constraints that a column's definition has.
    fn check_of_column(&mut self, def: &ast::ColumnDef) -> SqlResult<()> {
        let checks = check::of_column(def, self.table, self.env)?;
        self.checks.extend(checks);
        Ok(())
    }

    fn drop_check(&mut self, name: &str) -> SqlResult<()> {
        let at = check::position(&self.checks, name, self.table)?;
        self.checks.remove(at);
        Ok(())
    }

    fn drop_foreign_key(&mut self, name: &str) -> bool {
        let same = |k: &ForeignKey| k.name.eq_ignore_ascii_case(name);
        let at = self.foreign_keys.iter().position(same);
        at.map(|at| self.foreign_keys.remove(at)).is_some()
    }

    /// DROP CONSTRAINT: a CHECK, a foreign key, a unique key or the primary one; errors 3939 and 3940 if there are several of the name,
    /// or none.
    fn drop_constraint(&mut self, name: &str) -> SqlResult<()> {
        let is_check = check::position(&self.checks, name, self.table).is_ok();
        let is_foreign = self
            .foreign_keys
            .iter()
            .any(|k| k.name.eq_ignore_ascii_case(name));
        match (is_check, is_foreign, self.has_unique_key(name)) {
            (true, true, _) | (true, _, true) | (_, true, true) => Err(SqlError::new(
                3939,
                format!(
                    "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause."
                ),
            )),
            (true, ..) => self.drop_check(name),
            (_, true, _) => {
                self.drop_foreign_key(name);
                Ok(())
            }
            (.., true) => self.drop_key(name),
            (false, false, false) => Err(no_constraint(name)),
        }
    }

    fn has_unique_key(&self, name: &str) -> bool {
        let key = self.key(name).map(|at| &self.keys[at]);
        key.is_ok_and(|k| k.kind.is_unique())
    }

    /// ALTER CHECK and ALTER CONSTRAINT; error 3941 for constraints that are always enforced.
    fn enforce(&mut self, part: Part, name: &str, enforced: bool) -> SqlResult<()> {
        let done = check::enforce(&mut self.checks, name, enforced, self.table);
        match done {
            Err(_) if part == Part::Constraint && self.has_unique_key(name) => Err(SqlError::new(
                3941,
                format!(
                    "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement state alter is not supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints."
                ),
            )),
            Err(_) if part == Part::Constraint => Err(no_constraint(name)),
            done => done,
        }
    }

    fn drop_primary(&mut self) -> SqlResult<()> {
        let at = self
            .keys
            .iter()
            .position(|k| k.kind == KeyKind::Primary)
            .ok_or_else(|| missing(PRIMARY))?;
        self.keys.remove(at);
        Ok(())
    }

    /// The position of a key; error 1176 if there's none.
    fn key(&self, name: &str) -> SqlResult<usize> {
        let named = |k: &KeySpec| {
            let name_of = k.name.as_deref();
            name_of.is_some_and(|n| n.eq_ignore_ascii_case(name))
        };
        self.keys.iter().position(named).ok_or_else(|| {
            SqlError::new(
                1176,
                format!("Key '{name}' doesn't exist in table '{}'", self.table),
            )
        })
    }

    fn rename_key(&mut self, from: &str, to: &str) -> SqlResult<()> {
        let at = self.key(from)?;
        for name in [from, to] {
            if name.eq_ignore_ascii_case(PRIMARY) {
                return Err(SqlError::new(
                    1280,
                    format!("Incorrect index name '{name}'"),
                ));
            }
        }
        if self.key(to).is_ok_and(|other| other != at) {
            return Err(SqlError::new(1061, format!("Duplicate key name '{to}'")));
        }
        self.keys[at].name = Some(to.to_string());
        Ok(())
    }

    /// CONVERT TO CHARACTER SET.
    fn convert(&mut self, to: Collation) -> SqlResult<()> {
        self.collation = to;
        for c in &mut self.columns {
            if c.column.ty.is_character() {
                let ty = c.column.ty.in_collation(to);
                c.column.ty = column::fitting(ty, &c.column.name, self.env)?;
            }
        }
        Ok(())
    }

    /// ORDER BY: rows without a clustered index are written anew in this order.
    fn order<'n>(
        &mut self,
        columns: impl Iterator<Item = (&'n ast::ColumnName, bool)>,
    ) -> SqlResult<()> {
        for (column, desc) in columns {
            let name = column.name.as_str();
            let named = |c: &Column| c.name.eq_ignore_ascii_case(name);
            let Some(c) = self.old.columns.iter().position(named) else {
                let m = format!("Unknown column '{name}' in 'order clause'");
                return Err(SqlError::new(1054, m));
            };
            if self.old.layout().is_computed(c) {
                return unsupported("ORDER BY of a virtual column in ALTER TABLE");
            }
            self.order.push((c, desc));
        }
        self.anew |= key::is_hidden(self.old);
        Ok(())
    }

    /// Applies the table options: what columns added from now on get, the comment, whether the rows are written anew.
    pub fn set_options(&mut self, options: &Options) -> SqlResult<()> {
        if options.has_collation() {
            self.collation = options.collation(self.collation)?;
        }
        if let Some(comment) = &options.comment {
            self.comment.clone_from(comment);
        }
        for (option, value) in &options.kept {
            self.options.set(*option, *value);
        }
        self.anew |= options.engine || options.tablespace.is_some();
        Ok(())
    }

    /// Applies one change. `default`: the database's collation.
    pub fn apply(&mut self, action: &AlterAction, default: Collation) -> SqlResult<()> {
        use AlterAction as A;
        let text = |name: &Option<Ident>| name.as_ref().map(|n| n.as_str().to_string());
        match action {
            A::AddColumn {
                if_not_exists: false,
                column,
                position,
            } => {
                self.check_of_column(column)?;
                self.add_column(column, position.as_ref())
            }
            A::AddElements(list) => {
                let list = list.all();
                let Elements {
                    columns,
                    keys,
                    foreign_keys,
                } = elements(&list)?;
                for column in columns {
                    self.add_column(column, None)?;
                }
                self.checks
                    .extend(check::among(&list, self.table, self.env)?);
                self.keys.extend(keys);
                self.new_foreign_keys.extend(foreign_keys);
                Ok(())
            }
            A::AddKey(def) => {
                self.add_key(key::of_definition(def)?);
                Ok(())
            }
            A::AddForeignKey(def) => {
                self.new_foreign_keys
                    .push(foreign_keys::of_definition(def, 0)?);
                Ok(())
            }
            A::AddCheck(check) => {
                let check = check::of_table(check, self.table, self.env)?;
                self.checks.push(check);
                Ok(())
            }
            A::ChangeColumn {
                if_exists: false,
                from,
                column,
                position,
            } => {
                let from = from.as_ref().unwrap_or(&column.name);
                self.check_of_column(column)?;
                self.change_column(from.as_str(), column, position.as_ref())
            }
            A::Drop {
                part,
                if_exists: false,
                name,
            } => match part {
                Part::Column => self.drop_column(name.as_str()),
                Part::Index => self.drop_key(name.as_str()),
                Part::Constraint => self.drop_constraint(name.as_str()),
                Part::ForeignKey if self.drop_foreign_key(name.as_str()) => Ok(()),
                Part::ForeignKey => Err(missing(name.as_str())),
                Part::Check => self.drop_check(name.as_str()),
            },
            A::DropPrimaryKey => self.drop_primary(),
            A::SetDefault(name, value) => self.set_default(name.as_str(), Some(value)),
            A::DropDefault(name) => self.set_default(name.as_str(), None),
            A::ColumnVisible(name, yes) => {
                let at = self.position(name.as_str())?;
                self.columns[at].column.visibility = match yes {
                    true => Visibility::Visible,
                    false => Visibility::Invisible,
                };
                Ok(())
            }
            A::IndexVisible(name, yes) => {
                let at = self.key(name.as_str())?;
                self.keys[at].visible = *yes;
                Ok(())
            }
            A::Enforced {
                part,
                name,
                enforced,
            } => self.enforce(*part, name.as_str(), *enforced),
            A::RenamePart(Part::Column, from, to) => self.rename_column(from.as_str(), to.as_str()),
            A::RenamePart(Part::Index, from, to) => self.rename_key(from.as_str(), to.as_str()),
            A::ConvertTo { charset, collation } => {
                let (charset, collation) = (text(charset), text(collation));
                self.convert(crate::parse::collation_of(
                    charset.as_deref(),
                    collation.as_deref(),
                    default,
                )?)
            }
            A::OrderBy(columns) => {
                let columns = columns.all();
                let desc = |d: &Option<ast::Direction>| *d == Some(ast::Direction::Descending);
                self.order(columns.iter().map(|(column, d)| (column, desc(d))))
            }
            A::Plain(PlainAlter::Force) => {
                self.anew = true;
                Ok(())
            }
            A::AddColumn { .. }
            | A::ChangeColumn { .. }
            | A::Drop { .. }
            | A::RenamePart(..)
            | A::RenameTo(_)
            | A::Option(_)
            | A::How(_)
            | A::Plain(_)
            | A::Partition(_) => unsupported(&format!("ALTER TABLE ... {action}")),
        }
    }

    /// The definition after all operations.
    pub fn finish(mut self) -> SqlResult<Changed> {
        foreign_keys::check_columns(&self.foreign_keys, |name| self.position(name).is_ok())?;
        let name = (self.database, self.table);
        let added = foreign_keys::resolve(&self.new_foreign_keys, name, &self.foreign_keys)?;
        foreign_keys::implied_keys(&self.new_foreign_keys, &mut self.keys, usize::MAX / 2);
        foreign_keys::drop_covered(&mut self.keys);
        let kept_keys = self.foreign_keys.len();
        self.foreign_keys.extend(added);
        functional::retain_used(&mut self.columns, &self.keys, |c| &c.column);
        let mut from: Vec<Option<usize>> = self.columns.iter().map(|c| c.from).collect();
        let mut explicit_null: Vec<bool> = self.columns.iter().map(|c| c.explicit_null).collect();
        let mut columns: Vec<Column> = self.columns.into_iter().map(|c| c.column).collect();
        functional::retype(self.table, &mut columns, &self.gone, self.env)?;
        functional::expand(self.table, &mut self.keys, &mut columns, self.env)?;
        fulltext::settle(&mut self.keys, self.env)?;
        from.resize(columns.len(), None);
        explicit_null.resize(columns.len(), false);
        let indexes = key::indexes(&self.keys, &mut columns, &explicit_null)?;
        let order = settled_order(self.order, &indexes, self.table, self.env);
        let is_new = |i: &Index| self.old.indexes.iter().all(|old| old.name != i.name);
        key::warn_of_twins(&indexes, is_new, name, self.env);
        spatial::warn_of_useless(&indexes, is_new, &columns, self.env);
        key::check_auto_increment(&columns, &indexes)?;
        check_row_size(&columns, &indexes)?;
        column::check_visible(&columns)?;
        expressions::check_primary(&columns, &indexes)?;
        let (table, gone) = (self.table, &self.gone);
        let checks = expressions::settle(table, &mut columns, self.checks, gone, self.env)?;
        let mut schema = Schema::new(
            columns,
            indexes,
            self.collation,
            self.comment,
            self.old.created,
        );
        schema.checks = checks;
        schema.foreign_keys = self.foreign_keys;
        schema.options = self.options;
        Ok(Changed {
            // Unless they are to be written anew, or there is to be one more, rows are of the versions that they were.
            schema: schema.with_versions(self.old.versions().clone()),
            from,
            kept_keys,
            renamed: self.renamed,
            others: Vec::new(),
            place: None,
            order,
        })
    }
}

/// The cheapest way to make a change.
#[derive(Debug, PartialEq)]
pub(super) enum Way {
    /// The stored rows and indexes stay as they are.
    Definition,
    /// So they do, under another schema version: rows that are written now are others.
    Instant(Step),
    /// One more secondary index, at this position among the new ones.
    AddIndex(usize),
    /// One secondary index less, by name.
    DropIndex(String),
    /// One more, at this position, and one less, which a foreign key had brought.
    ReplaceIndex(usize, String),
    /// Every row is written anew, and what becomes of rows meanwhile can be followed.
    Rebuild,
    /// Every row is written anew, and nobody may change one meanwhile.
    Copy,
}

impl Changed {
    /// Whether rows are stored as they were, and what is stored in them means what it did.
    pub fn same_rows(&self, old: &Schema) -> bool {
        self.from.len() == old.columns.len()
            && self.shows_alike(old)
            && self.from.iter().enumerate().all(|(i, from)| {
                let (new, was) = (&self.schema.columns[i], &old.columns[i]);
                *from == Some(i) && instant::keeps_values(new, was, instant::in_key(old, i))
            })
    }

    /// How this change can be made.
    pub fn way(&self, old: &Schema, env: &SessionEnv) -> SqlResult<Way> {
        if !self.same_rows(old) {
            return match self.step(old, env) {
                Some(step) => Ok(Way::Instant(step)),
                None => self.anew(old, env),
            };
        }
        if self.kept_indexes(old).is_some() {
            return Ok(Way::Definition);
        }
        let definitions_same = self
            .schema
            .columns
            .iter()
            .zip(&old.columns)
            .all(|(a, b)| a == b);
        // Whether queries see it is no business of its entries.
        let has = |indexes: &[Index], i: &Index| {
            let mut others = indexes.iter();
            others.any(|o| {
                o.name == i.name && o.stores_as(i) && (&o.comment, o.btree) == (&i.comment, i.btree)
            })
        };
        let added: Vec<usize> = (0..self.schema.indexes.len())
            .filter(|i| !has(&old.indexes, &self.schema.indexes[*i]))
            .collect();
        let dropped: Vec<usize> = (0..old.indexes.len())
            .filter(|i| !has(&self.schema.indexes, &old.indexes[*i]))
            .collect();
        Ok(match (added.as_slice(), dropped.as_slice()) {
            ([i], []) if *i > 0 && definitions_same => Way::AddIndex(*i),
            ([], [i]) if *i > 0 && definitions_same => Way::DropIndex(old.indexes[*i].name.clone()),
            ([i], [gone]) if *i > 0 && definitions_same && old.indexes[*gone].implied => {
                Way::ReplaceIndex(*i, old.indexes[*gone].name.clone())
            }
            _ => return self.anew(old, env),
        })
    }
}
