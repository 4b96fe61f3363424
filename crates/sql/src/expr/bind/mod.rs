//! From sqlparser's expressions to bound ones: names, types, coercions, constants.

mod call;
pub(crate) mod coercion;
mod literal;
mod sent;

use coercion::agree;
pub(super) use coercion::collation_of;
pub(crate) use literal::literal_number;
pub(crate) use sent::into_bytes;

use std::sync::Arc;

use sqlparser::ast;

use super::{
    AggregateSpec, ArithmeticOp, BitOp, CompareOp, EvalContext, Expr, ExprKind, Func, InList, Like,
    Regexp, kinds,
};
use crate::error::{SqlError, SqlResult};
use crate::expr::eval::bit_string;
use crate::session::env::SessionEnv;
use crate::types::collation::char_count;
use crate::types::{BaseType, Collation, SqlType, derive};
use crate::value::convert::exact_integer;
use crate::value::{Decimal, Value, parse_time};

/// What a subquery in an expression is asked.
#[derive(Debug)]
pub enum SubqueryKind {
    /// One column, at most one row.
    Scalar,
    /// `[NOT] EXISTS`.
    Exists {
        /// NOT.
        negated: bool,
    },
    /// `value [NOT] IN (subquery)`.
    In {
        /// The left side.
        value: Expr,
        /// NOT.
        negated: bool,
    },
    /// `(values) op (subquery)`, or `(values) [NOT] IN (subquery)`.
    Row {
        /// The left side.
        values: Vec<Expr>,
        /// What is asked of the two.
        test: RowTest,
    },
    /// `value op ANY|ALL (subquery)`.
    Quantified {
        /// The left side.
        value: Expr,
        /// Operator.
        op: CompareOp,
        /// ALL rather than ANY.
        all: bool,
    },
}

/// What is asked of a row and the rows of a subquery.
#[derive(Clone, Copy, Debug)]
pub enum RowTest {
    /// How it compares to the one row there is.
    Compare(CompareOp),
    /// Whether it is among them.
    In {
        /// Rather whether it is not.
        negated: bool,
    },
}

/// What names mean where an expression stands.
pub trait Scope {
    /// The session (functions such as DATABASE() and the collation of literals ask it at bind time only for sql_mode).
    fn session(&self) -> &SessionEnv;
    /// Resolves a column: `qualifier` is empty, `[table]` or `[database, table]`. Errors 1054 (see [`unknown_column`]) and 1052.
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr>;
    /// Position of a `?` placeholder; `text` and `span` are sqlparser's (`?` alone, or `?3` if the parser numbered them).
    fn param(&mut self, text: &str, span: sqlparser::tokenizer::Span) -> SqlResult<usize>;
    /// The type of a placeholder's value, where nothing else says what it is; `None` if that is not known or tells nothing.
    fn param_type(&mut self, _n: usize) -> Option<SqlType> {
        None
    }
    /// Notes that a placeholder is compared with something of a type that not every value goes with.
    fn constant_param(&mut self, _n: usize, _base: BaseType) {}
    /// Whether a placeholder that is compared with a string column has a text for a value, as far as is known. The answer becomes
    /// part of the plan.
    fn text_param(&mut self, _n: usize) -> bool {
        true
    }
    /// Takes note of an expression that was bound.
    fn bound(&mut self, _e: &Expr) {}
    /// Notes the type that a user variable has now: a plan with it is for values of that type.
    fn variable_type(&mut self, _name: &Arc<str>, _ty: &SqlType) {}
    /// Notes that a placeholder stands where bytes are wanted: a text for it is what the client sent.
    fn bytes_param(&mut self, _n: usize) {}
    /// Takes an aggregate (its arguments bound in this scope) and gives the expression that stands for its result.
    fn aggregate(&mut self, _spec: AggregateSpec) -> SqlResult<Expr> {
        Err(SqlError::new(1111, "Invalid use of group function"))
    }
    /// Plans a subquery; gives the expression that stands for it.
    fn subquery(&mut self, _query: &ast::Query, _kind: SubqueryKind) -> SqlResult<Expr> {
        Err(SqlError::unsupported("subquery here"))
    }
    /// `VALUES(column)` of INSERT ... ON DUPLICATE KEY UPDATE.
    fn inserted_value(&mut self, _column: &str) -> SqlResult<Expr> {
        Err(SqlError::unsupported(
            "VALUES() outside of ON DUPLICATE KEY UPDATE",
        ))
    }
    /// `DEFAULT(column)`.
    fn default_of(&mut self, _column: &str) -> SqlResult<Expr> {
        Err(SqlError::unsupported("DEFAULT() here"))
    }
    /// Notes that an expression's type or state belongs to this session: nobody else may use a plan with it.
    fn keep_private(&mut self) {}
    /// Which clause this is, for error 1054: `field list`, `where clause`, `order clause`, `group statement`, `having clause`, `on clause`.
    fn clause(&self) -> &'static str;
    /// Collation of literals (`collation_connection`).
    fn collation(&self) -> Collation {
        self.session().collation.get()
    }
}

/// Error 1054 for a column name as written.
pub fn unknown_column(qualifier: &[&str], name: &str, clause: &str) -> SqlError {
    let mut full = String::new();
    for q in qualifier {
        full.push_str(q);
        full.push('.');
    }
    full.push_str(name);
    SqlError::new(1054, format!("Unknown column '{full}' in '{clause}'"))
}

/// Binds an expression: resolves names, derives types, folds constants.
pub fn bind(expr: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let bound = tree(expr, scope)?;
    let bound = fold(bound, scope);
    scope.bound(&bound);
    Ok(bound)
}

