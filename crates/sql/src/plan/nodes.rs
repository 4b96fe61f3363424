//! The trees that planning makes and execution walks. Pure data.
//!
//! **Sources.** Everything an expression can read is a row of a numbered source: `Expr::Column { source, .. }`
//! means `rows[source]`. A block numbers its sources after those of the blocks around it:
//! `base..base+n` are its tables, `base+n` its group (the results of aggregates), `base+n+1` the results of its
//! subqueries. So a subquery's expressions read its own rows and those around it from one array,
//! and "correlated" means no more than naming a source below `base`.

use std::sync::Arc;

use millpond_store::{LockMode, WaitPolicy};

use crate::env::StoredFunction;
use crate::expr::json_table::JsonRows;
use crate::expr::{AggregateSpec, CompareOp, Expr, RowTest};
use crate::logical::{Limit, Search, VirtualRef};
pub use crate::logical::{SetOp, Window};
use crate::partition::Prune;
use crate::types::{Collation, Schema, SqlType};

/// A whole query: a block or a set operation, and what it asks of the session.
#[derive(Debug)]
pub struct Query {
    /// What makes the rows.
    pub body: Body,
    /// Types of the columns.
    pub types: Vec<SqlType>,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
}

/// What makes a query's rows.
#[derive(Debug)]
pub enum Body {
    /// A SELECT.
    Block(Box<Block>),
    /// UNION, INTERSECT, EXCEPT, and ORDER BY or LIMIT around a parenthesised query.
    Set(Box<SetOperation>),
    /// VALUES ROW(...), ...
    Values(Vec<Vec<Expr>>),
    /// A query of WITH RECURSIVE.
    Recursive(Box<Recursive>),
    /// Window functions over another query's rows.
    Windowed(Box<Windowed>),
    /// The rows of JSON_TABLE.
    JsonTable(Box<JsonTable>),
}

/// JSON_TABLE.
#[derive(Debug)]
pub struct JsonTable {
    /// The document: one row of one value.
    pub input: Query,
    /// The rows that it makes.
    pub rows: Arc<JsonRows>,
}

/// Window functions over a query's rows. Its columns are the functions' results, then those of the input.
#[derive(Debug)]
pub struct Windowed {
    /// The rows.
    pub input: Query,
    /// The windows, in the order in which they are worked on. Their expressions read the row put out, which is source 0.
    pub windows: Vec<Window>,
}

/// A query that reads its own rows.
#[derive(Debug)]
pub struct Recursive {
    /// The first rows.
    pub seed: Query,
    /// What makes more of them.
    pub steps: Vec<Query>,
    /// UNION DISTINCT: rows that were there before are left out.
    pub distinct: bool,
    /// Position in [`super::Plan::derived`] of what the steps read: the rows of the iteration before.
    pub working: usize,
    /// Names of the columns, for messages.
    pub names: Vec<String>,
    /// LIMIT.
    pub limit: Limit,
}

/// UNION, or INTERSECT or EXCEPT of two.
#[derive(Debug)]
pub struct SetOperation {
    /// Which.
    pub op: SetOp,
    /// The queries; `true`: DISTINCT. Of a UNION, rows equal to earlier ones so far are left out then.
    pub arms: Vec<(Query, bool)>,
    /// ORDER BY over the output row, which is source `base`.
    pub order: Vec<OrderKey>,
    /// LIMIT.
    pub limit: Limit,
    /// Sources of the blocks around.
    pub base: usize,
}

/// An expression with the subqueries that it may ask for.
#[derive(Debug)]
pub struct ExprWithSubqueries {
    /// The expression.
    pub expr: Expr,
    /// Positions in [`Block::subqueries`] of those that have not run before the first row.
    pub subqueries: Vec<usize>,
}

/// An ORDER BY item.
#[derive(Debug)]
pub struct OrderKey {
    /// What to sort by.
    pub expr: ExprWithSubqueries,
    /// DESC.
    pub desc: bool,
}

