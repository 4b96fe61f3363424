//! Window functions: their windows, and the query that a SELECT with such functions becomes.
//!
//! Window functions see the rows that WHERE, GROUP BY and HAVING leave, before DISTINCT, ORDER BY and LIMIT. A SELECT with them becomes
//! two: an inner one whose select list is whatever the functions, their windows, the select list and ORDER BY read, and an outer one over
//! a derived table of its rows with the functions' results beside them (`logical::Windowed`).

use super::scope::{Aliases, Binder};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::coercion::hold_of;
use crate::expr::bind::{arithmetic, shift};
use crate::expr::{ArithmeticOp, Expr, ExprKind, Frame, FrameBound, IntervalUnit, WindowFunction};
use crate::logical::{
    Block, Body, DerivedColumn, Hints, Query, Table, TableId, Tree, Window, Windowed,
};
use crate::parse::ast;
use crate::types::{BaseType, SqlType};
use crate::value::{Decimal, Value};

/// What a block has of windows and their functions.
#[derive(Debug)]
pub struct Windows {
    /// The table of which the functions' results are columns.
    results: TableId,
    /// WINDOW.
    named: Vec<(String, ast::WindowSpec)>,
    uses: Vec<Use>,
    /// Whether a window function may stand here.
    pub allowed: bool,
}

/// A function and its window.
#[derive(Debug)]
struct Use {
    partition: Vec<Expr>,
    order: Vec<(Expr, bool)>,
    function: WindowFunction,
}

/// A window with what it inherits.
struct Spec {
    partition: Vec<ast::Expr>,
    order: Vec<ast::OrderItem>,
    frame: Option<ast::Frame>,
}

const UNNAMED: &str = "<unnamed window>";

fn wrong(code: u16, what: &str) -> SqlError {
    SqlError::new(code, format!("Window '{UNNAMED}'{what}"))
}

fn illegal_bound() -> SqlError {
    wrong(
        3586,
        ": frame start or end is negative, NULL or of non-integral type",
    )
}

fn out_of_place(name: &str) -> SqlError {
    let m = format!("You cannot use the window function '{name}' in this context.'");
    SqlError::new(3593, m)
}

impl Windows {
    /// None so far.
    pub fn new(results: TableId) -> Windows {
        Windows {
            results,
            named: Vec::new(),
            uses: Vec::new(),
            allowed: false,
        }
    }
    /// Whether there is any function.
    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }
    /// Whether an expression reads a function's result.
    pub fn are_in(&self, e: &Expr) -> bool {
        let mut found = false;
        e.columns(&mut |t, _| found |= t == self.results);
        found
    }
    /// 3593 if an expression reads a function's result.
    pub fn refuse_in(&self, e: &Expr) -> SqlResult<()> {
        let mut found = None;
        e.walk(&mut |x| match &x.kind {
            ExprKind::Column { source, label, .. } if *source == self.results => {
                found.get_or_insert_with(|| label.to_string());
            }
            _ => {}
        });
        found.map_or(Ok(()), |name| Err(out_of_place(&name)))
    }

    /// Calls `f` for each expression of the functions and their windows.
    pub fn exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for one in &mut self.uses {
            one.partition.iter_mut().for_each(&mut *f);
            one.order.iter_mut().for_each(|(e, _)| f(e));
            one.function.exprs_mut(f);
        }
    }

    fn find(&self, name: &str) -> SqlResult<ast::WindowSpec> {
        let named = self
            .named
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        named
            .map(|(_, spec)| spec.clone())
            .ok_or_else(|| SqlError::new(3579, format!("Window name '{name}' is not defined.")))
    }

    /// A window with what it inherits; `depth`: windows that build on it.
    fn whole(&self, spec: &ast::WindowSpec, depth: usize) -> SqlResult<Spec> {
        let items = |list: &ast::Items<ast::OrderItem>| -> Vec<ast::OrderItem> {
            list.iter().map(|o| o.into_owned()).collect()
        };
        let mut whole = Spec {
            partition: items(&spec.partition_by)
                .into_iter()
                .map(|o| o.expr)
                .collect(),
            order: items(&spec.order_by),
            frame: spec.frame.clone(),
        };
        let Some(base) = &spec.base else {
            return Ok(whole);
        };
        if depth > self.named.len() {
            let m = "There is a circularity in the window dependency graph.";
            return Err(SqlError::new(3580, m));
        }
        let base_name = base.as_str();
        let base = self.whole(&self.find(base_name)?, depth + 1)?;
        if !whole.partition.is_empty() {
            let m = "A window which depends on another cannot define partitioning.";
            return Err(SqlError::new(3581, m));
        }
        if base.frame.is_some() {
            let m = format!(
                "Window '{base_name}' has a frame definition, so cannot be referenced by another window."
            );
            return Err(SqlError::new(3582, m));
        }
        if !whole.order.is_empty() && !base.order.is_empty() {
            let m = format!(
                "Window '{UNNAMED}' cannot inherit '{base_name}' since both contain an ORDER BY clause."
            );
            return Err(SqlError::new(3583, m));
        }
        if whole.order.is_empty() {
            whole.order = base.order;
        }
        whole.partition = base.partition;
        Ok(whole)
    }
}

