//! What decides a row's partition: an expression over its columns, or columns.

use super::{By, Partitioning};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::expr::{ArithmeticOp, EvalContext, Expr, ExprKind, Func, IntervalUnit, RowRef, Scope};
use crate::parse::ast::{self, PartitionMethod};
use crate::parse::with_expression;
use crate::row::encode_sort_value;
use crate::types::{BaseType, Column, Family, Schema, SqlType};
use crate::value::{Date, Value};
use millpond_syntax::quote::quote_name;

/// What decides, bound to a table's columns.
#[derive(Debug)]
pub struct Function {
    /// The expression; `None`: the columns themselves.
    pub expr: Option<Expr>,
    /// The columns it reads, or the columns that decide, in order.
    pub columns: Vec<usize>,
    /// Types of the values that decide.
    pub types: Vec<SqlType>,
    /// The expression never falls as its one column rises.
    pub monotone: Option<Monotone>,
}

/// How an expression follows its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotone {
    /// It never falls.
    Rising,
    /// It never falls, but days that do not exist give NULL.
    RisingOrNull,
}

/// Names in a partition function.
struct Columns<'a> {
    columns: &'a [Column],
    env: &'a SessionEnv,
}

impl Scope for Columns<'_> {
    fn session(&self) -> &SessionEnv {
        self.env
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        let found = self
            .columns
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name))
            .filter(|_| qualifier.is_empty());
        let at = found.ok_or_else(|| unknown_column(qualifier, name, self.clause()))?;
        let c = &self.columns[at];
        Ok(Expr::column(0, at, c.ty.clone(), c.nullable, &c.name))
    }
    fn param(&mut self, _: u32) -> SqlResult<usize> {
        Err(not_allowed())
    }
    fn subquery(&mut self, _: &ast::Query, _: crate::expr::SubqueryKind) -> SqlResult<Expr> {
        Err(not_allowed())
    }
    fn takes_date(&self, _: Date) -> bool {
        true
    }
    fn clause(&self) -> &'static str {
        "partition function"
    }
}

/// 1564.
pub fn not_allowed() -> SqlError {
    SqlError::new(1564, "This partition function is not allowed")
}

/// 1486.
fn not_fixed() -> SqlError {
    SqlError::new(
        1486,
        "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed",
    )
}

/// 1659.
fn field_type(name: &str) -> SqlError {
    SqlError::new(
        1659,
        format!("Field '{name}' is of a not allowed type for this type of partitioning"),
    )
}

/// Binds an expression over columns.
pub fn bind_over(e: &ast::Expr, columns: &[Column], env: &SessionEnv) -> SqlResult<Expr> {
    crate::expr::bind(e, &mut Columns { columns, env })
}

impl Partitioning {
    /// What decides. `schema`: the table's, always the same.
    #[inline]
    pub fn function(&self, schema: &Schema, env: &SessionEnv) -> SqlResult<&Function> {
        self.bound(|| self.bind(schema, env))
    }

    fn bind(&self, schema: &Schema, env: &SessionEnv) -> SqlResult<Function> {
        match &self.by {
            By::Expr(text) => {
                // On behalf of statements that do not nest as it does.
                with_expression(text, |e| {
                    Ok(Function::of_expr(bind_over(e, &schema.columns, env)?))
                })
            }
            By::Columns(names) => Function::of_columns(self.method, names, schema),
        }
    }
}

impl Function {
    fn of_expr(expr: Expr) -> Function {
        let mut columns = Vec::new();
        expr.columns(&mut |_, c| {
            if !columns.contains(&c) {
                columns.push(c);
            }
        });
        let monotone = monotone(&expr);
        let types = vec![expr.ty.clone()];
        let bare = matches!(expr.kind, ExprKind::Column { .. });
        Function {
            columns,
            types,
            monotone,
            expr: (!bare).then_some(expr),
        }
    }

    fn of_columns(
        method: PartitionMethod,
        names: &[String],
        schema: &Schema,
    ) -> SqlResult<Function> {
        let mut columns = Vec::new();
        for name in names {
            let at = schema.column(name).ok_or_else(|| {
                SqlError::new(
                    1488,
                    "Field in list of fields for partition function not found in table",
                )
            })?;
            if columns.contains(&at) {
                return Err(SqlError::new(
                    1652,
                    format!("Duplicate partition field name '{name}'"),
                ));
            }
            columns.push(at);
        }
        if names.is_empty() {
            // KEY (): the primary key, or what stands in for it.
            columns.extend(schema.indexes[0].parts.iter().map(|p| p.column));
            if method != PartitionMethod::Key || columns.is_empty() {
                return Err(SqlError::new(
                    1488,
                    "Field in list of fields for partition function not found in table",
                ));
            }
        }
        let types = columns.iter().map(|&c| schema.columns[c].ty.clone());
        Ok(Function {
            types: types.collect(),
            expr: None,
            columns,
            monotone: None,
        })
    }