/// Binds one node and what is below it.
fn tree(expr: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::Expr as A;
    Ok(match expr {
        A::Identifier(id) => name(&[], id, scope)?,
        A::CompoundIdentifier(parts) => {
            let Some((last, qualifier)) = parts.split_last() else {
                return Err(SqlError::syntax("near an empty name"));
            };
            name(qualifier, last, scope)?
        }
        A::Nested(e) => return bind(e, scope),
        A::Value(v) => literal::value(v, scope)?,
        A::Prefixed { prefix, value } => literal::introduced(prefix, value, scope)?,
        A::TypedString(t) => literal::typed(t, scope)?,
        A::IsNull(e) => is_null(bind(e, scope)?, false),
        A::IsNotNull(e) => is_null(bind(e, scope)?, true),
        A::IsTrue(e) => is_truth(bind(e, scope)?, true, false),
        A::IsNotTrue(e) => is_truth(bind(e, scope)?, true, true),
        A::IsFalse(e) => is_truth(bind(e, scope)?, false, false),
        A::IsNotFalse(e) => is_truth(bind(e, scope)?, false, true),
        A::IsUnknown(e) => is_null(bind(e, scope)?, false),
        A::IsNotUnknown(e) => is_null(bind(e, scope)?, true),
        A::BinaryOp { left, op, right } => binary(left, op, right, scope)?,
        A::UnaryOp { op, expr } => unary(*op, expr, scope)?,
        A::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let mut args = [bind(expr, scope)?, bind(low, scope)?, bind(high, scope)?];
            sent::beside_bytes(&mut args, scope);
            let [value, low, high] = &mut args;
            beside_strings(low, value, scope);
            beside_strings(high, value, scope);
            between(args, *negated, scope)?
        }
        A::InList {
            expr,
            list,
            negated,
        } => in_list(expr, list, *negated, scope)?,
        A::InSubquery {
            expr,
            subquery,
            negated,
        } => {
            let negated = *negated;
            let kind = match row(expr) {
                Some(v) => SubqueryKind::Row {
                    values: bind_all(v, scope)?,
                    test: RowTest::In { negated },
                },
                None => SubqueryKind::In {
                    value: bind(expr, scope)?,
                    negated,
                },
            };
            scope.subquery(subquery, kind)?
        }
        A::Exists { subquery, negated } => {
            let negated = *negated;
            scope.subquery(subquery, SubqueryKind::Exists { negated })?
        }
        A::Subquery(q) => scope.subquery(q, SubqueryKind::Scalar)?,
        A::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => quantified(left, compare_op, right, false, scope)?,
        A::AllOp {
            left,
            compare_op,
            right,
        } => quantified(left, compare_op, right, true, scope)?,
        A::Like {
            negated,
            expr,
            pattern,
            escape_char,
            ..
        } => like(expr, pattern, escape_char.as_deref(), *negated, scope)?,
        A::RLike {
            negated,
            expr,
            pattern,
            ..
        } => {
            let (value, pattern) = (bind(expr, scope)?, bind(pattern, scope)?);
            regexp(value, pattern, *negated)
        }
        A::Case {
            operand,
            conditions,
            else_result,
            ..
        } => case(
            operand.as_deref(),
            conditions,
            else_result.as_deref(),
            scope,
        )?,
        A::Collate { expr, collation } => {
            let e = bind(expr, scope)?;
            collate(e, &object_name(collation))?
        }
        A::Cast {
            expr, data_type, ..
        } => {
            let e = bind(expr, scope)?;
            cast_to(e, data_type, scope)?
        }
        A::Convert {
            expr,
            data_type,
            charset,
            ..
        } => {
            let e = bind(expr, scope)?;
            match (data_type, charset) {
                (Some(t), _) => cast_to(e, t, scope)?,
                (None, Some(c)) => convert_using(e, &object_name(c), scope)?,
                (None, None) => return Err(SqlError::syntax(format!("near '{expr}'"))),
            }
        }
        A::Interval(_) => {
            return Err(SqlError::syntax(format!("near '{expr}'")));
        }
        A::Tuple(v) if v.len() == 1 => return bind(&v[0], scope),
        A::Tuple(_) => return Err(SqlError::new(1241, "Operand should contain 1 column(s)")),
        _ => call::special(expr, scope)?,
    })
}

fn object_name(n: &ast::ObjectName) -> String {
    n.0.iter()
        .filter_map(|p| p.as_ident())
        .map(|i| i.value.clone())
        .collect::<Vec<_>>()
        .join(".")
}

/// A column, or a variable: `@name`, `@@name`, `@@scope.name`.
fn name(qualifier: &[ast::Ident], last: &ast::Ident, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let first = qualifier.first().unwrap_or(last);
    let bare = first.quote_style.is_none();
    if bare && let Some(system) = first.value.strip_prefix("@@") {
        return system_variable(system, qualifier, last, scope);
    }
    if bare
        && qualifier.is_empty()
        && let Some(user) = last.value.strip_prefix('@')
    {
        let user = user.trim_matches(|c| matches!(c, '`' | '\'' | '"'));
        return user_variable(user, scope);
    }
    if bare
        && qualifier.is_empty()
        && let Some(e) = call::bare_name(&last.value, scope)?
    {
        return Ok(e);
    }
    let names: Vec<&str> = qualifier.iter().map(|i| i.value.as_str()).collect();
    scope.column(&names, &last.value)
}