impl Binder<'_, '_> {
    /// Takes note of a SELECT's WINDOW clause.
    pub fn name_windows(&mut self, list: &ast::Items<ast::NamedWindow>) -> SqlResult<()> {
        for w in list {
            let name = w.name.as_str().to_string();
            let named = &mut self.frame().windows.named;
            if named.iter().any(|(n, _)| n.eq_ignore_ascii_case(&name)) {
                let m = format!("Window '{name}' is defined twice.");
                return Err(SqlError::new(3591, m));
            }
            named.push((name, w.spec.clone()));
        }
        let windows = &self.frame().windows;
        for (_, spec) in &windows.named {
            windows.whole(spec, 0)?;
        }
        Ok(())
    }

    /// Takes a window function; what stands for its result.
    pub fn bind_window(
        &mut self,
        name: &str,
        mut function: WindowFunction,
        over: &ast::Over,
    ) -> SqlResult<Expr> {
        if !self.frame().windows.allowed {
            return Err(out_of_place(name));
        }
        let spec = match over {
            ast::Over::Named(name) => {
                let windows = &self.frame().windows;
                windows.whole(&windows.find(name.as_str())?, 0)?
            }
            ast::Over::Spec(spec) => self.frame().windows.whole(spec, 0)?,
        };
        let aliases = std::mem::replace(&mut self.frame().aliases, Aliases::Hidden);
        let clause = self.frame().clause;
        let bound = self.window_parts(&spec, &mut function);
        let f = self.frame();
        (f.aliases, f.clause) = (aliases, clause);
        let (partition, order) = bound?;
        let windows = &self.frame().windows;
        let mut nested = partition.iter().any(|e| windows.are_in(e));
        nested |= order.iter().any(|(e, _)| windows.are_in(e));
        if nested {
            let m = format!(
                "You cannot nest a window function in the specification of window '{UNNAMED}'."
            );
            return Err(SqlError::new(3595, m));
        }
        let mut args = Ok(());
        function.exprs(&mut |e| {
            if args.is_ok() {
                args = windows.refuse_in(e);
            }
        });
        args?;
        // A year is an integer there.
        if function.ty.base == BaseType::Year {
            function.ty = SqlType {
                unsigned: true,
                ..SqlType::new(BaseType::Int)
            };
        }
        let (ty, nullable) = (function.ty.clone(), function.nullable);
        let windows = &mut self.frame().windows;
        windows.uses.push(Use {
            partition,
            order,
            function,
        });
        let column = windows.uses.len() - 1;
        Ok(Expr::column(windows.results, column, ty, nullable, name))
    }

    #[expect(clippy::type_complexity)]
    fn window_parts(
        &mut self,
        spec: &Spec,
        function: &mut WindowFunction,
    ) -> SqlResult<(Vec<Expr>, Vec<(Expr, bool)>)> {
        let mut partition = Vec::new();
        for e in &spec.partition {
            partition.push(self.window_item(e, "window partition by")?);
        }
        let mut order = Vec::new();
        for o in &spec.order {
            let desc = super::select::is_descending(o);
            order.push((self.window_item(&o.expr, "window order by")?, desc));
        }
        function.frame = match &spec.frame {
            None => Frame::usual(!order.is_empty()),
            Some(f) => self.window_frame(f, &order)?,
        };
        Ok((partition, order))
    }

    fn window_item(&mut self, e: &ast::Expr, clause: &'static str) -> SqlResult<Expr> {
        if super::select::position(e).is_some() {
            let what = ": ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
            return Err(wrong(3592, what));
        }
        self.bind(e, clause)
    }

