//! From the syntax tree's expressions to bound ones.
//!
//! | module | owns |
//! |---|---|
//! | `names` | columns and variables |
//! | `literal` | literals |
//! | `operators` | arithmetic, logic, CASE |
//! | `comparisons` | of two sides, ranges, lists, rows, patterns |
//! | `among` | placeholders among operands of several kinds |
//! | `beside` | what the sides of comparisons become beside each other |
//! | `numbers` | what stands where a number is wanted |
//! | `call` | functions and aggregates |
//! | `cast` | CAST, CONVERT, COLLATE |
//! | `fulltext` | MATCH ... AGAINST |
//! | `json` | documents among arguments, JSON_VALUE |
//! | `condition` | what is a condition by its form |
//! | `coercion` | which collation counts |
//! | `sent` | texts as the client sent them |

mod among;
mod beside;
mod call;
mod cast;
pub(crate) mod coercion;
mod comparisons;
mod condition;
mod fulltext;
mod json;
mod literal;
mod names;
mod numbers;
mod operators;
mod sent;

pub(crate) use beside::{member, name_cast, no_date};
pub(crate) use call::shift;
pub(crate) use cast::as_own_text;
use coercion::agree;
pub(super) use coercion::collation_of;
pub(crate) use comparisons::compare;
use comparisons::{between_bounds, bind_all, in_list, like, quantified, row};
pub use condition::is_condition;
pub(crate) use literal::{bytes_of_bits, introduced_text, odbc_text, read_in};
pub(crate) use names::{GLOBAL_ORDER, as_read};
pub use names::{is_of, type_of, unknown_column};
pub(crate) use numbers::{as_number, assigned_bits};
pub(crate) use operators::arithmetic;
use operators::{assignment, binary, case, chain, unary};
pub(crate) use sent::for_type;

use std::sync::Arc;

use millpond_syntax::ast;

