//! PARTITION BY and ALTER TABLE's changes of partitions, which sqlparser does not know.

use sqlparser::tokenizer::Token;

use super::ast::{Kind, Maintenance, TableName, sp};
use super::cursor::Cursor;
use super::statement::drain;
use crate::error::{SqlError, SqlResult};

/// How a table is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PartitionMethod {
    Range,
    List,
    Hash,
    Key,
}

impl PartitionMethod {
    /// Its name as messages have it.
    pub fn name(self) -> &'static str {
        match self {
            PartitionMethod::Range => "RANGE",
            PartitionMethod::List => "LIST",
            PartitionMethod::Hash => "HASH",
            PartitionMethod::Key => "KEY",
        }
    }
}

/// A PARTITION BY clause.
#[derive(Clone, Debug)]
pub struct PartitionBy {
    /// How.
    pub method: PartitionMethod,
    /// LINEAR.
    pub linear: bool,
    /// ALGORITHM of KEY.
    pub algorithm: Option<u64>,
    /// By what.
    pub by: PartitionOn,
    /// PARTITIONS.
    pub count: Option<u64>,
    /// The partitions defined.
    pub partitions: Vec<PartitionDef>,
}

/// By what a table is partitioned.
#[derive(Clone, Debug)]
pub enum PartitionOn {
    /// The value of an expression.
    Expr(Box<sp::Expr>),
    /// Columns (COLUMNS, KEY).
    Columns(Vec<String>),
}

/// A partition as a statement defines it.
#[derive(Clone, Debug)]
pub struct PartitionDef {
    /// Name.
    pub name: String,
    /// VALUES.
    pub values: PartitionValues,
    /// COMMENT.
    pub comment: String,
}

/// VALUES of a partition.
#[derive(Clone, Debug)]
pub enum PartitionValues {
    /// None given.
    None,
    /// LESS THAN.
    LessThan(Vec<PartitionValue>),
    /// IN: one list per value, of as many values as there are columns.
    In(Vec<Vec<PartitionValue>>),
}

/// A value of VALUES.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A statement has a few, for a moment.
pub enum PartitionValue {
    /// MAXVALUE.
    Max,
    /// A constant.
    Expr(sp::Expr),
}

/// A change of a table's partitions.
#[derive(Clone, Debug)]
pub enum PartitionOp {
    /// ADD PARTITION.
    Add {
        /// Those defined.
        partitions: Vec<PartitionDef>,
        /// PARTITIONS.
        count: Option<u64>,
    },
    /// DROP PARTITION.
    Drop(Vec<String>),
    /// TRUNCATE PARTITION; `None`: ALL.
    Truncate(Option<Vec<String>>),
    /// COALESCE PARTITION.
    Coalesce(u64),
    /// REORGANIZE PARTITION ... INTO.
    Reorganize {
        /// Partitions that go.
        from: Vec<String>,
        /// What their rows go to.
        into: Vec<PartitionDef>,
    },
    /// EXCHANGE PARTITION.
    Exchange {
        /// Partition.
        partition: String,
        /// Table.
        table: TableName,
        /// WITH VALIDATION, the default.
        validate: bool,
    },
    /// REBUILD PARTITION; `None`: ALL.
    Rebuild(Option<Vec<String>>),
    /// REMOVE PARTITIONING.
    Remove,
    /// PARTITION BY.
    By(PartitionBy),
}

/// PARTITION BY, which is to be consumed.
pub fn by(c: &mut Cursor<'_>) -> SqlResult<PartitionBy> {
    c.expect("PARTITION")?;
    c.expect("BY")?;
    let linear = c.eat("LINEAR");
    let word = c.peek_word().unwrap_or_default();
    let method = match word.as_str() {
        "RANGE" if !linear => PartitionMethod::Range,
        "LIST" if !linear => PartitionMethod::List,
        "HASH" => PartitionMethod::Hash,
        "KEY" => PartitionMethod::Key,
        _ => return Err(c.error()),
    };
    c.next();
    let mut algorithm = None;
    if method == PartitionMethod::Key && c.eat("ALGORITHM") {
        c.eat_token(&Token::Eq);
        algorithm = Some(c.number()?);
        if !matches!(algorithm, Some(1 | 2)) {
            return Err(c.error());
        }
    }
    let columns = method == PartitionMethod::Key
        || matches!(method, PartitionMethod::Range | PartitionMethod::List) && c.eat("COLUMNS");
    c.expect_token(&Token::LParen)?;
    let on = if columns {
        let mut list = Vec::new();
        if method != PartitionMethod::Key
            || !matches!(c.parser.peek_token_ref().token, Token::RParen)
        {
            list = names(c)?;
        }
        PartitionOn::Columns(list)
    } else {
        PartitionOn::Expr(Box::new(c.expr()?))
    };
    c.expect_token(&Token::RParen)?;
    let count = count(c)?;
    if c.is("SUBPARTITION") {
        drain(c);
        return Err(SqlError::unsupported("SUBPARTITION"));
    }
    let partitions = if matches!(c.parser.peek_token_ref().token, Token::LParen) {
        definitions(c)?
    } else {
        Vec::new()
    };
    Ok(PartitionBy {
        method,
        linear,
        algorithm,
        by: on,
        count,
        partitions,
    })
}

