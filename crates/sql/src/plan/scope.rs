//! Names: the stack of blocks being planned, and what a column, an aggregate or a subquery means where
//! it stands.

use std::sync::Arc;

use sqlparser::tokenizer::Span;

use super::conditions::string_collation;
use super::dml::{OnDuplicate, Updating};
use super::exists::Exists;
use super::heads::Head;
use super::nodes::{Ask, Columns, Derived, Rich, Source, SourceKind, Subquery};
use super::{PlanContext, PlanTable};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::coercion::{hold_of, made_of, united};
use crate::expr::bind::{as_number, unknown_column};
use crate::expr::{
    AggregateKind, AggregateSpec, Expr, ExprKind, Hold, RowTest, Scope, SubqueryKind,
};
use crate::parse::{Statement, sp};
use crate::session::env::SessionEnv;
use crate::types::{BaseType, Schema, SqlType};

/// How select-list aliases take part in looking up an unqualified name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aliases {
    /// Not at all (WHERE, ON, the select list itself).
    Hidden,
    /// Before columns (HAVING, a name alone in ORDER BY).
    First,
    /// After columns (GROUP BY, expressions in ORDER BY).
    Last,
}

/// A block being planned.
pub struct Frame {
    /// Sources of the blocks around.
    pub base: usize,
    /// Number of sources the FROM clause will have.
    pub count: usize,
    /// Those registered so far.
    pub sources: Vec<Source>,
    /// Whether a source is on the inner side of an outer join.
    pub nullable: Vec<bool>,
    /// Columns an unqualified name or `*` finds: (source minus base, column).
    pub visible: Vec<(usize, usize)>,
    /// Sources a qualified name finds.
    pub reachable: Vec<usize>,
    /// Subqueries so far.
    pub subqueries: Vec<Subquery>,
    /// Aggregates so far.
    pub aggregates: Vec<AggregateSpec>,
    /// Whether an aggregate may stand here.
    pub allow_aggregates: bool,
    /// Select-list aliases, bound.
    pub names: Vec<(String, Expr)>,
    /// The select list is being bound: its subqueries see the aliases before them, it itself does not.
    pub listing: bool,
    /// How they are used now.
    pub aliases: Aliases,
    /// Clause for messages.
    pub clause: &'static str,
    /// Columns of the blocks around that were used: (source, column).
    pub outer: Vec<(usize, usize)>,
    /// What `VALUES(column)` and the row alias of an INSERT mean: (source, table's schema).
    pub inserted: Option<(usize, Arc<Schema>)>,
}

impl Frame {
    /// A block inside of blocks with `base` sources.
    pub fn new(base: usize, count: usize) -> Frame {
        Frame {
            base,
            count,
            sources: Vec::new(),
            nullable: Vec::new(),
            visible: Vec::new(),
            reachable: Vec::new(),
            subqueries: Vec::new(),
            aggregates: Vec::new(),
            allow_aggregates: false,
            names: Vec::new(),
            listing: false,
            aliases: Aliases::Hidden,
            clause: "field list",
            outer: Vec::new(),
            inserted: None,
        }
    }
    /// Source of aggregates.
    pub fn group_source(&self) -> usize {
        self.base + self.count
    }
    /// Source of subquery values.
    pub fn subquery_source(&self) -> usize {
        self.base + self.count + 1
    }
    /// Sources visible to subqueries.
    pub fn width(&self) -> usize {
        self.base + self.count + 2
    }
    /// The column as an expression.
    pub fn column_expr(&self, source: usize, column: usize) -> Expr {
        let s = &self.sources[source];
        let (name, ty, nullable) = s.column(column);
        let label = if s.database.is_empty() {
            format!("{}.{}", s.name, name)
        } else {
            format!("{}.{}.{}", s.database, s.name, name)
        };
        Expr::column(
            self.base + source,
            column,
            ty.clone(),
            nullable || self.nullable[source],
            &label,
        )
        .held(s.hold(column))
    }
    fn lookup(&self, qualifier: &[&str], name: &str, clause: &str) -> SqlResult<Option<Expr>> {
        let mut found: Option<(usize, usize)> = None;
        let mut hit = |s: usize, c: usize| match found {
            Some(_) => Err(ambiguous(qualifier, name, clause)),
            None => {
                found = Some((s, c));
                Ok(())
            }
        };
        match qualifier {
            [] => {
                for &(s, c) in &self.visible {
                    if self.sources[s].column(c).0.eq_ignore_ascii_case(name) {
                        hit(s, c)?;
                    }
                }
            }
            [.., table] => {
                for &s in &self.reachable {
                    let src = &self.sources[s];
                    if src.name != *table || (qualifier.len() == 2 && src.database != qualifier[0])
                    {
                        continue;
                    }
                    if let Some(c) = src.find(name) {
                        hit(s, c)?;
                    }
                }
            }
        }
        Ok(found.map(|(s, c)| self.column_expr(s, c)))
    }
    fn alias(&self, name: &str, clause: &str) -> SqlResult<Option<Expr>> {
        let mut found: Option<&Expr> = None;
        for (n, e) in &self.names {
            if n.eq_ignore_ascii_case(name) {
                if let Some(f) = found {
                    if f.to_string() != e.to_string() {
                        return Err(ambiguous(&[], name, clause));
                    }
                } else {
                    found = Some(e);
                }
            }
        }
        Ok(found.cloned())
    }
}

