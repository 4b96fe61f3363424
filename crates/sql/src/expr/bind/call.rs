//! Function calls: scalar, aggregate, and those with a syntax of their own.

use std::sync::Arc;

use parking_lot::Mutex;
use sqlparser::ast;

use super::comparisons::{as_number, equal_within};
use super::operators::{arithmetic, branch};
use super::{Scope, bind, is_null, is_param, sent};
use crate::error::{SqlError, SqlResult};
use crate::expr::func::{self, Func};
use crate::expr::{
    AggregateKind, AggregateSpec, ArithmeticOp, Expr, ExprKind, IntervalUnit, RandState, aggregate,
    interval,
};
use crate::types::{Collation, SqlType};
use crate::value::Value;

/// Where bytes are wanted of what CONVERT made latin1, they are latin1's: texts are Unicode everywhere else.
pub(super) fn latin1_bytes(mut e: Expr) -> Expr {
    if let ExprKind::Function(f @ Func::ToLatin1, _) = &mut e.kind {
        *f = Func::Latin1Bytes;
        e.ty = SqlType::varchar(e.ty.length, Collation::Binary);
    }
    e
}

/// A call of a catalogue function with bound arguments.
pub(super) fn function(f: Func, mut args: Vec<Expr>, scope: &mut dyn Scope) -> Expr {
    if f.reads_bytes() {
        args = args.into_iter().map(latin1_bytes).collect();
    }
    sent::beside_bytes(&mut args, scope);
    infer_params(f, &mut args);
    if f.takes_numbers() {
        args.iter_mut().for_each(as_number);
    }
    let (ty, nullable) = func::result_type(f, &args, scope.collation());
    if f == Func::Rand && args.len() == 1 && args[0].is_const() {
        scope.keep_private();
        let seed = Box::new(args.remove(0));
        let state = Arc::new(Mutex::new(RandState::default()));
        return Expr::new(ExprKind::SeededRand(seed, state), ty, false);
    }
    Expr::new(ExprKind::Function(f, args), ty, nullable)
}

/// Placeholders among arguments that must have a type in common get that of the others.
fn infer_params(f: Func, args: &mut [Expr]) {
    if !f.takes_alike() {
        return;
    }
    if let Some(ty) = args.iter().find(|a| !is_param(a)).map(|a| a.ty.clone()) {
        for a in args.iter_mut().filter(|a| is_param(a)) {
            a.ty = ty.clone();
        }
    }
}

/// Functions that need no parentheses: CURRENT_DATE and the like.
pub(super) fn bare_name(name: &str, scope: &mut dyn Scope) -> SqlResult<Option<Expr>> {
    const BARE: [&str; 9] = [
        "CURRENT_DATE",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "CURRENT_USER",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "UTC_DATE",
        "UTC_TIME",
        "UTC_TIMESTAMP",
    ];
    if !BARE.iter().any(|b| b.eq_ignore_ascii_case(name)) {
        return Ok(None);
    }
    Ok(func::find(name, 0)?.map(|f| function(f, Vec::new(), scope)))
}

fn unit(name: &str) -> SqlResult<IntervalUnit> {
    IntervalUnit::by_name(name).ok_or_else(|| SqlError::syntax(format!("near '{name}'")))
}

/// `date ± INTERVAL ...`.
pub(super) fn add_interval(
    date: Expr,
    i: &ast::Interval,
    minus: bool,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let Some(field) = &i.leading_field else {
        return Err(SqlError::syntax(format!("near '{i}'")));
    };
    let amount = bind(&i.value, scope)?;
    Ok(shift(date, amount, unit(&field.to_string())?, minus))
}

fn shift(date: Expr, amount: Expr, unit: IntervalUnit, minus: bool) -> Expr {
    let ty = interval::date_add_type(&date.ty, &amount.ty, unit);
    Expr::new(
        ExprKind::DateAdd(Box::new([date, amount]), unit, minus),
        ty,
        true,
    )
}

fn extract(e: Expr, unit: IntervalUnit) -> Expr {
    let ty = SqlType {
        length: unit.digits(),
        ..SqlType::bigint()
    };
    Expr::new(ExprKind::Extract(Box::new(e), unit), ty, true)
}