    fn window_frame(&mut self, f: &ast::Frame, order: &[(Expr, bool)]) -> SqlResult<Frame> {
        use ast::FrameBound as B;
        if f.unit == ast::FrameUnit::Groups {
            return Err(SqlError::unsupported("GROUPS"));
        }
        if f.exclude.is_some() {
            return Err(SqlError::unsupported("EXCLUDE"));
        }
        let end = f.end.as_ref().unwrap_or(&B::CurrentRow);
        if matches!(f.start, B::UnboundedFollowing) {
            return Err(wrong(3584, ": frame start cannot be UNBOUNDED FOLLOWING."));
        }
        if matches!(end, B::UnboundedPreceding) {
            return Err(wrong(3585, ": frame end cannot be UNBOUNDED PRECEDING."));
        }
        if matches!(
            (&f.start, end),
            (B::CurrentRow, B::Preceding(..))
                | (B::Following(..), B::Preceding(..) | B::CurrentRow)
        ) {
            return Err(illegal_bound());
        }
        let rows = f.unit == ast::FrameUnit::Rows;
        Ok(Frame {
            rows,
            start: self.window_bound(&f.start, rows, order)?,
            end: self.window_bound(end, rows, order)?,
        })
    }

    fn window_bound(
        &mut self,
        b: &ast::FrameBound,
        rows: bool,
        order: &[(Expr, bool)],
    ) -> SqlResult<FrameBound> {
        use ast::FrameBound as B;
        let (offset, unit, preceding) = match b {
            B::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            B::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            B::CurrentRow => return Ok(FrameBound::CurrentRow),
            B::Preceding(e, unit) => (e, unit, true),
            B::Following(e, unit) => (e, unit, false),
        };
        let offset = self.bind(offset, "window frame")?;
        if !offset.is_given() && !matches!(offset.kind, ExprKind::Literal(_)) {
            return Err(wrong(3590, " has a non-constant frame bound."));
        }
        if let ExprKind::Literal(v) = &offset.kind {
            let whole = matches!(v, Value::Int(_) | Value::UInt(_));
            if v.is_null() || v.to_f64() < 0.0 || rows && !whole {
                return Err(illegal_bound());
            }
        }
        let expr = match (rows, unit) {
            (true, Some(_)) => {
                return Err(wrong(
                    3596,
                    ": INTERVAL can only be used with RANGE frames.",
                ));
            }
            (true, None) => offset,
            (false, unit) => value_bound(offset, unit.map(IntervalUnit::from), preceding, order)?,
        };
        Ok(match preceding {
            true => FrameBound::Preceding(expr),
            false => FrameBound::Following(expr),
        })
    }

    /// Parts a SELECT with window functions.
    pub fn part_windows(&mut self, windows: Windows, mut block: Block) -> SqlResult<Block> {
        let mut lift = Lift {
            results: windows.results,
            table: self.arena.table_id(),
            given: windows.uses.len(),
            texts: Vec::new(),
            inputs: Vec::new(),
        };
        let mut outer = Block {
            distinct: std::mem::take(&mut block.distinct),
            order: std::mem::take(&mut block.order),
            limit: std::mem::take(&mut block.limit),
            select: std::mem::take(&mut block.select),
            ..Block::default()
        };
        let arena = &self.arena;
        let text = |e: &Expr| arena.text(e);
        let order = outer.order.iter_mut().map(|o| &mut o.expr);
        outer
            .select
            .iter_mut()
            .chain(order)
            .for_each(|e| lift.lift(e, &text));
        let row = lift.table;
        let mut list: Vec<Window> = Vec::new();
        let mut columns = Vec::new();
        for (n, one) in windows.uses.into_iter().enumerate() {
            let partition: Vec<usize> = one
                .partition
                .into_iter()
                .map(|e| lift.column(e, &text))
                .collect();
            let keys = one.order.into_iter();
            let order: Vec<(usize, bool)> = keys
                .map(|(e, desc)| (lift.column(e, &text), desc))
                .collect();
            let mut function = one.function;
            function.exprs_mut(&mut |e| lift.lift(e, &text));
            columns.push(DerivedColumn {
                name: format!("window_{n}"),
                ty: function.ty.clone(),
                nullable: function.nullable,
                hold: crate::expr::Coercibility::Implicit,
            });
            let same = |w: &&mut Window| w.partition == partition && w.order == order;
            match list.iter_mut().find(same) {
                Some(w) => w.functions.push((n, function)),
                None => list.push(Window {
                    partition,
                    order,
                    functions: vec![(n, function)],
                }),
            }
        }
        if lift.inputs.is_empty() {
            lift.input(Expr::literal(Value::Int(1), SqlType::bigint()), &text);
        }
        for (n, e) in lift.inputs.iter().enumerate() {
            columns.push(DerivedColumn {
                name: format!("column_{n}"),
                ty: e.ty.clone(),
                nullable: e.nullable,
                hold: hold_of(e),
            });
        }
        block.select = lift.inputs;
        let input = Query::of(block);
        let mut query = Query {
            types: columns.iter().map(|c| c.ty.clone()).collect(),
            body: Body::Windowed(Box::new(Windowed {
                input,
                row: self.arena.table_id(),
                windows: list,
            })),
            calc_found_rows: false,
        };
        // The functions read the row itself.
        if let Body::Windowed(w) = &mut query.body {
            let own = w.row;
            for f in w.windows.iter_mut().flat_map(|w| &mut w.functions) {
                f.1.exprs_mut(&mut |e| {
                    e.walk_mut(&mut |x| {
                        if let ExprKind::Column { source, .. } = &mut x.kind
                            && *source == row
                        {
                            *source = own;
                        }
                    });
                });
            }
        }
        let kind = self.computed(query, columns);
        outer.tables.push(Table {
            id: row,
            name: "<window>".into(),
            database: String::new(),
            table: String::new(),
            kind,
            hints: Hints::default(),
        });
        outer.from = Some(Tree::Leaf(row));
        Ok(outer)
    }
}

