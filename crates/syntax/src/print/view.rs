//! Queries as SHOW CREATE VIEW shows them: MySQL's own form, which is not the canonical one of the rest of this folder.
//!
//! Keywords and functions are in small letters, lists have no spaces, every operator has parentheses around it and its operands
//! (AND and OR of many one pair, other operators of many one a pair), every item of the outermost select lists has its name, joins are
//! in parentheses and a comma is a join, COUNT(*) is `count(0)`, LIMIT has its offset first. The tree says what it says: whoever asks
//! has put the names of tables and databases there that are to be shown. What MySQL shows in capitals (windows) or rewrites to
//! functions of its own (REGEXP, NOT LIKE) stays as it was written. A right join is a left one with its sides swapped, which is the same where `*` is written out. What is printed parses to a tree of the same meaning, and printing that
//! gives the same text.

use std::fmt::{Display, Formatter, Result};

use super::expr::separated;
use crate::ast::list::Item;
use crate::ast::words::{either, flag};
use crate::ast::*;

/// A query as SHOW CREATE VIEW shows it.
pub struct View<'a> {
    /// The query.
    pub query: &'a Query,
    /// The names of its columns, which become those of its select list's items without one; none if they stay without.
    pub columns: &'a [String],
}

impl Display for View<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        query(self.query, self.columns, f)
    }
}

/// A node in this form.
pub(super) struct V<'a, T: ?Sized>(pub(super) &'a T);

/// A list in this form.
struct Commas<'a, T>(&'a Items<T>);

impl<'a, T: Item> Display for Commas<'a, T>
where
    for<'b> V<'b, T>: Display,
{
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        commas(f, self.0, |item, f| V(item).fmt(f))
    }
}