/// Expressions that the parser gives a node of their own though they are functions.
pub(super) fn special(expr: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::Expr as A;
    Ok(match expr {
        A::Function(f) => call(f, scope)?,
        A::Extract { field, expr, .. } => extract(bind(expr, scope)?, unit(&field.to_string())?),
        A::Ceil { expr, .. } => {
            let args = vec![bind(expr, scope)?];
            function(Func::Ceil, args, scope)
        }
        A::Floor { expr, .. } => {
            let args = vec![bind(expr, scope)?];
            function(Func::Floor, args, scope)
        }
        A::Position { expr, r#in } => {
            let args = vec![bind(expr, scope)?, bind(r#in, scope)?];
            function(Func::Locate, args, scope)
        }
        A::Substring {
            expr,
            substring_from,
            substring_for,
            ..
        } => {
            let mut args = vec![bind(expr, scope)?];
            match substring_from {
                Some(e) => args.push(bind(e, scope)?),
                None => return Err(func::wrong_arity("SUBSTRING")),
            }
            if let Some(e) = substring_for {
                args.push(bind(e, scope)?);
            }
            function(Func::Substring, args, scope)
        }
        A::Trim {
            trim_where,
            trim_what,
            expr,
            trim_characters,
        } => {
            let mut args = vec![bind(expr, scope)?];
            if let Some(e) = trim_what {
                args.push(bind(e, scope)?);
            }
            if let Some([e]) = trim_characters.as_deref() {
                args.push(bind(e, scope)?);
            }
            let f = match trim_where {
                Some(ast::TrimWhereField::Leading) => Func::LTrim,
                Some(ast::TrimWhereField::Trailing) => Func::RTrim,
                _ => Func::Trim,
            };
            function(f, args, scope)
        }
        other => return Err(SqlError::unsupported(format!("expression {other}"))),
    })
}

/// The arguments of a call as the parser has them.
struct Parsed<'a> {
    args: Vec<&'a ast::Expr>,
    star: bool,
    distinct: bool,
    order_by: Vec<(&'a ast::Expr, bool)>,
    separator: Option<String>,
}

fn arguments(f: &ast::Function) -> SqlResult<Parsed<'_>> {
    let mut p = Parsed {
        args: Vec::new(),
        star: false,
        distinct: false,
        order_by: Vec::new(),
        separator: None,
    };
    let list = match &f.args {
        ast::FunctionArguments::None => return Ok(p),
        ast::FunctionArguments::Subquery(_) => {
            return Err(SqlError::unsupported(format!(
                "subquery as argument of {}",
                f.name
            )));
        }
        ast::FunctionArguments::List(l) => l,
    };
    p.distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
    for a in &list.args {
        match a {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => p.args.push(e),
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => p.star = true,
            other => return Err(SqlError::syntax(format!("near '{other}'"))),
        }
    }
    for c in &list.clauses {
        match c {
            ast::FunctionArgumentClause::OrderBy(v) => {
                for o in v {
                    p.order_by.push((
                        &o.expr,
                        matches!(o.options.sort, Some(ast::OrderBySort::Desc)),
                    ));
                }
            }
            ast::FunctionArgumentClause::Separator(s) => {
                p.separator = s.value.clone().into_string();
            }
            other => return Err(SqlError::unsupported(format!("{other}"))),
        }
    }
    Ok(p)
}

fn call(f: &ast::Function, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let written = super::object_name(&f.name);
    let name = written.to_ascii_uppercase();
    if f.over.is_some() {
        return Err(SqlError::unsupported("window functions"));
    }
    let p = arguments(f)?;
    if let Some(kind) = AggregateKind::by_name(&name) {
        return aggregate_call(kind, &name, p, scope);
    }
    if p.star {
        return Err(SqlError::syntax(format!("near '*' in {name}()")));
    }
    // What keeps an argument that is no expression: a unit, or a column by name.
    let plain = |e: &ast::Expr| match e {
        ast::Expr::Identifier(i) => Some(i.value.clone()),
        _ => None,
    };
    match (name.as_str(), p.args.as_slice()) {
        ("VALUES" | "VALUE", [e]) => {
            return match e {
                ast::Expr::Identifier(i) => scope.inserted_value(&i.value),
                ast::Expr::CompoundIdentifier(v) if !v.is_empty() => {
                    scope.inserted_value(&v[v.len() - 1].value)
                }
                other => Err(SqlError::syntax(format!("near '{other}'"))),
            };
        }
        ("DEFAULT", [e]) => {
            let column = plain(e).ok_or_else(|| SqlError::syntax(format!("near '{e}'")))?;
            return scope.default_of(&column);
        }
        ("TIMESTAMPDIFF" | "TIMESTAMPADD", [u, a, b]) => {
            let u = unit(&plain(u).unwrap_or_else(|| u.to_string()))?;
            let (a, b) = (bind(a, scope)?, bind(b, scope)?);
            if name == "TIMESTAMPADD" {
                return Ok(shift(b, a, u, false));
            }
            let kind = ExprKind::TimestampDiff(Box::new([a, b]), u);
            return Ok(Expr::new(kind, SqlType::bigint(), true));
        }
        ("GET_FORMAT", [kind, which]) => {
            let kind = plain(kind)
                .unwrap_or_else(|| kind.to_string())
                .to_uppercase();
            if !matches!(&*kind, "DATE" | "TIME" | "DATETIME" | "TIMESTAMP") {
                return Err(SqlError::syntax(format!("near '{kind}'")));
            }
            let ty = SqlType::varchar(9, scope.collation());
            let kind = Expr::literal(Value::string(kind), ty);
            let which = bind(which, scope)?;
            return Ok(function(Func::GetFormat, vec![kind, which], scope));
        }
        ("DATE_ADD" | "ADDDATE" | "DATE_SUB" | "SUBDATE", [date, step]) => {
            let minus = matches!(name.as_str(), "DATE_SUB" | "SUBDATE");
            let date = bind(date, scope)?;
            if let ast::Expr::Interval(i) = step {
                return add_interval(date, i, minus, scope);
            }
            if matches!(name.as_str(), "DATE_ADD" | "DATE_SUB") {
                return Err(SqlError::syntax(format!("near '{step}'")));
            }
            let days = bind(step, scope)?;
            return Ok(shift(date, days, IntervalUnit::Day, minus));
        }
        _ => {}
    }
    let mut args = Vec::with_capacity(p.args.len());
    for a in p.args {
        args.push(bind(a, scope)?);
    }
    named(&name, &written, args, scope)
}

/// A function of bound arguments, by upper-case name.
fn named(name: &str, written: &str, mut args: Vec<Expr>, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let count = args.len();
    let need = |n: usize| {
        if count == n {
            Ok(())
        } else {
            Err(func::wrong_arity(name))
        }
    };
    let part = match name {
        "YEAR" => Some(IntervalUnit::Year),
        "QUARTER" => Some(IntervalUnit::Quarter),
        "MONTH" => Some(IntervalUnit::Month),
        "DAY" | "DAYOFMONTH" => Some(IntervalUnit::Day),
        "HOUR" => Some(IntervalUnit::Hour),
        "MINUTE" => Some(IntervalUnit::Minute),
        "SECOND" => Some(IntervalUnit::Second),
        "MICROSECOND" => Some(IntervalUnit::Microsecond),
        _ => None,
    };
    if let Some(u) = part {
        need(1)?;
        return Ok(extract(args.remove(0), u));
    }
    match name {
        "IF" => {
            need(3)?;
            let last = args.pop();
            let then = args.pop().unwrap_or_else(Expr::null);
            let when = args.pop().unwrap_or_else(Expr::null);
            return Ok(branch(vec![(when, then)], last));
        }
        "ISNULL" => {
            need(1)?;
            return Ok(is_null(args.remove(0), false));
        }
        "MOD" => {
            need(2)?;
            let b = args.remove(1);
            return Ok(arithmetic(ArithmeticOp::Mod, args.remove(0), b));
        }
        "COERCIBILITY" => {
            need(1)?;
            let v = Value::Int(super::coercion::coercibility(&args[0]));
            return Ok(Expr::literal(v, SqlType::bigint()));
        }
        "NAME_CONST" => {
            need(2)?;
            if !args.iter().all(Expr::is_const) {
                return Err(SqlError::new(1210, "Incorrect arguments to NAME_CONST"));
            }
            return Ok(args.remove(1));
        }
        "NULLIF" => {
            need(2)?;
            // Only the comparison coerces; the result is the first argument as it is.
            let b = args.remove(1);
            let a = args.remove(0);
            let when = equal_within("nullif", a.clone(), b)?;
            let mut e = branch(
                vec![(when, Expr::literal(Value::Null, SqlType::null()))],
                Some(a),
            );
            e.nullable = true;
            return Ok(e);
        }
        _ => {}
    }
    match func::find(name, count)? {
        Some(f) => Ok(function(f, args, scope)),
        None if func::is_missing(name) => {
            Err(SqlError::unsupported(format_args!("function {name}()")))
        }
        None => {
            let database = scope.session().database.borrow().clone();
            let full = match database {
                Some(d) if !written.contains('.') => format!("{d}.{written}"),
                _ => written.to_string(),
            };
            Err(SqlError::new(
                1305,
                format!("FUNCTION {full} does not exist"),
            ))
        }
    }
}

fn aggregate_call(
    kind: AggregateKind,
    name: &str,
    p: Parsed<'_>,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let mut args = Vec::with_capacity(p.args.len());
    for a in &p.args {
        args.push(bind(a, scope)?);
    }
    let kind = match (kind, p.star, args.len()) {
        (AggregateKind::Count, true, 0) => AggregateKind::CountStar,
        (_, true, _) => return Err(SqlError::syntax(format!("near '*' in {name}()"))),
        (AggregateKind::Count, _, 1) => kind,
        (AggregateKind::Count, _, 2..) if p.distinct => kind,
        (AggregateKind::GroupConcat, _, 1..) => kind,
        (_, _, 1) => kind,
        _ => return Err(SqlError::syntax(format!("near '{name}('"))),
    };
    let mut order_by = Vec::with_capacity(p.order_by.len());
    for (e, desc) in p.order_by {
        order_by.push((bind(e, scope)?, desc));
    }
    if kind.takes_numbers() {
        args.iter_mut().for_each(as_number);
    }
    let ty = aggregate::result_type(kind, &args, scope.collation());
    scope.aggregate(AggregateSpec {
        kind,
        distinct: p.distinct,
        args,
        ty,
        order_by,
        separator: p.separator.unwrap_or_else(|| ",".into()),
    })
}