fn system_variable(
    first: &str,
    qualifier: &[ast::Ident],
    last: &ast::Ident,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let (scope_name, var) = if qualifier.is_empty() {
        match first.split_once('.') {
            Some((s, v)) => (s.to_ascii_lowercase(), v.to_string()),
            None => (String::new(), first.to_string()),
        }
    } else {
        (first.to_ascii_lowercase(), last.value.clone())
    };
    let scope_name = match scope_name.as_str() {
        "local" => "session",
        other => other,
    };
    let var = var.to_ascii_lowercase();
    // The value now tells the type; it is read again when the expression is evaluated.
    scope.keep_private();
    let now = (scope.session().sys_var)(scope_name, &var)?;
    let ty = type_of(&now, scope.collation());
    let kind = ExprKind::SystemVariable(Arc::from(scope_name), Arc::from(var));
    Ok(Expr::new(kind, ty, true))
}

fn user_variable(name: &str, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let name: Arc<str> = name.to_ascii_lowercase().into();
    scope.keep_private();
    let ty = match scope.session().user_vars.borrow().get(&*name) {
        Some(v) if !v.is_null() => type_of(v, scope.collation()),
        _ => SqlType {
            collation: scope.collation(),
            ..SqlType::new(BaseType::LongText)
        },
    };
    scope.variable_type(&name, &ty);
    Ok(Expr::new(ExprKind::UserVariable(name), ty, true))
}

/// The type that a value has by itself.
pub fn type_of(v: &Value<'_>, collation: Collation) -> SqlType {
    match v {
        Value::Null => SqlType::null(),
        Value::Int(_) => SqlType::bigint(),
        Value::UInt(_) => SqlType::ubigint(),
        Value::Double(_) => SqlType::double(),
        Value::Decimal(d) => SqlType::decimal(d.precision(), d.scale()),
        Value::Bytes(b) => SqlType::varchar(char_count(b) as u32, collation),
        Value::Date(_) => SqlType::new(BaseType::Date),
        Value::DateTime(d) => SqlType::datetime(if d.micro == 0 { 0 } else { 6 }),
        Value::Time(t) => {
            let fsp = if t.micros % 1_000_000 == 0 { 0 } else { 6 };
            SqlType::temporal(BaseType::Time, fsp)
        }
    }
}

/// Whether a value may stand where one of a type was expected: NULL anywhere, a text where there is room for it.
pub fn is_of(v: &Value<'_>, ty: &SqlType) -> bool {
    match v {
        Value::Null => true,
        Value::Bytes(b) => ty.is_string() && ty.length as usize >= char_count(b),
        v => type_of(v, ty.collation) == *ty,
    }
}

fn is_null(e: Expr, negated: bool) -> Expr {
    let e = Box::new(e);
    let kind = if negated {
        ExprKind::IsNotNull(e)
    } else {
        ExprKind::IsNull(e)
    };
    Expr::new(kind, SqlType::boolean(), false)
}

fn is_truth(e: Expr, asked: bool, negated: bool) -> Expr {
    Expr::new(
        ExprKind::IsTruth(Box::new(e), asked, negated),
        SqlType::boolean(),
        false,
    )
}

fn predicate(kind: ExprKind, nullable: bool) -> Expr {
    Expr::new(kind, SqlType::boolean(), nullable)
}

/// Gives a placeholder the type of its value.
pub fn by_value(e: &mut Expr, scope: &mut dyn Scope) {
    if let ExprKind::Param(n) = e.kind
        && let Some(ty) = scope.param_type(n)
    {
        e.ty = ty;
    }
}

/// A placeholder of which only the place it stands in tells what it is.
fn is_free(e: &Expr) -> bool {
    is_param(e) && e.ty.is_string()
}

fn is_param(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Param(_))
}

/// Makes two sides of a comparison comparable: a placeholder gets the other's type, a constant is read as the other's kind once and
/// not per row, an ENUM against a number is its position.
fn harmonise(a: &mut Expr, b: &mut Expr) {
    if is_param(a) && !is_param(b) {
        a.ty = b.ty.clone();
    } else if is_param(b) && !is_param(a) {
        b.ty = a.ty.clone();
    }
    constant_as(a, &b.ty);
    constant_as(b, &a.ty);
    beside(a, b);
    beside(b, a);
}

/// Makes a number of what is one beside a number; of an ENUM beside a parameter that is known when it runs.
fn beside(e: &mut Expr, other: &Expr) {
    if is_param(other) && e.ty.base == BaseType::Enum && !is_param(e) {
        let inner = std::mem::replace(e, Expr::null());
        let (ty, nullable) = (inner.ty.clone(), inner.nullable);
        let kind = ExprKind::EnumBeside(Box::new([inner, other.clone()]));
        *e = Expr::new(kind, ty, nullable);
    } else if other.ty.is_numeric() {
        as_number(e);
    }
}

/// What an ENUM, or a hexadecimal or bit literal, is where a number is wanted.
pub(crate) fn as_number(e: &mut Expr) {
    if let ExprKind::BitString(Value::Bytes(b)) = &e.kind {
        *e = Expr::literal(Value::UInt(bit_string(b)), SqlType::ubigint());
    } else if e.ty.base == BaseType::Enum && !is_param(e) {
        let inner = std::mem::replace(e, Expr::null());
        let nullable = inner.nullable;
        let kind = ExprKind::EnumIndex(Box::new(inner));
        *e = Expr::new(kind, SqlType::bigint(), nullable);
    }
}