/// A SELECT.
#[derive(Debug)]
pub struct Block {
    /// Sources of the blocks around.
    pub base: usize,
    /// Its tables, by source number minus `base`.
    pub sources: Vec<Source>,
    /// By source, the columns that anything in the block or its subqueries reads, in ascending order.
    pub read: Vec<Vec<usize>>,
    /// Its subqueries; the n-th's value is column n of source `base + sources.len() + 1`.
    pub subqueries: Vec<Subquery>,
    /// Those of them that depend on nothing in this block and run once at most.
    pub once: Vec<usize>,
    /// Those of them that are needed in any case and run before the first row. The others run when an expression asks.
    pub first: Vec<usize>,
    /// Conditions without columns of this block: checked before the first row.
    pub gate: Vec<ExprWithSubqueries>,
    /// The join, outermost loop first.
    pub levels: Vec<Level>,
    /// Grouping.
    pub group: Option<Group>,
    /// HAVING.
    pub having: Vec<ExprWithSubqueries>,
    /// The select list.
    pub select: Vec<ExprWithSubqueries>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// The first table's rows come in that order, as long as its conditions fix what they are to fix.
    pub in_order: bool,
    /// ORDER BY is the select list, ascending: a row's key for DISTINCT is its key for sorting.
    pub order_is_select: bool,
    /// LIMIT.
    pub limit: Limit,
}

impl Query {
    /// Whether the plan would be the same whatever values its conditions compare with.
    pub fn is_generic(&self) -> bool {
        match &self.body {
            Body::Block(b) => b.is_generic(),
            _ => false,
        }
    }
}

impl Query {
    /// Whether it has no LIMIT.
    pub fn is_unlimited(&self) -> bool {
        match &self.body {
            Body::Block(b) => b.limit.count.is_none(),
            Body::Set(u) => u.limit.count.is_none(),
            Body::Values(_) => true,
            Body::Recursive(r) => r.limit.count.is_none(),
            Body::Windowed(_) | Body::JsonTable(_) => true,
        }
    }
    /// How many combinations of rows it would look at, in its largest SELECT.
    pub fn combinations(&self) -> f64 {
        match &self.body {
            Body::Block(b) => combinations(&b.levels),
            Body::Set(u) => {
                let arms = u.arms.iter().map(|(q, _)| q.combinations());
                arms.fold(0.0, f64::max)
            }
            Body::Values(_) => 0.0,
            Body::Recursive(r) => r.seed.combinations(),
            Body::JsonTable(t) => t.input.combinations(),
            Body::Windowed(w) => w.input.combinations(),
        }
    }
}

impl Query {
    /// About how many rows it is expected to have, LIMIT and what DISTINCT leaves out aside.
    pub fn expected_rows(&self) -> f64 {
        match &self.body {
            Body::Block(b) => match &b.group {
                Some(g) if g.keys.is_empty() => 1.0,
                Some(g) => g.expected.min(expected_rows(&b.levels)),
                None => expected_rows(&b.levels),
            },
            Body::Set(u) => u.arms.iter().map(|(q, _)| q.expected_rows()).sum(),
            Body::Values(rows) => rows.len() as f64,
            Body::Recursive(r) => r.seed.expected_rows(),
            Body::Windowed(w) => w.input.expected_rows(),
            // Nobody knows how many a document makes.
            Body::JsonTable(t) => t.input.expected_rows(),
        }
    }
}

fn expected_rows(levels: &[Level]) -> f64 {
    let of = |l: &Level| match &l.from {
        LevelFrom::Nest(list) => expected_rows(list),
        _ => l.expected.out,
    };
    levels.iter().map(of).product()
}

fn combinations(levels: &[Level]) -> f64 {
    let of = |l: &Level| match &l.from {
        LevelFrom::Nest(list) => combinations(list),
        _ => l.expected.rows.max(1.0),
    };
    levels.iter().map(of).product()
}

/// Whether a source is read by a key.
fn is_keyed(levels: &[Level], source: usize) -> bool {
    levels.iter().any(|l| match &l.from {
        LevelFrom::Table(s, access) => *s == source && access.is_bounded(),
        LevelFrom::Nest(list) => is_keyed(list, source),
        LevelFrom::Rows(_) | LevelFrom::Hash(_) => false,
    })
}

