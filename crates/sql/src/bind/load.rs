//! LOAD DATA: which columns and variables a file's fields go to, and what SET makes of them.

use super::scope::Binder;
use super::table_clauses;
use crate::env::privileges;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::files::Format;
use crate::logical::{Carried, Insert, InsertRows, LoadFile, LoadTarget, TableId};
use crate::parse::ast::{self, Duplicates, IntoTarget};
use crate::types::{Schema, Visibility};

/// Whether a statement gives fields of a file to variables.
pub(crate) fn loads_variables(kind: &ast::StatementKind) -> bool {
    let ast::StatementKind::Session(s) = kind else {
        return false;
    };
    let variable = |t: std::borrow::Cow<'_, IntoTarget>| matches!(*t, IntoTarget::User(_));
    matches!(&**s, ast::SessionStatement::Load(load) if load.columns.iter().any(variable))
}

/// Error 1084 for a TEXT or BLOB column of rows in which nothing says where they end.
fn check_ends(format: &Format, targets: &[LoadTarget], schema: &Schema) -> SqlResult<()> {
    let endless = format.fields_terminated.is_empty() && format.lines_terminated.is_empty();
    let mut columns = targets.iter().filter_map(LoadTarget::column);
    if endless && columns.any(|c| schema.columns[c].ty.is_blob()) {
        return Err(SqlError::new(
            1084,
            "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'",
        ));
    }
    Ok(())
}

impl<'p> Binder<'p, '_> {
    /// Binds LOAD DATA.
    pub fn load(&mut self, load: &'p ast::Load) -> SqlResult<Insert> {
        let (table, database, name) = self.target(&load.table)?;
        self.tables[table].goes_by(&name, true);
        if self.tables[table].schema.view.is_some() {
            return Err(SqlError::unsupported("LOAD DATA into a view"));
        }
        let schema = self.tables[table].schema.clone();
        let partitions = table_clauses::partitions_of(&schema, &load.partitions, &name)?;
        let format = Format::of(&load.format, self.cx.env)?;
        let targets = self.load_targets(load, &schema, &format)?;
        check_ends(&format, &targets, &schema)?;
        let target = self.target_table(table, &database, &name, &name);
        let row = target.id;
        let replace = load.duplicates == Some(Duplicates::Replace);
        let whole = if replace { privileges::DELETE } else { 0 };
        self.need_target(row, (&database, &name), whole, privileges::INSERT);
        for c in targets.iter().filter_map(LoadTarget::column) {
            self.need_column(row, &schema.columns[c].name, privileges::INSERT);
        }
        self.open_frame_over(target);
        let set = self.load_set(load, &targets, table, row);
        self.frames.pop();
        let set = set?;
        if self.reading_target {
            let m = format!("You can't specify target table '{name}' for update in FROM clause");
            return Err(SqlError::new(1093, m));
        }
        let mut columns: Vec<usize> = Vec::new();
        let loaded = targets.iter().filter_map(LoadTarget::column);
        for c in loaded.chain(set.iter().map(|(c, _)| *c)) {
            if !columns.contains(&c) {
                columns.push(c);
            }
        }
        Ok(Insert {
            table,
            row,
            others_read: Vec::new(),
            columns,
            rows: InsertRows::File(Box::new(LoadFile {
                name: load.file.clone(),
                local: load.local,
                format,
                charset: load.charset.as_ref().map(|c| c.as_str().to_string()),
                skip: load.ignore.unwrap_or(0),
                targets,
                set,
            })),
            replace,
            // There is no stopping a client that sends a file.
            ignore: !replace && (load.local || load.duplicates == Some(Duplicates::Ignore)),
            update: None,
            carried: Carried::default(),
            partitions,
            through: None,
        })
    }

    fn load_targets(
        &mut self,
        load: &ast::Load,
        schema: &Schema,
        format: &Format,
    ) -> SqlResult<Vec<LoadTarget>> {
        if load.columns.is_empty() {
            let shown = |c: &usize| schema.columns[*c].visibility == Visibility::Visible;
            let all = (0..schema.columns.len()).filter(shown);
            return Ok(all.map(LoadTarget::Column).collect());
        }
        let mut targets: Vec<LoadTarget> = Vec::new();
        for t in &load.columns {
            let target = match &*t {
                IntoTarget::User(_) if format.is_unparted() => {
                    return Err(SqlError::new(
                        1409,
                        "Can't load value from file with fixed size rows to variable",
                    ));
                }
                IntoTarget::User(name) => LoadTarget::Variable(name.to_lowercase()),
                IntoTarget::Local(name) => {
                    let n = name.as_str();
                    let at = schema
                        .column(n)
                        .ok_or_else(|| unknown_column(&[], n, "field list"))?;
                    LoadTarget::Column(at)
                }
            };
            if let LoadTarget::Variable(name) = &target {
                self.text_variables.push(name.clone());
            }
            targets.push(target);
        }
        Ok(targets)
    }

    fn load_set(
        &mut self,
        load: &'p ast::Load,
        targets: &[LoadTarget],
        table: usize,
        row: TableId,
    ) -> SqlResult<super::dml::Assignments> {
        let schema = self.tables[table].schema.clone();
        for c in targets.iter().filter_map(LoadTarget::column) {
            if schema.columns[c].generated.is_some() {
                return Err(self.generated_given(&schema.columns[c], row));
            }
        }
        self.reading_target = false;
        self.assignments(&load.set, &schema, row)
    }
}