/// The value that bounds a RANGE frame: the ORDER BY expression's and so much more or less.
fn value_bound(
    offset: Expr,
    unit: Option<IntervalUnit>,
    preceding: bool,
    order: &[(Expr, bool)],
) -> SqlResult<Expr> {
    let [(key, desc)] = order else {
        return Err(not_one_key());
    };
    let minus = preceding != *desc;
    let temporal = matches!(
        key.ty.base,
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp | BaseType::Time
    );
    let numeric = key.ty.is_integer()
        || matches!(
            key.ty.base,
            BaseType::Decimal | BaseType::Double | BaseType::Float | BaseType::Year
        );
    match (unit, temporal, numeric) {
        (Some(unit), true, _) => Ok(shift(key.clone(), offset, unit, minus, key.ty.collation)),
        (None, true, _) => Err(wrong(
            3588,
            " with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.",
        )),
        (Some(_), _, true) => Err(wrong(
            3589,
            " with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.",
        )),
        (None, _, true) => {
            let op = match minus {
                true => ArithmeticOp::Sub,
                false => ArithmeticOp::Add,
            };
            Ok(arithmetic(op, key.clone(), wide(offset, &key.ty)))
        }
        (_, false, false) => Err(not_one_key()),
    }
}

fn not_one_key() -> SqlError {
    wrong(
        3587,
        " with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type",
    )
}

/// A whole number beside integers as a decimal: bounds may lie beyond what integers can be.
fn wide(offset: Expr, key: &SqlType) -> Expr {
    match offset.kind {
        ExprKind::Literal(v @ (Value::Int(_) | Value::UInt(_))) if key.is_integer() => {
            let d: Decimal = v.to_decimal();
            Expr::literal(Value::Decimal(d), SqlType::decimal(20, 0))
        }
        _ => offset,
    }
}

/// Moves what the outer SELECT reads into the inner one.
struct Lift {
    /// What stands for the functions' results while their SELECT is bound.
    results: TableId,
    /// The derived table: first the results, then the inputs.
    table: TableId,
    given: usize,
    texts: Vec<String>,
    inputs: Vec<Expr>,
}

impl Lift {
    /// The position among the inputs of an expression without window functions.
    fn input(&mut self, e: Expr, text: &dyn Fn(&Expr) -> String) -> usize {
        let mut own = text(&e);
        e.columns(&mut |t, c| own.push_str(&format!(" {t}.{c}")));
        if let Some(at) = self.texts.iter().position(|t| *t == own)
            && self.inputs[at].is_const_or_columns()
        {
            return at;
        }
        self.texts.push(own);
        self.inputs.push(e);
        self.inputs.len() - 1
    }

    /// The column of the derived table that such an expression is.
    fn column(&mut self, e: Expr, text: &dyn Fn(&Expr) -> String) -> usize {
        self.given + self.input(e, text)
    }

    /// Puts columns of the derived table in the place of the largest parts without window functions, and of their results.
    fn lift(&mut self, e: &mut Expr, text: &dyn Fn(&Expr) -> String) {
        if let ExprKind::Column { source, .. } = &mut e.kind
            && *source == self.results
        {
            *source = self.table;
            return;
        }
        let mut within = false;
        e.columns(&mut |t, _| within |= t == self.results);
        if within {
            e.each_child_mut(&mut |c| self.lift(c, text));
            return;
        }
        if e.is_const() {
            return;
        }
        let (ty, nullable, hold) = (e.ty.clone(), e.nullable, hold_of(e));
        let label = e.to_string();
        let own = std::mem::replace(e, Expr::null());
        let at = self.column(own, text);
        *e = Expr::column(self.table, at, ty, nullable, &label).held(hold);
    }
}
