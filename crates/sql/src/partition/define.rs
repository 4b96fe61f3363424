//! PARTITION BY checked: what statements say becomes a [`Partitioning`], or the error that MySQL gives.

use super::function::{bind_over, check_columns, check_expr, expr_text};
use super::{By, Function, Limit, MAX_PARTITIONS, Partition, Partitioning, Spelled};
use crate::catalog::is_ours;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::EvalContext;
use crate::parse::ast::{
    NumberOption, PartitionBy, PartitionDef, PartitionMethod, PartitionOn, PartitionValue,
    PartitionValues, TableOption, TextOption,
};
use crate::row::encode_sort_value;
use crate::types::{Column, DefaultValue, Schema, SqlType};
use crate::value::{self, StoreContext, Value};
use millpond_syntax::quote::quote_text;

/// Longest COMMENT of a partition, characters.
const MAX_COMMENT: usize = 1024;

/// Turns a clause into the partitioning of a table with these columns and keys.
pub fn define(by: &PartitionBy, schema: &Schema, env: &SessionEnv) -> SqlResult<Partitioning> {
    if by.subpartition.is_some() {
        return Err(SqlError::unsupported("SUBPARTITION"));
    }
    let function = &by.function;
    let method = function.method;
    let on = match &function.by {
        PartitionOn::Expr(e) => {
            let bound = bind_over(e, &schema.columns, env)?;
            check_expr(&bound, &schema.columns)?;
            By::Expr(expr_text(e, &schema.columns)?)
        }
        PartitionOn::Columns(list) => By::Columns(
            list.iter()
                .map(|n| match schema.column(n.as_str()) {
                    Some(at) => schema.columns[at].name.clone(),
                    None => n.as_str().to_string(),
                })
                .collect(),
        ),
    };
    let algorithm = function.algorithm.unwrap_or(0);
    let new = |parts| {
        let spelled = match by.count {
            _ if !by.partitions.is_empty() => Spelled::List,
            Some(_) => Spelled::Number,
            None => Spelled::Nothing,
        };
        Partitioning::new(
            method,
            function.linear,
            algorithm,
            on.clone(),
            spelled,
            parts,
        )
    };
    let empty = new(Vec::new());
    let f = empty.function(schema, env)?;
    if f.expr.is_none() && matches!(function.by, PartitionOn::Columns(_)) {
        check_columns(method, &f.columns, &schema.columns)?;
    }
    let hashed = matches!(method, PartitionMethod::Hash | PartitionMethod::Key);
    let parts = if by.partitions.is_empty() {
        if !hashed {
            return Err(SqlError::new(
                1492,
                format!("For {method} partitions each partition must be defined"),
            ));
        }
        let count = by.count.unwrap_or(1);
        unnamed(&empty, count)?
    } else {
        if by.count.is_some_and(|n| n != by.partitions.len() as u64) {
            return Err(SqlError::new(
                1484,
                "Wrong number of partitions defined, mismatch with previous setting",
            ));
        }
        define_more(&empty, &by.partitions.all(), schema, env)?
    };
    let p = new(parts);
    check(&p)?;
    check_keys(&p, schema, env)?;
    Ok(p)
}

/// Errors 1504 and 1499.
fn check_count(count: u64) -> SqlResult<()> {
    match count {
        0 => Err(SqlError::new(
            1504,
            "Number of partitions = 0 is not an allowed value",
        )),
        n if n > MAX_PARTITIONS as u64 => Err(too_many()),
        _ => Ok(()),
    }
}

fn too_many() -> SqlError {
    SqlError::new(
        1499,
        "Too many partitions (including subpartitions) were defined",
    )
}

/// `count` more partitions of HASH or KEY, named by their positions.
pub fn unnamed(p: &Partitioning, count: u64) -> SqlResult<Vec<Partition>> {
    let from = p.parts.len() as u64;
    check_count(from.saturating_add(count))?;
    let part = |n| Partition {
        name: format!("p{n}"),
        values: Vec::new(),
        comment: String::new(),
    };
    Ok((from..from + count).map(part).collect())
}

/// Partitions that a statement defines for a table partitioned like `p`; each on its own is as it should be.
pub fn define_more(
    p: &Partitioning,
    defs: &[PartitionDef],
    schema: &Schema,
    env: &SessionEnv,
) -> SqlResult<Vec<Partition>> {
    if defs.len() > MAX_PARTITIONS {
        return Err(too_many());
    }
    let limits = Limits {
        p,
        f: p.function(schema, env)?,
        schema,
        env,
    };
    defs.iter().map(|d| limits.partition(d)).collect()
}