impl Block {
    /// Whether rows are to be sorted, by what is known when planning.
    pub fn sorts(&self) -> bool {
        !self.order.is_empty() && !self.in_order
    }
    /// Whether conditions on a key bound what is read of a source.
    pub fn is_keyed(&self, source: usize) -> bool {
        is_keyed(&self.levels, source)
    }
    /// See [`Query::is_generic`].
    pub fn is_generic(&self) -> bool {
        let generic = |l: &Level| matches!(&l.from, LevelFrom::Table(_, a) if a.generic);
        // How many rows values leave decides on the order of a join, unless it begins with one row each.
        let begins = |l: &Level| matches!(&l.from, LevelFrom::Table(_, a) if a.by_unique_key);
        self.subqueries.is_empty()
            && self.levels.iter().all(generic)
            && (self.levels.len() <= 1 || begins(&self.levels[0]))
    }
    /// Source of the aggregates.
    pub fn group_source(&self) -> usize {
        self.base + self.sources.len()
    }
    /// Source of the subqueries' values.
    pub fn subquery_source(&self) -> usize {
        self.base + self.sources.len() + 1
    }
    /// Sources visible to its subqueries.
    pub fn width(&self) -> usize {
        self.base + self.sources.len() + 2
    }
}

/// Grouping.
#[derive(Debug)]
pub struct Group {
    /// GROUP BY expressions; empty: one group.
    pub keys: Vec<ExprWithSubqueries>,
    /// How many groups are expected.
    pub expected: f64,
    /// Whether there is a GROUP BY: without one there is one group, even of no rows.
    pub explicit: bool,
    /// WITH ROLLUP: of no rows there is one group too, whose keys are all rolled up.
    pub rolled: bool,
    /// Aggregates; the n-th's result is column n of the group source.
    pub aggregates: Vec<AggregateSpec>,
    /// Subqueries that the aggregates' arguments need.
    pub subqueries: Vec<usize>,
    /// Equal keys arrive together, under the condition of [`Block::in_order`].
    pub ordered: bool,
    /// The one aggregate is a MIN or MAX that the first row with a value decides, under the same condition.
    pub first_only: bool,
    /// For each source of the block, whether anything after grouping reads its columns.
    pub keep: Vec<bool>,
}

/// A table of a FROM clause.
#[derive(Debug)]
pub struct Source {
    /// Alias, or the table's name.
    pub name: String,
    /// What it is.
    pub kind: SourceKind,
}

/// What a source is.
#[derive(Debug)]
pub enum SourceKind {
    /// A stored table: position in [`super::Plan::tables`], schema, how its rows are locked.
    Table {
        /// Position in [`super::Plan::tables`].
        table: usize,
        /// Its schema.
        schema: Arc<Schema>,
        /// FOR UPDATE and the like.
        lock: Option<(LockMode, WaitPolicy)>,
        /// PARTITION (...): positions of partitions, ascending.
        partitions: Option<Arc<[usize]>>,
    },
    /// A derived table or CTE: position in [`super::Plan::derived`].
    Derived {
        /// Position in [`super::Plan::derived`].
        derived: usize,
    },
    /// A table computed for each combination of the rows that it reads.
    Lateral(Box<Lateral>),
    /// A table computed on demand.
    Virtual {
        /// The table.
        table: VirtualRef,
        /// Columns compared for equality with constants: (column, value).
        known: Vec<(usize, Expr)>,
        /// Columns read, sorted; `None`: all.
        read: Option<Vec<usize>>,
    },
}

impl SourceKind {
    /// The columns of other sources, of the block and of those around, that its rows depend on: (source, column), sorted. It is
    /// joined after them.
    pub fn reads(&self) -> &[(usize, usize)] {
        match self {
            SourceKind::Lateral(l) => &l.outer,
            SourceKind::Table { .. } | SourceKind::Derived { .. } | SourceKind::Virtual { .. } => {
                &[]
            }
        }
    }
}

/// A derived table that depends on rows around it.
#[derive(Debug)]
pub struct Lateral {
    /// Its plan. Its sources are numbered after those of the block.
    pub query: Query,
    /// Columns it reads of the block's other tables and of the blocks around: (source, column), sorted.
    pub outer: Vec<(usize, usize)>,
    /// Whether its rows are the same for rows that are alike in what it reads.
    pub deterministic: bool,
    /// Position in the execution's table of kept results.
    pub id: usize,
    /// Rows expected each time.
    pub rows: f64,
    /// What one run is expected to cost, in rows read.
    pub cost: f64,
}

/// One loop of a join.
#[derive(Debug)]
pub struct Level {
    /// Where its rows come from.
    pub from: LevelFrom,
    /// Which of its rows go on.
    pub kind: LevelKind,
    /// Conditions on a row of this level (ON for any but an inner one; everything for that).
    pub on: Vec<ExprWithSubqueries>,
    /// For any but an inner level, conditions on what comes out, an outer one's NULLs included.
    pub filter: Vec<ExprWithSubqueries>,
    /// What was expected of it when planning, for EXPLAIN.
    pub expected: Expected,
}

