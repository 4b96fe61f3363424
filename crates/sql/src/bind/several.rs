//! UPDATE and DELETE of several tables: a join finds the rows of all of them before any is changed.

use super::dml::{
    Assignments, Change, Given, Rows, changes, for_column, lock_shared, qualifier, reads, values_of,
};
use super::scope::{self, Binder};
use crate::catalog::Schema;
use crate::env::privileges;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::expr::{Expr, ExprKind, Scope};
use crate::logical::{Block, Several, TableId, TableKind, Target};
use crate::parse::ast;
use millpond_store::{LockMode, WaitPolicy};

impl Binder<'_, '_> {
    /// Binds UPDATE and DELETE of several tables; `from` is the join that finds the rows.
    pub fn several(
        &mut self,
        from: &[ast::TableRef],
        change: Change<'_>,
        filter: Option<&ast::Expr>,
        rows: Rows<'_>,
        ignore: bool,
    ) -> SqlResult<Several> {
        self.open_frame();
        let r = self.several_in_frame(from, change, filter, rows, ignore);
        self.frames.truncate(0);
        r
    }

    fn several_in_frame(
        &mut self,
        from: &[ast::TableRef],
        change: Change<'_>,
        filter: Option<&ast::Expr>,
        rows: Rows<'_>,
        ignore: bool,
    ) -> SqlResult<Several> {
        let from = self.bind_from(from, &ast::Items::EMPTY)?;
        self.needs.some = None;
        let mut targets = Vec::new();
        match change {
            Change::Update(list) => {
                let mut named = Vec::new();
                for a in list {
                    let found = self.assigned_in(&a.column);
                    let (at, column) = found.map_err(|e| self.first_unknown(filter, e))?;
                    named.push(at);
                    let at = self.written_column(at, column)?.0;
                    self.aim(&mut targets, at, "UPDATE")?;
                }
                self.need_others(&named);
                let assigned = self.assign(&mut targets, list);
                assigned.map_err(|e| self.first_unknown(filter, e))?;
            }
            Change::Delete(names) => {
                for name in names {
                    let at = self.named(&name)?;
                    self.need_whole(at, privileges::DELETE);
                    if targets.iter().any(|t: &Target| t.id == at) {
                        return Err(SqlError::new(
                            1066,
                            format!("Not unique table/alias: '{}'", name.name.as_str()),
                        ));
                    }
                    let at = self.deleted_from(at)?;
                    self.aim(&mut targets, at, "DELETE")?;
                }
            }
            Change::DeleteAll => {
                let at = self.frame().tables[0].id;
                self.need_whole(at, privileges::DELETE);
                let at = self.deleted_from(at)?;
                self.aim(&mut targets, at, "DELETE")?;
            }
        }
        let filter = match filter {
            Some(e) => self.bind(e, "where clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        let (order, limit) = self.found_order(rows.order, rows.limit)?;
        let called: Vec<usize> = targets.iter().map(|t| self.called(t.id)).collect();
        let names: Vec<String> = self.frame().tables.iter().map(|t| t.name.clone()).collect();
        let mut find = Block {
            tables: std::mem::take(&mut self.frame().tables),
            from,
            filter,
            order,
            limit,
            ..Block::default()
        };
        let deletes = !matches!(change, Change::Update(_));
        self.place_views(&mut find, &mut targets, !deletes)?;
        let mut in_order: Vec<_> = targets.into_iter().zip(called).collect();
        // Tables change in the order in which FROM names them.
        in_order.sort_by_key(|(t, called)| (t.table, *called));
        let (targets, called): (Vec<Target>, Vec<usize>) = in_order.into_iter().unzip();
        let names: Vec<&str> = called.iter().map(|&at| &*names[at]).collect();
        self.check_aliases(&targets, &names)?;
        if self.locks_reads() {
            find.tables.iter_mut().for_each(lock_shared);
        }
        let values = targets.iter().flat_map(|t| values_of(&t.set));
        find.select.extend(values);
        Ok(Several {
            find,
            targets,
            deletes,
            ignore,
        })
    }

    /// Makes a table one that is changed.
    fn aim(&mut self, targets: &mut Vec<Target>, id: TableId, what: &str) -> SqlResult<()> {
        if targets.iter().any(|t| t.id == id) {
            return Ok(());
        }
        if self.written.iter().any(|w| w.1 == id) {
            // Which of the statement's tables it is follows when the view has made place for it.
            targets.push(Target {
                id,
                table: usize::MAX,
                set: Assignments::new(),
                through: None,
            });
            return Ok(());
        }
        let f = self.frame();
        let Some(s) = f.tables.iter_mut().find(|t| t.id == id) else {
            return Err(SqlError::unsupported("this statement"));
        };
        let TableKind::Stored { table, lock, .. } = &mut s.kind else {
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
        self.targets.push(scope::Target {
            database: name.0,
            table: name.1,
            alias,
            through: false,
        });
        targets.push(Target {
            id,
            table,
            set: Assignments::new(),
            through: None,
        });
        Ok(())
    }

    /// Puts the tables of the views that the statement writes through in their places. `checks`: rows are asked what CHECK OPTION says.
    fn place_views(
        &mut self,
        find: &mut Block,
        targets: &mut [Target],
        checks: bool,
    ) -> SqlResult<()> {
        if self.written.is_empty() {
            return Ok(());
        }
        let (by, throughs) = self.merge_written(find, checks)?;
        for (id, through) in throughs {
            let Some(target) = targets.iter_mut().find(|t| t.id == id) else {
                continue;
            };
            if let Some(table) = self.written_table(find, id) {
                target.table = table;
                self.refuse_own_reads(table, &through.view.1)?;
            }
            target.through = Some(through);
        }
        for target in targets {
            let mut set: Vec<usize> = Vec::new();
            for (column, given) in &mut target.set {
                if let Given::Value { value, reads_new } = given {
                    self.put_below(value, &by);
                    *reads_new = reads(value, target.id).iter().any(|c| set.contains(c));
                }
                set.push(*column);
            }
        }
        Ok(())
    }

    /// Error 1706 for a table that is updated under two names, if the rows could lie elsewhere under the second than they were found.
    fn check_aliases(&self, targets: &[Target], names: &[&str]) -> SqlResult<()> {
        for (n, b) in targets.iter().enumerate() {
            for (m, a) in targets[..n].iter().enumerate() {
                if a.table != b.table {
                    continue;
                }
                let schema = &self.tables[b.table].schema;
                let moves = |c: &usize| changes(schema, &a.set, *c) || changes(schema, &b.set, *c);
                if self.deciding_columns(schema)?.iter().any(moves) {
                    let what = "Primary key/partition key update is not allowed since the table is updated both as";
                    let message = format!("{what} '{}' and '{}'.", names[m], names[n]);
                    return Err(SqlError::new(1706, message));
                }
            }
        }
        Ok(())
    }

    /// The columns that say where a table's rows lie: those of the clustered key, and what partitions go by.
    fn deciding_columns(&self, schema: &Schema) -> SqlResult<Vec<usize>> {
        let key = schema.indexes.first().into_iter().flat_map(|i| &i.parts);
        let mut list: Vec<usize> = key.map(|p| p.column).collect();
        if let Some(p) = &schema.partitioning {
            list.extend_from_slice(&p.function(schema, self.cx.env)?.columns);
        }
        Ok(list)
    }

    /// Position in FROM of a table that is changed, or of the view through which it is.
    fn called(&mut self, id: TableId) -> usize {
        let named = self.written.iter().find(|w| w.1 == id).map_or(id, |w| w.0);
        let mut tables = self.frame().tables.iter();
        tables.position(|t| t.id == named).unwrap_or_default()
    }

    /// Binds the assignments, each with its table; a later value sees earlier assignments to the same table.
    fn assign(
        &mut self,
        targets: &mut [Target],
        list: &ast::Items<ast::Assignment>,
    ) -> SqlResult<()> {
        for a in list {
            let named = self.assigned_in(&a.column)?;
            let (id, column) = self.below(named);
            let Some(target) = targets.iter_mut().find(|t| t.id == id) else {
                continue;
            };
            let (mut given, reads) = self.given(&a.value, "field list", id)?;
            let Some(schema) = self.schema_of(id) else {
                continue;
            };
            for_column(&mut given, &schema.columns[column], self);
            self.check_given(&given, &schema.columns[column], id)?;
            if let Given::Value { reads_new, .. } = &mut given {
                *reads_new = reads.iter().any(|c| target.set.iter().any(|(o, _)| o == c));
            }
            target.set.push((column, given));
        }
        Ok(())
    }

    /// The table and column that an assignment names.
    fn assigned_in(&mut self, name: &ast::ColumnName) -> SqlResult<(TableId, usize)> {
        let (qualifier, last) = (qualifier(name), name.name.as_str());
        self.frame().clause = "field list";
        self.needs.assigning = true;
        let found = self.column(&qualifier, last);
        self.needs.assigning = false;
        match found? {
            Expr {
                kind: ExprKind::Column { source, column, .. },
                ..
            } => Ok((source, column)),
            _ => Err(unknown_column(&qualifier, last, "field list")),
        }
    }

    /// The table that DELETE names.
    fn named(&mut self, name: &ast::ObjectName) -> SqlResult<TableId> {
        let current = self.cx.env.database.borrow().clone();
        let database = name.database.as_ref().map(ast::Ident::as_str);
        let database = database.or(current.as_deref());
        let name = name.name.as_str();
        let tables = &self.frame().tables;
        let found = tables.iter().find(|s| {
            s.name == name && (s.database.is_empty() || database.is_none_or(|d| d == s.database))
        });
        found
            .map(|t| t.id)
            .ok_or_else(|| SqlError::new(1109, format!("Unknown table '{name}' in MULTI DELETE")))
    }
}
