//! From logical plans to physical ones: access paths, join order, loops.
//!
//! It owns every choice that depends on how much there is to read, and the numbering of rows at run time. It promises a plan that
//! says what the logical plan says. It never looks at names or at the syntax tree, and takes no lock.
//!
//! | file | owns |
//! |---|---|
//! | `lower` | table ids to the executor's sources, subqueries to columns of their values |
//! | `block` | a query block: conditions, grouping and order around its loops |
//! | `trial`, `cost` | a block planned in several ways, and what each costs |
//! | `dml` | the blocks of UPDATE and DELETE, and what is assigned |
//! | `joins` | the loops of a join |
//! | `order`, `search` | which order: the search, and what it weighs |
//! | `estimate` | how many rows there are, and how many conditions leave |
//! | `access` | the index and ranges to read one table by |
//! | `index_condition` | which conditions entries of an index decide |
//! | `fulltext` | one table by a FULLTEXT index |
//! | `spatial` | one table by a SPATIAL index |
//! | `index_merge` | one table by several indexes |
//! | `loose_scan` | an index read by jumps, for DISTINCT and GROUP BY |
//! | `skip_scan` | conditions on later parts of an index than the first |
//! | `conditions` | what a conjunct needs and says |
//! | `peek` | the values that placeholders have while planning, and what of them a plan rests on |

pub(crate) mod access;
mod block;
pub(crate) mod conditions;
mod cost;
mod dml;
mod estimate;
mod fulltext;
mod index_condition;
mod index_merge;
mod joins;
mod loose_scan;
mod lower;
mod order;
pub(crate) mod peek;
mod search;
mod skip_scan;
mod spatial;
mod trial;

use crate::error::SqlResult;
use crate::expr::Expr;
use crate::logical::PlanTable;
use crate::logical::{self, Arena, DerivedId, SubqueryId, TableId};
use crate::plan::nodes::{
    self, Derived, OrderKey, Query, Recursive, SetOp, SetOperation, Windowed,
};
use crate::plan::{Optimized, Root};
use estimate::Outline;
use peek::Peek;

/// Rows that a JSON_TABLE is taken to have: documents say nothing before they are read.
const JSON_TABLE_ROWS: f64 = 40.0;

/// State of planning one statement.
pub struct Optimizer<'a> {
    /// The session, and values of placeholders.
    peek: &'a Peek<'a>,
    /// The statement's stored tables.
    tables: &'a [PlanTable],
    /// Whether the statement may assign to user variables as it runs.
    assigns: bool,
    /// Queries within others, as long as they are not planned.
    arena: Arena,
    /// The source that each table is, once its block is under way.
    slots: Vec<Option<usize>>,
    /// Where the value of each subquery is: (source, column).
    values: Vec<Option<(usize, usize)>>,
    /// Where in `derived` each derived table is.
    planned: Vec<Option<usize>>,
    /// Derived tables planned.
    derived: Vec<Derived>,
    /// What is expected of them.
    outlines: Vec<Outline>,
    /// Subqueries numbered so far.
    subqueries: usize,
    /// Hash joins numbered so far.
    hashes: usize,
}

/// Plans a statement. `assigns`: it may assign to user variables as it runs.
pub fn optimize(
    root: logical::Root,
    arena: Arena,
    tables: &[PlanTable],
    peek: &Peek<'_>,
    assigns: bool,
) -> SqlResult<Optimized> {
    let mut o = Optimizer {
        peek,
        tables,
        assigns,
        slots: vec![None; arena.tables()],
        values: vec![None; arena.subqueries.len()],
        planned: vec![None; arena.derived.len()],
        arena,
        derived: Vec::new(),
        outlines: Vec::new(),
        subqueries: 0,
        hashes: 0,
    };
    let root = o.root(root)?;
    Ok(Optimized {
        root,
        derived: o.derived,
        subqueries: o.subqueries,
        hashes: o.hashes,
    })
}