/// What is expected of a level. Costs are in rows read in the order of the clustered index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// Rows read per execution of the loop; of a hash join, rows hashed.
    pub rows: f64,
    /// Cost before the first execution: building what is hashed.
    pub once: f64,
    /// Cost per execution.
    pub each: f64,
    /// Rows that come out per execution.
    pub out: f64,
}

impl Expected {
    /// Rows read, and what that costs.
    pub fn of(rows: f64, each: f64) -> Expected {
        Expected {
            rows,
            once: 0.0,
            each,
            out: rows,
        }
    }
}

/// Which rows of a level go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// All that satisfy its conditions.
    Inner,
    /// LEFT JOIN: if no row satisfies `on`, one row of NULLs.
    Outer,
    /// The first that satisfies `on`.
    Semi,
    /// One row of NULLs if none satisfies `on`.
    Anti,
}

/// Where a level's rows come from.
#[derive(Debug)]
pub enum LevelFrom {
    /// A stored table by an index: source number, access.
    Table(usize, Access),
    /// Computed rows, looked through one after another.
    Rows(usize),
    /// Rows of a source hashed by equality with earlier sources.
    Hash(HashJoin),
    /// Several levels as one (the inner side of an outer join).
    Nest(Vec<Level>),
}

/// A hash join's inner side: read once, hashed by `keys`, then probed with `probes`.
#[derive(Debug)]
pub struct HashJoin {
    /// Position in the execution's table of built sides.
    pub id: usize,
    /// The source hashed.
    pub source: usize,
    /// How it is read, for a stored table.
    pub access: Option<Access>,
    /// Conditions on its rows alone.
    pub build_filter: Vec<ExprWithSubqueries>,
    /// Expressions over the source.
    pub keys: Vec<Expr>,
    /// Expressions over earlier sources, pairwise equal to `keys` in type.
    pub probes: Vec<Expr>,
    /// Types in which keys are hashed.
    pub types: Vec<SqlType>,
    /// Whether a key pair matches NULL with NULL (`<=>`).
    pub null_safe: Vec<bool>,
}

/// How a stored table is read.
#[derive(Debug)]
pub struct Access {
    /// Position of the index.
    pub index: usize,
    /// Conditions on leading parts.
    pub eq: Vec<EqCond>,
    /// Condition on the part after them.
    pub range: Option<RangeCond>,
    /// An OR: the rows of all of these are read, each once. Then there is nothing in `eq` and `range`.
    pub arms: Vec<Arm>,
    /// Read backwards.
    pub reverse: bool,
    /// The order of its rows is made use of.
    pub ordered: bool,
    /// No other values in the conditions would have made another choice.
    pub generic: bool,
    /// A lookup of at most one row: all parts of a unique index are given, none as a list or NULL.
    pub unique: bool,
    /// All parts of a unique index are given, as values or as lists of them: no more rows than combinations of these, whatever they are.
    pub by_unique_key: bool,
    /// The index's own bytes hold all columns that are read; which they are.
    pub covering: Option<Vec<CoveredColumn>>,
    /// Of entries that agree in the first parts only some are read: the others say nothing that is wanted. Whoever reads them all gets
    /// the same result.
    pub jump: Option<Jump>,
    /// Conditions on later parts, looked up within each combination of the parts before them.
    pub skip: Option<Box<Skip>>,
    /// Several indexes are read in its place, for keys of the clustered index; then there is nothing in `eq`, `range` and `arms`, and
    /// `index` is the clustered one.
    pub merge: Option<Box<IndexMerge>>,
    /// A FULLTEXT search finds the rows, the best first; then `index` is the clustered one, and nothing else bounds what is read.
    pub fulltext: Option<Box<FulltextAccess>>,
    /// A SPATIAL index finds the rows, in the order of their keys; then `index` is the clustered one, and nothing else bounds what is read.
    pub spatial: Option<Box<SpatialAccess>>,
    /// Conditions asked of the index's entries before rows are fetched.
    pub pushed: Option<Box<IndexCondition>>,
    /// For a partitioned table, what is known of the partitions to read; `None`: nothing.
    pub prune: Option<Box<Prune>>,
    /// Conditions that the index decides exactly, unless a value turns out not to be comparable in the
    /// index's order; then they are checked.
    pub recheck: Vec<ExprWithSubqueries>,
}

