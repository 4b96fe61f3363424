//! CREATE TABLE.

use std::time::{SystemTime, UNIX_EPOCH};

use millpond_store::Error;
use millpond_store::engine::{NewTable, Place};
use millpond_store::space::FileId;

use super::column::{self, ColumnSpec};
use super::key::{self, KeyKind, KeySpec};
use super::options::Options;
use super::spatial;
use super::tablespace::check_partitioned;
use super::temporary::not_temporary;
use super::work::Work;
use super::{
    Ddl, Done, check, database_collation, expressions, foreign_keys, fulltext, functional, names,
};
use crate::catalog::Versions;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{self, ObjectName, TableElement};
use crate::result::{ColumnMeta, FLAG_NOT_NULL};
use crate::store_error::store_error;
use crate::types::{BaseType, Collation, Column, DefaultValue, Index, NOT_FIXED, Schema, SqlType};
use crate::value::{default_text, implicit_zero};

/// Most columns of a table.
const MAX_COLUMNS: usize = 1017;
/// Longest row, not counting BLOBs, as MySQL counts it.
const MAX_ROW: usize = 65_535;

/// Longest record of a clustered index, with its header: half of what an empty page of 16 KiB holds.
const MAX_RECORD: usize = 8126;
/// Bytes of a record that no column makes: its header, and what InnoDB keeps of the transaction that wrote it.
const RECORD_OVERHEAD: usize = 5 + 6 + 7;
/// Bytes of a hidden row id.
const ROW_ID: usize = 6;
/// Columns of variable length that may get this long can go to pages of their own; then so many bytes stay at most.
const INLINE: usize = 40;

/// Most bytes of a record that a column makes, and that are not stored elsewhere, as InnoDB counts it: with the bytes that say how many.
fn inline_bytes(ty: &SqlType) -> usize {
    let lob = ty.is_blob() || ty.is_json() || ty.is_geometry();
    let longest = ty.length as usize * ty.char_bytes() as usize;
    match ty.base.facts().string {
        _ if lob => INLINE + 1,
        Some(s) if s.fixed && ty.char_bytes() == 1 => longest,
        Some(_) if longest >= INLINE => INLINE + 1,
        Some(_) => longest + 1,
        None => ty.fixed_len(),
    }
}

/// Error 1118 if a record could get too long for a page though all that can be stored elsewhere is, or a row longer than MySQL allows.
pub(super) fn check_row_size(columns: &[Column], indexes: &[Index]) -> SqlResult<()> {
    check_row_length(columns)?;
    let stored = |c: &&Column| c.generated.as_ref().is_none_or(|g| g.stored);
    let nulls = columns.iter().filter(stored).filter(|c| c.nullable).count();
    let values: usize = (columns.iter().filter(stored))
        .map(|c| inline_bytes(&c.ty))
        .sum();
    let row_id = if key::is_hidden_in(indexes) {
        ROW_ID
    } else {
        0
    };
    if RECORD_OVERHEAD + row_id + nulls.div_ceil(8) + values < MAX_RECORD {
        return Ok(());
    }
    let m = format!(
        "Row size too large (> {MAX_RECORD}). Changing some columns to TEXT or BLOB may help. In current row format, BLOB prefix of 0 bytes is stored inline."
    );
    Err(SqlError::new(1118, m))
}

fn check_row_length(columns: &[Column]) -> SqlResult<()> {
    let nulls = columns.iter().filter(|c| c.nullable).count().div_ceil(8);
    let bytes: usize = columns.iter().map(|c| c.ty.row_bytes()).sum();
    if bytes + nulls > MAX_ROW {
        return Err(SqlError::new(
            1118,
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs",
        ));
    }
    Ok(())
}

/// Unix time, seconds.
pub(super) fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}

/// What a CREATE TABLE makes.
pub struct New {
    /// Database it will be in.
    pub database: String,
    /// Its name.
    pub table: String,
    /// Its columns, keys and options.
    pub schema: Schema,
    /// Where its pages are to be, if the statement says so.
    pub place: Option<Place>,
    /// AUTO_INCREMENT of the first row; 0: not given.
    pub auto_increment: u64,
}

/// A CREATE TABLE that has been checked.
pub enum Prepared {
    /// The table is there, and IF NOT EXISTS was said.
    Exists(Done),
    /// This table.
    New(Box<New>),
}

/// Digits of what is computed that is kept in an INT, as in MySQL: a sign may come before those of a signed one.
const INT_DIGITS: u32 = 10;