/// `PARTITIONS n`, if it is there.
fn count(c: &mut Cursor<'_>) -> SqlResult<Option<u64>> {
    Ok(if c.eat("PARTITIONS") {
        Some(c.number()?)
    } else {
        None
    })
}

fn names(c: &mut Cursor<'_>) -> SqlResult<Vec<String>> {
    let mut list = vec![c.ident()?];
    while c.eat_token(&Token::Comma) {
        list.push(c.ident()?);
    }
    Ok(list)
}

/// A list of partitions, or ALL (`None`).
fn names_or_all(c: &mut Cursor<'_>) -> SqlResult<Option<Vec<String>>> {
    if c.eat("ALL") {
        return Ok(None);
    }
    names(c).map(Some)
}

/// `(PARTITION p0 ..., PARTITION p1 ...)`
fn definitions(c: &mut Cursor<'_>) -> SqlResult<Vec<PartitionDef>> {
    c.expect_token(&Token::LParen)?;
    let mut list = vec![definition(c)?];
    while c.eat_token(&Token::Comma) {
        list.push(definition(c)?);
    }
    c.expect_token(&Token::RParen)?;
    Ok(list)
}

fn definition(c: &mut Cursor<'_>) -> SqlResult<PartitionDef> {
    c.expect("PARTITION")?;
    let name = c.ident()?;
    let values = if c.eat_all(&["VALUES", "LESS", "THAN"]) {
        if c.eat("MAXVALUE") {
            PartitionValues::LessThan(vec![PartitionValue::Max])
        } else {
            PartitionValues::LessThan(tuple(c)?)
        }
    } else if c.eat_all(&["VALUES", "IN"]) {
        c.expect_token(&Token::LParen)?;
        let mut list = Vec::new();
        loop {
            let row = matches!(c.parser.peek_token_ref().token, Token::LParen);
            list.push(if row { tuple(c)? } else { vec![value(c)?] });
            if !c.eat_token(&Token::Comma) {
                break;
            }
        }
        c.expect_token(&Token::RParen)?;
        PartitionValues::In(list)
    } else {
        PartitionValues::None
    };
    let comment = options(c)?;
    if c.is("SUBPARTITION") || matches!(c.parser.peek_token_ref().token, Token::LParen) {
        drain(c);
        return Err(SqlError::unsupported("SUBPARTITION"));
    }
    Ok(PartitionDef {
        name,
        values,
        comment,
    })
}

/// Options of a partition; its comment is the only one that is kept.
fn options(c: &mut Cursor<'_>) -> SqlResult<String> {
    let mut comment = String::new();
    loop {
        if c.is("STORAGE") && c.is_nth(1, "ENGINE") {
            c.next();
        }
        if c.eat("ENGINE") {
            c.eat_token(&Token::Eq);
            let engine = c.ident_or_string()?;
            if !["innodb", "millpond"]
                .iter()
                .any(|e| engine.eq_ignore_ascii_case(e))
            {
                return Err(SqlError::new(
                    1497,
                    "The mix of handlers in the partitions is not allowed in this version of MySQL",
                ));
            }
        } else if c.eat("COMMENT") {
            c.eat_token(&Token::Eq);
            comment = c.string()?;
        } else if c.eat("MAX_ROWS") || c.eat("MIN_ROWS") || c.eat("NODEGROUP") {
            c.eat_token(&Token::Eq);
            c.number()?;
        } else if c.is("DATA") || c.is("INDEX") || c.is("TABLESPACE") {
            let what = c.peek_word().unwrap_or_default();
            drain(c);
            return Err(SqlError::unsupported(format_args!("{what} of a partition")));
        } else {
            return Ok(comment);
        }
    }
}

/// `(value, ...)`
fn tuple(c: &mut Cursor<'_>) -> SqlResult<Vec<PartitionValue>> {
    c.expect_token(&Token::LParen)?;
    let mut list = vec![value(c)?];
    while c.eat_token(&Token::Comma) {
        list.push(value(c)?);
    }
    c.expect_token(&Token::RParen)?;
    Ok(list)
}

