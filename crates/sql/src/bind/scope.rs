//! Names: the stack of blocks being bound, and what a column, an aggregate or a subquery means where
//! it stands.

use std::sync::Arc;

use super::PlanContext;
use super::duplicates::{OnDuplicate, Updating};
use super::full_names::FullNames;
use super::heads::Head;
use super::needs::Needs;
use super::recursive::Recursion;
use super::rollup::Rollup;
use super::updatable::InsertedView;
use super::view::Viewed;
use super::window::Windows;
use crate::env::{SessionEnv, is_system_schema};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::coercion::{hold_of, made_of, united};
use crate::expr::bind::{as_number, member, unknown_column};
use crate::expr::param::{is_text, param_type};
use crate::expr::{
    AggregateKind, AggregateSpec, Coercibility, Expr, ExprKind, Scope, SubqueryKind, WindowFunction,
};
use crate::fulltext::Mode;
use crate::logical::{
    Arena, Ask, Block, Columns, DerivedId, Query, Search, Subquery, Table, TableId,
};
use crate::logical::{Body, Notes, PlanTable};
use crate::parse::ast;
use crate::types::derive::string_collation;
use crate::types::{BaseType, Collation, Index, Schema, SqlType};
use crate::value::Value;
use millpond_syntax::Span;

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

/// What else the column of an integer key is called.
pub(super) const ROW_ID: &str = "_rowid";
/// What VALUES(column) is warned of with 1287.
const VALUES_FUNCTION: &str = "'VALUES function' is deprecated and will be removed in a future release. Please use an alias (INSERT INTO ... VALUES \
    (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE clause with alias.col instead";
/// What messages call the place of what JSON_TABLE reads.
pub(super) const TABLE_FUNCTION: &str = "a table function argument";

/// A block being bound.
pub struct Frame {
    /// The tables registered so far.
    pub tables: Vec<Table>,
    /// What its aggregates are columns of.
    pub group: TableId,
    /// Whether a table is on the inner side of an outer join.
    pub nullable: Vec<bool>,
    /// Columns an unqualified name or `*` finds: (position of the table, column).
    pub visible: Vec<(usize, usize)>,
    /// Positions of the tables a qualified name finds.
    pub reachable: Vec<usize>,
    /// Positions of tables that what is being bound in FROM does not see.
    pub hidden: Vec<usize>,
    /// Aggregates so far.
    pub aggregates: Vec<AggregateSpec>,
    /// Whether an aggregate may stand here.
    pub allow_aggregates: bool,
    /// How many aggregates' arguments are being bound, one within the other.
    in_aggregates: u32,
    /// Select-list aliases, bound.
    pub names: Vec<(String, Expr)>,
    /// The select list is being bound: its subqueries see the aliases before them, it itself does not.
    pub listing: bool,
    /// How they are used now.
    pub aliases: Aliases,
    /// Clause for messages.
    pub clause: &'static str,
    /// Windows and their functions.
    pub windows: Windows,
    /// What WITH ROLLUP has met, if it is there.
    pub rollup: Option<Rollup>,
    /// What `VALUES(column)` and the row alias of an INSERT mean: (table, its schema).
    pub inserted: Option<(TableId, Arc<Schema>)>,
}