impl Optimizer<'_> {
    fn root(&mut self, root: logical::Root) -> SqlResult<Root> {
        use logical::Root as L;
        Ok(match root {
            L::Query(q) => Root::Query(self.query(q, 0)?.0),
            L::Do(q) => Root::Do(self.query(q, 0)?.0),
            L::Insert(i) => Root::Insert(Box::new(self.insert(*i)?)),
            L::Update(u) => Root::Update(Box::new(self.update(*u)?)),
            L::Delete(d) => Root::Delete(Box::new(self.delete(*d)?)),
            L::Several(s) => Root::Several(Box::new(self.several(*s)?)),
        })
    }

    /// Plans a query inside of blocks with `base` sources; also what is expected of it.
    fn query(&mut self, q: logical::Query, base: usize) -> SqlResult<(Query, Outline)> {
        let (types, calc_found_rows) = (q.types.clone(), q.calc_found_rows);
        let turn = self.turnable(&q);
        let (body, outline) = match q.body {
            logical::Body::Block(b) => {
                let (block, outline) = self.cheapest_block(*b, turn, base, calc_found_rows)?;
                (nodes::Body::Block(Box::new(block)), outline)
            }
            logical::Body::Set(u) => {
                let (set, outline) = self.set_operation(*u, base)?;
                (nodes::Body::Set(Box::new(set)), outline)
            }
            logical::Body::Windowed(w) => {
                let (input, outline) = self.query(w.input, base)?;
                // A function is evaluated over one row.
                self.place(w.row, 0);
                let mut windows = w.windows;
                for (_, f) in windows.iter_mut().flat_map(|w| &mut w.functions) {
                    f.exprs_mut(&mut |e| *e = self.lower(std::mem::replace(e, Expr::null())));
                }
                let windowed = Windowed { input, windows };
                let outline = Outline {
                    cost: outline.cost,
                    ..Outline::of_rows(outline.rows)
                };
                (nodes::Body::Windowed(Box::new(windowed)), outline)
            }
            logical::Body::JsonTable(t) => {
                let (input, document) = self.query(t.input, base)?;
                let outline = Outline {
                    cost: document.cost + JSON_TABLE_ROWS,
                    ..Outline::of_rows(JSON_TABLE_ROWS)
                };
                let table = nodes::JsonTable {
                    input,
                    rows: t.rows,
                };
                (nodes::Body::JsonTable(Box::new(table)), outline)
            }
            logical::Body::Recursive(r) => {
                let (recursive, outline) = self.recursive(*r)?;
                (nodes::Body::Recursive(Box::new(recursive)), outline)
            }
            logical::Body::Values(rows) => {
                let count = rows.len() as f64;
                let rows = rows.into_iter().map(|row| self.lower_all(row));
                (nodes::Body::Values(rows.collect()), Outline::of_rows(count))
            }
        };
        let query = Query {
            body,
            types,
            calc_found_rows,
        };
        Ok((query, outline))
    }

    fn set_operation(
        &mut self,
        u: logical::SetOperation,
        base: usize,
    ) -> SqlResult<(SetOperation, Outline)> {
        let mut arms = Vec::new();
        let (mut all, mut cost) = (0.0, 0.0);
        for (arm, distinct) in u.arms {
            let first = arms.is_empty();
            let (arm, outline) = self.query(arm, base)?;
            arms.push((arm, distinct));
            all = match u.op {
                SetOp::Intersect if !first => f64::min(all, outline.rows),
                SetOp::Except if !first => all,
                _ => all + outline.rows,
            };
            cost += outline.cost;
        }
        self.place(u.row, base);
        let order = u.order.into_iter().map(|o| OrderKey {
            expr: lower::with_subqueries(self.lower(o.expr), usize::MAX, &[]),
            desc: o.desc,
        });
        let outline = Outline {
            cost,
            ..Outline::of_rows(estimate::limited(all, &u.limit))
        };
        let set = SetOperation {
            op: u.op,
            arms,
            order: order.collect(),
            limit: u.limit,
            base,
        };
        Ok((set, outline))
    }

    /// Plans a query that reads its own rows. How many there will be nobody knows: each iteration is taken to have as many as the seed.
    fn recursive(&mut self, r: logical::Recursive) -> SqlResult<(Recursive, Outline)> {
        let (seed, outline) = self.query(r.seed, 0)?;
        let working = self.derived(r.working)?;
        self.outlines[working] = Outline {
            cost: 0.0,
            ..outline.clone()
        };
        let mut steps = Vec::new();
        let mut whole = outline;
        for step in r.steps {
            let (step, outline) = self.query(step, 0)?;
            steps.push(step);
            whole.rows += outline.rows;
            whole.cost += outline.cost;
        }
        whole.rows = estimate::limited(whole.rows, &r.limit);
        let recursive = Recursive {
            seed,
            steps,
            distinct: r.distinct,
            working,
            names: r.names,
            limit: r.limit,
        };
        let outline = Outline {
            cost: whole.cost,
            ..Outline::of_rows(whole.rows)
        };
        Ok((recursive, outline))
    }

    /// Plans a derived table when it is first met; its position in the plan.
    fn derived(&mut self, at: DerivedId) -> SqlResult<usize> {
        if let Some(planned) = self.planned[at] {
            self.derived[planned].uses += 1;
            return Ok(planned);
        }
        let query = std::mem::take(&mut self.arena.derived[at].query);
        let (query, outline) = self.query(query, 0)?;
        self.derived.push(Derived { query, uses: 1 });
        self.outlines.push(outline);
        self.planned[at] = Some(self.derived.len() - 1);
        Ok(self.derived.len() - 1)
    }

    /// Says which source a table is.
    fn place(&mut self, table: TableId, source: usize) {
        self.slots[table] = Some(source);
    }

    /// Takes a subquery out, to be planned.
    fn take_subquery(&mut self, id: SubqueryId) -> logical::Query {
        std::mem::take(&mut self.arena.subqueries[id].query)
    }
}