/// What is deprecated of a type that a table takes from another; of a type that is said the text itself is warned of.
fn warn_of_type(ty: &SqlType, env: &SessionEnv) {
    use ast::Deprecated as D;
    let float = matches!(ty.base, BaseType::Float | BaseType::Double);
    let fraction = float || ty.base == BaseType::Decimal;
    let what = [
        (float && ty.decimals < NOT_FIXED, D::FloatDigits),
        (fraction && ty.unsigned, D::UnsignedFraction),
        (ty.zerofill > 0, D::ZeroFill),
    ];
    for (_, what) in what.into_iter().filter(|(is, _)| *is) {
        let (code, text) = what.warning();
        env.warn(code, text);
    }
}

/// The column that holds a query's. That of a table's column has its default and comment; what is computed and never NULL has its type's
/// zero for a default.
fn selected_column(meta: &ColumnMeta, of: Option<&Column>) -> SqlResult<Column> {
    // As in MySQL, what has few digits (a constant, a truth value, a sum of such) is an INT.
    let mut ty = meta.ty.clone();
    if ty.base == BaseType::BigInt && ty.length <= INT_DIGITS + u32::from(ty.unsigned) {
        ty = SqlType {
            unsigned: ty.unsigned,
            ..SqlType::new(BaseType::Int)
        };
    }
    if ty.base == BaseType::Null {
        ty = SqlType::varchar(0, Collation::Binary);
    }
    let nullable = meta.flags & FLAG_NOT_NULL == 0;
    let has_zero = !nullable && !ty.is_temporal() && !ty.is_blob() && !ty.is_json();
    let default =
        match of {
            Some(Column {
                default: default @ (DefaultValue::Literal(_) | DefaultValue::Now),
                ..
            }) => default.clone(),
            // What counts by itself there doesn't here.
            Some(Column {
                auto_increment: true,
                ..
            }) if has_zero => default_text(&implicit_zero(&ty), &ty)
                .map_or(DefaultValue::None, DefaultValue::Literal),
            None if has_zero && meta.org_name.is_empty() => default_text(&implicit_zero(&ty), &ty)
                .map_or(DefaultValue::None, DefaultValue::Literal),
            _ => DefaultValue::None,
        };
    Ok(Column {
        name: meta.name.clone(),
        ty,
        nullable,
        default,
        auto_increment: false,
        on_update_now: false,
        explicit_collation: of.is_some_and(|c| c.explicit_collation),
        comment: of.map_or(String::new(), |c| c.comment.clone()),
        generated: None,
        visibility: Default::default(),
    })
}

