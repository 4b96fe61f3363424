//! PARTITION BY checked: what statements say becomes a [`Partitioning`], or the error that MySQL gives.

use super::function::{bind_over, check_columns, check_expr, expr_text};
use super::{By, Function, Limit, MAX_PARTITIONS, Partition, Partitioning, Spelled, Subpartition};
use crate::catalog::is_ours;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::EvalContext;
use crate::parse::ast::{
    Ident, Items, NumberOption, PartitionBy, PartitionDef, PartitionFunction, PartitionMethod,
    PartitionOn, PartitionValue, PartitionValues, TableOption, TextOption,
};
use crate::row::encode_sort_value;
use crate::types::{Column, DefaultValue, Schema, SqlType};
use crate::value::{self, StoreContext, Value};
use millpond_syntax::quote::quote_text;

/// The tablespace that is a file per table.
const OWN_FILE: &str = "innodb_file_per_table";
/// Longest COMMENT of a partition, characters.
const MAX_COMMENT: usize = 1024;

/// Turns a clause into the partitioning of a table with these columns and keys.
pub fn define(by: &PartitionBy, schema: &Schema, env: &SessionEnv) -> SqlResult<Partitioning> {
    let hashed = is_hashed(by.function.method);
    let sub = subpartitioning(by, schema, env)?;
    let spelled = match by.count {
        _ if !by.partitions.is_empty() => Spelled::List,
        Some(_) => Spelled::Number,
        None => Spelled::Nothing,
    };
    let empty = level(&by.function, spelled, schema, env)?.with_sub(sub);
    let parts = if by.partitions.is_empty() {
        if !hashed {
            let method = by.function.method;
            return Err(SqlError::new(
                1492,
                format!("For {method} partitions each partition must be defined"),
            ));
        }
        unnamed(&empty, by.count.unwrap_or(1))?
    } else {
        if by.count.is_some_and(|n| n != by.partitions.len() as u64) {
            return Err(SqlError::new(
                1484,
                "Wrong number of partitions defined, mismatch with previous setting",
            ));
        }
        define_more(&empty, &by.partitions.all(), schema, env)?
    };
    let p = empty.with_parts(parts);
    check(&p)?;
    check_keys(&p, schema, env)?;
    Ok(p)
}

fn is_hashed(method: PartitionMethod) -> bool {
    matches!(method, PartitionMethod::Hash | PartitionMethod::Key)
}

/// How and by what, without partitions.
fn level(
    function: &PartitionFunction,
    spelled: Spelled,
    schema: &Schema,
    env: &SessionEnv,
) -> SqlResult<Partitioning> {
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
    let linear = function.linear;
    let empty = Partitioning::new(method, linear, algorithm, on, spelled, Vec::new());
    let f = empty.function(schema, env)?;
    if f.expr.is_none() && matches!(function.by, PartitionOn::Columns(_)) {
        check_columns(method, &f.columns, &schema.columns)?;
    }
    Ok(empty)
}

/// SUBPARTITION BY, with as many partitions as each partition has subpartitions: errors 1500, 1064, 1504.
fn subpartitioning(
    by: &PartitionBy,
    schema: &Schema,
    env: &SessionEnv,
) -> SqlResult<Option<Partitioning>> {
    let parts = by.partitions.all();
    let mut listed = parts.iter().map(|d| d.subpartitions.len() as u64);
    let first = listed.next().unwrap_or(0);
    let mixed = || {
        SqlError::new(
            1500,
            "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for subpartitioning",
        )
    };
    let Some((function, count)) = &by.subpartition else {
        return match first == 0 && listed.all(|n| n == 0) {
            true => Ok(None),
            false => Err(mixed()),
        };
    };
    if is_hashed(by.function.method) || !is_hashed(function.method) {
        return Err(mixed());
    }
    if listed.any(|n| n != first) || first > 0 && count.is_some_and(|n| n != first) {
        return Err(wrong_subpartitions());
    }
    let (count, spelled) = match count {
        Some(0) => {
            return Err(SqlError::new(
                1504,
                "Number of subpartitions = 0 is not an allowed value",
            ));
        }
        Some(n) => (*n, Spelled::Number),
        None if first > 0 => (first, Spelled::Number),
        None => (1, Spelled::Nothing),
    };
    if count.saturating_mul(parts.len() as u64) > MAX_PARTITIONS as u64 {
        return Err(too_many());
    }
    let level = level(function, spelled, schema, env)?;
    Ok(Some(
        level.with_parts(vec![Partition::default(); count as usize]),
    ))
}