impl Access {
    /// Whether conditions bound what is read of the index.
    pub fn is_bounded(&self) -> bool {
        !self.eq.is_empty()
            || self.range.is_some()
            || !self.arms.is_empty()
            || self.skip.is_some()
            || self.merge.is_some()
            || self.is_by_entries()
    }
    /// Whether it reads the clustered index and no other.
    pub fn is_of_table(&self) -> bool {
        self.index == 0 && self.merge.is_none() && !self.is_by_entries()
    }
    /// Whether rows are found by an index that has any number of entries for each.
    pub fn is_by_entries(&self) -> bool {
        self.fulltext.is_some() || self.spatial.is_some()
    }
    /// Calls `f` for the values that bound what is read.
    pub fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        let mut one = |eq: &[EqCond], range: &Option<RangeCond>| {
            for c in eq {
                match c {
                    EqCond::Value(e) | EqCond::NullSafe(e) => f(e),
                    EqCond::IsNull => {}
                    EqCond::In(list) => list.iter().for_each(&mut *f),
                }
            }
            if let Some(r) = range {
                let bounds = r.lower.iter().chain(&r.upper).map(|(e, _)| e);
                bounds.chain(&r.like).for_each(&mut *f);
            }
        };
        one(&self.eq, &self.range);
        for arm in &self.arms {
            one(&arm.eq, &arm.range);
        }
        if let Some(skip) = &self.skip {
            one(&skip.eq, &skip.range);
        }
        if let Some(by) = &self.spatial {
            f(&by.geometry);
        }
    }
    /// An access by the same conditions that is good for nothing but to estimate how much it reads.
    pub fn bounds(&self) -> Access {
        Access {
            index: self.index,
            eq: self.eq.clone(),
            range: self.range.clone(),
            arms: self.arms.clone(),
            jump: None,
            skip: None,
            merge: None,
            fulltext: None,
            spatial: self.spatial.clone(),
            pushed: None,
            prune: None,
            reverse: false,
            ordered: false,
            generic: false,
            unique: self.unique,
            by_unique_key: false,
            covering: None,
            recheck: Vec::new(),
        }
    }
    /// How many parts of the index conditions bear on.
    pub fn parts_used(&self) -> usize {
        let used = |eq: &[EqCond], range: &Option<_>| eq.len() + usize::from(range.is_some());
        if let Some(skip) = &self.skip {
            return skip.parts + used(&skip.eq, &skip.range);
        }
        self.arms
            .iter()
            .map(|arm| used(&arm.eq, &arm.range))
            .max()
            .unwrap_or_else(|| used(&self.eq, &self.range))
    }
}

/// Reading a table by a FULLTEXT index.
#[derive(Clone, Debug)]
pub struct FulltextAccess {
    /// Position of the index.
    pub index: usize,
    /// The search ([`crate::fulltext::Query`]): the value of a subquery that runs before the first row.
    pub search: Expr,
}

/// Reading a table by a SPATIAL index.
#[derive(Clone, Debug)]
pub struct SpatialAccess {
    /// Position of the index.
    pub index: usize,
    /// What the rows' geometries are to meet.
    pub geometry: Expr,
}

/// Conditions on parts of an index of which some before have none: a skip scan.
#[derive(Clone, Debug)]
pub struct Skip {
    /// Parts before them: those that [`Access::eq`] fixes, and those of which each combination of values is looked up.
    pub parts: usize,
    /// Conditions on the parts that follow.
    pub eq: Vec<EqCond>,
    /// Condition on the part after them.
    pub range: Option<RangeCond>,
}

/// One alternative of several by which an index is read.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Conditions on leading parts.
    pub eq: Vec<EqCond>,
    /// Condition on the part after them.
    pub range: Option<RangeCond>,
}

/// A loose index scan: a group is made of entries that agree in the first parts. Its first is read in any case.
#[derive(Clone, Copy, Debug)]
pub struct Jump {
    /// How many parts.
    pub parts: usize,
    /// Whether the group's last entry is read too, for MIN or MAX of the next part.
    pub last: bool,
    /// Whether the next part may be NULL, which is neither: then entries beside NULLs are read.
    pub nulls: bool,
}