/// What `item` writes of each, with commas between.
fn commas<T: Item>(
    f: &mut Formatter<'_>,
    list: &Items<T>,
    item: impl Fn(&T, &mut Formatter<'_>) -> Result,
) -> Result {
    for (n, e) in list.iter().enumerate() {
        f.write_str(flag(n > 0, ","))?;
        item(&e, f)?;
    }
    Ok(())
}

fn slice<T>(list: &[T], f: &mut Formatter<'_>) -> Result
where
    for<'b> V<'b, T>: Display,
{
    for (n, item) in list.iter().enumerate() {
        f.write_str(flag(n > 0, ","))?;
        V(item).fmt(f)?;
    }
    Ok(())
}

fn query(q: &Query, columns: &[String], f: &mut Formatter<'_>) -> Result {
    if let Some(with) = q.with() {
        f.write_str(flag(with.recursive, "with recursive "))?;
        f.write_str(flag(!with.recursive, "with "))?;
        for (n, cte) in with.queries.iter().enumerate() {
            write!(f, "{}{}", flag(n > 0, ","), cte.name)?;
            names(&cte.columns, f)?;
            write!(f, " as ({})", V(&cte.query))?;
        }
        f.write_str(" ")?;
    }
    body(&q.body, columns, f)?;
    if !q.order_by().is_empty() {
        write!(f, " order by {}", Commas(q.order_by()))?;
    }
    match q.limit() {
        Some(Limit {
            count,
            offset: Some(offset),
        }) => write!(f, " limit {offset},{count}")?,
        Some(Limit { count, .. }) => write!(f, " limit {count}")?,
        None => {}
    }
    if let Some(into) = q.into_clause() {
        write!(f, " {into}")?;
    }
    for lock in q.locks() {
        f.write_str(&lock.to_string().to_lowercase_words())?;
    }
    Ok(())
}

/// ` (a,b)`, or nothing.
fn names(list: &Items<Ident>, f: &mut Formatter<'_>) -> Result {
    if list.is_empty() {
        return Ok(());
    }
    f.write_str(" (")?;
    for (n, name) in list.iter().enumerate() {
        write!(f, "{}{name}", flag(n > 0, ","))?;
    }
    f.write_str(")")
}

/// Keywords in small letters, where names are in backticks.
trait SmallWords {
    fn to_lowercase_words(&self) -> String;
}

impl SmallWords for str {
    fn to_lowercase_words(&self) -> String {
        let mut quoted = false;
        let small = |c: char| {
            quoted ^= c == '`';
            if quoted { c } else { c.to_ascii_lowercase() }
        };
        self.chars().map(small).collect()
    }
}

/// A type in small letters, without spaces behind its commas and quotes around its character set.
fn type_in_small(ty: &DataType) -> String {
    let mut quoted = false;
    let mut out = String::new();
    for c in ty.to_string().chars() {
        quoted ^= c == '\'';
        match c {
            _ if quoted => out.push(c),
            '`' => {}
            ' ' if out.ends_with(',') => {}
            c => out.push(c.to_ascii_lowercase()),
        }
    }
    out
}

fn body(body_: &QueryBody, columns: &[String], f: &mut Formatter<'_>) -> Result {
    match body_ {
        QueryBody::Select(s) => select(s, columns, f),
        QueryBody::Parens(q) => {
            f.write_str("(")?;
            query(q, columns, f)?;
            f.write_str(")")
        }
        QueryBody::Held(held) => body(&held.get(), columns, f),
        QueryBody::Table(name) => write!(f, "table {name}"),
        QueryBody::Values(rows) => {
            for (n, row) in rows.iter().enumerate() {
                let start = if n > 0 { "," } else { "values " };
                write!(f, "{start}row(")?;
                slice(&row, f)?;
                f.write_str(")")?;
            }
            Ok(())
        }
        QueryBody::Set(set) => {
            body(&set.first, columns, f)?;
            for part in &set.rest {
                let op = match part.op {
                    SetOp::Union => "union",
                    SetOp::Intersect => "intersect",
                    SetOp::Except => "except",
                };
                write!(f, " {op} {}", flag(part.all, "all "))?;
                body(&part.body, &[], f)?;
            }
            Ok(())
        }
    }
}

fn select(s: &Select, columns: &[String], f: &mut Formatter<'_>) -> Result {
    let hints = s.hints();
    let options = s.options.to_string().to_lowercase_words();
    write!(f, "select {hints}{options}")?;
    for (n, item) in s.items.iter().enumerate() {
        f.write_str(flag(n > 0, ","))?;
        match &*item {
            SelectItem::Wildcard => f.write_str("*")?,
            SelectItem::TableWildcard(name) => write!(f, "{name}.*")?,
            SelectItem::Expr { expr, alias, .. } => {
                V(expr).fmt(f)?;
                match (alias, columns.get(n)) {
                    (Some(alias), _) => write!(f, " AS {alias}")?,
                    (None, Some(name)) => write!(f, " AS {}", Ident::new(name))?,
                    (None, None) => {}
                }
            }
        }
    }
    if let Some(into) = s.into_clause() {
        write!(f, " {into}")?;
    }
    if !s.from.is_empty() {
        f.write_str(" from ")?;
        tables(&s.from, f)?;
    } else if s.more().is_some_and(|m| m.dual) {
        f.write_str(" from dual")?;
    }
    if let Some(e) = &s.filter {
        write!(f, " where {}", V(e))?;
    }
    if !s.group_by().is_empty() {
        write!(f, " group by {}", Commas(s.group_by()))?;
        f.write_str(flag(s.rollup(), " with rollup"))?;
    }
    if let Some(e) = s.having() {
        write!(f, " having {}", V(e))?;
    }
    if !s.windows().is_empty() {
        f.write_str(" window ")?;
        separated(f, s.windows().iter())?;
    }
    Ok(())
}

/// Tables with commas between, which are joins.
fn tables(list: &[TableRef], f: &mut Formatter<'_>) -> Result {
    let (first, rest) = match list {
        [] => return Ok(()),
        [one] => return V(one).fmt(f),
        [first, rest @ ..] => (first, rest),
    };
    f.write_str(&"(".repeat(rest.len()))?;
    V(first).fmt(f)?;
    rest.iter()
        .try_for_each(|table| write!(f, " join {})", V(table)))
}

/// A query that stands in parentheses, without those it has itself.
impl Display for V<'_, Query> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (&*self.0.body.tree(), self.0.tail()) {
            (QueryBody::Parens(inner), None) => V(&**inner).fmt(f),
            _ => query(self.0, &[], f),
        }
    }
}

impl Display for V<'_, OrderItem> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        V(&self.0.expr).fmt(f)?;
        let down = self.0.direction == Some(Direction::Descending);
        f.write_str(flag(down, " desc"))
    }
}