/// 1064, as MySQL's parser counts.
fn wrong_subpartitions() -> SqlError {
    SqlError::new(
        1064,
        "Wrong number of subpartitions defined, mismatch with previous setting near 'SUBPARTITION'",
    )
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
        ..Partition::default()
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
    let named = |d: &PartitionDef| !d.subpartitions.is_empty();
    if defs.iter().any(named) && !defs.iter().all(named) {
        return Err(wrong_subpartitions());
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
        check_name(name)?;
        let comment = comment(name, &def.options.all())?;
        let subs = self.subpartitions(name, def)?;
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
                return Err(SqlError::syntax(
                    "MySQL's LIST has no partition for all else, near 'DEFAULT'",
                ));
            }
        };
        Ok(Partition {
            name: name.to_string(),
            values,
            comment,
            subs,
        })
    }

    /// Its subpartitions, named by its name and their positions if none is named.
    fn subpartitions(&self, name: &str, def: &PartitionDef) -> SqlResult<Vec<Subpartition>> {
        let fan = self.p.sub.as_ref().map_or(0, |s| s.parts.len());
        if def.subpartitions.is_empty() {
            return Ok(Partition::default_subs(name, fan));
        }
        if def.subpartitions.len() != fan {
            return Err(SqlError::new(
                1513,
                "Trying to Add partition(s) with wrong number of subpartitions",
            ));
        }
        let named = |(name, options): (Ident, Items<TableOption>)| {
            let name = name.as_str();
            check_name(name)?;
            Ok(Subpartition {
                name: name.to_string(),
                comment: comment(name, &options.all())?,
            })
        };
        def.subpartitions
            .iter()
            .map(|s| named(s.into_owned()))
            .collect()
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

/// A partition's name: errors 1567 and 1059.
fn check_name(name: &str) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(1567, "Incorrect partition name"));
    }
    match name.chars().count() > 64 {
        true => Err(SqlError::new(
            1059,
            format!("Identifier name '{name}' is too long"),
        )),
        false => Ok(()),
    }
}

/// A partition's COMMENT; error 1793.
fn comment(name: &str, list: &[TableOption]) -> SqlResult<String> {
    let comment = options(list)?;
    match comment.chars().count() > MAX_COMMENT {
        true => Err(SqlError::new(
            1793,
            format!("Comment for table partition '{name}' is too long (max = {MAX_COMMENT})"),
        )),
        false => Ok(comment),
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
            TableOption::Tablespace(name) if !name.as_str().eq_ignore_ascii_case(OWN_FILE) => {
                return Err(SqlError::new(
                    1478,
                    "InnoDB : A partitioned table is not allowed in a shared tablespace.",
                ));
            }
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
    check_count(p.leaves() as u64)?;
    let subs = |part: &'_ Partition| part.subs.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let all = p.parts.iter().flat_map(|part| {
        let own = std::iter::once(part.name.clone());
        own.chain(subs(part)).collect::<Vec<_>>()
    });
    let all: Vec<String> = all.collect();
    let mut names: Vec<String> = all.iter().map(|n| n.to_lowercase()).collect();
    names.sort();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        let last = all.iter().rev().find(|n| n.to_lowercase() == twice[0]);
        let name = last.unwrap_or(&twice[0]);
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
    let mut columns = p.function(schema, env)?.columns.clone();
    if let Some(sub) = &p.sub {
        columns.extend_from_slice(&sub.function(schema, env)?.columns);
    }
    for index in schema.indexes.iter().filter(|i| i.unique) {
        let has = |c: &usize| {
            let whole = |part: &crate::types::KeyPart| part.column == *c && part.prefix.is_none();
            index.parts.iter().any(whole)
        };
        if !index.parts.is_empty() && !columns.iter().all(has) {
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