use super::{AggregateSpec, CompareOp, EvalContext, Expr, ExprKind, WindowFunction};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, Collation, Encoding, SqlType};
use crate::value::{Date, Value, date_allowed, double_of_text};

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
    /// What the bytes of the text were that it stands in, which introducers are about.
    fn client(&self) -> Encoding {
        self.session().client.get()
    }
    /// Resolves a column: `qualifier` is empty, `[table]` or `[database, table]`. Errors 1054 (see [`unknown_column`]) and 1052.
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr>;
    /// Position of the value of the n-th placeholder of the text, from 0.
    fn param(&mut self, n: u32) -> SqlResult<usize>;
    /// The type of a placeholder's value, where nothing else says what it is; `None` if that is not known or tells nothing.
    fn param_type(&mut self, _n: usize) -> Option<SqlType> {
        None
    }
    /// The value of a placeholder, if it is known. The answer becomes part of the plan, which is for this execution alone.
    fn param_value(&mut self, _n: usize) -> Option<Value<'static>> {
        None
    }
    /// What an expression is in the statement's text.
    fn source(&self, e: &ast::Expr) -> String {
        e.to_string()
    }
    /// Whether the statement writes in strict mode: what it is warned of is an error then.
    fn writes_strictly(&self) -> bool {
        false
    }
    /// Notes a warning that each execution gives.
    fn tell(&mut self, _code: u16, _message: &'static str) {}
    /// Notes that a constant or placeholder is compared with a column of dates or times of that type and name.
    fn moment(&mut self, _e: Expr, _ty: SqlType, _column: Arc<str>) {}
    /// Notes that a placeholder is compared with something of a type that not every value goes with, and its name.
    fn constant_param(&mut self, _n: usize, _base: BaseType, _name: Arc<str>) {}
    /// Notes that a placeholder, whose text has the first collation, is compared under the second, which may not have all of its characters.
    fn fitting_param(&mut self, _n: usize, _from: Collation, _to: Collation) {}
    /// Whether a placeholder that is compared with a string column has a text for a value, as far as is known. The answer becomes
    /// part of the plan.
    fn text_param(&mut self, _n: usize) -> bool {
        true
    }
    /// Takes note of an expression that was bound.
    fn bound(&mut self, _e: &Expr) {}
    /// Whether a user variable has a text by the time it is read, whatever it is now.
    fn is_text_variable(&self, _name: &str) -> bool {
        false
    }
    /// Notes the type that a user variable has now: a plan with it is for values of that type.
    fn variable_type(&mut self, _name: &Arc<str>, _ty: &SqlType) {}
    /// Notes that a placeholder stands where bytes are wanted: a text for it is what the client sent.
    fn bytes_param(&mut self, _n: usize) {}
    /// Takes an aggregate (its arguments bound in this scope) and gives the expression that stands for its result.
    fn aggregate(&mut self, _spec: AggregateSpec) -> SqlResult<Expr> {
        Err(SqlError::new(1111, "Invalid use of group function"))
    }
    /// Takes a window function (its arguments bound in this scope) and gives the expression that stands for its result.
    fn window(
        &mut self,
        name: &str,
        _function: WindowFunction,
        _over: &ast::Over,
    ) -> SqlResult<Expr> {
        let m = format!("You cannot use the window function '{name}' in this context.'");
        Err(SqlError::new(3593, m))
    }
    /// `GROUPING(list)`.
    fn grouping(&mut self, _list: &ast::Items<ast::Expr>) -> SqlResult<Expr> {
        Err(SqlError::new(1111, "Invalid use of group function"))
    }
    /// Begins with the arguments of an aggregate, a `grouped` one if it is no window function.
    fn in_aggregate(&mut self, _grouped: bool) {}
    /// Has bound them.
    fn after_aggregate(&mut self, _grouped: bool) {}
    /// Plans a subquery; gives the expression that stands for it.
    fn subquery(&mut self, _query: &ast::Query, _kind: SubqueryKind) -> SqlResult<Expr> {
        Err(SqlError::unsupported("subquery here"))
    }
    /// Whether the database in use has a stored function of this name, as far as is known.
    fn has_stored_function(&mut self, _name: &ast::Ident) -> SqlResult<bool> {
        Ok(true)
    }
    /// A call of a stored function with bound arguments; `None` if there is no such function.
    fn stored_function(
        &mut self,
        _database: Option<&str>,
        _name: &ast::Ident,
        _args: Vec<Expr>,
    ) -> SqlResult<Option<Expr>> {
        Ok(None)
    }
    /// A FULLTEXT search of columns for a bound text; gives the expression that stands for it, ready to be held against them.
    fn search(
        &mut self,
        _columns: &[Expr],
        _text: Expr,
        _mode: crate::fulltext::Mode,
    ) -> SqlResult<Expr> {
        Err(SqlError::unsupported("MATCH ... AGAINST here"))
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
    /// Notes that an expression's type or state belongs to the session that binds it: nobody else may use a plan with it.
    fn keep_private(&mut self) {}
    /// Whether sql_mode takes a literal of this date. What is kept with a definition was taken when that was made.
    fn takes_date(&self, d: Date) -> bool {
        date_allowed(d, self.session())
    }
    /// Which clause this is, for error 1054: `field list`, `where clause`, `order clause`, `group statement`, `having clause`, `on clause`.
    fn clause(&self) -> &'static str;
    /// Says where the name stands that is asked about next.
    fn at(&mut self, _span: millpond_syntax::Span) {}
    /// Collation of literals (`collation_connection`).
    fn collation(&self) -> Collation {
        self.session().collation.get()
    }
}

/// Binds an expression: resolves names, derives types, folds constants.
pub fn bind(expr: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let bound = tree(expr, scope)?;
    Ok(finish(bound, scope))
}

/// What becomes of every node once it is bound.
fn finish(bound: Expr, scope: &mut dyn Scope) -> Expr {
    let bound = fold(bound, scope);
    scope.bound(&bound);
    bound
}

/// Binds one node and what is below it.
fn tree(expr: &ast::Expr, scope: &mut dyn Scope) -> SqlResult<Expr> {
    use ast::ExprKind as A;
    match &expr.kind {
        A::Column(c) => {
            scope.at(expr.span);
            names::column(c, scope)
        }
        A::UserVariable(name) => names::user_variable(name, scope),
        A::SystemVariable(v) => names::system_variable(v, scope),
        A::Null => Ok(Expr::null()),
        A::Bool(b) => Ok(Expr::literal(Value::bool(*b), SqlType::boolean())),
        A::Int(n) => literal::int(*n),
        A::Literal(l) => literal::literal(l, scope),
        A::Introduced(l) => literal::introduced(l, scope),
        A::Odbc(parts) => literal::odbc(&parts.0, &parts.1, scope),
        A::Param(n) => literal::param(*n, scope),
        A::Assign(a) => assignment(a, scope),
        A::Unary(op, e) => unary(*op, e, scope),
        A::Binary(op, sides) => binary(*op, &sides[0], &sides[1], scope),
        A::Chain(c) => chain(c, scope),
        A::Is(test, e) => Ok(is(*test, bind(e, scope)?)),
        A::Like(l) => like(l, scope),
        A::Between(b) => between_bounds(b, scope),
        A::In(l) => in_list(l, scope),
        A::InQuery(q) => in_query(q, scope),
        A::Quantified(q) => quantified(q, scope),
        A::Exists(q) => scope.subquery(q, SubqueryKind::Exists { negated: false }),
        A::Subquery(q) => scope.subquery(q, SubqueryKind::Scalar),
        A::Row(_) => Err(SqlError::new(1241, "Operand should contain 1 column(s)")),
        A::Collate(c) => {
            let value = bind(&c.value, scope)?;
            cast::collate(value, c.collation.as_str(), scope)
        }
        A::Case(c) => case(c, scope),
        A::Call(c) => call::call(c, scope),
        A::Special(s) => call::special(s, scope),
        A::Aggregate(a) => call::aggregate(a, scope),
        A::Window(w) => call::window(w, scope),
        A::Held(held) => tree(&held.get(), scope),
        A::Default | A::Star => Err(SqlError::syntax(format_args!("near '{expr}'"))),
    }
}

fn is(test: ast::IsTest, e: Expr) -> Expr {
    match test.what {
        ast::IsWhat::Null | ast::IsWhat::Unknown => is_null(e, test.negated),
        ast::IsWhat::True => is_truth(e, true, test.negated),
        ast::IsWhat::False => is_truth(e, false, test.negated),
    }
}

fn in_query(q: &ast::InQuery, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let negated = q.negated;
    let kind = match row(&q.value) {
        Some(v) => SubqueryKind::Row {
            values: bind_all(v, scope)?,
            test: RowTest::In { negated },
        },
        None => SubqueryKind::In {
            value: bind(&q.value, scope)?,
            negated,
        },
    };
    scope.subquery(&q.query, kind)
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

/// A text as long is made when it is wanted: a statement may have thousands of them.
const LONG_BYTES: usize = 1 << 10;

/// The value of an expression of constants, and whether there was something to tell of it, which is not told: it will be where the value is
/// wanted.
fn constant_value(e: &Expr, session: &SessionEnv) -> (SqlResult<Value<'static>>, bool) {
    let before = session.diagnostics.borrow().len();
    let cx = EvalContext {
        rows: &[],
        params: &[],
        session,
    };
    let value = e.eval(&cx).map(Value::into_owned);
    let mut diagnostics = session.diagnostics.borrow_mut();
    let told = diagnostics.len() > before;
    diagnostics.truncate(before);
    (value, told)
}

/// How deep a computed constant may nest that messages show as it was written: long chains are not kept.
const SHOWN_DEPTH: usize = 10;

/// How many bytes the texts in it may have together: a message is no longer.
const SHOWN_BYTES: usize = 512;

/// Whether an expression, with what its constants were, nests no deeper than that and has no more than the bytes that are left.
fn is_shown(e: &Expr, depth: usize, left: &mut usize) -> bool {
    let Some(below) = depth.checked_sub(1) else {
        return false;
    };
    if let Some(Value::Bytes(text)) = e.as_constant() {
        match left.checked_sub(text.len()) {
            Some(rest) => *left = rest,
            None => return false,
        }
    }
    let mut shown = match &e.folded {
        Some(folded) => is_shown(folded, below, left),
        None => true,
    };
    e.each_child(&mut |c| shown = shown && is_shown(c, below, left));
    shown
}

/// Replaces an expression of constants by its value, unless computing it fails or warns: then it is left for run time.
fn fold(e: Expr, scope: &mut dyn Scope) -> Expr {
    if matches!(
        e.kind,
        ExprKind::Literal(_)
            | ExprKind::BitString(_)
            | ExprKind::Column { .. }
            | ExprKind::Collate(_)
    ) {
        return e;
    }
    let mut foldable = true;
    e.walk(&mut |x| {
        foldable &= match &x.kind {
            ExprKind::Literal(_) | ExprKind::BitString(_) => true,
            ExprKind::Column { .. }
            | ExprKind::Param(_)
            | ExprKind::Local(..)
            | ExprKind::Subquery { .. }
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
    // What CONVERT() makes of a constant is as firm as a column.
    if !foldable || e.ty.is_character() && coercion::is_firm(&e) {
        return e;
    }
    // As a number it may be another than its text.
    if e.ty.is_string() && (numbers::is_moment(&e) || numbers::choices(&e).is_some()) {
        return e;
    }
    let (value, told) = constant_value(&e, scope.session());
    if told {
        return e;
    }
    match value {
        Ok(Value::Bytes(text)) if text.len() >= LONG_BYTES => e,
        // As a constant it would be complained of where a number is wanted.
        Ok(Value::Bytes(text)) if e.is_quiet() && !double_of_text(&text).1 => e,
        // As an integer it would be an error, which a constant is not.
        Ok(Value::Double(d)) if d.abs() >= 9e18 && matches!(e.kind, ExprKind::Arithmetic(..)) => e,
        Ok(v) => {
            let mut constant = Expr::new(ExprKind::Literal(v), e.ty.clone(), e.nullable);
            let mut left = SHOWN_BYTES;
            let shown = is_shown(&e, SHOWN_DEPTH, &mut left);
            constant.folded = shown.then(|| Arc::new(e));
            constant
        }
        Err(_) => e,
    }
}

#[cfg(test)]
mod tests;