/// Several indexes that are read for one table.
#[derive(Debug)]
pub struct IndexMerge {
    /// How each is read; no lookups of single rows among them.
    pub parts: Vec<Access>,
    /// The rows that all of them find, not those that any does.
    pub all: bool,
    /// Each gives keys of the clustered index in their order, as far as was known when planning.
    pub in_order: bool,
}

/// Conditions that an entry of a secondary index decides, besides those that bound the scan.
#[derive(Debug)]
pub struct IndexCondition {
    /// The table's source.
    pub source: usize,
    /// Columns of it that they read; the entry's bytes hold them.
    pub columns: Vec<CoveredColumn>,
    /// The conditions. They ask for no subqueries, and have one value for the same rows.
    pub conds: Vec<ExprWithSubqueries>,
}

/// A column read back from index bytes.
#[derive(Clone, Copy, Debug)]
pub struct CoveredColumn {
    /// The column.
    pub column: usize,
    /// Position of the part in the index, or in the clustered index.
    pub part: usize,
    /// Whether it is read from the clustered key.
    pub clustered: bool,
}

/// A condition that fixes an index part.
#[derive(Clone, Debug)]
pub enum EqCond {
    /// `= value`.
    Value(Expr),
    /// `<=> value`.
    NullSafe(Expr),
    /// IS NULL.
    IsNull,
    /// One of several values.
    In(Vec<Expr>),
}

/// A condition that bounds an index part.
#[derive(Clone, Debug, Default)]
pub struct RangeCond {
    /// Lower bound, inclusive or not.
    pub lower: Option<(Expr, bool)>,
    /// Upper bound, inclusive or not.
    pub upper: Option<(Expr, bool)>,
    /// Pattern of LIKE.
    pub like: Option<Expr>,
}

/// A subquery in an expression.
#[derive(Debug)]
pub struct Subquery {
    /// Its plan.
    pub query: Query,
    /// What is asked of it.
    pub ask: Ask,
    /// Whether it reads a source of a block around it: then its result is not kept.
    pub correlated: bool,
    /// Whether its rows may be others each time (`RAND()`, `@n := @n + 1`): then they are not kept either.
    pub volatile: bool,
    /// Whether neither its rows nor what they are compared with are of that kind.
    pub deterministic: bool,
    /// Whether it is an EXISTS that is asked as IN is (see `rewrite::exists`). NULL is as good as false then.
    pub exists: bool,
    /// What one run of it is expected to cost, in rows read.
    pub cost: f64,
    /// Whether its rows may be kept to be looked through again.
    pub keeps: bool,
    /// Position in the execution's table of kept results.
    pub id: usize,
    /// Columns it reads of the blocks around: (source, column).
    pub outer: Vec<(usize, usize)>,
}

impl Subquery {
    /// Whether it is a call of a stored function or a FULLTEXT search, which EXPLAIN shows as little as any function's.
    pub fn is_call(&self) -> bool {
        matches!(self.ask, Ask::Call(_) | Ask::Fulltext(_))
    }
    /// Whether its rows are the same throughout a statement.
    pub fn stays(&self) -> bool {
        !self.correlated && !self.volatile
    }
}

/// A derived table or WITH query.
#[derive(Debug)]
pub struct Derived {
    /// Its plan.
    pub query: Query,
    /// How many times it is read from.
    pub uses: usize,
}

/// What is asked of a subquery.
#[derive(Debug)]
pub enum Ask {
    /// Its one value.
    Scalar,
    /// What a stored function makes of its one row, the arguments.
    Call(Arc<StoredFunction>),
    /// A FULLTEXT search for the one value of its one row, ready to be held against rows.
    Fulltext(Search),
    /// Whether it has rows.
    Exists {
        /// NOT EXISTS.
        negated: bool,
    },
    /// `value IN`.
    In {
        /// Left side.
        value: ExprWithSubqueries,
        /// NOT IN.
        negated: bool,
        /// Collation of strings.
        collation: Collation,
    },
    /// `(values) op`, `(values) IN`.
    Row {
        /// Left side.
        values: Vec<ExprWithSubqueries>,
        /// What is asked of the two.
        test: RowTest,
        /// Collation of strings, by column.
        collations: Vec<Collation>,
    },
    /// `value op ANY | ALL`.
    Quantified {
        /// Left side.
        value: ExprWithSubqueries,
        /// Operator.
        op: CompareOp,
        /// ALL.
        all: bool,
        /// Collation of strings.
        collation: Collation,
    },
}