impl Ddl<'_> {
    /// The table's column that a query's is.
    fn selected_from(&self, meta: &ColumnMeta) -> Option<Column> {
        if meta.org_table.is_empty() {
            return None;
        }
        let (_, schema) = self.definition(&meta.database, &meta.org_table).ok()?;
        let named = |c: &Column| c.name.eq_ignore_ascii_case(&meta.org_name);
        schema.columns.into_iter().find(named)
    }

    /// CREATE TABLE without a query.
    pub(super) fn create_table(&self, create: &ast::CreateTable) -> SqlResult<Done> {
        if create.temporary && create.partition.is_some() {
            return Err(not_temporary());
        }
        match self.prepare_create(create, &[])? {
            Prepared::Exists(done) => Ok(done),
            Prepared::New(new) if create.temporary => {
                fulltext::refuse_temporary(&new.schema)?;
                let mut table = new_table(&new.database, &new.table, &new.schema, None);
                table.auto_increment = new.auto_increment;
                self.make_temporary(table)
            }
            Prepared::New(mut new) => {
                if let Some(by) = &create.partition {
                    self.partition(&mut new.schema, by)?;
                }
                self.create_prepared(&new, create.if_not_exists)
            }
        }
    }

    /// Creates what was checked.
    fn create_prepared(&self, new: &New, if_not_exists: bool) -> SqlResult<Done> {
        let mut table = new_table(&new.database, &new.table, &new.schema, new.place);
        table.auto_increment = new.auto_increment;
        self.make(table, &new.schema, if_not_exists)
    }

    /// Checks a CREATE TABLE and gives what it makes. `selected`: columns of the query that fills the table.
    pub fn prepare_create(
        &self,
        create: &ast::CreateTable,
        selected: &[ColumnMeta],
    ) -> SqlResult<Prepared> {
        if create.or_replace {
            return Err(SqlError::syntax("near 'OR REPLACE'"));
        }
        if let Some(done) = self.system_table_exists(create)? {
            return Ok(Prepared::Exists(done));
        }
        let (database, table) = self.target(&create.name)?;
        names::table(&table)?;
        let default = database_collation(self.engine, &database)?;
        if self.is_taken(create.temporary, &database, &table)? {
            let done = self.table_exists(create.if_not_exists, &table)?;
            return Ok(Prepared::Exists(done));
        }
        let mut options = Options::default();
        for option in &create.options {
            self.take_option(&option, &table, &mut options)?;
        }
        let place = self.place(options.tablespace.as_deref(), create.temporary)?;
        if create.partition.is_some() {
            check_partitioned(place)?;
        }
        let collation = options.collation(default)?;
        let comment = options.comment.unwrap_or_default();
        let name = (&*database, &*table);
        let mut schema = self.new_schema(create, name, selected, collation, comment)?;
        options
            .kept
            .into_iter()
            .for_each(|(option, value)| schema.options.set(option, value));
        let counts = schema.columns.iter().any(|c| c.auto_increment);
        Ok(Prepared::New(Box::new(New {
            database,
            table,
            schema,
            place,
            auto_increment: options.auto_increment.filter(|_| counts).unwrap_or(0),
        })))
    }

    fn new_schema(
        &self,
        create: &ast::CreateTable,
        name: (&str, &str),
        selected: &[ColumnMeta],
        collation: Collation,
        comment: String,
    ) -> SqlResult<Schema> {
        let listed = create.elements.all();
        let Elements {
            columns: defs,
            keys: constraints,
            foreign_keys: specs,
        } = elements(&listed)?;
        if create.temporary && !specs.is_empty() {
            return Err(SqlError::new(1215, "Cannot add foreign key constraint"));
        }
        if defs.is_empty() && selected.is_empty() {
            return Err(SqlError::new(1113, "A table must have at least 1 column"));
        }
        if defs.len() + selected.len() > MAX_COLUMNS {
            return Err(SqlError::new(1117, "Too many columns"));
        }
        let mut columns: Vec<Column> = Vec::new();
        let mut explicit_null = Vec::new();
        let mut keys = Vec::new();
        for def in defs {
            let ColumnSpec {
                column,
                explicit_null: null,
                primary,
                unique,
            } = column::read(def, (name.1, collation), self.mode, self.env)?;
            if columns
                .iter()
                .any(|c| c.name.eq_ignore_ascii_case(&column.name))
            {
                return Err(SqlError::new(
                    1060,
                    format!("Duplicate column name '{}'", column.name),
                ));
            }
            if primary {
                keys.push(KeySpec::of_column(KeyKind::Primary, &column.name));
            }
            if unique {
                keys.push(KeySpec::of_column(KeyKind::Unique, &column.name));
            }
            columns.push(column);
            explicit_null.push(null);
        }
        let defined = columns.len();
        for meta in selected {
            let same = |c: &Column| c.name.eq_ignore_ascii_case(&meta.name);
            // A column that is defined takes the values of the selected one of its name.
            if columns[..defined].iter().any(same) {
                continue;
            }
            if columns.iter().any(same) {
                return Err(SqlError::new(
                    1060,
                    format!("Duplicate column name '{}'", meta.name),
                ));
            }
            names::column(&meta.name)?;
            let of = self.selected_from(meta);
            let column = selected_column(meta, of.as_ref())?;
            warn_of_type(&column.ty, self.env);
            columns.push(column);
            explicit_null.push(false);
        }
        // Columns that the query does not give come first, then its own in its order.
        let place = |c: &Column| {
            let same = |meta: &ColumnMeta| meta.name.eq_ignore_ascii_case(&c.name);
            selected.iter().rposition(same).map_or(0, |n| n + 1)
        };
        let mut together: Vec<(Column, bool)> = columns.into_iter().zip(explicit_null).collect();
        together.sort_by_key(|(c, _)| place(c));
        let (mut columns, mut explicit_null): (Vec<Column>, Vec<bool>) =
            together.into_iter().unzip();
        let base = keys.len();
        keys.extend(constraints);
        foreign_keys::implied_keys(&specs, &mut keys, base);
        foreign_keys::drop_covered(&mut keys);
        let required = (self.env.sys_var)("", "sql_require_primary_key")?.to_i64() == 1;
        if required && !keys.iter().any(|k| k.kind == KeyKind::Primary) {
            return Err(SqlError::new(
                3750,
                "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a primary key can cause performance problems in row-based replication, so please consult your DBA before changing this setting.",
            ));
        }
        functional::expand(name.1, &mut keys, &mut columns, self.env)?;
        fulltext::settle(&mut keys, self.env)?;
        explicit_null.resize(columns.len(), false);
        let indexes = key::indexes(&keys, &mut columns, &explicit_null)?;
        key::warn_of_twins(&indexes, |_| true, name, self.env);
        spatial::warn_of_useless(&indexes, |_| true, &columns, self.env);
        key::check_auto_increment(&columns, &indexes)?;
        check_row_size(&columns, &indexes)?;
        column::check_visible(&columns)?;
        expressions::check_primary(&columns, &indexes)?;
        let checks = check::among(&listed, name.1, self.env)?;
        let checks = expressions::settle(name.1, &mut columns, checks, &[], self.env)?;
        let mut schema = Schema::new(columns, indexes, collation, comment, unix_now());
        schema.checks = checks;
        schema.foreign_keys = foreign_keys::resolve(&specs, name, &[])?;
        Ok(schema)
    }

    /// CREATE TABLE ... LIKE: the same columns and keys, no rows.
    pub(super) fn create_table_like(
        &self,
        if_not_exists: bool,
        temporary: bool,
        name: &ObjectName,
        like: &ObjectName,
    ) -> SqlResult<Done> {
        let (database, table) = self.target(name)?;
        names::table(&table)?;
        let (model_database, model) = super::qualified(like, self.env)?;
        if (&model_database, &model) == (&database, &table) {
            let m = format!("Not unique table/alias: '{model}'");
            return Err(SqlError::new(1066, m));
        }
        let (def, mut schema) = self.definition(&model_database, &model)?;
        schema.created = unix_now();
        schema.checks = check::copied(&schema, &model);
        schema.foreign_keys.clear();
        let schema = schema.with_versions(Versions::default());
        self.engine
            .database(&database)
            .map_err(|e| store_error(e, &database))?;
        if self.is_taken(temporary, &database, &table)? {
            return self.table_exists(if_not_exists, &table);
        }
        let place = match def.file {
            FileId::TEMP => None,
            file => Some(Place::of(file)),
        };
        schema
            .columns
            .iter()
            .for_each(|c| warn_of_type(&c.ty, self.env));
        let new = new_table(&database, &table, &schema, place);
        if temporary {
            if schema.partitioning.is_some() {
                return Err(not_temporary());
            }
            fulltext::refuse_temporary(&schema)?;
            return self.make_temporary(new);
        }
        self.make(new, &schema, if_not_exists)
    }

    /// Whether a new table, temporary or not, finds its name taken: by another of its kind.
    fn is_taken(&self, temporary: bool, database: &str, table: &str) -> SqlResult<bool> {
        if temporary {
            return Ok(self.temporary(database, table).is_some());
        }
        self.exists(database, table)
    }

    /// What CREATE TABLE ... SELECT comes to that finds its name taken, whatever is wrong with the query.
    pub fn finds_taken(&self, create: &ast::CreateTable) -> SqlResult<Option<Done>> {
        let (database, table) = self.target(&create.name)?;
        match self.is_taken(create.temporary, &database, &table)? {
            true => self.table_exists(create.if_not_exists, &table).map(Some),
            false => Ok(None),
        }
    }

    /// CREATE TABLE IF NOT EXISTS of a system table, as dumps of all databases have it.
    fn system_table_exists(&self, create: &ast::CreateTable) -> SqlResult<Option<Done>> {
        if !create.if_not_exists || create.temporary {
            return Ok(None);
        }
        let (database, table) = super::qualified(&create.name, self.env)?;
        match self.env.virtual_table(&database, &table) {
            Some(_) => self.table_exists(true, &table).map(Some),
            None => Ok(None),
        }
    }

    fn table_exists(&self, if_not_exists: bool, table: &str) -> SqlResult<Done> {
        let message = format!("Table '{table}' already exists");
        if !if_not_exists {
            return Err(SqlError::new(1050, message));
        }
        self.env.note(1050, message);
        Ok(Done::default())
    }

    fn make(&self, new: NewTable, schema: &Schema, if_not_exists: bool) -> SqlResult<Done> {
        let table = new.name.clone();
        let own = (new.database.clone(), new.name.clone());
        match self.beside_relations(&own, schema, || self.create_stored(new.clone(), schema))? {
            Ok(()) => Ok(Done::default()),
            Err(Error::TableExists(_)) => self.table_exists(if_not_exists, &table),
            Err(e) => Err(store_error(e, &table)),
        }
    }
}