impl Frame {
    /// A block without tables.
    pub fn new(arena: &mut Arena) -> Frame {
        Frame {
            tables: Vec::new(),
            group: arena.table_id(),
            nullable: Vec::new(),
            visible: Vec::new(),
            reachable: Vec::new(),
            hidden: Vec::new(),
            aggregates: Vec::new(),
            allow_aggregates: false,
            in_aggregates: 0,
            names: Vec::new(),
            listing: false,
            aliases: Aliases::Hidden,
            clause: "field list",
            windows: Windows::new(arena.table_id()),
            rollup: None,
            inserted: None,
        }
    }
    /// A block over one table, all of whose columns are seen.
    pub fn over(arena: &mut Arena, table: Table) -> Frame {
        let columns = table.columns();
        let mut f = Frame::new(arena);
        f.tables.push(table);
        f.nullable.push(false);
        f.visible = (0..columns).map(|c| (0, c)).collect();
        f.reachable = vec![0];
        f
    }
    /// The column of the table at a position as an expression.
    pub fn column_expr(&self, at: usize, column: usize) -> Expr {
        let t = &self.tables[at];
        let (name, ty, nullable) = t.column(column);
        let label = if t.database.is_empty() {
            format!("{}.{}", t.name, name)
        } else {
            format!("{}.{}.{}", t.database, t.name, name)
        };
        Expr::column(
            t.id,
            column,
            ty.clone(),
            nullable || self.nullable[at],
            &label,
        )
        .held(t.hold(column))
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
                    let t = &self.tables[s];
                    if t.column(c).0.eq_ignore_ascii_case(name) && !t.hides(c) {
                        hit(s, c)?;
                    }
                }
            }
            _ => {
                for s in self.qualified(qualifier) {
                    if let Some(c) = self.tables[s].find(name) {
                        hit(s, c)?;
                    }
                }
            }
        }
        // Beside other tables none has one.
        if found.is_none() && self.tables.len() == 1 && name.eq_ignore_ascii_case(ROW_ID) {
            let own = self.qualified(qualifier).next();
            found = own.and_then(|s| Some((s, self.tables[s].row_id()?)));
        }
        Ok(found.map(|(s, c)| self.column_expr(s, c)))
    }
    /// Positions of the tables that names with this qualifier are of.
    fn qualified<'q>(&'q self, qualifier: &'q [&str]) -> impl Iterator<Item = usize> + 'q {
        self.reachable.iter().copied().filter(move |s| {
            let t = &self.tables[*s];
            // Names of system tables are told apart without case.
            let same = |a: &str, b: &str| match is_system_schema(&t.database) {
                true => a.eq_ignore_ascii_case(b),
                false => a == b,
            };
            match qualifier {
                [] => true,
                [database, .., table] => same(&t.name, table) && same(&t.database, database),
                [table] => same(&t.name, table),
            }
        })
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

impl Binder<'_, '_> {
    /// The block whose rows an aggregate is of: the innermost that it reads columns of, if an aggregate may stand there or in one between.
    fn aggregating(&self, spec: &AggregateSpec) -> usize {
        let here = self.frames.len() - 1;
        let owner = |table: usize| {
            self.frames
                .iter()
                .rposition(|f| f.group == table || f.tables.iter().any(|t| t.id == table))
        };
        let mut read = None;
        let sorted = spec.order_by.iter().map(|(e, _)| e);
        for e in spec.args.iter().chain(sorted) {
            e.columns(&mut |table, _| read = read.max(owner(table)));
        }
        let outer = read.unwrap_or(here)..here;
        let mut outer = outer.filter(|&i| self.frames[i].allow_aggregates);
        outer.next().unwrap_or(here)
    }
}

impl Binder<'_, '_> {
    /// Whether a name is looked for in no table: nothing is around the block at hand, and it has none.
    fn sees_no_table(&self, clause: &str) -> bool {
        let own = match clause {
            // The argument of a function is a block within that of the tables before it.
            TABLE_FUNCTION => 2,
            _ => 1,
        };
        self.frames.len() <= own && self.frames.iter().all(|f| f.reachable.is_empty())
    }
}

impl Frame {
    /// Whether an expression of this block has aggregates of it.
    fn aggregates_in(&self, e: &Expr) -> bool {
        let mut any = false;
        e.columns(&mut |s, _| any |= s == self.group);
        any
    }
}

/// Error 1109 for the table of a name where there are no tables at all.
fn unknown_table(qualifier: &[&str], clause: &str) -> SqlError {
    let table = qualifier.join(".");
    SqlError::new(1109, format!("Unknown table '{table}' in {clause}"))
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

/// A WITH query: its name, column names, and where it is once it is bound.
#[derive(Clone)]
pub struct Cte {
    /// Name.
    pub name: String,
    /// Column names, if given.
    pub columns: Vec<String>,
    /// Its text.
    pub query: ast::Query,
    /// Its position in the derived tables and its columns.
    pub bound: Option<(DerivedId, Columns)>,
    /// Whether it may name itself: it is one of WITH RECURSIVE.
    pub recursive: bool,
    /// What it sees of itself while it is bound, if it may.
    pub recursion: Option<Recursion>,
}

/// What a statement writes to.
pub struct Target {
    /// Database.
    pub database: String,
    /// Name.
    pub table: String,
    /// What the statement calls it, or the view through which it writes to it.
    pub alias: String,
    /// Whether it does so through a view.
    pub through: bool,
}

/// State of binding one statement.
pub struct Binder<'p, 'c> {
    /// Engine, transaction, session.
    pub cx: &'p mut PlanContext<'c>,
    /// The text that the statement's spans count in.
    pub text: &'p str,
    /// The statement's own INTO.
    pub into: Option<&'p ast::Into>,
    /// Tables opened.
    pub tables: Vec<PlanTable>,
    /// Derived tables and subqueries bound.
    pub arena: Arena,
    /// WITH queries in scope, innermost last.
    pub ctes: Vec<Cte>,
    /// Derived tables around what is being bound.
    pub derives: usize,
    /// Blocks being bound, innermost last.
    pub frames: Vec<Frame>,
    /// The tables that the statement writes to, and the views through which it does.
    pub targets: Vec<Target>,
    /// The views of the block at hand that the statement writes through, each with the table below that it changes.
    pub written: Vec<(TableId, TableId)>,
    /// The view that an INSERT writes through.
    pub inserted: Option<InsertedView>,
    /// Whether a query read one of them.
    pub reading_target: bool,
    /// ON DUPLICATE KEY UPDATE, for the outermost SELECT of its INSERT to bind among its tables.
    pub duplicates: Option<OnDuplicate<'p>>,
    /// The same, bound.
    pub updating: Option<Updating>,
    /// User variables that are texts, whatever they are now: LOAD DATA gives them such.
    pub text_variables: Vec<String>,
    /// What the plan must know of all this.
    pub notes: Notes,
    /// What it needs of whoever runs it.
    pub needs: Needs,
    /// ON DUPLICATE KEY UPDATE is being bound.
    pub updates_duplicates: bool,
    /// The views around what is being bound, outermost first.
    pub views: Vec<Viewed>,
    /// The view that is being defined.
    pub defining: Option<(String, String)>,
    /// What names stand for, if they are to be written in full.
    pub names: Option<Box<FullNames>>,
    /// Where the name stands that is looked up next, if that is asked for.
    pub at: Option<Span>,
    /// The query is one of EXISTS.
    pub exists: bool,
    /// What the statement does to its targets.
    pub operation: &'static str,
    /// It writes in strict mode.
    pub strict: bool,
}

impl<'p, 'c> Binder<'p, 'c> {
    /// Nothing bound yet.
    pub fn new(text: &'p str, cx: &'p mut PlanContext<'c>) -> Binder<'p, 'c> {
        Binder {
            cx,
            text,
            into: None,
            tables: Vec::new(),
            arena: Arena::default(),
            ctes: Vec::new(),
            derives: 0,
            frames: Vec::new(),
            targets: Vec::new(),
            written: Vec::new(),
            inserted: None,
            reading_target: false,
            duplicates: None,
            updating: None,
            text_variables: Vec::new(),
            notes: Notes::default(),
            needs: Needs::default(),
            updates_duplicates: false,
            views: Vec::new(),
            defining: None,
            names: None,
            at: None,
            exists: false,
            operation: "",
            strict: false,
        }
    }
}

impl Binder<'_, '_> {
    /// The innermost block.
    pub fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a block is being bound")
    }
    /// Opens a block.
    pub fn open_frame(&mut self) {
        let f = Frame::new(&mut self.arena);
        self.frames.push(f);
    }
    /// Opens a block over one table.
    pub fn open_frame_over(&mut self, table: Table) {
        let f = Frame::over(&mut self.arena, table);
        self.frames.push(f);
    }
    /// Binds an expression in the innermost block.
    pub fn bind(&mut self, e: &ast::Expr, clause: &'static str) -> SqlResult<Expr> {
        self.frame().clause = clause;
        crate::expr::bind(e, self)
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
        AggregateKind::JsonArray => "json_arrayagg",
        AggregateKind::JsonObject => "json_objectagg",
        AggregateKind::Collect => "st_collect",
    };
    let args: Vec<String> = a.args.iter().map(ToString::to_string).collect();
    let distinct = if a.distinct { "distinct " } else { "" };
    format!("{name}({distinct}{})", args.join(","))
}

impl Scope for Binder<'_, '_> {
    fn session(&self) -> &SessionEnv {
        self.cx.env
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        if let Some(local) = self.cx.locals.and_then(|l| l.find(qualifier, name)) {
            let Some(ty) = &local.ty else {
                let ty = SqlType {
                    collation: self.collation(),
                    ..SqlType::new(BaseType::LongText)
                };
                return Ok(Expr::new(ExprKind::Param(local.slot), ty, true));
            };
            let kind = ExprKind::Local(local.slot, local.name.as_str().into());
            return Ok(Expr::new(kind, ty.clone(), true));
        }
        let innermost = self.frames.len().saturating_sub(1);
        let clause = self.frames.last().map_or("field list", |f| f.clause);
        for at in (0..self.frames.len()).rev() {
            let f = &self.frames[at];
            let aliases = f.aliases;
            let mut hit = None;
            let mut by_alias = true;
            if qualifier.is_empty() && aliases == Aliases::First {
                hit = f.alias(name, clause)?;
            }
            if hit.is_none() {
                hit = f.lookup(qualifier, name, clause)?;
                by_alias = hit.is_none();
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
                if !by_alias {
                    self.need_found(&e);
                }
                if let Some(span) = self.at.take() {
                    self.note_column(span, at, name, &e, by_alias);
                }
                return Ok(e);
            }
        }
        self.hide_unknown(qualifier, name)?;
        Err(match self.sees_no_table(clause) {
            true if !qualifier.is_empty() => unknown_table(qualifier, clause),
            _ => unknown_column(qualifier, name, clause),
        })
    }
    fn at(&mut self, span: Span) {
        self.at = self.names.is_some().then_some(span);
    }
    fn collation(&self) -> Collation {
        let view = self.views.last().map(|v| v.view.collation);
        view.unwrap_or_else(|| self.cx.env.collation.get())
    }
    fn param(&mut self, n: u32) -> SqlResult<usize> {
        Ok(n as usize)
    }
    fn param_type(&mut self, n: usize) -> Option<SqlType> {
        let value = self.cx.params.and_then(|p| p.get(n));
        let ty = value.and_then(param_type);
        if !self.notes.param_types.iter().any(|(known, _)| *known == n) {
            self.notes.param_types.push((n, ty.clone()));
        }
        ty
    }
    fn param_value(&mut self, n: usize) -> Option<Value<'static>> {
        self.notes.momentary = true;
        let value = self.cx.params.and_then(|p| p.get(n))?;
        Some(value.clone().into_owned())
    }
    fn source(&self, e: &ast::Expr) -> String {
        match e.span.of(self.text) {
            text if self.views.is_empty() && !text.is_empty() => text.to_string(),
            _ => e.to_string(),
        }
    }
    fn writes_strictly(&self) -> bool {
        self.strict
    }
    fn tell(&mut self, code: u16, message: &'static str) {
        self.notes.told.push((code, message));
    }
    fn moment(&mut self, e: Expr, ty: SqlType, column: Arc<str>) {
        self.notes.moments.push((e, ty, column));
    }
    fn constant_param(&mut self, n: usize, base: BaseType, name: Arc<str>) {
        self.notes.constant_params.push((n, base, name));
    }
    fn fitting_param(&mut self, n: usize, from: Collation, to: Collation) {
        self.notes.fitting_params.push((n, from, to));
    }
    fn text_param(&mut self, n: usize) -> bool {
        let value = self.cx.params.and_then(|p| p.get(n));
        let text = value.is_none_or(is_text);
        self.notes.text_params.push((n, text));
        text
    }
    fn is_text_variable(&self, name: &str) -> bool {
        self.text_variables.iter().any(|v| v == name)
    }
    fn variable_type(&mut self, name: &Arc<str>, ty: &SqlType) {
        if !self
            .notes
            .variable_types
            .iter()
            .any(|(known, _)| known == name)
        {
            self.notes.variable_types.push((name.clone(), ty.clone()));
        }
    }
    fn bytes_param(&mut self, n: usize) {
        self.notes.bytes_params.push(n);
    }
    fn in_aggregate(&mut self, grouped: bool) {
        self.frame().in_aggregates += u32::from(grouped);
    }
    fn after_aggregate(&mut self, grouped: bool) {
        self.frame().in_aggregates -= u32::from(grouped);
    }
    fn aggregate(&mut self, spec: AggregateSpec) -> SqlResult<Expr> {
        let at = self.aggregating(&spec);
        let f = &mut self.frames[at];
        if !f.allow_aggregates || f.in_aggregates > 0 {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        for a in &spec.args {
            f.windows.refuse_in(a)?;
        }
        let group = f.group;
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
    fn window(
        &mut self,
        name: &str,
        function: WindowFunction,
        over: &ast::Over,
    ) -> SqlResult<Expr> {
        self.bind_window(name, function, over)
    }
    fn grouping(&mut self, list: &ast::Items<ast::Expr>) -> SqlResult<Expr> {
        self.bind_grouping(list)
    }
    fn subquery(&mut self, query: &ast::Query, kind: SubqueryKind) -> SqlResult<Expr> {
        let Some(f) = self.frames.last() else {
            return Err(SqlError::unsupported("subquery here"));
        };
        let clause = f.clause;
        let depth = self.frames.len();
        self.exists = matches!(kind, SubqueryKind::Exists { .. });
        let bound = self.query(query);
        self.exists = false;
        self.frames.truncate(depth);
        let (mut query, mut heads) = bound?;
        self.frame().clause = clause;
        let exists = matches!(kind, SubqueryKind::Exists { .. });
        let wanted = match &kind {
            SubqueryKind::Row { values, .. } => values.len(),
            _ => 1,
        };
        if !exists && query.types.len() != wanted {
            return Err(SqlError::new(
                1241,
                format!("Operand should contain {wanted} column(s)"),
            ));
        }
        let collation_of = |value: &Expr, column: &Head| {
            let both = united((hold_of(value), &value.ty), (column.hold, &column.meta.ty));
            both.1
                .unwrap_or_else(|| string_collation(&value.ty, &column.meta.ty))
        };
        // A text is a number beside a column of numbers.
        let numeric = query.types.first().is_some_and(SqlType::is_numeric);
        let beside = |mut value: Expr| {
            if numeric {
                as_number(&mut value);
            }
            value
        };
        let mut ty = SqlType::boolean();
        let (ask, operands) = match kind {
            SubqueryKind::Scalar => {
                ty = query.types.first().cloned().unwrap_or_else(SqlType::null);
                (Ask::Scalar, Vec::new())
            }
            SubqueryKind::Exists { negated } => (Ask::Exists { negated }, Vec::new()),
            SubqueryKind::In { value, negated } => {
                let mut value = beside(value);
                if let Body::Block(block) = &mut query.body
                    && let [inner] = &mut block.select[..]
                    && !block.distinct
                {
                    member(&mut value, inner, self)?;
                    query.types[0] = inner.ty.clone();
                    heads[0].meta.ty = inner.ty.clone();
                }
                let collation = collation_of(&value, &heads[0]);
                (Ask::In { negated, collation }, vec![value])
            }
            SubqueryKind::Row { values, test } => {
                let pairs = values.iter().zip(&heads);
                let collations = pairs.map(|(v, head)| collation_of(v, head)).collect();
                (Ask::Row { test, collations }, values)
            }
            SubqueryKind::Quantified { value, op, all } => {
                let value = beside(value);
                let collation = collation_of(&value, &heads[0]);
                (Ask::Quantified { op, all, collation }, vec![value])
            }
        };
        let hold = heads.first().map_or(Coercibility::Constant, |h| h.hold);
        self.arena.subqueries.push(Subquery {
            query,
            ask,
            exists: false,
        });
        let kind = ExprKind::Subquery {
            id: self.arena.subqueries.len() - 1,
            operands,
            hold,
        };
        Ok(Expr::new(kind, ty, !exists))
    }
    fn has_stored_function(&mut self, name: &ast::Ident) -> SqlResult<bool> {
        let env = self.cx.env;
        match (&env.services, &*env.database.borrow()) {
            (Some(services), Some(database)) => {
                Ok(services.function(database, name.as_str())?.is_some())
            }
            _ => Ok(false),
        }
    }
    fn stored_function(
        &mut self,
        database: Option<&str>,
        name: &ast::Ident,
        mut args: Vec<Expr>,
    ) -> SqlResult<Option<Expr>> {
        let env = self.cx.env;
        let Some(services) = &env.services else {
            return Ok(None);
        };
        let current = env.database.borrow().clone();
        let said = database.is_some();
        let Some(database) = database.map(str::to_string).or(current) else {
            return Ok(None);
        };
        let programs = services.programs();
        let Some(function) = services.function(&database, name.as_str())? else {
            return Ok(None);
        };
        self.need_function(&database, name.as_str())?;
        if !said {
            self.note_function(name, &database);
        }
        if args.len() != function.parameters {
            return Err(SqlError::new(
                1318,
                format!(
                    "Incorrect number of arguments for FUNCTION {}; expected {}, got {}",
                    function.name,
                    function.parameters,
                    args.len()
                ),
            ));
        }
        // Of what was found first, if that has changed meanwhile: then the plan is made anew.
        self.notes.programs.get_or_insert(programs);
        self.notes.private = true;
        if args.is_empty() {
            args.push(Expr::literal(Value::Int(1), SqlType::bigint()));
        }
        let ty = function.returns.clone();
        let query = Query::of(Block {
            select: args,
            ..Block::default()
        });
        self.arena.subqueries.push(Subquery {
            query,
            ask: Ask::Call(function),
            exists: false,
        });
        let kind = ExprKind::Subquery {
            id: self.arena.subqueries.len() - 1,
            operands: Vec::new(),
            hold: Coercibility::Implicit,
        };
        Ok(Some(Expr::new(kind, ty, true)))
    }
    fn search(&mut self, columns: &[Expr], text: Expr, mode: Mode) -> SqlResult<Expr> {
        let wrong = || SqlError::new(1210, "Incorrect arguments to MATCH");
        let mut found: Option<TableId> = None;
        let mut positions = Vec::new();
        for e in columns {
            let ExprKind::Column { source, column, .. } = e.kind else {
                return Err(wrong());
            };
            let (id, column) = self.below((source, column));
            if found.is_some_and(|f| f != id) {
                return Err(wrong());
            }
            found = Some(id);
            positions.push(column);
        }
        let stored = found.and_then(|id| self.stored(id));
        let (table, schema) = stored.ok_or_else(wrong)?;
        let over = |i: &Index| {
            let text = i.fulltext.as_ref();
            text.is_some_and(|f| f.is_over(&positions))
        };
        let Some(index) = schema.indexes.iter().position(over) else {
            let m = "Can't find FULLTEXT index matching the column list";
            return Err(SqlError::new(1191, m));
        };
        let query = Query::of(Block {
            select: vec![text],
            ..Block::default()
        });
        self.arena.subqueries.push(Subquery {
            query,
            ask: Ask::Fulltext(Search { table, index, mode }),
            exists: false,
        });
        let kind = ExprKind::Subquery {
            id: self.arena.subqueries.len() - 1,
            operands: Vec::new(),
            hold: Coercibility::Implicit,
        };
        Ok(Expr::new(
            kind,
            SqlType::varchar(u32::MAX, Collation::Binary),
            true,
        ))
    }
    fn inserted_value(&mut self, column: &str) -> SqlResult<Expr> {
        let clause = self.frames.last().map_or("field list", |f| f.clause);
        let Some((source, schema)) = self.frames.iter().find_map(|f| f.inserted.clone()) else {
            return Err(SqlError::unsupported(
                "VALUES() outside of ON DUPLICATE KEY UPDATE",
            ));
        };
        let at = match &self.inserted {
            Some(view) => view.column(column),
            None => schema.column(column),
        };
        let Some(at) = at else {
            return Err(unknown_column(&[], column, clause));
        };
        let c = &schema.columns[at];
        self.notes.told.push((1287, VALUES_FUNCTION));
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
        let (source, at) = self.below((source, at));
        if let Some(schema) = self.schema_of(source) {
            let ty = schema.columns[at].ty.clone();
            self.notes.momentary |= schema.columns[at].default == crate::types::DefaultValue::Now;
            let cx = crate::value::StoreContext {
                session: self.cx.env,
                strict: true,
                row: 1,
            };
            let value = crate::value::default_value(&schema.columns[at], &cx)?;
            return Ok(Expr::literal(value, ty));
        }
        Err(SqlError::new(
            1364,
            format!("Field '{column}' doesn't have a default value"),
        ))
    }
    fn keep_private(&mut self) {
        self.notes.private = true;
    }
    fn clause(&self) -> &'static str {
        self.frames.last().map_or("field list", |f| f.clause)
    }
}