impl Display for V<'_, TableRef> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            TableRef::Table(t) => {
                write!(f, "{}", t.name)?;
                if !t.partitions.is_empty() {
                    f.write_str(" partition")?;
                    names(&t.partitions, f)?;
                }
                if let Some(alias) = &t.alias {
                    write!(f, " {alias}")?;
                }
                let small = |hint: &IndexHint| hint.to_string().to_lowercase_words();
                t.index_hints
                    .iter()
                    .try_for_each(|hint| f.write_str(&small(&hint)))
            }
            TableRef::Derived(d) => {
                write!(f, "{}({})", flag(d.lateral, "lateral "), V(&d.query))?;
                if let Some(alias) = &d.alias {
                    write!(f, " {alias}")?;
                }
                names(&d.columns, f)
            }
            TableRef::JsonTable(t) => V(&**t).fmt(f),
            TableRef::Odbc(t) => V(&**t).fmt(f),
            TableRef::Parens(list) => tables(list, f),
            TableRef::Join(list) => joins(list, f),
        }
    }
}

impl Display for V<'_, JsonTable> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let t = self.0;
        write!(f, "json_table({}, {} columns (", V(&t.document), t.path)?;
        json_columns(&t.columns, f)?;
        write!(f, ")) {}", t.alias)
    }
}

fn json_columns(list: &Items<JsonColumn>, f: &mut Formatter<'_>) -> Result {
    for (n, column) in list.iter().enumerate() {
        f.write_str(flag(n > 0, ", "))?;
        V(&*column).fmt(f)?;
    }
    Ok(())
}

impl Display for V<'_, JsonColumn> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            JsonColumn::Ordinality(name) => write!(f, "{name} for ordinality"),
            JsonColumn::Nested(path, columns) => {
                write!(f, "nested path {path} columns (")?;
                json_columns(columns, f)?;
                f.write_str(")")
            }
            JsonColumn::Path {
                name,
                data_type,
                collation,
                exists,
                path,
                on_empty,
                on_error,
                ..
            } => {
                write!(f, "{name} {}", type_in_small(data_type))?;
                if let Some(collation) = collation {
                    write!(f, " collate {}", collation.as_str())?;
                }
                write!(f, "{} path {path}", flag(*exists, " exists"))?;
                for (on, place) in [(on_empty, "empty"), (on_error, "error")] {
                    match on {
                        None => {}
                        Some(JsonOn::Null) => write!(f, " null on {place}")?,
                        Some(JsonOn::Error) => write!(f, " error on {place}")?,
                        Some(JsonOn::Default(e)) => write!(f, " default {} on {place}", V(e))?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// Joins in parentheses, each around those before it. A right join is a left join with its sides swapped.
fn joins(list: &Joins, f: &mut Formatter<'_>) -> Result {
    let mut left = V(&list.first).to_string();
    for join in &list.rest {
        let right = V(&join.right).to_string();
        let (word, first, second) = match join.kind {
            JoinKind::Inner | JoinKind::Cross => ("join", left, right),
            JoinKind::Left => ("left join", left, right),
            JoinKind::Right => ("left join", right, left),
            JoinKind::Natural => ("natural join", left, right),
            JoinKind::NaturalLeft => ("natural left join", left, right),
            JoinKind::NaturalRight => ("natural left join", right, left),
            JoinKind::Straight => ("straight_join", left, right),
        };
        left = format!("({first} {word} {second}{})", V(&join.on));
    }
    f.write_str(&left)
}

impl Display for V<'_, Option<JoinOn>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            None => Ok(()),
            Some(JoinOn::On(e)) => write!(f, " on({})", V(e)),
            Some(JoinOn::Using(columns)) => {
                f.write_str(" using")?;
                names(columns, f)
            }
        }
    }
}

