//! UPDATE and DELETE: which rows, and what becomes of them.

use super::{Given, changes, values_of};
use crate::bind::scope::Binder;
use crate::bind::select::is_descending;
use crate::bind::table_clauses;
use crate::env::privileges;
use crate::error::{SqlError, SqlResult};
use crate::logical::{Block, Delete, Limit, OrderKey, Root, Several, Tree, Update};
use crate::parse::ast;
use crate::types::Schema;

/// What is done to the rows of several tables.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// SET.
    Update(&'a ast::Items<ast::Assignment>),
    /// The tables whose rows go, by the names they have in the join.
    Delete(&'a ast::Items<ast::ObjectName>),
    /// The rows of the one table there is go.
    DeleteAll,
}

/// In which order the rows come that are changed, and how many.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// ORDER BY.
    pub order: &'a ast::Items<ast::OrderItem>,
    /// LIMIT.
    pub limit: Option<&'a ast::Limit>,
}

impl Rows<'_> {
    /// All of them, in any order.
    const ALL: Rows<'static> = Rows {
        order: &ast::Items::EMPTY,
        limit: None,
    };
}

impl Binder<'_, '_> {
    /// The one table of an UPDATE or DELETE, in a new block.
    fn single(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        partitions: &ast::Items<ast::Ident>,
    ) -> SqlResult<usize> {
        let (table, database, table_name) = self.target(name)?;
        let alias = alias.map_or(table_name.as_str(), ast::Ident::as_str);
        self.tables[table].goes_by(alias, true);
        let mut target = self.target_table(table, &database, &table_name, alias);
        match self.operation {
            "DELETE" => {
                self.need_target(target.id, (&database, &table_name), privileges::DELETE, 0)
            }
            _ => self.need_target(target.id, (&database, &table_name), 0, privileges::UPDATE),
        }
        table_clauses::select_partitions(&mut target.kind, partitions, &table_name)?;
        self.open_frame_over(target);
        Ok(table)
    }

    /// Binds UPDATE of one table or several.
    pub fn update_statement(&mut self, u: &ast::Update) -> SqlResult<Root> {
        self.operation = "UPDATE";
        if let Some(with) = &u.with {
            self.with(with)?;
        }
        let change = Change::Update(&u.set);
        self.needs.some = Some(privileges::SELECT | privileges::UPDATE);
        let one = match &u.tables[..] {
            [ast::TableRef::Table(t)] => Some(t),
            _ => None,
        };
        let Some(t) = one else {
            let several =
                self.several(&u.tables, change, u.filter.as_ref(), Rows::ALL, u.ignore)?;
            return Ok(Root::Several(Box::new(several)));
        };
        if self.is_view(&t.name)? {
            let rows = Rows {
                order: &u.order_by,
                limit: u.limit.as_ref(),
            };
            let several = self.several(&u.tables, change, u.filter.as_ref(), rows, u.ignore)?;
            return self.one_of(several);
        }
        let depth = self.frames.len();
        self.needs.some = None;
        let r = self.update_in_frame(u, t);
        self.frames.truncate(depth);
        Ok(Root::Update(Box::new(r?)))
    }

    fn update_in_frame(&mut self, u: &ast::Update, t: &ast::TableFactor) -> SqlResult<Update> {
        let table = self.single(&t.name, t.alias.as_ref(), &t.partitions)?;
        let schema = self.tables[table].schema.clone();
        let row = self.frame().tables[0].id;
        let set = self.assignments(&u.set, &schema, row);
        let set = set.map_err(|e| self.first_unknown(u.filter.as_ref(), e))?;
        let mut find = self.find(u.filter.as_ref(), &u.order_by, u.limit.as_ref())?;
        find.select = values_of(&set).collect();
        Ok(Update {
            table,
            find,
            moves_partitions: self.moves_partitions(&schema, &set)?,
            set,
            ignore: u.ignore,
            through: None,
        })
    }

    /// Which of two unknown columns is told: that of WHERE comes before that of SET.
    pub(crate) fn first_unknown(&mut self, filter: Option<&ast::Expr>, e: SqlError) -> SqlError {
        const UNKNOWN_COLUMN: u16 = 1054;
        let found = match (filter, e.code) {
            (Some(filter), UNKNOWN_COLUMN) => self.bind(filter, "where clause").err(),
            _ => None,
        };
        found.filter(|f| f.code == UNKNOWN_COLUMN).unwrap_or(e)
    }