/// Reads a string constant as what it is compared with, where that is what the comparison would do for every row.
fn constant_as(e: &mut Expr, other: &SqlType) {
    let ExprKind::Literal(Value::Bytes(text)) = &e.kind else {
        return;
    };
    let read = match other.base {
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => {
            match parse_time::parse_datetime(text) {
                Some(p) if p.has_time || other.base != BaseType::Date => {
                    Some((Value::DateTime(p.value), SqlType::datetime(6)))
                }
                Some(p) => Some((Value::Date(p.value.date), SqlType::new(BaseType::Date))),
                None => None,
            }
        }
        BaseType::Time => parse_time::parse_time(text)
            .map(|p| (Value::Time(p.value), SqlType::temporal(BaseType::Time, 6))),
        // Two digits stand for four, see `constant_beside`.
        BaseType::Year => None,
        _ if other.is_integer() => exact_integer(text)
            .and_then(|v| i64::try_from(v).ok())
            .map(|v| (Value::Int(v), SqlType::bigint())),
        _ => None,
    };
    if let Some((value, ty)) = read {
        *e = Expr::literal(value, ty);
    }
}

/// A placeholder beside a string column that has no text for a value is no key of the column's index.
fn beside_strings(e: &mut Expr, other: &Expr, scope: &mut dyn Scope) {
    let column = matches!(other.kind, ExprKind::Column { .. });
    let ExprKind::Param(n) = e.kind else { return };
    if column && other.ty.is_string() && other.ty.base != BaseType::Enum && !scope.text_param(n) {
        let param = std::mem::replace(e, Expr::null());
        let nullable = param.nullable;
        let kind = ExprKind::Beside(Box::new(param), BaseType::Double);
        *e = Expr::new(kind, SqlType::double(), nullable);
    }
}

/// Makes of a constant what it is beside a year or a date.
fn constant_beside(e: &mut Expr, other: &Expr, scope: &mut dyn Scope) -> SqlResult<()> {
    let base = other.ty.base;
    let concerns = match base {
        BaseType::Year => matches!(other.kind, ExprKind::Column { .. }),
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => {
            !matches!(other.kind, ExprKind::Param(_) | ExprKind::Beside(..))
        }
        _ => false,
    };
    if !concerns {
        return Ok(());
    }
    match &e.kind {
        ExprKind::Param(n) => {
            scope.constant_param(*n, base);
            let param = std::mem::replace(e, Expr::null());
            let (ty, nullable) = (param.ty.clone(), param.nullable);
            *e = Expr::new(ExprKind::Beside(Box::new(param), base), ty, nullable);
        }
        ExprKind::Literal(v) => {
            let (before, v) = (v.clone(), kinds::constant(v.clone(), base)?);
            if base == BaseType::Year && v.is_number() {
                let ty = type_of(&v, Collation::Binary);
                *e = Expr::literal(v, ty);
            } else if matches!(before, Value::Bytes(_)) {
                constant_as(e, &other.ty);
            }
        }
        _ => {}
    }
    Ok(())
}

/// The collation of a comparison.
fn comparison_collation(list: &[&Expr]) -> Collation {
    coercion::collation_of(list).unwrap_or(Collation::Utf8mb4GeneralCi)
}

/// `a op b`.
pub(super) fn compare(op: CompareOp, mut a: Expr, mut b: Expr) -> Expr {
    harmonise(&mut a, &mut b);
    compare_harmonised(op, a, b)
}

fn compare_harmonised(op: CompareOp, a: Expr, b: Expr) -> Expr {
    let collation = comparison_collation(&[&a, &b]);
    let nullable = op != CompareOp::NullSafeEq && (a.nullable || b.nullable);
    predicate(ExprKind::Compare(op, Box::new([a, b]), collation), nullable)
}

/// The same as a statement has it: error 1267 where the sides agree on no collation.
fn compare_agreeing(op: CompareOp, a: Expr, b: Expr) -> SqlResult<Expr> {
    agree(&[&a, &b], op.symbol())?;
    Ok(compare(op, a, b))
}

/// The same with constants that are beside a year or a date.
fn compare_constants(
    op: CompareOp,
    mut a: Expr,
    mut b: Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    agree(&[&a, &b], op.symbol())?;
    harmonise(&mut a, &mut b);
    constant_beside(&mut a, &b, scope)?;
    constant_beside(&mut b, &a, scope)?;
    Ok(compare_harmonised(op, a, b))
}

fn between(mut args: [Expr; 3], negated: bool, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let [v, low, high] = &mut args;
    for bound in [&mut *low, &mut *high] {
        harmonise(v, bound);
        constant_beside(bound, v, scope)?;
        constant_beside(v, bound, scope)?;
    }
    agree(&[v, low, high], "between")?;
    let collation = comparison_collation(&[v, low, high]);
    let nullable = v.nullable || low.nullable || high.nullable;
    let kind = ExprKind::Between {
        args: Box::new(args),
        negated,
        collation,
    };
    Ok(predicate(kind, nullable))
}

/// `all of them`, flattened.
fn and(parts: Vec<Expr>) -> Expr {
    let nullable = parts.iter().any(|p| p.nullable);
    let mut flat = Vec::with_capacity(parts.len());
    for p in parts {
        match p.kind {
            ExprKind::And(v) => flat.extend(v),
            _ => flat.push(p),
        }
    }
    predicate(ExprKind::And(flat), nullable)
}

fn or(parts: Vec<Expr>) -> Expr {
    let nullable = parts.iter().any(|p| p.nullable);
    let mut flat = Vec::with_capacity(parts.len());
    for p in parts {
        match p.kind {
            ExprKind::Or(v) => flat.extend(v),
            _ => flat.push(p),
        }
    }
    predicate(ExprKind::Or(flat), nullable)
}

fn not(e: Expr) -> Expr {
    let nullable = e.nullable;
    predicate(ExprKind::Not(Box::new(e)), nullable)
}