impl Display for V<'_, Expr> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let not = |negated| flag(negated, "not ");
        match &self.0.kind {
            ExprKind::Null | ExprKind::Bool(_) | ExprKind::Default => {
                f.write_str(&self.0.to_string().to_lowercase())
            }
            ExprKind::Column(_)
            | ExprKind::Int(_)
            | ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Star
            | ExprKind::UserVariable(_)
            | ExprKind::SystemVariable(_)
            | ExprKind::Window(_)
            | ExprKind::Introduced(_) => self.0.fmt(f),
            ExprKind::Assign(a) => {
                let name = super::name::UserVariable(&a.name);
                write!(f, "({name}:={})", V(&a.value))
            }
            ExprKind::Unary(op, e) => match op {
                UnaryOp::Minus | UnaryOp::Plus | UnaryOp::BitNot => write!(f, "{op}({})", V(&**e)),
                UnaryOp::Not => write!(f, "(not({}))", V(&**e)),
                UnaryOp::Bang => write!(f, "(!({}))", V(&**e)),
                UnaryOp::Binary => write!(f, "binary ({})", V(&**e)),
            },
            ExprKind::Binary(BinaryOp::JsonExtract, sides) => {
                write!(f, "json_extract({},{})", V(&sides[0]), V(&sides[1]))
            }
            ExprKind::Binary(BinaryOp::JsonUnquote, sides) => {
                let (document, path) = (V(&sides[0]), V(&sides[1]));
                write!(f, "json_unquote(json_extract({document},{path}))")
            }
            ExprKind::Binary(BinaryOp::MemberOf, sides) => {
                write!(f, "({} member of ({}))", V(&sides[0]), V(&sides[1]))
            }
            ExprKind::Binary(op, sides) => {
                write!(f, "({} {} {})", V(&sides[0]), small(*op), V(&sides[1]))
            }
            ExprKind::Chain(c) => chain(c, f),
            ExprKind::Is(test, e) => {
                let what = match test.what {
                    IsWhat::Null => "null",
                    IsWhat::True => "true",
                    IsWhat::False => "false",
                    IsWhat::Unknown => "unknown",
                };
                write!(f, "({} is {}{what})", V(&**e), not(test.negated))
            }
            ExprKind::Like(l) => {
                let not = not(l.negated);
                write!(f, "({} {not}like {}", V(&l.value), V(&l.pattern))?;
                if let Some(e) = &l.escape {
                    write!(f, " escape {}", V(e))?;
                }
                f.write_str(")")
            }
            ExprKind::Between(b) => {
                let not = not(b.negated);
                let (value, low, high) = (V(&b.value), V(&b.low), V(&b.high));
                write!(f, "({value} {not}between {low} and {high})")
            }
            ExprKind::In(i) => {
                let not = not(i.negated);
                write!(f, "({} {not}in ({}))", V(&i.value), Commas(&i.list))
            }
            ExprKind::InQuery(i) => {
                let not = not(i.negated);
                write!(f, "({} {not}in ({}))", V(&i.value), V(&i.query))
            }
            ExprKind::Quantified(q) => {
                let which = if q.all { "all" } else { "any" };
                let op = small(q.op);
                write!(f, "({} {op} {which} ({}))", V(&q.value), V(&q.query))
            }
            ExprKind::Exists(q) => write!(f, "exists({})", V(&**q)),
            ExprKind::Subquery(q) => write!(f, "({})", V(&**q)),
            ExprKind::Row(list) => {
                f.write_str("(")?;
                Commas(list).fmt(f)?;
                f.write_str(")")
            }
            ExprKind::Collate(c) => match &c.value.tree().kind {
                // COLLATE binds closer than these.
                ExprKind::Unary(..) => write!(f, "(({}) collate {})", V(&c.value), c.collation),
                _ => write!(f, "({} collate {})", V(&c.value), c.collation),
            },
            ExprKind::Case(c) => case(c, f),
            ExprKind::Call(c) => call(c, f),
            ExprKind::Special(s) => special(s, f),
            ExprKind::Aggregate(a) => aggregate(a, f),
            ExprKind::Odbc(o) => write!(f, "{{{} {}}}", o.0, V(&o.1)),
            ExprKind::Held(held) => V(&held.get()).fmt(f),
        }
    }
}

/// An operator's word in small letters.
fn small(op: BinaryOp) -> String {
    op.to_string().to_lowercase()
}

/// AND, OR and XOR of many are one; others go from left to right, two by two.
fn chain(c: &Chain, f: &mut Formatter<'_>) -> Result {
    let flat = matches!(c.op, BinaryOp::And | BinaryOp::Or);
    let open = if flat { 1 } else { c.rest.len() };
    f.write_str(&"(".repeat(open))?;
    V(&c.first).fmt(f)?;
    for term in &c.rest {
        let close = flag(!flat, ")");
        write!(f, " {} {}{close}", small(term.op), V(&term.operand))?;
    }
    f.write_str(flag(flat, ")"))
}

fn case(c: &Case, f: &mut Formatter<'_>) -> Result {
    f.write_str("(case")?;
    if let Some(e) = &c.operand {
        write!(f, " {}", V(e))?;
    }
    for branch in &c.whens {
        let (when, then) = &*branch;
        write!(f, " when {} then {}", V(when), V(then))?;
    }
    if let Some(e) = &c.otherwise {
        write!(f, " else {}", V(e))?;
    }
    f.write_str(" end)")
}