/// Makes the limits of partitions.
struct Limits<'a> {
    p: &'a Partitioning,
    f: &'a Function,
    schema: &'a Schema,
    env: &'a SessionEnv,
}

impl Limits<'_> {
    fn partition(&self, def: &PartitionDef) -> SqlResult<Partition> {
        let name = def.name.as_str();
        if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
            return Err(SqlError::new(1567, "Incorrect partition name"));
        }
        if name.chars().count() > 64 {
            return Err(SqlError::new(
                1059,
                format!("Identifier name '{name}' is too long"),
            ));
        }
        if !def.subpartitions.is_empty() {
            return Err(SqlError::unsupported("SUBPARTITION"));
        }
        let comment = options(&def.options.all())?;
        if comment.chars().count() > MAX_COMMENT {
            return Err(SqlError::new(
                1793,
                format!("Comment for table partition '{name}' is too long (max = {MAX_COMMENT})"),
            ));
        }
        use PartitionMethod as M;
        let values = match (&def.values, self.p.method) {
            (None, M::Hash | M::Key) => Vec::new(),
            (Some(PartitionValues::LessThan(row)), M::Range) => vec![self.row(&row.all(), name)?],
            (Some(PartitionValues::In(rows)), M::List) => rows
                .iter()
                .map(|r| self.row(&r.all(), name))
                .collect::<SqlResult<_>>()?,
            (None, method) => {
                let what = if method == M::Range {
                    "LESS THAN"
                } else {
                    "IN"
                };
                return Err(SqlError::new(
                    1479,
                    format!(
                        "Syntax error: {method} PARTITIONING requires definition of VALUES {what} for each partition"
                    ),
                ));
            }
            (Some(PartitionValues::LessThan(_)), _) => return Err(only("RANGE", "LESS THAN")),
            (Some(PartitionValues::In(_)), _) => return Err(only("LIST", "IN")),
            (Some(PartitionValues::Default), _) => {
                return Err(SqlError::unsupported("a DEFAULT partition"));
            }
        };
        Ok(Partition {
            name: name.to_string(),
            values,
            comment,
        })
    }

    fn row(&self, row: &[PartitionValue], partition: &str) -> SqlResult<Vec<Limit>> {
        if row.len() != self.f.types.len() {
            return Err(SqlError::new(
                1653,
                "Inconsistency in usage of column lists for partitioning",
            ));
        }
        row.iter()
            .enumerate()
            .map(|(n, v)| self.limit(v, n, partition))
            .collect()
    }

    fn limit(&self, v: &PartitionValue, n: usize, partition: &str) -> SqlResult<Limit> {
        let e = match v {
            PartitionValue::Max if self.p.method == PartitionMethod::List => {
                return Err(SqlError::new(
                    1656,
                    "Cannot use MAXVALUE as value in VALUES IN",
                ));
            }
            PartitionValue::Max => return Ok(Limit::max()),
            PartitionValue::Expr(e) => e,
        };
        let bound = bind_over(e, &[], self.env)?;
        if !bound.is_const() {
            return Err(super::function::not_allowed());
        }
        let cx = EvalContext {
            rows: &[],
            params: &[],
            session: self.env,
        };
        let value = bound.eval(&cx)?.into_owned();
        if value.is_null() && self.p.method == PartitionMethod::Range {
            return Err(SqlError::new(
                1566,
                "Not allowed to use NULL value in VALUES LESS THAN",
            ));
        }
        let ty = &self.f.types[n];
        let value = match &self.p.by {
            By::Expr(_) => self.integer(value, ty, partition)?,
            By::Columns(_) => self.of_column(value, &self.schema.columns[self.f.columns[n]])?,
        };
        let text = match &value {
            Value::Null => "NULL".to_string(),
            v if ty.is_integer() => String::from_utf8_lossy(&v.to_text()).into_owned(),
            v => {
                let mut text = Vec::new();
                value::write_text(v, ty, &mut text);
                literal(&text, ty)
            }
        };
        let mut key = Vec::new();
        encode_sort_value(&value, ty, false, &mut key);
        Ok(Limit { text, key })
    }

    fn integer(
        &self,
        value: Value<'static>,
        ty: &SqlType,
        partition: &str,
    ) -> SqlResult<Value<'static>> {
        match value {
            Value::Int(v) if v < 0 && ty.unsigned => Err(SqlError::new(
                1563,
                "Partition constant is out of partition function domain",
            )),
            Value::Null | Value::Int(_) | Value::UInt(_) => Ok(value),
            _ => Err(SqlError::new(
                1697,
                format!("VALUES value for partition '{partition}' must have type INT"),
            )),
        }
    }

    fn of_column(&self, value: Value<'static>, column: &Column) -> SqlResult<Value<'static>> {
        let wrong = || SqlError::new(1654, "Partition column values of incorrect type");
        let fits = match &value {
            Value::Null => return Ok(value),
            Value::Int(_) | Value::UInt(_) => column.ty.is_integer(),
            Value::Bytes(_) => !column.ty.is_integer(),
            Value::Date(_) | Value::DateTime(_) => column.ty.is_temporal(),
            _ => false,
        };
        if !fits {
            return Err(wrong());
        }
        let column = Column {
            nullable: true,
            default: DefaultValue::None,
            ..column.clone()
        };
        let cx = StoreContext {
            session: self.env,
            strict: true,
            row: 1,
        };
        let stored = value::store(value, &column, &cx).map_err(|_| wrong())?;
        Ok(stored.into_owned())
    }
}