impl Frame {
    /// Whether an expression of this block has aggregates of it.
    fn aggregates_in(&self, e: &Expr) -> bool {
        let mut any = false;
        e.columns(&mut |s, _| any |= s == self.group_source());
        any
    }
}

fn ambiguous(qualifier: &[&str], name: &str, clause: &str) -> SqlError {
    let mut full = qualifier.join(".");
    if !full.is_empty() {
        full.push('.');
    }
    SqlError::new(
        1052,
        format!("Column '{full}{name}' in {clause} is ambiguous"),
    )
}

impl Source {
    /// Name, type and nullability of a column.
    pub fn column(&self, at: usize) -> (&str, &SqlType, bool) {
        match &self.kind {
            SourceKind::Table { schema, .. } => {
                let c = &schema.columns[at];
                (&c.name, &c.ty, c.nullable)
            }
            SourceKind::Derived { columns, .. } => {
                let c = &columns[at];
                (&c.name, &c.ty, c.nullable)
            }
            SourceKind::Virtual { table, .. } => {
                let c = &table.0.columns()[at];
                (c.name, &c.ty, c.nullable)
            }
        }
    }
    /// How firmly a column holds to its collation.
    pub fn hold(&self, at: usize) -> Hold {
        match &self.kind {
            SourceKind::Table { .. } => Hold::Implicit,
            SourceKind::Derived { columns, .. } => columns[at].hold,
            SourceKind::Virtual { .. } => Hold::Listed,
        }
    }
    /// Number of columns.
    pub fn columns(&self) -> usize {
        match &self.kind {
            SourceKind::Table { schema, .. } => schema.columns.len(),
            SourceKind::Derived { columns, .. } => columns.len(),
            SourceKind::Virtual { table, .. } => table.0.columns().len(),
        }
    }
    /// Position of a column by name.
    pub fn find(&self, name: &str) -> Option<usize> {
        (0..self.columns()).find(|&c| self.column(c).0.eq_ignore_ascii_case(name))
    }
}

/// A WITH query: its name, column names, and where its plan is once it has one.
#[derive(Clone)]
pub struct Cte {
    /// Name.
    pub name: String,
    /// Column names, if given.
    pub columns: Vec<String>,
    /// Its text.
    pub query: sp::Query,
    /// Its plan's position in the derived tables and its columns.
    pub planned: Option<(usize, Columns)>,
}

/// State of planning one statement.
pub struct Planner<'p, 'c> {
    /// Engine, transaction, session.
    pub cx: &'p mut PlanContext<'c>,
    /// The statement.
    pub statement: &'p Statement,
    /// Tables opened.
    pub tables: Vec<PlanTable>,
    /// Derived tables planned.
    pub derived: Vec<Derived>,
    /// WITH queries in scope, innermost last.
    pub ctes: Vec<Cte>,
    /// Blocks being planned, innermost last.
    pub frames: Vec<Frame>,
    /// Subqueries numbered so far.
    pub subquery_ids: usize,
    /// Hash joins numbered so far.
    pub hash_ids: usize,
    /// The tables that the statement writes to.
    pub targets: Vec<(String, String)>,
    /// Whether a query read one of them.
    pub reading_target: bool,
    /// ON DUPLICATE KEY UPDATE, for the outermost SELECT of its INSERT to bind among its tables.
    pub duplicates: Option<OnDuplicate<'p>>,
    /// The same, bound.
    pub updating: Option<Updating>,
    /// The EXISTS being planned.
    pub exists: Exists,
    /// See [`super::Plan::private`].
    pub private: bool,
    /// The clock is part of the plan.
    pub momentary: bool,
    /// See [`super::Plan::param_types`].
    pub param_types: Vec<(usize, Option<SqlType>)>,
    /// Whether the statement may assign to user variables as it runs.
    pub assigns: bool,
    /// How many expressions were bound so far that may have another value each time they are asked.
    pub unsteady: usize,
    /// See [`super::Plan::variable_types`].
    pub variable_types: Vec<(Arc<str>, SqlType)>,
    /// What [`Planner::locks_reads`] said, if it was asked.
    pub locks_reads: Option<bool>,
    /// See [`super::Plan::constant_params`].
    pub constant_params: Vec<(usize, BaseType)>,
    /// See [`super::Plan::text_params`].
    pub text_params: Vec<(usize, bool)>,
    /// See [`super::Plan::bytes_params`].
    pub bytes_params: Vec<usize>,
}