fn comparison(op: &ast::BinaryOperator) -> Option<CompareOp> {
    use ast::BinaryOperator as B;
    Some(match op {
        B::Eq => CompareOp::Eq,
        B::NotEq => CompareOp::Ne,
        B::Lt => CompareOp::Lt,
        B::LtEq => CompareOp::Le,
        B::Gt => CompareOp::Gt,
        B::GtEq => CompareOp::Ge,
        B::Spaceship => CompareOp::NullSafeEq,
        _ => return None,
    })
}

fn binary(
    left: &ast::Expr,
    op: &ast::BinaryOperator,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    use ast::BinaryOperator as B;
    if let Some(c) = comparison(op) {
        return compare_rows(c, left, right, scope);
    }
    // AND and OR nest deeply to the left: walk down, not recurse.
    if matches!(op, B::And | B::Or) {
        let mut parts = vec![bind(right, scope)?];
        let mut at = left;
        while let ast::Expr::BinaryOp {
            left,
            op: inner,
            right,
        } = at
        {
            if inner != op {
                break;
            }
            parts.push(bind(right, scope)?);
            at = left;
        }
        parts.push(bind(at, scope)?);
        parts.reverse();
        return Ok(if *op == B::And { and(parts) } else { or(parts) });
    }
    if matches!(op, B::Plus | B::Minus)
        && let ast::Expr::Interval(i) = right
    {
        let date = bind(left, scope)?;
        return call::add_interval(date, i, *op == B::Minus, scope);
    }
    if *op == B::Plus
        && let ast::Expr::Interval(i) = left
    {
        let date = bind(right, scope)?;
        return call::add_interval(date, i, false, scope);
    }
    if *op == B::Assignment {
        let ast::Expr::Identifier(id) = left else {
            return Err(SqlError::syntax(format!("near '{left}'")));
        };
        let name = id.value.trim_start_matches('@').to_ascii_lowercase();
        let value = bind(right, scope)?;
        let (ty, nullable) = (value.ty.clone(), value.nullable);
        let kind = ExprKind::SetUserVariable(Arc::from(name), Box::new(value));
        return Ok(Expr::new(kind, ty, nullable));
    }
    let (mut a, mut b) = (bind(left, scope)?, bind(right, scope)?);
    let math = match op {
        B::Plus => Some(ArithmeticOp::Add),
        B::Minus => Some(ArithmeticOp::Sub),
        B::Multiply => Some(ArithmeticOp::Mul),
        B::Divide => Some(ArithmeticOp::Div),
        B::Modulo => Some(ArithmeticOp::Mod),
        B::MyIntegerDivide | B::DuckIntegerDivide => Some(ArithmeticOp::IntDiv),
        _ => None,
    };
    if let Some(m) = math {
        by_value(&mut a, scope);
        by_value(&mut b, scope);
        return Ok(arithmetic(m, a, b));
    }
    let bit = match op {
        B::BitwiseAnd => Some(BitOp::And),
        B::BitwiseOr => Some(BitOp::Or),
        B::BitwiseXor | B::PGBitwiseXor => Some(BitOp::Xor),
        B::PGBitwiseShiftLeft => Some(BitOp::ShiftLeft),
        B::PGBitwiseShiftRight => Some(BitOp::ShiftRight),
        _ => None,
    };
    if let Some(bit) = bit {
        let nullable = a.nullable || b.nullable;
        let (mut a, mut b) = (a, b);
        for e in [&mut a, &mut b] {
            as_number(e);
        }
        return Ok(Expr::new(
            ExprKind::Bit(bit, Box::new([a, b])),
            SqlType::ubigint(),
            nullable,
        ));
    }
    match op {
        B::Xor => {
            let nullable = a.nullable || b.nullable;
            Ok(predicate(ExprKind::Xor(Box::new([a, b])), nullable))
        }
        B::Regexp => Ok(regexp(a, b, false)),
        // `||` is OR unless sql_mode says PIPES_AS_CONCAT.
        B::StringConcat if scope.session().sql_mode.get().pipes_as_concat => {
            Ok(call::function(Func::Concat, vec![a, b], scope))
        }
        B::StringConcat => Ok(or(vec![a, b])),
        other => Err(SqlError::unsupported(format!("operator {other}"))),
    }
}

/// `a op b` in arithmetic.
pub(super) fn arithmetic(op: ArithmeticOp, mut a: Expr, mut b: Expr) -> Expr {
    for e in [&mut a, &mut b] {
        as_number(e);
    }
    // A placeholder may be any number: a decimal beside decimals, else a double.
    let decimal = |e: &Expr| e.ty.base == BaseType::Decimal;
    let free = |other: &Expr| {
        if decimal(other) {
            other.ty.clone()
        } else {
            SqlType::double()
        }
    };
    match (is_free(&a), is_free(&b)) {
        (true, true) => (a.ty, b.ty) = (SqlType::double(), SqlType::double()),
        (true, false) => a.ty = free(&b),
        (false, true) => b.ty = free(&a),
        (false, false) => {}
    }
    let ty = derive::arithmetic(op, &a.ty, &b.ty);
    let divides = matches!(
        op,
        ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod
    );
    let nullable = divides || a.nullable || b.nullable;
    Expr::new(ExprKind::Arithmetic(op, Box::new([a, b])), ty, nullable)
}