fn call(c: &Call, f: &mut Formatter<'_>) -> Result {
    // What needs quotes, or has names among its arguments, is no function of MySQL's own.
    let text = c.to_string();
    if c.database.is_some() || text.starts_with('`') || !c.arg_names.is_empty() {
        return f.write_str(&text);
    }
    let name = c.name.as_str().to_lowercase();
    write!(f, "{name}({})", Commas(&c.args))
}

fn aggregate(a: &Aggregate, f: &mut Formatter<'_>) -> Result {
    if a.over.is_some() {
        return a.fmt(f);
    }
    let name = a.function.to_string().to_lowercase();
    let star = matches!(a.args.as_slice(), Some([e]) if e.kind == ExprKind::Star);
    if star {
        return write!(f, "{name}(0)");
    }
    let distinct = flag(a.distinct, "distinct ");
    write!(f, "{name}({distinct}{}", Commas(&a.args))?;
    if !a.order_by.is_empty() {
        f.write_str(" order by ")?;
        commas(f, &a.order_by, |item, f| {
            let down = item.direction == Some(Direction::Descending);
            write!(f, "{} {}", V(&item.expr), either(down, "DESC", "ASC"))
        })?;
    }
    if a.function == AggregateFunction::GroupConcat {
        let separator = a.separator.as_deref().unwrap_or(",");
        write!(f, " separator {}", crate::ast::words::Quoted(separator))?;
    }
    f.write_str(")")
}

fn special(s: &Special, f: &mut Formatter<'_>) -> Result {
    let word = |text: String| text.to_lowercase();
    match s {
        Special::DateArith {
            subtract,
            date,
            amount,
            unit,
        } => {
            let sign = if *subtract { '-' } else { '+' };
            let unit = word(unit.to_string());
            write!(f, "({} {sign} interval {} {unit})", V(date), V(amount))
        }
        Special::Cast {
            value,
            to,
            array,
            zone: None,
        } => {
            let to = to.to_string().to_lowercase_words();
            write!(f, "cast({} as {to}{})", V(value), flag(*array, " array"))
        }
        Special::ConvertTo(value, to) => {
            let to = to.to_string().to_lowercase_words();
            write!(f, "convert({},{to})", V(value))
        }
        Special::ConvertUsing(value, charset) => {
            write!(f, "convert({} using {charset})", V(value))
        }
        Special::Extract(unit, e) => {
            let unit = word(unit.to_string());
            write!(f, "extract({unit} from {})", V(e))
        }
        Special::Trim { side, what, from } => {
            f.write_str(match side {
                TrimSide::Unsaid => "trim(",
                TrimSide::Both => "trim(both ",
                TrimSide::Leading => "trim(leading ",
                TrimSide::Trailing => "trim(trailing ",
            })?;
            if let Some(what) = what {
                write!(f, "{} ", V(what))?;
            }
            let from_word = flag(what.is_some() || *side != TrimSide::Unsaid, "from ");
            write!(f, "{from_word}{})", V(from))
        }
        Special::Substring(text, start, None) => {
            write!(f, "substr({},{})", V(text), V(start))
        }
        Special::Substring(text, start, Some(length)) => {
            write!(f, "substr({},{},{})", V(text), V(start), V(length))
        }
        Special::Position(what, within) => write!(f, "position({} in {})", V(what), V(within)),
        Special::Char(list, None) => write!(f, "char({})", Commas(list)),
        Special::Char(list, Some(charset)) => {
            write!(f, "char({} using {charset})", Commas(list))
        }
        Special::TimestampAdd(unit, n, e) => {
            write!(f, "timestampadd({unit},{},{})", V(n), V(e))
        }
        Special::TimestampDiff(unit, a, b) => {
            write!(f, "timestampdiff({unit},{},{})", V(a), V(b))
        }
        Special::Values(column) => write!(f, "values({})", V(column)),
        Special::DefaultOf(column) => write!(f, "default({})", V(column)),
        Special::Interval(list) => {
            f.write_str("interval(")?;
            Commas(list).fmt(f)?;
            f.write_str(")")
        }
        Special::Grouping(list) => {
            f.write_str("grouping(")?;
            Commas(list).fmt(f)?;
            f.write_str(")")
        }
        // What has a syntax of its own besides.
        Special::Cast { .. }
        | Special::WeightString { .. }
        | Special::GetFormat(..)
        | Special::Match { .. }
        | Special::JsonValue { .. } => s.fmt(f),
    }
}