impl Planner<'_, '_> {
    /// The innermost block.
    pub fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a block is being planned")
    }
    /// Binds an expression in the innermost block.
    pub fn bind(&mut self, e: &sp::Expr, clause: &'static str) -> SqlResult<Expr> {
        self.frame().clause = clause;
        crate::expr::bind(e, self)
    }
    /// An expression with the subqueries it needs per row. All subqueries must have been bound.
    pub fn rich(&self, expr: Expr, once: &[usize]) -> Rich {
        let f = self.frames.last().expect("a block is being planned");
        rich(expr, f.subquery_source(), once)
    }
}

/// An aggregate as EXPLAIN shows it.
fn aggregate_label(a: &AggregateSpec) -> String {
    let name = match a.kind {
        AggregateKind::CountStar => return "count(0)".into(),
        AggregateKind::Count => "count",
        AggregateKind::Sum => "sum",
        AggregateKind::Avg => "avg",
        AggregateKind::Min => "min",
        AggregateKind::Max => "max",
        AggregateKind::GroupConcat => "group_concat",
        AggregateKind::BitAnd => "bit_and",
        AggregateKind::BitOr => "bit_or",
        AggregateKind::BitXor => "bit_xor",
        AggregateKind::StddevPop => "std",
        AggregateKind::StddevSamp => "stddev_samp",
        AggregateKind::VarPop => "variance",
        AggregateKind::VarSamp => "var_samp",
        AggregateKind::AnyValue => "any_value",
    };
    let args: Vec<String> = a.args.iter().map(ToString::to_string).collect();
    let distinct = if a.distinct { "distinct " } else { "" };
    format!("{name}({distinct}{})", args.join(","))
}

/// What an EXISTS that was turned into a look-up asks, and whether it was NOT EXISTS.
fn as_lookup(kind: SubqueryKind, turned: Exists) -> (SubqueryKind, Option<bool>) {
    match (kind, turned) {
        (SubqueryKind::Exists { negated }, Exists::Turned(mut values)) => {
            let kind = match values.len() {
                1 => SubqueryKind::In {
                    value: values.remove(0),
                    negated: false,
                },
                _ => SubqueryKind::Row {
                    values,
                    test: RowTest::In { negated: false },
                },
            };
            (kind, Some(negated))
        }
        (kind, _) => (kind, None),
    }
}

/// See [`Planner::rich`].
pub fn rich(expr: Expr, subquery_source: usize, once: &[usize]) -> Rich {
    let mut subqueries = Vec::new();
    expr.columns(&mut |s, c| {
        if s == subquery_source && !once.contains(&c) && !subqueries.contains(&c) {
            subqueries.push(c);
        }
    });
    subqueries.sort_unstable();
    Rich { expr, subqueries }
}