fn value(c: &mut Cursor<'_>) -> SqlResult<PartitionValue> {
    if c.eat("MAXVALUE") {
        return Ok(PartitionValue::Max);
    }
    c.expr().map(PartitionValue::Expr)
}

/// ALTER TABLE that changes partitions; `None` (and nothing consumed) for any other. ALTER is still to be consumed.
pub fn alter(c: &mut Cursor<'_>) -> SqlResult<Option<Kind>> {
    let qualified = matches!(c.parser.peek_nth_token_ref(3).token, Token::Period);
    let at = if qualified { 5 } else { 3 };
    let next = |w: &str| c.is_nth(at + 1, w);
    let changes = c.is_nth(at, "PARTITION") && next("BY")
        || c.is_nth(at, "REMOVE") && next("PARTITIONING")
        || next("PARTITION")
            && [
                "ADD",
                "DROP",
                "TRUNCATE",
                "COALESCE",
                "REORGANIZE",
                "EXCHANGE",
                "REBUILD",
                "ANALYZE",
                "CHECK",
                "OPTIMIZE",
                "REPAIR",
                "DISCARD",
                "IMPORT",
            ]
            .iter()
            .any(|w| c.is_nth(at, w));
    if !changes {
        return Ok(None);
    }
    c.next();
    c.next();
    let table = c.table_name()?;
    if let Some(op) = maintenance(c) {
        c.next();
        partition_word(c)?;
        return Ok(Some(Kind::Maintain {
            op,
            tables: vec![table],
            histogram: None,
            partitions: Some(names_or_all(c)?),
            options: words(c),
        }));
    }
    let op = operation(c)?;
    Ok(Some(Kind::AlterPartitions { table, op }))
}

fn maintenance(c: &Cursor<'_>) -> Option<Maintenance> {
    Some(match c.peek_word()?.as_str() {
        "ANALYZE" => Maintenance::Analyze,
        "CHECK" => Maintenance::Check,
        "OPTIMIZE" => Maintenance::Optimize,
        "REPAIR" => Maintenance::Repair,
        _ => return None,
    })
}

/// QUICK, EXTENDED and the like.
fn words(c: &mut Cursor<'_>) -> Vec<String> {
    let mut list = Vec::new();
    while let Some(w) = c.peek_word() {
        list.push(w);
        c.next();
    }
    list
}

fn partition_word(c: &mut Cursor<'_>) -> SqlResult<()> {
    c.expect("PARTITION")?;
    if !c.eat("NO_WRITE_TO_BINLOG") {
        c.eat("LOCAL");
    }
    Ok(())
}

fn operation(c: &mut Cursor<'_>) -> SqlResult<PartitionOp> {
    if c.is("PARTITION") {
        return by(c).map(PartitionOp::By);
    }
    if c.eat("REMOVE") {
        c.expect("PARTITIONING")?;
        return Ok(PartitionOp::Remove);
    }
    let word = c.peek_word().unwrap_or_default();
    c.next();
    partition_word(c)?;
    Ok(match word.as_str() {
        "ADD" => {
            let count = count(c)?;
            PartitionOp::Add {
                partitions: if count.is_none() {
                    definitions(c)?
                } else {
                    Vec::new()
                },
                count,
            }
        }
        "DROP" => PartitionOp::Drop(names(c)?),
        "TRUNCATE" => PartitionOp::Truncate(names_or_all(c)?),
        "COALESCE" => PartitionOp::Coalesce(c.number()?),
        "REBUILD" => PartitionOp::Rebuild(names_or_all(c)?),
        "REORGANIZE" => {
            if c.at_end() {
                return Err(SqlError::new(
                    1511,
                    "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables using HASH PARTITIONs",
                ));
            }
            let from = names(c)?;
            c.expect("INTO")?;
            PartitionOp::Reorganize {
                from,
                into: definitions(c)?,
            }
        }
        "EXCHANGE" => {
            let partition = c.ident()?;
            c.expect("WITH")?;
            c.expect("TABLE")?;
            let table = c.table_name()?;
            let validate = !c.eat("WITHOUT");
            if validate {
                if c.eat("WITH") {
                    c.expect("VALIDATION")?;
                }
            } else {
                c.expect("VALIDATION")?;
            }
            PartitionOp::Exchange {
                partition,
                table,
                validate,
            }
        }
        other => {
            drain(c);
            return Err(SqlError::unsupported(format_args!(
                "ALTER TABLE ... {other} PARTITION"
            )));
        }
    })
}
