//! What JSON_TABLE's COLUMNS say, and the rows that they make of a document.
//!
//! A path's matches are rows; a nested path's matches are rows beside the one that they lie within. Of several paths nested side by
//! side each has rows of its own, in which the columns of the others are NULL. Where none of them matches there is one row, in
//! which the columns of all are NULL.

use std::ops::Range;

use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Category, SqlType};
use crate::value::json::{Json, Path, Ref, View, array_of, parse, refused_argument};
use crate::value::{ConversionEnv, StoreContext, Target, Value, assign};

/// Error code: a value that a column has no room for.
const OUT_OF_RANGE: u16 = 3669;

/// A path with its columns: the whole of COLUMNS, or of a NESTED PATH.
#[derive(Clone, Debug)]
pub struct JsonRows {
    /// What selects the rows.
    pub path: Path,
    /// Its own columns.
    pub columns: Vec<JsonColumn>,
    /// The paths nested in it.
    pub nested: Vec<JsonRows>,
    /// Positions of its columns and of those nested in it.
    pub range: Range<usize>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct JsonColumn {
    /// Position.
    pub at: usize,
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// What its values are.
    pub what: JsonColumnKind,
}

/// What a column's values are.
#[derive(Clone, Debug)]
pub enum JsonColumnKind {
    /// FOR ORDINALITY: the row's number, from 1, within the row around.
    Ordinality,
    /// EXISTS PATH: whether the path selects anything.
    Exists(Path),
    /// PATH: what the path selects.
    Value {
        /// The path.
        path: Path,
        /// Of a path that selects nothing.
        on_empty: Otherwise,
        /// Of a value that the column can't have.
        on_error: Otherwise,
    },
}

/// What a column has where there is no value, or none that fits.
#[derive(Clone, Debug)]
pub enum Otherwise {
    /// NULL ON ...
    Null,
    /// ERROR ON ...
    Error,
    /// DEFAULT ... ON ..., as the column has it.
    Default(Value<'static>),
}

impl Otherwise {
    fn value(&self, error: impl FnOnce() -> SqlError) -> SqlResult<Value<'static>> {
        match self {
            Otherwise::Null => Ok(Value::Null),
            Otherwise::Error => Err(error()),
            Otherwise::Default(value) => Ok(value.clone()),
        }
    }
}

/// Takes a row; whether another is wanted.
pub type EachRow<'e> = dyn FnMut(&[Value<'_>]) -> SqlResult<bool> + 'e;

impl JsonRows {
    /// Makes the rows of a document. Errors 3665, 3666, 3669 and those of conversions, where columns ask for errors.
    pub fn of_document(
        &self,
        document: Ref<'_>,
        session: &ConversionEnv,
        out: &mut EachRow<'_>,
    ) -> SqlResult<()> {
        let mut row = vec![Value::Null; self.range.len()];
        self.rows(document, &quiet(session), &mut row, out)?;
        Ok(())
    }

    /// The rows of what the path selects: whether there were any, and whether more are wanted.
    fn rows<'a>(
        &self,
        within: Ref<'a>,
        env: &ConversionEnv,
        row: &mut [Value<'a>],
        out: &mut EachRow<'_>,
    ) -> SqlResult<(bool, bool)> {
        let found = self.path.select(within);
        for (n, v) in found.iter().enumerate() {
            for c in &self.columns {
                row[c.at] = c.value(*v, n, env)?;
            }
            if !self.beside(*v, env, row, out)? {
                return Ok((true, false));
            }
        }
        row[self.range.clone()].fill(Value::Null);
        Ok((!found.is_empty(), true))
    }

    /// The rows of the nested paths beside one of this; whether more are wanted.
    fn beside<'a>(
        &self,
        v: Ref<'a>,
        env: &ConversionEnv,
        row: &mut [Value<'a>],
        out: &mut EachRow<'_>,
    ) -> SqlResult<bool> {
        let mut any = false;
        for nested in &self.nested {
            let (found, more) = nested.rows(v, env, row, out)?;
            if !more {
                return Ok(false);
            }
            any |= found;
        }
        if any {
            return Ok(true);
        }
        out(row)
    }
}

/// The session without its warnings: what doesn't fit is an error, or is replaced in silence.
fn quiet(session: &ConversionEnv) -> ConversionEnv {
    let own = ConversionEnv::default();
    own.zone.set(session.zone.get());
    own.now.set(session.now.get());
    own.sql_mode.set(session.sql_mode.get());
    own
}

