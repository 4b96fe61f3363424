//! UPDATE and DELETE of several tables: a join finds the rows of all of them before any is changed.

use super::assemble::Parts;
use super::dml::{Assignments, Given, enrich, for_column, lock_shared, values_of};
use super::from;
use super::nodes::{Block, Body, SourceKind};
use super::scope::{Frame, Planner};
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::expr::{Expr, ExprKind, Scope};
use crate::parse::{self, Change, TableName, sp};
use millpond_store::{LockMode, WaitPolicy};

/// A statement that changes several tables.
#[derive(Debug)]
pub struct Several {
    /// Finds the rows; its select list is of no use but to say which columns are read.
    pub find: Block,
    /// The tables changed.
    pub targets: Vec<Target>,
    /// DELETE.
    pub deletes: bool,
    /// IGNORE.
    pub ignore: bool,
}

/// One of the tables changed.
#[derive(Debug)]
pub struct Target {
    /// Its source in the join.
    pub source: usize,
    /// Position in [`super::Plan::tables`].
    pub table: usize,
    /// What UPDATE sets.
    pub set: Assignments,
}

impl Planner<'_, '_> {
    /// Plans UPDATE and DELETE of several tables.
    pub fn several(&mut self, s: &parse::Several) -> SqlResult<Several> {
        self.frames.push(Frame::new(0, from::count(&s.from)));
        let r = self.several_in_frame(s);
        self.frames.pop();
        r
    }

    fn several_in_frame(&mut self, s: &parse::Several) -> SqlResult<Several> {
        let from = self.bind_from(&s.from, &[])?;
        let mut targets = Vec::new();
        match &s.change {
            Change::Update(list) => {
                for a in list {
                    let at = self.assigned_in(&a.target)?.0;
                    self.aim(&mut targets, at, "UPDATE")?;
                }
                self.check_aliases(&targets)?;
                self.assign(&mut targets, list)?;
            }
            Change::Delete(names) => {
                for name in names {
                    let at = self.named(name)?;
                    if targets.iter().any(|t: &Target| t.source == at) {
                        return Err(SqlError::new(
                            1066,
                            format!("Not unique table/alias: '{}'", name.name),
                        ));
                    }
                    self.aim(&mut targets, at, "DELETE")?;
                }
            }
        }
        let filter = match &s.filter {
            Some(e) => self.bind(e, "where clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        if self.locks_reads() {
            self.frame().sources.iter_mut().for_each(lock_shared);
        }
        let (query, _) = self.assemble(Parts {
            from,
            filter,
            select: targets.iter().flat_map(|t| values_of(&t.set)).collect(),
            ..Parts::default()
        })?;
        let Body::Block(find) = query.body else {
            return Err(SqlError::unsupported("this statement"));
        };
        targets.iter_mut().for_each(|t| enrich(&mut t.set, &find));
        Ok(Several {
            find: *find,
            targets,
            deletes: matches!(s.change, Change::Delete(_)),
            ignore: self.statement.ignore,
        })
    }

    /// Makes a source one that is changed.
    fn aim(&mut self, targets: &mut Vec<Target>, source: usize, what: &str) -> SqlResult<()> {
        if targets.iter().any(|t| t.source == source) {
            return Ok(());
        }
        let s = &mut self.frame().sources[source];
        let SourceKind::Table { table, lock, .. } = &mut s.kind else {
            let name = &s.name;
            return Err(SqlError::new(
                1288,
                format!("The target table {name} of the {what} is not updatable"),
            ));
        };
        *lock = Some((LockMode::Exclusive, WaitPolicy::Wait));
        let table = *table;
        let (name, alias) = ((s.database.clone(), s.table.clone()), s.name.clone());
        self.tables[table].write = true;
        self.tables[table].goes_by(&alias, true);
        self.targets.push(name);
        targets.push(Target {
            source,
            table,
            set: Assignments::new(),
        });
        Ok(())
    }

    /// A table that is updated under two names would need its rows read again between the two.
    fn check_aliases(&self, targets: &[Target]) -> SqlResult<()> {
        let twice = |n: usize| targets[..n].iter().any(|t| t.table == targets[n].table);
        if (0..targets.len()).any(twice) {
            return Err(SqlError::unsupported("UPDATE of a table under two names"));
        }
        Ok(())
    }

    /// Binds the assignments, each with its table; a later value sees earlier assignments to the same table.
    fn assign(&mut self, targets: &mut [Target], list: &[sp::Assignment]) -> SqlResult<()> {
        for a in list {
            let (source, column) = self.assigned_in(&a.target)?;
            let Some(target) = targets.iter_mut().find(|t| t.source == source) else {
                continue;
            };
            let (mut given, reads) = self.given(&a.value, "field list", source)?;
            if let SourceKind::Table { schema, .. } = &self.frame().sources[source].kind {
                let schema = schema.clone();
                for_column(&mut given, &schema.columns[column], self);
            }
            if let Given::Value { reads_new, .. } = &mut given {
                *reads_new = reads.iter().any(|c| target.set.iter().any(|(o, _)| o == c));
            }
            target.set.push((column, given));
        }
        Ok(())
    }

    /// The source and column that an assignment names.
    fn assigned_in(&mut self, target: &sp::AssignmentTarget) -> SqlResult<(usize, usize)> {
        let sp::AssignmentTarget::ColumnName(name) = target else {
            return Err(SqlError::unsupported("assignment to a list of columns"));
        };
        let idents = name.0.iter().filter_map(|p| p.as_ident());
        let parts: Vec<&str> = idents.map(|i| i.value.as_str()).collect();
        let (last, qualifier) = parts
            .split_last()
            .ok_or_else(|| SqlError::syntax("bad column name"))?;
        self.frame().clause = "field list";
        match self.column(qualifier, last)? {
            Expr {
                kind: ExprKind::Column { source, column, .. },
                ..
            } => Ok((source, column)),
            _ => Err(unknown_column(qualifier, last, "field list")),
        }
    }

    /// The source that DELETE names.
    fn named(&mut self, name: &TableName) -> SqlResult<usize> {
        let current = self.cx.env.database.borrow().clone();
        let sources = &self.frame().sources;
        let found = sources.iter().position(|s| {
            let database = name.database.as_ref().or(current.as_ref());
            s.name == name.name
                && (s.database.is_empty() || database.is_none_or(|d| *d == s.database))
        });
        found.ok_or_else(|| {
            SqlError::new(
                1109,
                format!("Unknown table '{}' in MULTI DELETE", name.name),
            )
        })
    }
}