/// Options of a partition; its comment is the only one that is kept.
fn options(list: &[TableOption]) -> SqlResult<String> {
    let mut comment = String::new();
    for option in list {
        match option {
            TableOption::Engine(engine) if is_ours(engine.as_str()) => {}
            TableOption::Engine(_) => {
                return Err(SqlError::new(
                    1497,
                    "The mix of handlers in the partitions is not allowed in this version of MySQL",
                ));
            }
            TableOption::Text(TextOption::Comment, text) => comment.clone_from(text),
            TableOption::Number(
                NumberOption::MaxRows | NumberOption::MinRows | NumberOption::NodeGroup,
                _,
            ) => {}
            other => {
                return Err(SqlError::unsupported(format_args!(
                    "{other} of a partition"
                )));
            }
        }
    }
    Ok(comment)
}

/// A text as a literal that reads back as the same.
fn literal(text: &[u8], ty: &SqlType) -> String {
    match std::str::from_utf8(text) {
        Ok(s) if ty.is_character() || ty.is_temporal() || s.chars().all(|c| !c.is_control()) => {
            quote_text(s)
        }
        _ => {
            let hex: String = text.iter().map(|b| format!("{b:02X}")).collect();
            format!("_binary 0x{hex}")
        }
    }
}

/// 1480.
fn only(method: &str, values: &str) -> SqlError {
    SqlError::new(
        1480,
        format!("Only {method} PARTITIONING can use VALUES {values} in partition definition"),
    )
}

/// Whether the partitions go together: errors 1517, 1499, 1481, 1493, 1495.
pub fn check(p: &Partitioning) -> SqlResult<()> {
    check_count(p.parts.len() as u64)?;
    let mut names: Vec<String> = p.parts.iter().map(Partition::stored_name).collect();
    names.sort();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        let part = p.parts.iter().rev().find(|x| x.stored_name() == twice[0]);
        let name = part.map_or(&*twice[0], |x| &*x.name);
        return Err(SqlError::new(
            1517,
            format!("Duplicate partition name {name}"),
        ));
    }
    match p.method {
        PartitionMethod::Range => {
            let (_, before) = p.parts.split_last().unwrap_or((&p.parts[0], &[]));
            let by_expr = matches!(p.by, By::Expr(_));
            if by_expr && before.iter().any(|x| x.values[0][0].is_max()) {
                return Err(SqlError::new(
                    1481,
                    "MAXVALUE can only be used in last partition definition",
                ));
            }
            if !p.are_keys_apart() {
                return Err(SqlError::new(
                    1493,
                    "VALUES LESS THAN value must be strictly increasing for each partition",
                ));
            }
        }
        PartitionMethod::List => {
            if !p.are_keys_apart() {
                return Err(SqlError::new(
                    1495,
                    "Multiple definition of same constant in list partitioning",
                ));
            }
        }
        PartitionMethod::Hash | PartitionMethod::Key => {}
    }
    Ok(())
}

/// Error 1503 if a unique key lacks a column that decides: rows with the same key could lie in two partitions.
pub fn check_keys(p: &Partitioning, schema: &Schema, env: &SessionEnv) -> SqlResult<()> {
    let f = p.function(schema, env)?;
    for index in schema.indexes.iter().filter(|i| i.unique) {
        let has = |c: &usize| {
            let whole = |part: &crate::types::KeyPart| part.column == *c && part.prefix.is_none();
            index.parts.iter().any(whole)
        };
        if !index.parts.is_empty() && !f.columns.iter().all(has) {
            let what = if index.name == "PRIMARY" {
                "PRIMARY KEY"
            } else {
                "UNIQUE INDEX"
            };
            return Err(SqlError::new(
                1503,
                format!(
                    "A {what} must include all columns in the table's partitioning function (prefixed columns are not considered)."
                ),
            ));
        }
    }
    Ok(())
}
