//! INSERT, UPDATE and DELETE: the blocks that find their rows, and what is assigned.

use super::Optimizer;
use super::lower::with_subqueries;
use crate::error::SqlResult;
use crate::expr::Expr;
use crate::logical;
use crate::plan::dml::{
    Assignments, Delete, Given, Insert, InsertRows, LoadFile, MultiTableDml, Target, Through,
    Update,
};
use crate::plan::nodes::{Block, LevelFrom};
use crate::types::Schema;

impl Optimizer<'_> {
    /// Plans INSERT and REPLACE.
    pub fn insert(&mut self, i: logical::Insert) -> SqlResult<Insert> {
        let schema = self.tables[i.table].schema.clone();
        self.place(i.row, 0);
        let mut subqueries = Vec::new();
        let rows = match i.rows {
            logical::InsertRows::Query { query, buffered } => InsertRows::Query {
                query: self.query(query, 0)?.0,
                buffered,
            },
            logical::InsertRows::Values(rows) => {
                // The row, the source of a group that is not there, the subqueries' values.
                let source = 2;
                let walk = |f: &mut dyn FnMut(&Expr)| {
                    rows.iter().flatten().for_each(|g| value_of(g, f));
                };
                subqueries = self.subqueries(&walk, source)?;
                let once: Vec<usize> = (0..subqueries.len()).collect();
                let mut out = Vec::new();
                for row in rows {
                    let row = row.into_iter().map(|g| self.given(g, source, &once));
                    out.push(row.collect());
                }
                InsertRows::Values(out)
            }
            logical::InsertRows::File(file) => {
                let source = 2;
                let walk = |f: &mut dyn FnMut(&Expr)| {
                    file.set.iter().for_each(|(_, g)| value_of(g, f));
                };
                subqueries = self.subqueries(&walk, source)?;
                let once: Vec<usize> = (0..subqueries.len()).collect();
                InsertRows::File(Box::new(LoadFile {
                    set: self.assignments(file.set, source, &once),
                    name: file.name,
                    local: file.local,
                    format: file.format,
                    charset: file.charset,
                    skip: file.skip,
                    targets: file.targets,
                }))
            }
        };
        let update = match i.update {
            None => None,
            Some(set) => {
                self.place(i.row, 0);
                for (n, id) in i.others_read.iter().enumerate() {
                    self.place(*id, 1 + n);
                }
                let source = 2 + i.others_read.len();
                let walk = |f: &mut dyn FnMut(&Expr)| {
                    set.iter().for_each(|(_, g)| value_of(g, f));
                };
                subqueries = self.subqueries(&walk, source)?;
                let once: Vec<usize> = (0..subqueries.len()).collect();
                Some(self.assignments(set, source, &once))
            }
        };
        let through = match i.through {
            None => None,
            Some(t) => {
                // The row, and NULLs for the view's other tables.
                self.place(i.row, 0);
                let others = t.tables.iter().filter(|id| **id != i.row);
                for (n, id) in others.enumerate() {
                    self.place(*id, 1 + n);
                }
                let sources = t.tables.len();
                Some(self.through(t, sources)?)
            }
        };
        let others = (0..schema.columns.len()).filter(|c| !i.columns.contains(c));
        Ok(Insert {
            table: i.table,
            auto: schema.columns.iter().position(|c| c.auto_increment),
            others: others.collect(),
            columns: i.columns,
            rows,
            replace: i.replace,
            ignore: i.ignore,
            update,
            carried: i.carried,
            subqueries,
            partitions: i.partitions,
            through,
        })
    }

    /// Plans what is asked of rows written through a view, over so many sources.
    fn through(&mut self, t: logical::Through, sources: usize) -> SqlResult<Through> {
        let check = match t.check.is_empty() {
            true => None,
            false => {
                let block = logical::Block {
                    select: t.check,
                    ..logical::Block::default()
                };
                Some(self.query(logical::Query::of(block), sources)?.0)
            }
        };
        Ok(Through {
            view: t.view,
            check,
            sources,
        })
    }

    /// Plans UPDATE of one table.
    pub fn update(&mut self, u: logical::Update) -> SqlResult<Update> {
        let schema = self.tables[u.table].schema.clone();
        let find = self.block(u.find, 0, false)?.0;
        let set = self.assignments(u.set, find.subquery_source(), &find.first);
        let through = match u.through {
            None => None,
            Some(t) => Some(self.through(t, find.width())?),
        };
        let collect = find.sorts() || changes_scanned(&find, &schema, &set) || u.moves_partitions;
        Ok(Update {
            table: u.table,
            find,
            set,
            collect,
            ignore: u.ignore,
            through,
        })
    }

    /// Plans DELETE from one table.
    pub fn delete(&mut self, d: logical::Delete) -> SqlResult<Delete> {
        Ok(Delete {
            table: d.table,
            find: self.block(d.find, 0, false)?.0,
            ignore: d.ignore,
        })
    }

    /// Plans UPDATE and DELETE of several tables.
    pub fn several(&mut self, s: logical::Several) -> SqlResult<MultiTableDml> {
        let find = self.block(s.find, 0, false)?.0;
        let mut targets = Vec::new();
        for t in s.targets {
            let through = match t.through {
                None => None,
                Some(t) => Some(self.through(t, find.width())?),
            };
            targets.push(Target {
                source: self.slots[t.id].unwrap_or(0),
                table: t.table,
                through,
                set: self.assignments(t.set, find.subquery_source(), &find.first),
            });
        }
        Ok(MultiTableDml {
            find,
            targets,
            deletes: s.deletes,
            ignore: s.ignore,
        })
    }

    fn assignments(
        &self,
        set: logical::Assignments<Expr>,
        source: usize,
        once: &[usize],
    ) -> Assignments {
        let one = |(c, g)| (c, self.given(g, source, once));
        set.into_iter().map(one).collect()
    }

    fn given(&self, g: logical::Given<Expr>, source: usize, once: &[usize]) -> Given {
        match g {
            logical::Given::Default => Given::Default,
            logical::Given::Value { value, reads_new } => Given::Value {
                value: with_subqueries(self.lower(value), source, once),
                reads_new,
            },
        }
    }
}

fn value_of(g: &logical::Given<Expr>, f: &mut dyn FnMut(&Expr)) {
    if let logical::Given::Value { value, .. } = g {
        f(value);
    }
}

/// Whether an UPDATE may change a column: it assigns to it, or the column follows from others or tells when its row was updated.
fn changes(schema: &Schema, set: &[(usize, Given)], column: usize) -> bool {
    let c = &schema.columns[column];
    c.on_update_now || c.generated.is_some() || set.iter().any(|(c, _)| *c == column)
}

/// Whether an UPDATE moves rows within the index that is scanned.
fn changes_scanned(find: &Block, schema: &Schema, set: &[(usize, Given)]) -> bool {
    let Some(LevelFrom::Table(_, access)) = find.levels.first().map(|l| &l.from) else {
        return true;
    };
    if access.unique {
        return false;
    }
    let in_key = |index: usize| {
        schema.indexes[index]
            .parts
            .iter()
            .any(|p| changes(schema, set, p.column))
    };
    let merged = access.merge.iter().flat_map(|m| &m.parts);
    in_key(access.index) || in_key(0) || merged.into_iter().any(|a| in_key(a.index))
}
