//! WITH RECURSIVE.
//!
//! A WITH query that names itself is a UNION: first the SELECTs that do not, the seed, then those that do, each once, in its FROM clause
//! (MySQL's manual, "WITH", "Recursive Common Table Expressions"). The types are the seed's. What names itself reads a derived table that
//! has no query: execution gives it the rows of the iteration before.

use super::from::derived_columns;
use super::heads::Head;
use super::scope::{Binder, Cte};
use crate::error::{SqlError, SqlResult};
use crate::logical::{
    Body, Columns, Derived, DerivedId, Query, Recursive, SetOp, TableId, TableKind, Tree,
};
use crate::parse::ast;

/// A WITH query while it is bound, as it sees itself.
#[derive(Clone, Debug)]
pub struct Recursion {
    /// What it reads of itself: the rows of the iteration before, and their columns. `None` while its first SELECT is bound.
    working: Option<(DerivedId, Columns)>,
    /// Whether it is a UNION.
    union: bool,
    /// References by the SELECT that is being bound.
    uses: usize,
    /// Derived tables around, and blocks around: where its own SELECTs are bound.
    place: (usize, usize),
}

/// The parts of the query while they are bound.
struct Parts {
    seed: Vec<(Query, bool)>,
    heads: Vec<Head>,
    steps: Vec<Query>,
    distinct: bool,
}

const SEED_FIRST: &str =
    "should have one or more non-recursive query blocks followed by one or more recursive ones";

fn wrong(code: u16, name: &str, what: &str) -> SqlError {
    SqlError::new(
        code,
        format!("Recursive Common Table Expression '{name}' {what}"),
    )
}

fn misplaced(name: &str) -> SqlError {
    SqlError::new(
        3577,
        format!(
            "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced only \
             once, and not in any subquery"
        ),
    )
}

fn unsupported(what: &str) -> SqlError {
    SqlError::unsupported(format_args!("{what} in a recursive WITH query"))
}

impl Binder<'_, '_> {
    /// Binds a query of WITH RECURSIVE as a derived table; the WITH queries before it are in sight.
    pub fn derive_recursive(&mut self, cte: &Cte) -> SqlResult<(DerivedId, Columns)> {
        let frames = std::mem::take(&mut self.frames);
        self.derives += 1;
        let at = self.ctes.len();
        self.ctes.push(Cte {
            recursion: Some(Recursion {
                working: None,
                union: matches!(&*cte.query.body.tree(), ast::QueryBody::Set(_)),
                uses: 0,
                place: (self.derives, 1),
            }),
            ..cte.clone()
        });
        let bound = self.recursive(cte, at);
        self.ctes.truncate(at);
        self.derives -= 1;
        self.frames = frames;
        let (query, columns) = bound?;
        self.arena.derived.push(Derived::of(query, 1));
        Ok((self.arena.derived.len() - 1, columns))
    }

    /// The query of the WITH query at a position, and its columns.
    fn recursive(&mut self, cte: &Cte, at: usize) -> SqlResult<(Query, Columns)> {
        let q = &cte.query;
        let body = q.body.tree();
        let set = match &*body {
            ast::QueryBody::Set(set) => set,
            _ => return self.not_recursive(cte),
        };
        self.allow_into(q.into_clause())?;
        if let Some(with) = q.with() {
            self.with(with)?;
        }
        let mut parts = Parts {
            seed: Vec::new(),
            heads: Vec::new(),
            steps: Vec::new(),
            distinct: false,
        };
        self.part(cte, at, &set.first, false, &mut parts)?;
        let mut plain = true;
        for part in &set.rest {
            plain &= part.op == ast::SetOp::Union;
            if plain {
                self.part(cte, at, &part.body, !part.all, &mut parts)?;
            }
        }
        if parts.steps.is_empty() {
            // It sees itself nowhere.
            self.ctes.truncate(at + 1);
            return self.not_recursive(cte);
        }
        if !plain {
            return Err(unsupported("EXCEPT or INTERSECT"));
        }
        if !q.order_by().is_empty() {
            return Err(unsupported("ORDER BY"));
        }
        self.open_frame();
        let limit = self.limit(q.limit());
        self.frames.pop();
        let limit = limit?;
        let Some((working, columns)) = self.recursion(at).working.clone() else {
            return Err(misplaced(&cte.name));
        };
        let types = columns.iter().map(|c| c.ty.clone()).collect();
        let seed = match parts.seed.len() {
            1 => parts.seed.swap_remove(0).0,
            _ => self.set_operation(SetOp::Union, parts.seed, &parts.heads),
        };
        let names = columns.iter().map(|c| c.name.clone()).collect();
        let recursive = Recursive {
            seed,
            steps: parts.steps,
            distinct: parts.distinct,
            working,
            names,
            limit,
        };
        let query = Query {
            body: Body::Recursive(Box::new(recursive)),
            types,
            calc_found_rows: false,
        };
        Ok((query, columns))
    }