/// The parts of `(a, b)` and `ROW(a, b)`.
fn row(e: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match e {
        ast::Expr::Tuple(v) if v.len() > 1 => Some(v.iter().collect()),
        ast::Expr::Nested(e) => row(e),
        ast::Expr::Function(f) if object_name(&f.name).eq_ignore_ascii_case("row") => {
            let ast::FunctionArguments::List(list) = &f.args else {
                return None;
            };
            let parts = list.args.iter().map(|a| match a {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => Some(e),
                _ => None,
            });
            parts
                .collect::<Option<Vec<_>>>()
                .filter(|parts| parts.len() > 1)
        }
        _ => None,
    }
}

fn bind_all(list: Vec<&ast::Expr>, scope: &mut dyn Scope) -> SqlResult<Vec<Expr>> {
    list.into_iter().map(|e| bind(e, scope)).collect()
}

/// The query of `(SELECT ...)`.
fn subquery_of(e: &ast::Expr) -> Option<&ast::Query> {
    match e {
        ast::Expr::Subquery(q) => Some(q),
        ast::Expr::Nested(e) => subquery_of(e),
        _ => None,
    }
}

/// Comparison of scalars or of rows: rows are compared part by part.
fn compare_rows(
    op: CompareOp,
    left: &ast::Expr,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let (a, b) = match (row(left), row(right)) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => {
            let (mut a, mut b) = (bind(left, scope)?, bind(right, scope)?);
            sent::beside_bytes([&mut a, &mut b], scope);
            beside_strings(&mut a, &b, scope);
            beside_strings(&mut b, &a, scope);
            return compare_constants(op, a, b, scope);
        }
        (Some(v), None) if let Some(q) = subquery_of(right) => {
            let values = bind_all(v, scope)?;
            let test = RowTest::Compare(op);
            return scope.subquery(q, SubqueryKind::Row { values, test });
        }
        (None, Some(v)) if let Some(q) = subquery_of(left) => {
            let values = bind_all(v, scope)?;
            let test = RowTest::Compare(op.flipped());
            return scope.subquery(q, SubqueryKind::Row { values, test });
        }
        (Some(v), None) | (None, Some(v)) => {
            let m = format!("Operand should contain {} column(s)", v.len());
            return Err(SqlError::new(1241, m));
        }
    };
    if a.len() != b.len() {
        let m = format!("Operand should contain {} column(s)", a.len());
        return Err(SqlError::new(1241, m));
    }
    if matches!(op, CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne) {
        // Parts may be rows themselves.
        let parts = a
            .into_iter()
            .zip(b)
            .map(|(x, y)| compare_rows(op, x, y, scope));
        let parts = parts.collect::<SqlResult<Vec<_>>>()?;
        return Ok(if op == CompareOp::Ne {
            or(parts)
        } else {
            and(parts)
        });
    }
    let mut pairs = Vec::with_capacity(a.len());
    for (x, y) in a.into_iter().zip(b) {
        let (mut x, mut y) = (bind(x, scope)?, bind(y, scope)?);
        sent::beside_bytes([&mut x, &mut y], scope);
        agree(&[&x, &y], op.symbol())?;
        pairs.push((x, y));
    }
    let part = |op: CompareOp, p: &(Expr, Expr)| compare(op, p.0.clone(), p.1.clone());
    // (a, b) < (c, d) is a < c or (a = c and b < d).
    let strict = match op {
        CompareOp::Le => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Gt,
        other => other,
    };
    let last = pairs.len() - 1;
    let mut e = part(op, &pairs[last]);
    for p in pairs[..last].iter().rev() {
        let tie = and(vec![part(CompareOp::Eq, p), e]);
        e = or(vec![part(strict, p), tie]);
    }
    Ok(e)
}

fn in_list(
    expr: &ast::Expr,
    list: &[ast::Expr],
    negated: bool,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    if row(expr).is_some() {
        let mut any = Vec::with_capacity(list.len());
        for item in list {
            any.push(compare_rows(CompareOp::Eq, expr, item, scope)?);
        }
        let e = or(any);
        return Ok(if negated { not(e) } else { e });
    }
    let mut value = bind(expr, scope)?;
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        items.push(bind(item, scope)?);
    }
    sent::beside_bytes(std::iter::once(&mut value).chain(&mut items), scope);
    // An ENUM is a number only if all of the list is.
    let numbers = items.iter().all(|i| i.ty.is_numeric());
    if numbers {
        as_number(&mut value);
    }
    let mut nullable = value.nullable;
    for i in &mut items {
        beside_strings(i, &value, scope);
        if is_param(i) {
            i.ty = value.ty.clone();
        }
        constant_as(i, &value.ty);
        constant_beside(i, &value, scope)?;
        if value.ty.is_numeric() {
            as_number(i);
        }
        nullable |= i.nullable;
    }
    if is_param(&value)
        && let Some(first) = items.first()
    {
        value.ty = first.ty.clone();
    }
    // Numbers among the items have no say, nor has a list beside a number.
    let mut strings = vec![&value];
    if value.ty.is_string() {
        strings.extend(&items);
    }
    agree(&strings, " IN ")?;
    let collation = comparison_collation(&strings);
    let l = InList::new(value, items, negated, collation);
    Ok(predicate(ExprKind::InList(Box::new(l)), nullable))
}