impl Ddl<'_> {
    /// Runs what makes a table of this name and schema, with its parents and what refers to it already locked and checked.
    fn beside_relations<T>(
        &self,
        own: &(String, String),
        schema: &Schema,
        make: impl Fn() -> Result<T, Error>,
    ) -> SqlResult<Result<T, Error>> {
        let related = || self.related_to_new(own, schema);
        self.prepare_relations(schema)?;
        let name = (&*own.0, &*own.1);
        loop {
            let made = self.holding(related, || {
                self.check_relations(name, schema)?;
                Ok(make())
            })?;
            match made {
                // Somebody has made a table that refers to it meanwhile: look again.
                Err(Error::Related(_)) if !self.tables_locked => {}
                made => return Ok(made),
            }
        }
    }

    /// Gives a new table that has been filled its name, once its rows have been found to keep its foreign keys.
    pub fn place_filled(&self, work: Work<'_>, new: &New) -> SqlResult<()> {
        let own = (new.database.clone(), new.table.clone());
        let (name, keys) = ((&*own.0, &*own.1), &new.schema.foreign_keys);
        if work.is_temporary() {
            return work.place(self.owner, name, None, &[]);
        }
        let related = || self.related_to_new(&own, &new.schema);
        self.prepare_relations(&new.schema)?;
        self.holding(related, || {
            self.check_relations(name, &new.schema)?;
            let made = work.name().clone();
            self.check_rows_refer((&made.0, &made.1), name, keys)?;
            work.place(self.owner, name, None, &[])
        })
    }

    /// The tables on the other side of a table that is to come; it among them, unless there is none.
    fn related_to_new(
        &self,
        own: &(String, String),
        schema: &Schema,
    ) -> SqlResult<Vec<(String, String)>> {
        let mut names = self.children(&own.0, &own.1)?;
        names.extend(schema.foreign_keys.iter().map(|k| k.parent.clone()));
        if !names.is_empty() {
            names.push(own.clone());
        }
        Ok(names)
    }

    /// Sees to it that there is an index of relations if a table of this schema has something to put there. The owner has no transaction
    /// open and no locks.
    pub(super) fn prepare_relations(&self, schema: &Schema) -> SqlResult<()> {
        if schema.foreign_keys.is_empty() && schema.checks.is_empty() {
            return Ok(());
        }
        self.engine
            .prepare_references(self.owner)
            .map_err(|e| store_error(e, ""))
    }

    /// The same for a table that is there.
    pub(super) fn prepare_relations_of(&self, database: &str, table: &str) -> SqlResult<()> {
        match self.stored_definition(database, table) {
            Ok((_, schema)) => self.prepare_relations(&schema),
            // Which is said later.
            Err(_) => Ok(()),
        }
    }

    fn check_relations(&self, own: (&str, &str), schema: &Schema) -> SqlResult<()> {
        self.check_foreign_keys(own, schema, &schema.foreign_keys)?;
        self.check_as_parent(own, schema, &self.children(own.0, own.1)?)
    }

    /// Creates a table of this schema, with its partitions.
    pub(super) fn create_stored(
        &self,
        new: NewTable,
        schema: &Schema,
    ) -> millpond_store::Result<()> {
        let Some(p) = &schema.partitioning else {
            return self.engine.create_table(self.owner, new);
        };
        let body = schema.partition_body();
        self.engine
            .create_partitioned(self.owner, new, &p.names(), &body)
    }
}