    /// A query that must not name itself.
    fn not_recursive(&mut self, cte: &Cte) -> SqlResult<(Query, Columns)> {
        let (query, heads) = self.query(&cte.query)?;
        let columns = derived_columns(&query, heads, &cte.name, &cte.columns)?;
        Ok((query, columns))
    }

    fn recursion(&mut self, at: usize) -> &mut Recursion {
        self.ctes[at]
            .recursion
            .as_mut()
            .expect("put there by derive_recursive")
    }

    /// Binds one of its SELECTs.
    fn part(
        &mut self,
        cte: &Cte,
        at: usize,
        body: &ast::QueryBody,
        distinct: bool,
        parts: &mut Parts,
    ) -> SqlResult<()> {
        self.recursion(at).uses = 0;
        let (mut arms, mut heads) = (Vec::new(), Vec::new());
        self.arm(body, distinct, &mut arms, &mut heads)?;
        let (query, distinct) = arms.swap_remove(0);
        if self.recursion(at).uses == 0 {
            if !parts.steps.is_empty() {
                return Err(wrong(3574, &cte.name, SEED_FIRST));
            }
            if parts.seed.is_empty() {
                parts.heads = heads;
            } else {
                same_width(&parts.heads, &heads)?;
                for (a, b) in parts.heads.iter_mut().zip(&heads) {
                    a.unite(b);
                }
            }
            parts.seed.push((query, distinct));
            return self.see_seed(cte, at, parts);
        }
        same_width(&parts.heads, &heads)?;
        self.check_step(cte, at, &query)?;
        parts.distinct |= distinct;
        parts.steps.push(query);
        Ok(())
    }

    /// From here on the query may name itself: its columns are those of the seed so far, and may be NULL.
    fn see_seed(&mut self, cte: &Cte, at: usize, parts: &Parts) -> SqlResult<()> {
        let query = Query {
            types: parts.heads.iter().map(|h| h.meta.ty.clone()).collect(),
            ..Query::default()
        };
        let mut columns = derived_columns(&query, parts.heads.clone(), &cte.name, &cte.columns)?;
        columns.iter_mut().for_each(|c| c.nullable = true);
        let id = match self.recursion(at).working.take() {
            Some((id, _)) => id,
            None => {
                let query = Query::default();
                self.arena.derived.push(Derived::of(query, 0));
                self.arena.derived.len() - 1
            }
        };
        self.arena.derived[id].query = query;
        self.recursion(at).working = Some((id, columns));
        Ok(())
    }

    /// A reference of the WITH query at a position to itself, in FROM.
    pub fn itself(&mut self, at: usize) -> SqlResult<(DerivedId, Columns)> {
        let here = (self.derives, self.frames.len());
        let name = self.ctes[at].name.clone();
        let recursion = self.recursion(at);
        let Some(working) = recursion.working.clone() else {
            return Err(match recursion.union {
                true => wrong(3574, &name, SEED_FIRST),
                false => wrong(3573, &name, "should contain a UNION"),
            });
        };
        recursion.uses += 1;
        if recursion.uses > 1 || recursion.place != here {
            return Err(misplaced(&name));
        }
        self.arena.derived[working.0].uses += 1;
        Ok(working)
    }

    /// What a SELECT that names the WITH query may not have.
    fn check_step(&mut self, cte: &Cte, at: usize, query: &Query) -> SqlResult<()> {
        let Body::Block(b) = &query.body else {
            return Err(misplaced(&cte.name));
        };
        if b.group.is_some() {
            let what =
                "can contain neither aggregation nor window functions in recursive query block";
            return Err(wrong(3575, &cte.name, what));
        }
        if b.distinct || !b.order.is_empty() || !b.limit.is_none() {
            return Err(unsupported("ORDER BY, LIMIT or DISTINCT in a SELECT"));
        }
        let working = self.recursion(at).working.as_ref().map(|w| w.0);
        let own = b.tables.iter().find(|t| match t.kind {
            TableKind::Derived { derived, .. } => Some(derived) == working,
            _ => false,
        });
        let optional = |id: TableId| b.from.as_ref().is_some_and(|t| is_optional(t, id, false));
        if own.is_some_and(|t| optional(t.id)) {
            return Err(SqlError::new(
                3576,
                format!(
                    "In recursive query block of Recursive Common Table Expression '{}', the recursive table must neither be in \
                     the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints",
                    cte.name
                ),
            ));
        }
        Ok(())
    }
}

/// Whether a table is on the side of an outer join that may be missing.
fn is_optional(t: &Tree, id: TableId, optional: bool) -> bool {
    match t {
        Tree::Leaf(own) => optional && *own == id,
        Tree::Inner { parts, .. } => parts.iter().any(|t| is_optional(t, id, optional)),
        Tree::Left { left, right, .. } | Tree::Semi { left, right, .. } => {
            is_optional(left, id, optional) || is_optional(right, id, true)
        }
    }
}

fn same_width(a: &[Head], b: &[Head]) -> SqlResult<()> {
    match a.len() == b.len() {
        true => Ok(()),
        false => Err(SqlError::new(
            1222,
            "The used SELECT statements have a different number of columns",
        )),
    }
}