    /// Appends the bytes of what decides about a row of values.
    #[inline]
    pub fn key(&self, values: &[Value<'_>], env: &SessionEnv, out: &mut Vec<u8>) -> SqlResult<()> {
        match &self.expr {
            None => {
                for (&c, ty) in self.columns.iter().zip(&self.types) {
                    put_key(&values[c], ty, env, out);
                }
            }
            Some(_) => put_key(&self.value(values, env)?, &self.types[0], env, out),
        }
        Ok(())
    }

    /// The value of the expression (or of the first column) for a row of values.
    pub fn value(&self, values: &[Value<'_>], env: &SessionEnv) -> SqlResult<Value<'static>> {
        let Some(expr) = &self.expr else {
            return Ok(values[self.columns[0]].clone().into_owned());
        };
        let rows = [RowRef::Values(values)];
        let cx = EvalContext {
            rows: &rows,
            params: &[],
            session: env,
        };
        Ok(expr.eval(&cx)?.into_owned())
    }
}

/// Appends the bytes of a deciding value. Timestamps count in UTC, whatever zone the session is in.
#[inline]
pub fn put_key(value: &Value<'_>, ty: &SqlType, env: &SessionEnv, out: &mut Vec<u8>) {
    if ty.base == BaseType::Timestamp
        && let Some(at) = value.to_datetime()
    {
        let micros = if at.date.is_zero() {
            i64::MIN
        } else {
            let (seconds, micro) = at.to_unix(env.zone.get());
            seconds * 1_000_000 + i64::from(micro)
        };
        return encode_sort_value(&Value::Int(micros), &SqlType::bigint(), false, out);
    }
    encode_sort_value(value, ty, false, out);
}

/// Whether an expression of one column never falls as that column rises.
fn monotone(e: &Expr) -> Option<Monotone> {
    let column = |e: &Expr| matches!(e.kind, ExprKind::Column { .. });
    match &e.kind {
        ExprKind::Column { .. } => Some(Monotone::Rising),
        ExprKind::Extract(of, IntervalUnit::Year | IntervalUnit::YearMonth, _) if column(of) => {
            Some(Monotone::Rising)
        }
        ExprKind::Function(Func::ToDays | Func::ToSeconds, args) if column(&args[0]) => {
            Some(Monotone::RisingOrNull)
        }
        ExprKind::Function(Func::UnixTimestamp, args) if args.len() == 1 && column(&args[0]) => {
            Some(Monotone::Rising)
        }
        _ => None,
    }
}

/// Checks a definition's expression: errors 1486, 1491, 1502, 1564, 1659.
pub fn check_expr(e: &Expr, columns: &[Column]) -> SqlResult<()> {
    let mut result = Ok(());
    let mut any = false;
    e.walk(&mut |e| {
        if result.is_ok() {
            result = allowed(e);
        }
        if let ExprKind::Column { column, .. } = e.kind {
            any = true;
            if (columns[column].ty.is_blob() || columns[column].ty.is_json()) && result.is_ok() {
                result = Err(blob());
            }
        }
    });
    result?;
    if !any {
        return Err(not_fixed());
    }
    if let ExprKind::Column { column, .. } = e.kind
        && !e.ty.is_integer()
    {
        return Err(field_type(&columns[column].name));
    }
    if !e.ty.is_integer() {
        return Err(SqlError::new(
            1491,
            "The PARTITION function returns the wrong type",
        ));
    }
    Ok(())
}

/// 1502.
fn blob() -> SqlError {
    SqlError::new(1502, "A BLOB field is not allowed in partition function")
}

/// Whether a partition function may hold this node.
fn allowed(e: &Expr) -> SqlResult<()> {
    use ExprKind as K;
    let of = |e: &Expr, list: &[BaseType]| {
        if list.contains(&e.ty.base) {
            Ok(())
        } else {
            Err(not_fixed())
        }
    };
    use BaseType::{Date, DateTime, Time, Timestamp};
    match &e.kind {
        K::Column { .. } | K::Literal(_) | K::Negate(_) => Ok(()),
        K::Arithmetic(op, _) if *op != ArithmeticOp::Div => Ok(()),
        K::Extract(of_what, unit, _) => {
            use IntervalUnit as U;
            let time = matches!(
                unit,
                U::Hour
                    | U::Minute
                    | U::Second
                    | U::Microsecond
                    | U::HourMinute
                    | U::HourSecond
                    | U::MinuteSecond
                    | U::HourMicrosecond
                    | U::MinuteMicrosecond
                    | U::SecondMicrosecond
            );
            if time {
                of(of_what, &[Time, DateTime])
            } else if matches!(unit, U::Week) {
                Err(not_allowed())
            } else {
                of(of_what, &[Date, DateTime])
            }
        }
        K::Function(f, args) => match *f {
            Func::Abs | Func::Ceil | Func::Floor => Ok(()),
            Func::DayOfWeek | Func::Weekday | Func::DayOfYear | Func::ToDays | Func::ToSeconds => {
                of(&args[0], &[Date, DateTime])
            }
            // Without a mode it would follow default_week_format.
            Func::YearWeek => of(&args[0], &[Date, DateTime]),
            Func::DateDiff => {
                of(&args[0], &[Date, DateTime])?;
                of(&args[1], &[Date, DateTime])
            }
            Func::TimeToSec => of(&args[0], &[Time, DateTime]),
            Func::UnixTimestamp if args.len() == 1 => of(&args[0], &[Timestamp]),
            Func::UnixTimestamp => Err(not_fixed()),
            _ => Err(not_allowed()),
        },
        _ => Err(not_allowed()),
    }
}

/// Checks the columns of COLUMNS and KEY: errors 1502, 1655, 1659.
pub fn check_columns(method: PartitionMethod, list: &[usize], columns: &[Column]) -> SqlResult<()> {
    if list.len() > 16 {
        return Err(SqlError::new(
            1655,
            "Too many fields in 'list of partition fields'",
        ));
    }
    for &c in list {
        let c = &columns[c];
        use BaseType as B;
        if c.ty.is_blob() || c.ty.is_json() {
            return Err(blob());
        }
        let fits = method == PartitionMethod::Key
            || c.ty.family() == Family::Integer
            || matches!(
                c.ty.base,
                B::Date | B::DateTime | B::Char | B::VarChar | B::Binary | B::VarBinary
            );
        if !fits {
            return Err(field_type(&c.name));
        }
    }
    Ok(())
}

/// An expression as SHOW CREATE TABLE prints it: names in backticks, functions in lower case, every operation in
/// parentheses.
pub fn expr_text(e: &ast::Expr, columns: &[Column]) -> SqlResult<String> {
    use ast::ExprKind as A;
    let text = |e: &ast::Expr| expr_text(e, columns);
    match &e.kind {
        A::Column(c) => {
            let own = columns
                .iter()
                .find(|own| own.name.eq_ignore_ascii_case(c.name()));
            Ok(quote_name(own.map_or(c.name(), |own| &own.name)))
        }
        A::Null | A::Bool(_) | A::Int(_) | A::Literal(_) => Ok(e.to_string()),
        A::Unary(ast::UnaryOp::Minus, e) => Ok(format!("-({})", text(e)?)),
        A::Unary(ast::UnaryOp::Plus, e) => text(e),
        A::Binary(op, sides) => operation(*op, &text(&sides[0])?, &text(&sides[1])?),
        A::Chain(c) => {
            let mut left = text(&c.first)?;
            for term in &c.rest {
                left = operation(term.op, &left, &text(&term.operand)?)?;
            }
            Ok(left)
        }
        A::Special(s) => match &**s {
            ast::Special::Extract(unit, e) => {
                let unit = crate::expr::IntervalUnit::from(*unit).name().to_lowercase();
                Ok(format!("extract({unit} from {})", text(e)?))
            }
            _ => Err(not_allowed()),
        },
        A::Call(c) => {
            let args = c
                .args
                .iter()
                .map(|e| text(&e))
                .collect::<SqlResult<Vec<_>>>()?;
            let name = c.name.as_str().to_lowercase();
            Ok(match (name.as_str(), args.as_slice()) {
                ("mod", [a, b]) => format!("({a} % {b})"),
                ("day", _) => format!("dayofmonth({})", args.join(",")),
                ("ceil", _) => format!("ceiling({})", args.join(",")),
                _ => format!("{name}({})", args.join(",")),
            })
        }
        A::Held(held) => text(&held.get()),
        _ => Err(not_allowed()),
    }
}

fn operation(op: ast::BinaryOp, left: &str, right: &str) -> SqlResult<String> {
    use ast::BinaryOp as B;
    let op = match op {
        B::Add => "+",
        B::Sub => "-",
        B::Mul => "*",
        B::Mod => "%",
        B::IntDiv => "DIV",
        _ => return Err(not_allowed()),
    };
    Ok(format!("({left} {op} {right})"))
}