impl Scope for Planner<'_, '_> {
    fn session(&self) -> &SessionEnv {
        self.cx.env
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        let innermost = self.frames.len().saturating_sub(1);
        let clause = self.frames.last().map_or("field list", |f| f.clause);
        for at in (0..self.frames.len()).rev() {
            let f = &self.frames[at];
            let aliases = f.aliases;
            let mut hit = None;
            if qualifier.is_empty() && aliases == Aliases::First {
                hit = f.alias(name, clause)?;
            }
            if hit.is_none() {
                hit = f.lookup(qualifier, name, clause)?;
            }
            if hit.is_none() && qualifier.is_empty() && aliases == Aliases::Last {
                hit = f.alias(name, clause)?;
            }
            if hit.is_none() && qualifier.is_empty() && f.listing && at < innermost {
                hit = f.alias(name, clause)?;
                if hit.as_ref().is_some_and(|e| f.aggregates_in(e)) {
                    return Err(SqlError::new(
                        1247,
                        format!("Reference '{name}' not supported (reference to group function)"),
                    ));
                }
            }
            if let Some(e) = hit {
                if at < innermost {
                    // What an outer alias stands for may read several columns.
                    let mut read = Vec::new();
                    e.columns(&mut |s, c| read.push((s, c)));
                    for f in &mut self.frames[at + 1..] {
                        f.outer.extend_from_slice(&read);
                    }
                }
                return Ok(e);
            }
        }
        Err(unknown_column(qualifier, name, clause))
    }
    fn param(&mut self, text: &str, _span: Span) -> SqlResult<usize> {
        text.trim_start_matches('?')
            .parse()
            .map_err(|_| SqlError::syntax(format_args!("bad placeholder '{text}'")))
    }
    fn param_type(&mut self, n: usize) -> Option<SqlType> {
        let value = self.cx.params.and_then(|p| p.get(n));
        let ty = value.and_then(super::param_type);
        if !self.param_types.iter().any(|(known, _)| *known == n) {
            self.param_types.push((n, ty.clone()));
        }
        ty
    }
    fn constant_param(&mut self, n: usize, base: BaseType) {
        self.constant_params.push((n, base));
    }
    fn text_param(&mut self, n: usize) -> bool {
        let value = self.cx.params.and_then(|p| p.get(n));
        let text = value.is_none_or(super::is_text);
        self.text_params.push((n, text));
        text
    }
    fn bound(&mut self, e: &Expr) {
        self.unsteady += usize::from(e.is_unsteady_itself(self.assigns));
    }
    fn variable_type(&mut self, name: &Arc<str>, ty: &SqlType) {
        if !self.variable_types.iter().any(|(known, _)| known == name) {
            self.variable_types.push((name.clone(), ty.clone()));
        }
    }
    fn bytes_param(&mut self, n: usize) {
        self.bytes_params.push(n);
    }
    fn aggregate(&mut self, spec: AggregateSpec) -> SqlResult<Expr> {
        let f = self.frame();
        if !f.allow_aggregates {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        let group = f.group_source();
        let mut nested = false;
        for a in &spec.args {
            a.columns(&mut |s, _| nested |= s == group);
        }
        if nested {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        let (ty, nullable) = (spec.ty.clone(), spec.nullable());
        let label = aggregate_label(&spec);
        let hold = made_of(spec.args.iter());
        let at = match f.aggregates.iter().position(|a| a.same(&spec)) {
            Some(at) => at,
            None => {
                f.aggregates.push(spec);
                f.aggregates.len() - 1
            }
        };
        Ok(Expr::column(group, at, ty, nullable, &label).held(hold))
    }
    fn subquery(&mut self, query: &sp::Query, kind: SubqueryKind) -> SqlResult<Expr> {
        let Some(f) = self.frames.last() else {
            return Err(SqlError::unsupported("subquery here"));
        };
        let (base, source, clause) = (f.width(), f.subquery_source(), f.clause);
        // A name in the inner block must not see aliases that are only visible in this clause's own list.
        if matches!(kind, SubqueryKind::Exists { .. }) {
            self.exists = Exists::Asked;
        }
        let before = self.unsteady;
        let nested = self.nested_query(query, base);
        let unsteady = self.unsteady > before;
        let turned = std::mem::take(&mut self.exists);
        let (mut planned, heads, outer) = nested?;
        self.frame().clause = clause;
        let (kind, negated) = as_lookup(kind, turned);
        let exists = matches!(kind, SubqueryKind::Exists { .. });
        let wanted = match &kind {
            SubqueryKind::Row { values, .. } => values.len(),
            _ => 1,
        };
        if !exists && planned.types.len() != wanted {
            return Err(SqlError::new(
                1241,
                format!("Operand should contain {wanted} column(s)"),
            ));
        }
        let assigns = self.assigns;
        let f = self.frame();
        let first = planned.types.first().cloned().unwrap_or_else(SqlType::null);
        let mut reads = outer.clone();
        let mut steady = !unsteady;
        let mut value_rich = |value: Expr, reads: &mut Vec<(usize, usize)>| {
            steady &= value.is_steady(assigns);
            value.columns(&mut |s, c| reads.push((s, c)));
            rich(value, source, &[])
        };
        let collation_of = |value: &Expr, column: &Head| {
            let both = united((hold_of(value), &value.ty), (column.hold, &column.meta.ty));
            both.1
                .unwrap_or_else(|| string_collation(&value.ty, &column.meta.ty))
        };
        let hold = heads.first().map_or(Hold::Constant, |h| h.hold);
        let (ask, ty) = match kind {
            SubqueryKind::Scalar => (Ask::Scalar, first),
            SubqueryKind::Exists { negated } => {
                planned.limit_to_one();
                (Ask::Exists { negated }, SqlType::boolean())
            }
            SubqueryKind::In { mut value, negated } => {
                if first.is_numeric() {
                    as_number(&mut value);
                }
                let collation = collation_of(&value, &heads[0]);
                let value = value_rich(value, &mut reads);
                (
                    Ask::In {
                        value,
                        negated,
                        collation,
                    },
                    SqlType::boolean(),
                )
            }
            SubqueryKind::Row { values, test } => {
                let pairs = values.iter().zip(&heads);
                let collations = pairs.map(|(v, head)| collation_of(v, head)).collect();
                let rich = |v| value_rich(v, &mut reads);
                let values = values.into_iter().map(rich).collect();
                (
                    Ask::Row {
                        values,
                        test,
                        collations,
                    },
                    SqlType::boolean(),
                )
            }
            SubqueryKind::Quantified { mut value, op, all } => {
                if first.is_numeric() {
                    as_number(&mut value);
                }
                let collation = collation_of(&value, &heads[0]);
                let value = value_rich(value, &mut reads);
                (
                    Ask::Quantified {
                        value,
                        op,
                        all,
                        collation,
                    },
                    SqlType::boolean(),
                )
            }
        };
        f.subqueries.push(Subquery {
            query: planned,
            correlated: !outer.is_empty(),
            unsteady,
            steady,
            exists: negated.is_some(),
            ask,
            id: 0,
            outer: reads,
        });
        let at = f.subqueries.len() - 1;
        let id = self.subquery_ids;
        self.subquery_ids += 1;
        let f = self.frame();
        f.subqueries[at].id = id;
        let said = Expr::column(source, at, ty, !exists, "subquery").held(hold);
        Ok(match negated {
            // EXISTS is never NULL.
            Some(n) => Expr::new(
                ExprKind::IsTruth(Box::new(said), true, n),
                SqlType::boolean(),
                false,
            ),
            None => said,
        })
    }
    fn inserted_value(&mut self, column: &str) -> SqlResult<Expr> {
        let clause = self.frames.last().map_or("field list", |f| f.clause);
        let Some((source, schema)) = self.frames.iter().find_map(|f| f.inserted.clone()) else {
            return Err(SqlError::unsupported(
                "VALUES() outside of ON DUPLICATE KEY UPDATE",
            ));
        };
        let Some(at) = schema.column(column) else {
            return Err(unknown_column(&[], column, clause));
        };
        let c = &schema.columns[at];
        Ok(Expr::column(source, at, c.ty.clone(), c.nullable, &c.name))
    }
    fn default_of(&mut self, column: &str) -> SqlResult<Expr> {
        let found = self.column(&[], column)?;
        let ExprKind::Column {
            source, column: at, ..
        } = found.kind
        else {
            return Err(SqlError::new(
                1364,
                format!("Field '{column}' doesn't have a default value"),
            ));
        };
        for f in &self.frames {
            if source < f.base || source - f.base >= f.sources.len() {
                continue;
            }
            if let SourceKind::Table { schema, .. } = &f.sources[source - f.base].kind {
                let ty = schema.columns[at].ty.clone();
                self.momentary |= schema.columns[at].default == crate::types::DefaultValue::Now;
                let cx = crate::value::StoreContext {
                    session: self.cx.env,
                    strict: true,
                    row: 1,
                };
                let value = crate::value::default_value(&schema.columns[at], &cx)?;
                return Ok(Expr::literal(value, ty));
            }
        }
        Err(SqlError::new(
            1364,
            format!("Field '{column}' doesn't have a default value"),
        ))
    }
    fn keep_private(&mut self) {
        self.private = true;
    }
    fn clause(&self) -> &'static str {
        self.frames.last().map_or("field list", |f| f.clause)
    }
}