fn quantified(
    left: &ast::Expr,
    op: &ast::BinaryOperator,
    right: &ast::Expr,
    all: bool,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let Some(op) = comparison(op) else {
        return Err(SqlError::syntax(format!("near '{op}'")));
    };
    let mut right = right;
    while let ast::Expr::Nested(e) = right {
        right = e;
    }
    let ast::Expr::Subquery(q) = right else {
        return Err(SqlError::syntax(format!("near '{right}'")));
    };
    if let Some(parts) = row(left) {
        // MySQL has no others for rows.
        let negated = match (op, all) {
            (CompareOp::Eq, false) => false,
            (CompareOp::Ne, true) => true,
            _ => return Err(SqlError::new(1241, "Operand should contain 1 column(s)")),
        };
        let values = bind_all(parts, scope)?;
        let test = RowTest::In { negated };
        return scope.subquery(q, SubqueryKind::Row { values, test });
    }
    let value = bind(left, scope)?;
    scope.subquery(q, SubqueryKind::Quantified { value, op, all })
}

fn like(
    expr: &ast::Expr,
    pattern: &ast::Expr,
    escape: Option<&ast::Expr>,
    negated: bool,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let mut value = bind(expr, scope)?;
    let mut pattern = bind(pattern, scope)?;
    sent::beside_bytes([&mut value, &mut pattern], scope);
    if is_param(&pattern) {
        pattern.ty = SqlType::varchar(255, scope.collation());
    }
    let escape = match escape {
        None if scope.session().sql_mode.get().no_backslash_escapes => None,
        None => Some('\\'),
        Some(e) => {
            let e = bind(e, scope)?;
            let wrong = || SqlError::new(1210, "Incorrect arguments to ESCAPE");
            let text = match e.as_constant() {
                Some(Value::Bytes(b)) => String::from_utf8(b.to_vec()).map_err(|_| wrong())?,
                Some(Value::Null) => "\\".into(),
                _ => return Err(wrong()),
            };
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (c, None) => c,
                _ => return Err(wrong()),
            }
        }
    };
    agree(&[&value, &pattern], "like")?;
    let collation = comparison_collation(&[&value, &pattern]);
    let nullable = value.nullable || pattern.nullable;
    let l = Like {
        value,
        pattern,
        escape,
        negated,
        collation,
    };
    Ok(predicate(ExprKind::Like(Box::new(l)), nullable))
}

fn regexp(value: Expr, pattern: Expr, negated: bool) -> Expr {
    let collation = comparison_collation(&[&value, &pattern]);
    let nullable = value.nullable || pattern.nullable;
    let r = Regexp::new(value, pattern, negated, collation);
    predicate(ExprKind::Regexp(Box::new(r)), nullable)
}

fn unary(op: ast::UnaryOperator, e: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::UnaryOperator as U;
    // `-9223372036854775808` is one number: its digits alone do not fit.
    if op == U::Minus
        && let ast::Expr::Value(v) = e
        && let ast::Value::Number(digits, _) = &v.value
    {
        return literal::number(&format!("-{digits}"));
    }
    let mut e = bind(e, scope)?;
    if op == U::Minus || op == U::Plus {
        by_value(&mut e, scope);
    }
    let nullable = e.nullable;
    Ok(match op {
        U::Plus => e,
        U::Not | U::BangNot => not(e),
        U::Minus => {
            as_number(&mut e);
            let ty = match e.ty.base {
                BaseType::Decimal | BaseType::Double => e.ty.clone(),
                BaseType::Null => SqlType::bigint(),
                // The one integer whose negative is none.
                BaseType::BigInt if matches!(e.as_constant(), Some(Value::Int(i64::MIN))) => {
                    let v = Value::Decimal(Decimal::from(i64::MIN).negated());
                    return Ok(Expr::literal(v, SqlType::decimal(19, 0)));
                }
                _ if e.ty.is_integer() => SqlType::bigint(),
                _ if e.ty.is_temporal() => derive::arithmetic(ArithmeticOp::Sub, &e.ty, &e.ty),
                _ => SqlType::double(),
            };
            Expr::new(ExprKind::Negate(Box::new(e)), ty, nullable)
        }
        U::BitwiseNot => {
            as_number(&mut e);
            Expr::new(ExprKind::BitNot(Box::new(e)), SqlType::ubigint(), nullable)
        }
        other => return Err(SqlError::unsupported(format!("operator {other}"))),
    })
}

fn case(
    operand: Option<&ast::Expr>,
    conditions: &[ast::CaseWhen],
    last: Option<&ast::Expr>,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let operand = match operand {
        Some(e) => Some(bind(e, scope)?),
        None => None,
    };
    let mut branches = Vec::with_capacity(conditions.len());
    for c in conditions {
        let when = bind(&c.condition, scope)?;
        let when = match &operand {
            Some(o) => compare_agreeing(CompareOp::Eq, o.clone(), when)?,
            None => when,
        };
        branches.push((when, bind(&c.result, scope)?));
    }
    let mut last = match last {
        Some(e) => Some(bind(e, scope)?),
        None => None,
    };
    sent::beside_bytes(
        branches.iter_mut().map(|b| &mut b.1).chain(&mut last),
        scope,
    );
    Ok(branch(branches, last))
}

/// CASE or IF of bound branches.
fn branch(branches: Vec<(Expr, Expr)>, last: Option<Expr>) -> Expr {
    let results = || branches.iter().map(|(_, r)| r).chain(last.as_ref());
    let known = |e: &&Expr| !is_param(e);
    let ty = results()
        .filter(known)
        .fold(SqlType::null(), |t, e| derive::common(&t, &e.ty));
    let mut ty = if ty.base == BaseType::Null {
        results().next().map_or(ty, |e| e.ty.clone())
    } else {
        ty
    };
    if ty.is_string() {
        let all: Vec<&Expr> = results().collect();
        ty.collation = coercion::collation_of(&all).unwrap_or(ty.collation);
    }
    let nullable = last.is_none() || results().any(|e| e.nullable);
    Expr::new(ExprKind::Case(branches, last.map(Box::new)), ty, nullable)
}

