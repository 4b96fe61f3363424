//! JSON_TABLE: its document and its columns.

use std::sync::Arc;

use super::scope::{Binder, TABLE_FUNCTION};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::json_path;
use crate::expr::json_table::{JsonColumn, JsonColumnKind, JsonRows, Otherwise};
use crate::expr::{Coercibility, Scope};
use crate::logical::{Block, Body, Columns, DerivedColumn, JsonTable, Query};
use crate::parse::{self, ast};
use crate::types::{Collation, SqlType};
use crate::value::json::Path;

/// Paths that a JSON_TABLE may nest.
const MAX_NESTED: usize = 16;

/// What has been read of COLUMNS.
struct Reading<'r> {
    env: &'r SessionEnv,
    /// What texts have unless their columns say otherwise.
    collation: Collation,
    /// The table's name.
    table: &'r str,
    columns: Columns,
    nested: usize,
}

impl Binder<'_, '_> {
    /// Binds a JSON_TABLE; the tables that its document sees are those of the innermost block.
    pub(super) fn json_rows(&mut self, t: &ast::JsonTable) -> SqlResult<(Query, Columns)> {
        self.open_frame();
        let document = self.bind(&t.document, TABLE_FUNCTION)?;
        let input = Query::of(Block {
            select: vec![document],
            ..Block::default()
        });
        let mut reading = Reading {
            env: self.cx.env,
            collation: self.collation(),
            table: t.alias.as_str(),
            columns: Vec::new(),
            nested: 0,
        };
        let rows = reading.rows(&t.path, &t.columns)?;
        let columns = reading.columns;
        let query = Query {
            types: columns.iter().map(|c| c.ty.clone()).collect(),
            body: Body::JsonTable(Box::new(JsonTable {
                input,
                rows: Arc::new(rows),
            })),
            calc_found_rows: false,
        };
        Ok((query, columns))
    }
}

impl Reading<'_> {
    /// A path with its columns.
    fn rows(
        &mut self,
        at: &ast::Literal,
        list: &ast::Items<ast::JsonColumn>,
    ) -> SqlResult<JsonRows> {
        let start = self.columns.len();
        let mut rows = JsonRows {
            path: path(at)?,
            columns: Vec::new(),
            nested: Vec::new(),
            range: start..start,
        };
        for column in list {
            match &*column {
                ast::JsonColumn::Nested(path, list) => {
                    self.nested += 1;
                    if self.nested > MAX_NESTED {
                        return Err(self.too_many_paths());
                    }
                    rows.nested.push(self.rows(path, list)?);
                }
                own => rows.columns.push(self.column(own)?),
            }
        }
        rows.range.end = self.columns.len();
        Ok(rows)
    }

    fn column(&mut self, column: &ast::JsonColumn) -> SqlResult<JsonColumn> {
        let (name, ty, what) = match column {
            ast::JsonColumn::Ordinality(name) => {
                (name, SqlType::bigint(), JsonColumnKind::Ordinality)
            }
            ast::JsonColumn::Path {
                name,
                data_type,
                collation,
                exists,
                path: at,
                ..
            } => {
                let ty = self.column_type(name.as_str(), data_type, collation.as_ref())?;
                let path = path(at)?;
                let what = match exists {
                    true => JsonColumnKind::Exists(path),
                    false => JsonColumnKind::Value {
                        path,
                        on_empty: Otherwise::Null,
                        on_error: Otherwise::Null,
                    },
                };
                (name, ty, what)
            }
            ast::JsonColumn::Nested(..) => unreachable!("it is a path with columns of its own"),
        };
        let name = name.as_str().to_string();
        let known = |c: &DerivedColumn| c.name.eq_ignore_ascii_case(&name);
        if self.columns.iter().any(known) {
            let m = format!("Duplicate column name '{name}'");
            return Err(SqlError::new(1060, m));
        }
        self.columns.push(DerivedColumn {
            name: name.clone(),
            ty: ty.clone(),
            nullable: true,
            hold: Coercibility::Implicit,
        });
        let at = self.columns.len() - 1;
        let bound = JsonColumn { at, name, ty, what };
        self.with_defaults(bound, column)
    }

    /// The type of a column: its texts have the connection's collation unless it says otherwise.
    fn column_type(
        &self,
        name: &str,
        data_type: &ast::DataType,
        collation: Option<&ast::Ident>,
    ) -> SqlResult<SqlType> {
        let (charset, binary) = parse::type_charset(data_type);
        let own = collation.map(ast::Ident::as_str);
        let mut chosen = parse::collation_of(charset, own, self.collation)?;
        if binary && own.is_none() && chosen != Collation::Binary {
            chosen = Collation::bin_of(chosen.character_set());
        }
        parse::sql_type(data_type, chosen).map_err(|e| parse::of_column(e, name))
    }

    /// The column with what it has ON EMPTY and ON ERROR.
    fn with_defaults(
        &self,
        mut bound: JsonColumn,
        column: &ast::JsonColumn,
    ) -> SqlResult<JsonColumn> {
        const DEPRECATED: u16 = 1287;
        let ast::JsonColumn::Path {
            on_empty,
            on_error,
            error_first,
            ..
        } = column
        else {
            return Ok(bound);
        };
        let empty = self.otherwise(&bound, on_empty.as_ref())?;
        let error = self.otherwise(&bound, on_error.as_ref())?;
        if let JsonColumnKind::Value {
            on_empty, on_error, ..
        } = &mut bound.what
        {
            (*on_empty, *on_error) = (empty, error);
        }
        if *error_first {
            self.env.warn(
                DEPRECATED,
                "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is \
                 deprecated syntax and will be removed in a future release. Specify ON EMPTY before ON ERROR instead.",
            );
        }
        Ok(bound)
    }

    fn otherwise(&self, column: &JsonColumn, on: Option<&ast::JsonOn>) -> SqlResult<Otherwise> {
        Ok(match on {
            None | Some(ast::JsonOn::Null) => Otherwise::Null,
            Some(ast::JsonOn::Error) => Otherwise::Error,
            Some(ast::JsonOn::Default(e)) => {
                let text = match &e.kind {
                    ast::ExprKind::Literal(l) => text(l),
                    _ => None,
                };
                let Some(text) = text else {
                    return Err(SqlError::unsupported(
                        "non-string DEFAULT value for a column in a JSON_TABLE expression",
                    ));
                };
                Otherwise::Default(column.default(text, self.env)?)
            }
        })
    }

    /// Error 3670.
    fn too_many_paths(&self) -> SqlError {
        let m = format!(
            "More than supported {MAX_NESTED} NESTED PATHs were found in JSON_TABLE '{}'",
            self.table
        );
        SqlError::new(3670, m)
    }
}

fn text(l: &ast::Literal) -> Option<&str> {
    match l {
        ast::Literal::Text(text, _) | ast::Literal::National(text) => Some(text),
        _ => None,
    }
}

/// Error 3143.
fn path(l: &ast::Literal) -> SqlResult<Path> {
    json_path(text(l).unwrap_or_default().as_bytes())
}
