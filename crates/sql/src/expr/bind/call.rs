//! Function calls: scalar, aggregate, and those with a syntax of their own.

use std::borrow::Borrow;
use std::sync::Arc;

use millpond_syntax::ast;
use parking_lot::Mutex;

use super::beside::{name_cast, name_date, sides_of_nullif};
use super::comparisons::{characters, equal_within};
use super::json;
use super::numbers::{as_double, as_number, number_of_member};
use super::operators::{arithmetic, branch};
use super::{Scope, bind, cast, coercion, is_null, is_param, sent};
use crate::error::{SqlError, SqlResult};
use crate::expr::func::{self, Func};
use crate::expr::{
    AggregateKind, AggregateSpec, ArithmeticOp, Expr, ExprKind, Frame, IntervalUnit, RandState,
    WindowFunction, WindowKind, aggregate, interval,
};
use crate::types::{Collation, SqlType, derive};
use crate::value::Value;

/// A call of a catalogue function with bound arguments.
pub(super) fn function(f: Func, mut args: Vec<Expr>, scope: &mut dyn Scope) -> Expr {
    if f.reads_bytes() {
        args.iter_mut().for_each(|a| sent::into_bytes(a, scope));
    }
    if !f.takes_json() {
        args = args.into_iter().map(json::as_text).collect();
    }
    sent::beside_bytes(&mut args, scope);
    infer_params(f, &mut args);
    if f.takes_numbers() {
        if f != Func::BitCount {
            args.iter_mut().for_each(number_of_member);
        }
        args.iter_mut().for_each(as_number);
        if f != Func::BitCount {
            args.iter_mut().for_each(as_double);
        }
    }
    if f == Func::Sha2 && func::has_wrong_bits(&args) {
        scope.tell(1583, func::WRONG_BITS);
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

/// `date ± INTERVAL amount unit`; a text that comes of it is under the connection's collation.
pub(crate) fn shift(
    date: Expr,
    amount: Expr,
    unit: IntervalUnit,
    minus: bool,
    collation: Collation,
) -> Expr {
    // A placeholder stands for a whole number.
    let counted = match amount.kind {
        ExprKind::Param(_) => &SqlType::bigint(),
        _ => &amount.ty,
    };
    let ty = interval::date_add_type(&date.ty, counted, unit, collation);
    Expr::new(
        ExprKind::DateAdd(Box::new([date, amount]), unit, minus),
        ty,
        true,
    )
}

/// EXTRACT, or, `plain`, the function by the unit's name.
fn extract(e: Expr, unit: IntervalUnit, plain: bool) -> Expr {
    let ty = SqlType {
        length: unit.digits(),
        ..SqlType::bigint()
    };
    Expr::new(ExprKind::Extract(Box::new(e), unit, plain), ty, true)
}

/// A call of a catalogue function with arguments yet to be bound.
fn of(
    f: Func,
    args: impl IntoIterator<Item = impl Borrow<ast::Expr>>,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let args = bind_args(args, scope)?;
    Ok(function(f, args, scope))
}

fn bind_args(
    args: impl IntoIterator<Item = impl Borrow<ast::Expr>>,
    scope: &mut dyn Scope,
) -> SqlResult<Vec<Expr>> {
    args.into_iter().map(|e| bind(e.borrow(), scope)).collect()
}

/// Functions with a syntax of their own.
pub(super) fn special(s: &ast::Special, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::Special as S;
    match s {
        S::DateArith {
            subtract,
            date,
            amount,
            unit,
        } => {
            let (date, amount) = (bind(date, scope)?, bind(amount, scope)?);
            Ok(shift(
                date,
                amount,
                (*unit).into(),
                *subtract,
                scope.collation(),
            ))
        }
        S::Cast { array: true, .. } => Err(SqlError::unsupported("CAST ... ARRAY")),
        S::Cast { zone: Some(_), .. } => Err(SqlError::unsupported("AT TIME ZONE")),
        S::Cast { value, to, .. } | S::ConvertTo(value, to) => {
            let bound = bind(value, scope)?;
            let bound = match to {
                ast::CastType::Json => json::truth(value, bound),
                _ => bound,
            };
            cast::cast_to(bound, to, scope)
        }
        S::ConvertUsing(value, charset) => {
            let value = bind(value, scope)?;
            cast::convert_using(value, charset.as_str(), scope)
        }
        S::Extract(unit, e) => Ok(extract(bind(e, scope)?, (*unit).into(), false)),
        S::Trim { side, what, from } => {
            let f = match side {
                ast::TrimSide::Leading => Func::LTrim,
                ast::TrimSide::Trailing => Func::RTrim,
                ast::TrimSide::Unsaid | ast::TrimSide::Both => Func::Trim,
            };
            of(f, [from].into_iter().chain(what), scope)
        }
        S::Substring(text, from, length) => of(
            Func::Substring,
            [text, from].into_iter().chain(length),
            scope,
        ),
        S::Position(what, text) => of(Func::Locate, [what, text], scope),
        S::Char(codes, charset) => {
            let e = of(Func::Char, codes, scope)?;
            match charset {
                Some(name) => cast::convert_using(e, name.as_str(), scope),
                None => Ok(e),
            }
        }
        S::GetFormat(kind, which) => get_format(*kind, which, scope),
        S::TimestampAdd(unit, n, date) => {
            let (n, date) = (bind(n, scope)?, bind(date, scope)?);
            Ok(shift(date, n, (*unit).into(), false, scope.collation()))
        }
        S::TimestampDiff(unit, a, b) => {
            let (a, b) = (bind(a, scope)?, bind(b, scope)?);
            let kind = ExprKind::TimestampDiff(Box::new([a, b]), (*unit).into());
            Ok(Expr::new(kind, SqlType::bigint(), true))
        }
        S::Values(column) => match &column.kind {
            ast::ExprKind::Column(c) => scope.inserted_value(c.name()),
            _ => Err(SqlError::syntax(format_args!("near '{column}'"))),
        },
        S::DefaultOf(column) => match &column.kind {
            ast::ExprKind::Column(c) => scope.default_of(c.name()),
            _ => Err(SqlError::syntax(format_args!("near '{column}'"))),
        },
        S::Interval(args) => of(Func::Interval, args, scope),
        S::Match {
            columns,
            against,
            mode,
        } => super::fulltext::matching(columns, against, *mode, scope),
        S::WeightString {
            levels: Some(_), ..
        } => Err(SqlError::unsupported("LEVEL of WEIGHT_STRING()")),
        S::WeightString { value, padded, .. } => weight_string(value, *padded, scope),
        S::JsonValue {
            value,
            path,
            returning,
            on_empty,
            on_error,
        } => {
            let args = json::Value {
                value,
                path,
                returning: returning.as_ref(),
                on_empty: on_empty.as_ref(),
                on_error: on_error.as_ref(),
            };
            json::value(args, scope)
        }
        S::Grouping(list) => scope.grouping(list),
    }
}

fn weight_string(
    value: &ast::Expr,
    padded: Option<(ast::WeightAs, u64)>,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let mut args = vec![bind(value, scope)?];
    if let Some((kind, length)) = padded {
        if kind == ast::WeightAs::Binary {
            sent::into_bytes(&mut args[0], scope);
        }
        let of_bytes = i64::from(kind == ast::WeightAs::Binary);
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let constant = |n| Expr::literal(Value::Int(n), SqlType::bigint());
        args.extend([constant(length), constant(of_bytes)]);
    }
    Ok(function(Func::WeightString, args, scope))
}

fn get_format(of: ast::FormatOf, which: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let kind = match of {
        ast::FormatOf::Date => "DATE",
        ast::FormatOf::Time => "TIME",
        ast::FormatOf::Datetime => "DATETIME",
    };
    let ty = SqlType::varchar(9, scope.collation());
    let kind = Expr::literal(Value::str(kind), ty);
    let which = bind(which, scope)?;
    Ok(function(Func::GetFormat, vec![kind, which], scope))
}

/// Functions that are words of the language: their arguments have no names.
const GRAMMATICAL: [&str; 22] = [
    "ASCII",
    "CHARSET",
    "COALESCE",
    "COLLATION",
    "DATE",
    "DAY",
    "FORMAT",
    "HOUR",
    "IF",
    "INSERT",
    "LEFT",
    "MICROSECOND",
    "MINUTE",
    "MOD",
    "MONTH",
    "QUARTER",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "TRUNCATE",
    "YEAR",
];

/// A function whose arguments are a list.
pub(super) fn call(c: &ast::Call, scope: &mut dyn Scope) -> SqlResult<Expr> {
    if let Some(database) = &c.database {
        let args = bind_args(&c.args, scope)?;
        if let Some(native) = of_sys(database.as_str(), c.name.as_str(), args.len()) {
            return named(native, &c.name, args, scope);
        }
        let found = scope.stored_function(Some(database.as_str()), &c.name, args)?;
        return found.ok_or_else(|| no_function(database.as_str(), c.name.as_str()));
    }
    let name = c.name.as_str().to_ascii_uppercase();
    // That there is such a function is asked before its arguments are looked at.
    if is_nobodys(&name) && !scope.has_stored_function(&c.name)? {
        return Err(no_such_function(c.name.as_str(), scope));
    }
    let mut args = match name.starts_with("JSON_") {
        true => json::bind_args(&c.args, scope)?,
        false => bind_args(&c.args, scope)?,
    };
    if !GRAMMATICAL.contains(&name.as_str()) {
        for (e, written) in args.iter_mut().zip(c.args.iter()) {
            name_cast(e, || scope.source(&written));
        }
    }
    if !c.arg_names.is_empty() {
        // Names are for loadable functions, of which there are none.
        let name = c.name.as_str();
        let m = format!("Incorrect parameters in the call to native function '{name}'");
        return Err(SqlError::new(1583, m));
    }
    match (name.as_str(), args.len()) {
        ("ANY_VALUE", 1) => gather(AggregateKind::AnyValue, args, scope),
        ("ANY_VALUE", _) => Err(func::wrong_arity(&name)),
        ("ADDDATE" | "SUBDATE", 2) => {
            let days = args.remove(1);
            let date = args.remove(0);
            Ok(shift(
                date,
                days,
                IntervalUnit::Day,
                name == "SUBDATE",
                scope.collation(),
            ))
        }
        ("NULLIF", 2) => nullif(args, &c.args, scope),
        ("NULLIF", _) => Err(func::wrong_arity(&name)),
        _ => {
            func::check_pairs(&name, args.len())?;
            named(&name, &c.name, args, scope)
        }
    }
}

/// NULLIF(): only the comparison coerces, the result is the first argument as it is.
fn nullif(mut args: Vec<Expr>, written: &ast::ExprList, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let mut b = args.remove(1);
    let a = args.remove(0);
    let mut compared = a.clone();
    sent::beside_bytes([&mut compared, &mut b], scope);
    let mut texts = written.iter().map(|e| scope.source(&e));
    let (first, second) = (
        texts.next().unwrap_or_default(),
        texts.next().unwrap_or_default(),
    );
    sides_of_nullif(&mut compared, &mut b, [&first, &second], scope)?;
    name_date(&mut compared, &b, || first);
    name_date(&mut b, &compared, || second);
    // A constant beside bytes is bytes.
    let bytes = !a.ty.has_bytes() && a.ty.is_string() && b.ty.has_bytes() && {
        coercion::hold_of(&a) >= coercion::Coercibility::System
            && coercion::collation_of(&[&a, &b]) == Some(Collation::Binary)
    };
    let when = equal_within("nullif", compared, b)?;
    let null = Expr::literal(Value::Null, SqlType::null());
    let mut e = branch(vec![(when, null)], Some(a), scope.collation());
    e.nullable = true;
    if bytes {
        let length = e.ty.character_lengths().map_or(0, |(_, bytes)| bytes);
        e.ty = SqlType::varchar(length as u32, Collation::Binary);
    }
    Ok(e)
}

/// The function that one of the schema sys is another name of.
fn of_sys(database: &str, name: &str, args: usize) -> Option<&'static str> {
    const SYS: [(&str, &str); 3] = [
        ("format_bytes", "FORMAT_BYTES"),
        ("format_time", "FORMAT_PICO_TIME"),
        ("ps_thread_id", "PS_THREAD_ID"),
    ];
    let same = |f: &&(&str, &str)| f.0.eq_ignore_ascii_case(name);
    let sys = database.eq_ignore_ascii_case("sys") && args == 1;
    sys.then(|| SYS.iter().find(same))?.map(|f| f.1)
}

/// 1305.
fn no_function(database: &str, name: &str) -> SqlError {
    SqlError::new(1305, format!("FUNCTION {database}.{name} does not exist"))
}

/// A function of bound arguments, by upper-case name.
fn named(
    name: &str,
    written: &ast::Ident,
    mut args: Vec<Expr>,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
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
        return Ok(extract(args.remove(0), u, true));
    }
    match name {
        "IF" => {
            need(3)?;
            sent::beside_bytes(&mut args[1..], scope);
            coercion::meet(&[&args[1], &args[2]], "if")?;
            let last = args.pop();
            let then = args.pop().unwrap_or_else(Expr::null);
            let when = args.pop().unwrap_or_else(Expr::null);
            return Ok(branch(vec![(when, then)], last, scope.collation()));
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
        _ => {}
    }
    match func::find(name, count)? {
        Some(f) => {
            if matches!(f.name(), "GREATEST" | "LEAST") && args.iter().any(|a| a.ty.is_json()) {
                scope.tell(
                    1235,
                    "This version of MySQL doesn't yet support 'comparison of JSON in the LEAST and GREATEST operators'",
                );
            }
            // Beside bytes all are bytes.
            sent::beside_bytes(&mut args, scope);
            if let Some(texts) = f.regexp_texts() {
                let list: Vec<&Expr> = args.iter().take(texts).collect();
                let name = f.name().to_ascii_lowercase();
                characters(&list, &name)?;
                coercion::agree_at_all(&list[..2], &name)?;
            }
            if f.joins() || f.compares() {
                let list: Vec<&Expr> = args.iter().collect();
                match f.compares() {
                    true if f == Func::FindInSet => {
                        coercion::agree_at_all(&list, "find_in_set")?;
                    }
                    true => coercion::agree(&list, &f.name().to_ascii_lowercase())?,
                    false => coercion::meet(&list, &f.name().to_ascii_lowercase())?,
                }
                coercion::fit_params(&list, scope);
            }
            Ok(function(f, args, scope))
        }
        None if func::is_missing(name) => {
            Err(SqlError::unsupported(format_args!("function {name}()")))
        }
        None => {
            if let Some(called) = scope.stored_function(None, written, args)? {
                return Ok(called);
            }
            Err(no_such_function(written.as_str(), scope))
        }
    }
}

/// Whether a function of this upper-case name can only be a stored one.
fn is_nobodys(name: &str) -> bool {
    const BOUND_HERE: [&str; 19] = [
        "ADDDATE",
        "ANY_VALUE",
        "COERCIBILITY",
        "DAY",
        "DAYOFMONTH",
        "HOUR",
        "IF",
        "ISNULL",
        "MICROSECOND",
        "MINUTE",
        "MOD",
        "MONTH",
        "NAME_CONST",
        "NULLIF",
        "QUARTER",
        "SECOND",
        "SUBDATE",
        "YEAR",
        "SCHEMA",
    ];
    !func::is_native(name) && !func::is_missing(name) && !BOUND_HERE.contains(&name)
}

/// Error 1305 for a function that is looked for in the database in use.
fn no_such_function(name: &str, scope: &dyn Scope) -> SqlError {
    match &*scope.session().database.borrow() {
        Some(database) => no_function(database, name),
        None => SqlError::new(1305, format!("FUNCTION {name} does not exist")),
    }
}

/// COUNT, SUM and the like.
pub(super) fn aggregate(a: &ast::Aggregate, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::AggregateFunction as A;
    let kind = match a.function {
        A::Count
            if matches!(
                a.args.as_slice(),
                Some([ast::Expr {
                    kind: ast::ExprKind::Star,
                    ..
                }])
            ) =>
        {
            let spec = specified(AggregateKind::CountStar, Vec::new(), scope);
            return placed(a, spec, scope);
        }
        A::Count => AggregateKind::Count,
        A::Sum => AggregateKind::Sum,
        A::Avg => AggregateKind::Avg,
        A::Min => AggregateKind::Min,
        A::Max => AggregateKind::Max,
        A::BitAnd => AggregateKind::BitAnd,
        A::BitOr => AggregateKind::BitOr,
        A::BitXor => AggregateKind::BitXor,
        A::Std | A::Stddev | A::StddevPop => AggregateKind::StddevPop,
        A::StddevSamp => AggregateKind::StddevSamp,
        A::Variance | A::VarPop => AggregateKind::VarPop,
        A::VarSamp => AggregateKind::VarSamp,
        A::GroupConcat => AggregateKind::GroupConcat,
        A::JsonArrayAgg => AggregateKind::JsonArray,
        A::JsonObjectAgg => AggregateKind::JsonObject,
        A::StCollect => AggregateKind::Collect,
    };
    let grouped = a.over.is_none();
    scope.in_aggregate(grouped);
    let bound = bind_aggregated(kind, a, scope);
    scope.after_aggregate(grouped);
    let (args, order_by) = bound?;
    if let AggregateKind::Min | AggregateKind::Max = kind {
        coercion::ordered(&args[0], &a.function.to_string().to_lowercase())?;
    }
    let separator = a.separator.as_deref().unwrap_or(",").to_string();
    let spec = AggregateSpec {
        distinct: a.distinct,
        order_by,
        separator,
        ..specified(kind, args, scope)
    };
    placed(a, spec, scope)
}

/// What rows are sorted by, each with whether it descends.
type SortKeys = Vec<(Expr, bool)>;

/// The arguments of an aggregate, and what they are to be sorted by.
fn bind_aggregated(
    kind: AggregateKind,
    a: &ast::Aggregate,
    scope: &mut dyn Scope,
) -> SqlResult<(Vec<Expr>, SortKeys)> {
    let mut args = match kind {
        AggregateKind::JsonArray | AggregateKind::JsonObject => json::bind_args(&a.args, scope)?,
        _ => bind_args(&a.args, scope)?,
    };
    if kind == AggregateKind::GroupConcat {
        args = args.into_iter().map(json::as_text).collect();
    }
    let mut order_by = Vec::with_capacity(a.order_by.len());
    for o in &a.order_by {
        let desc = o.direction == Some(ast::Direction::Descending);
        order_by.push((bind(&o.expr, scope)?, desc));
    }
    Ok((args, order_by))
}

/// An aggregate of bound arguments.
fn specified(kind: AggregateKind, mut args: Vec<Expr>, scope: &mut dyn Scope) -> AggregateSpec {
    if kind.takes_numbers() {
        if !kind.takes_bits() {
            args.iter_mut().for_each(number_of_member);
        }
        args.iter_mut().for_each(as_number);
        if !kind.takes_bits() {
            args.iter_mut().for_each(as_double);
        }
    }
    if kind == AggregateKind::GroupConcat {
        // As they are kept until all are there.
        for a in args.iter_mut().filter(|a| !a.is_const()) {
            a.ty.chosen = false;
        }
    }
    let ty = aggregate::result_type(
        kind,
        &args,
        scope.collation(),
        scope.session().div_increment.get(),
    );
    AggregateSpec {
        kind,
        distinct: false,
        args,
        ty,
        order_by: Vec::new(),
        separator: ",".into(),
    }
}

/// An aggregate of groups, or with OVER of a window.
fn placed(a: &ast::Aggregate, spec: AggregateSpec, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let Some(over) = &a.over else {
        return scope.aggregate(spec);
    };
    if spec.distinct {
        return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
    }
    if spec.kind == AggregateKind::GroupConcat {
        return Err(SqlError::unsupported("group_concat as window function"));
    }
    let (ty, nullable) = (aggregate::of_one(&spec.ty), spec.nullable());
    let function = WindowFunction {
        kind: WindowKind::Aggregate(Box::new(spec)),
        args: Vec::new(),
        ty,
        nullable,
        frame: Frame::usual(false),
    };
    scope.window(&a.function.to_string().to_lowercase(), function, over)
}

/// ROW_NUMBER() and the like.
pub(super) fn window(w: &ast::WindowCall, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::WindowFunction as W;
    if w.from_last == Some(true) {
        return Err(SqlError::unsupported("FROM LAST"));
    }
    if w.ignore_nulls == Some(true) {
        return Err(SqlError::unsupported("IGNORE NULLS"));
    }
    let mut args = bind_args(&w.args, scope)?;
    sent::beside_bytes(&mut args, scope);
    let of = |n: usize| aggregate::of_one(&args[n].ty);
    let number = SqlType::ubigint;
    let (kind, ty, nullable) = match w.function {
        W::RowNumber => (WindowKind::RowNumber, number(), false),
        W::Rank => (WindowKind::Rank, number(), false),
        W::DenseRank => (WindowKind::DenseRank, number(), false),
        W::PercentRank => (WindowKind::PercentRank, SqlType::double(), false),
        W::CumeDist => (WindowKind::CumeDist, SqlType::double(), false),
        W::Ntile => (WindowKind::Ntile, number(), true),
        W::Lag | W::Lead => {
            let kind = match w.function {
                W::Lag => WindowKind::Lag,
                _ => WindowKind::Lead,
            };
            let ty = match args.get(2) {
                Some(other) => aggregate::of_one(&derive::common(&args[0].ty, &other.ty)),
                None => of(0),
            };
            (kind, ty, true)
        }
        W::FirstValue => (WindowKind::FirstValue, of(0), true),
        W::LastValue => (WindowKind::LastValue, of(0), true),
        W::NthValue => (WindowKind::NthValue, of(0), true),
    };
    check_numbers(w.function, &args)?;
    let function = WindowFunction {
        kind,
        args,
        ty,
        nullable,
        frame: Frame::usual(false),
    };
    scope.window(&w.function.to_string().to_lowercase(), function, &w.over)
}

/// Arguments that count rows or buckets are constants: 1210.
fn check_numbers(f: ast::WindowFunction, args: &[Expr]) -> SqlResult<()> {
    use ast::WindowFunction as W;
    let (at, least) = match f {
        W::Ntile => (0, 1),
        W::NthValue => (1, 1),
        W::Lag | W::Lead => (1, 0),
        _ => return Ok(()),
    };
    let fine = match args.get(at).map(|e| &e.kind) {
        None | Some(ExprKind::Param(_) | ExprKind::Local(..) | ExprKind::UserVariable(_)) => true,
        Some(ExprKind::Literal(v)) => match v {
            Value::Int(n) => *n >= least,
            Value::UInt(_) => true,
            Value::Null => f == W::Ntile,
            _ => false,
        },
        Some(_) => false,
    };
    match fine {
        true => Ok(()),
        false => Err(SqlError::new(
            1210,
            format!("Incorrect arguments to {}", f.to_string().to_lowercase()),
        )),
    }
}

fn gather(kind: AggregateKind, args: Vec<Expr>, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let spec = specified(kind, args, scope);
    scope.aggregate(spec)
}