/// What a list defines.
pub(super) struct Elements<'e> {
    pub columns: Vec<&'e ast::ColumnDef>,
    pub keys: Vec<KeySpec>,
    pub foreign_keys: Vec<foreign_keys::Spec>,
}

/// The columns that a list defines, and the keys that stand among them.
pub(super) fn elements(list: &[TableElement]) -> SqlResult<Elements<'_>> {
    let (mut columns, mut keys, mut foreign_keys) = (Vec::new(), Vec::new(), Vec::new());
    for element in list {
        match element {
            TableElement::Column(column) => columns.push(column),
            TableElement::Key(def) => keys.push(key::of_definition(def)?),
            TableElement::ForeignKey(def) => {
                foreign_keys.push(foreign_keys::of_definition(def, keys.len())?);
            }
            // See [`check::among`].
            TableElement::Check(_) => {}
        }
    }
    Ok(Elements {
        columns,
        keys,
        foreign_keys,
    })
}

pub(super) fn new_table(
    database: &str,
    table: &str,
    schema: &Schema,
    place: Option<Place>,
) -> NewTable {
    NewTable {
        database: database.to_string(),
        name: table.to_string(),
        hidden_row_id: key::is_hidden(schema),
        place,
        indexes: schema
            .indexes
            .iter()
            .enumerate()
            .map(|(i, index)| (index.name.clone(), index.unique, schema.index_body(i)))
            .collect(),
        body: schema.table_body(),
        auto_increment: 0,
    }
}