    /// A statement that changes one table alone, if what a view has become is one.
    fn one_of(&mut self, several: Several) -> SqlResult<Root> {
        let Several {
            find,
            mut targets,
            deletes,
            ignore,
        } = several;
        if find.tables.len() > 1 || targets.len() != 1 {
            let clause = match (find.order.is_empty(), find.limit.is_none()) {
                (false, _) => "ORDER BY",
                (_, false) => "LIMIT",
                _ => {
                    return Ok(Root::Several(Box::new(Several {
                        find,
                        targets,
                        deletes,
                        ignore,
                    })));
                }
            };
            let operation = self.operation;
            return Err(SqlError::new(
                1221,
                format!("Incorrect usage of {operation} and {clause}"),
            ));
        }
        let target = targets.swap_remove(0);
        let table = target.table;
        if deletes {
            return Ok(Root::Delete(Box::new(Delete {
                table,
                find,
                ignore,
            })));
        }
        let schema = self.tables[table].schema.clone();
        Ok(Root::Update(Box::new(Update {
            table,
            moves_partitions: self.moves_partitions(&schema, &target.set)?,
            find,
            set: target.set,
            ignore,
            through: target.through,
        })))
    }

    /// Whether an UPDATE may move rows to a partition that the scan has yet to come to.
    fn moves_partitions(&self, schema: &Schema, set: &[(usize, Given)]) -> SqlResult<bool> {
        let Some(p) = &schema.partitioning else {
            return Ok(false);
        };
        let f = p.function(schema, self.cx.env)?;
        Ok(f.columns.iter().any(|&c| changes(schema, set, c)))
    }

    /// Binds DELETE from one table or several.
    pub fn delete_statement(&mut self, d: &ast::Delete) -> SqlResult<Root> {
        self.operation = "DELETE";
        if let Some(with) = &d.with {
            self.with(with)?;
        }
        let (name, alias, partitions) = match &d.target {
            ast::DeleteTarget::One {
                table,
                alias,
                partitions,
            } => (table, alias.as_ref(), partitions),
            ast::DeleteTarget::Several { targets, from, .. } => {
                let change = Change::Delete(targets);
                let several = self.several(from, change, d.filter.as_ref(), Rows::ALL, d.ignore)?;
                return Ok(Root::Several(Box::new(several)));
            }
        };
        if self.is_view(name)? {
            self.needs.some = Some(privileges::SELECT | privileges::DELETE);
            let from = [ast::TableRef::Table(Box::new(ast::TableFactor {
                name: name.clone(),
                partitions: partitions.clone(),
                alias: alias.cloned(),
                index_hints: ast::Items::EMPTY,
            }))];
            let rows = Rows {
                order: &d.order_by,
                limit: d.limit.as_ref(),
            };
            let change = Change::DeleteAll;
            let several = self.several(&from, change, d.filter.as_ref(), rows, d.ignore)?;
            return self.one_of(several);
        }
        let depth = self.frames.len();
        let r = self.single(name, alias, partitions).and_then(|table| {
            Ok(Delete {
                table,
                find: self.find(d.filter.as_ref(), &d.order_by, d.limit.as_ref())?,
                ignore: d.ignore,
            })
        });
        self.frames.truncate(depth);
        Ok(Root::Delete(Box::new(r?)))
    }

    /// The order in which the rows of an UPDATE or DELETE are found, and how many.
    pub(in crate::bind) fn found_order(
        &mut self,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
    ) -> SqlResult<(Vec<OrderKey>, Limit)> {
        let mut keys = Vec::new();
        for o in order {
            let expr = self.bind(&o.expr, "order clause")?;
            let desc = is_descending(&o);
            if !expr.is_const() {
                keys.push(OrderKey { expr, desc });
            }
        }
        Ok((keys, self.limit(limit)?))
    }

    /// The block that finds the rows of an UPDATE or DELETE; its select list is empty.
    fn find(
        &mut self,
        filter: Option<&ast::Expr>,
        order: &ast::Items<ast::OrderItem>,
        limit: Option<&ast::Limit>,
    ) -> SqlResult<Block> {
        let filter = match filter {
            Some(e) => self.bind(e, "where clause")?.into_conjuncts(),
            None => Vec::new(),
        };
        let (keys, limit) = self.found_order(order, limit)?;
        let tables = std::mem::take(&mut self.frame().tables);
        Ok(Block {
            from: tables.first().map(|t| Tree::Leaf(t.id)),
            tables,
            filter,
            order: keys,
            limit,
            ..Block::default()
        })
    }
}