fn collate(e: Expr, name: &str) -> SqlResult<Expr> {
    let collation = Collation::by_name(name)?;
    if e.ty.is_string() && e.ty.collation == Collation::Binary && collation != Collation::Binary {
        let m = format!(
            "COLLATION '{}' is not valid for CHARACTER SET 'binary'",
            collation.name()
        );
        return Err(SqlError::new(1253, m));
    }
    let base = if e.ty.is_string() && e.ty.base != BaseType::Enum {
        e.ty.clone()
    } else {
        SqlType::varchar(derive::text_length(&e.ty), collation)
    };
    let nullable = e.nullable;
    let text = if e.ty.is_string() {
        e
    } else {
        let ty = base.clone();
        Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable)
    };
    let ty = SqlType { collation, ..base };
    Ok(Expr::new(ExprKind::Collate(Box::new(text)), ty, nullable))
}

fn convert_using(e: Expr, charset: &str, scope: &mut dyn Scope) -> SqlResult<Expr> {
    if charset.eq_ignore_ascii_case("latin1") {
        let binary = e.ty.is_string() && e.ty.collation == Collation::Binary;
        let f = if binary {
            Func::FromLatin1
        } else {
            Func::ToLatin1
        };
        return Ok(call::function(f, vec![e], scope));
    }
    let collation = Collation::of_charset(charset)?;
    let e = match collation {
        Collation::Binary => call::latin1_bytes(e),
        _ => e,
    };
    let ty = text_of(&e, collation);
    let nullable = e.nullable || ty.is_character() && may_be_no_text(&e);
    Ok(Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable))
}

/// Whether bytes may come of it that are no text, of which a cast makes NULL.
fn may_be_no_text(e: &Expr) -> bool {
    e.ty.is_string() && e.ty.collation == Collation::Binary || is_param(e)
}

/// A string type as long as an expression's text.
fn text_of(e: &Expr, collation: Collation) -> SqlType {
    match (is_param(e), collation) {
        (true, Collation::Binary) => SqlType::new(BaseType::LongBlob),
        (true, _) => SqlType {
            collation,
            ..SqlType::new(BaseType::LongText)
        },
        _ => {
            // Bytes, of what was counted in characters.
            let widens = collation == Collation::Binary && e.ty.collation != Collation::Binary;
            let length = derive::text_length(&e.ty).max(1);
            SqlType::varchar(length.saturating_mul(if widens { 4 } else { 1 }), collation)
        }
    }
}

fn cast_to(e: Expr, ty: &ast::DataType, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::DataType as D;
    let mut e = e;
    let ty = match ty {
        D::Char(None) | D::Character(None) | D::Varchar(None) | D::Text => {
            text_of(&e, scope.collation())
        }
        D::Binary(None) | D::Varbinary(None) => text_of(&e, Collation::Binary),
        other => SqlType::from_ast(other, scope.collation())?,
    };
    if ty.is_string() && !ty.is_character() {
        e = call::latin1_bytes(e);
    }
    if ty.is_numeric() {
        as_number(&mut e);
    }
    if is_param(&e) {
        e.ty = ty.clone();
    }
    // What is no number or date of the kind becomes NULL (dates) or zero (numbers).
    let nullable = e.nullable
        || ty.is_temporal()
        || ty.base == BaseType::Year
        || ty.is_character() && may_be_no_text(&e);
    Ok(Expr::new(ExprKind::Cast(Box::new(e)), ty, nullable))
}

/// Replaces an expression of constants by its value, unless computing it fails or warns: then it is left for run time.
fn fold(e: Expr, scope: &mut dyn Scope) -> Expr {
    if matches!(
        e.kind,
        ExprKind::Literal(_)
            | ExprKind::BitString(_)
            | ExprKind::Column { .. }
            | ExprKind::Collate(_)
            // What is around it may want its bytes.
            | ExprKind::Function(Func::ToLatin1, _)
    ) {
        return e;
    }
    let mut foldable = true;
    e.walk(&mut |x| {
        foldable &= match &x.kind {
            ExprKind::Literal(_) | ExprKind::BitString(_) => true,
            ExprKind::Column { .. }
            | ExprKind::Param(_)
            | ExprKind::Subquery(_)
            | ExprKind::UserVariable(_)
            | ExprKind::SetUserVariable(..)
            | ExprKind::SystemVariable(..)
            | ExprKind::SeededRand(..) => false,
            // What a time becomes where a date is wanted depends on the day.
            ExprKind::Function(f, args) => {
                f.is_pure() && args.iter().all(|a| a.ty.base != BaseType::Time)
            }
            // A constant of a firm collation is not just any constant.
            ExprKind::Collate(_) => false,
            // What zero dates become depends on sql_mode, what a time becomes on the day.
            // What is cast to a binary string compares as one, unlike a constant.
            ExprKind::Cast(_) => {
                !(x.ty.is_temporal() || x.ty.is_string() && x.ty.collation == Collation::Binary)
            }
            _ => true,
        }
    });
    if !foldable {
        return e;
    }
    let session = scope.session();
    let before = session.diagnostics.borrow().len();
    let cx = EvalContext {
        rows: &[],
        params: &[],
        session,
    };
    let value = e.eval(&cx).map(Value::into_owned);
    let mut diagnostics = session.diagnostics.borrow_mut();
    if diagnostics.len() > before {
        diagnostics.truncate(before);
        return e;
    }
    match value {
        Ok(v) => Expr::new(ExprKind::Literal(v), e.ty, e.nullable),
        Err(_) => e,
    }
}

#[cfg(test)]
mod tests;