impl JsonColumn {
    fn value<'a>(&self, v: Ref<'a>, n: usize, env: &ConversionEnv) -> SqlResult<Value<'a>> {
        match &self.what {
            JsonColumnKind::Ordinality => Ok(Value::Int(n as i64 + 1)),
            JsonColumnKind::Exists(path) => {
                let any = !path.select(v).is_empty();
                Ok(self.stored(Value::bool(any), env).unwrap_or(Value::Null))
            }
            JsonColumnKind::Value {
                path,
                on_empty,
                on_error,
            } => {
                let found = path.select(v);
                let value = match &*found {
                    [] => {
                        return on_empty.value(|| {
                            let name = &self.name;
                            let m = format!("Missing value for JSON_TABLE column '{name}'");
                            SqlError::new(3665, m)
                        });
                    }
                    [one] => self.convert(*one, env),
                    several if self.ty.is_json() => {
                        let several: Vec<Json<'_>> = several.iter().map(|v| v.json()).collect();
                        Ok(Value::Json(array_of(&several)))
                    }
                    _ => Err(self.no_scalar()),
                };
                value.or_else(|e| match on_error {
                    // What is no member is none.
                    Otherwise::Null if self.ty.base == BaseType::Enum && e.code == OUT_OF_RANGE => {
                        Ok(Value::str(""))
                    }
                    _ => on_error.value(|| e),
                })
            }
        }
    }

    /// A DEFAULT in the column's type, given as the text of a document. Errors 3141, 3669 and 1067.
    pub fn default(&self, text: &str, session: &ConversionEnv) -> SqlResult<Value<'static>> {
        let document = parse(text.as_bytes()).map_err(|e| refused_argument(e, 1, "JSON_TABLE"))?;
        let value = self.convert(document.root(), &quiet(session));
        value.map(Value::into_owned).map_err(|e| match e.code {
            OUT_OF_RANGE => e,
            _ => SqlError::new(1067, format!("Invalid default value for '{}'", self.name)),
        })
    }

    /// A value within a document as the column has it: an error if it can't.
    fn convert<'a>(&self, v: Ref<'a>, env: &ConversionEnv) -> SqlResult<Value<'a>> {
        let value = match (v.view(), self.ty.family().category()) {
            (View::Null, _) => return Ok(Value::Null),
            _ if self.ty.is_json() => return Ok(Value::Json(v.json())),
            (View::Array(_) | View::Object(_), _) => return Err(self.no_scalar()),
            (View::String(s), Category::Integer) if self.ty.base != BaseType::Year => {
                whole(s).ok_or_else(|| self.no_number())?
            }
            (View::String(""), Category::Fraction) if self.ty.base != BaseType::Decimal => {
                Value::Double(0.0)
            }
            (View::String(s), _) => Value::Bytes(s.as_bytes().into()),
            (View::Date(d), Category::Temporal) => Value::Date(d),
            (View::Time(t), Category::Temporal) => Value::Time(t),
            (View::DateTime(d), Category::Temporal) => Value::DateTime(d),
            (_, Category::Integer | Category::Fraction) => {
                (v.json().to_sql(Category::Fraction)).map_err(|_| self.no_number())?
            }
            _ => {
                let mut text = Vec::new();
                v.write_unquoted(&mut text);
                Value::Bytes(text.into())
            }
        };
        self.stored(value, env)
    }

    fn stored<'a>(&self, value: Value<'a>, env: &ConversionEnv) -> SqlResult<Value<'a>> {
        let column = Target {
            name: &self.name,
            ty: &self.ty,
            nullable: true,
        };
        let cx = StoreContext {
            session: env,
            strict: true,
            row: 1,
        };
        assign(value, column, &cx).map_err(|e| match e.code {
            1264 | 1292 | 1406 => self.out_of_range(),
            1265 if self.ty.is_enumerated() => self.out_of_range(),
            1265 | 1366 if self.ty.is_numeric() => self.no_number(),
            _ => e,
        })
    }

    /// Error 3669.
    fn out_of_range(&self) -> SqlError {
        let name = &self.name;
        let m = format!("Value is out of range for JSON_TABLE's column '{name}'");
        SqlError::new(OUT_OF_RANGE, m)
    }

    /// Error 3666.
    fn no_scalar(&self) -> SqlError {
        let name = &self.name;
        let m =
            format!("Can't store an array or an object in the scalar JSON_TABLE column '{name}'");
        SqlError::new(3666, m)
    }

    /// Error 3156.
    fn no_number(&self) -> SqlError {
        let to = match self.ty.family().category() {
            Category::Fraction if self.ty.base == BaseType::Decimal => "DECIMAL",
            Category::Fraction => "DOUBLE",
            _ => "INTEGER",
        };
        let name = &self.name;
        let m = format!("Invalid JSON value for CAST to {to} from column {name} at row 1");
        SqlError::new(3156, m)
    }
}

/// The whole number that a text is, of 64 bits.
fn whole(text: &str) -> Option<Value<'static>> {
    let text = text.trim_start();
    let signed = text.parse().ok().map(Value::Int);
    signed.or_else(|| text.parse().ok().map(Value::UInt))
}
