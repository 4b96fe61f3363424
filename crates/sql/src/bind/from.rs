//! The FROM clause: tables, derived tables, WITH, joins with their ON and USING.

use super::scope::{Binder, Cte};
use crate::catalog::statistics;
use crate::error::{SqlError, SqlResult};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::{
    Columns, Derived, DerivedColumn, DerivedId, Hints, Query, Table, TableKind, Tree, VirtualRef,
};
use crate::parse::sp;
use crate::plan::PlanTable;
use crate::row;
use crate::types::derive::string_collation;
use crate::types::{Schema, SqlType};
use millpond_store::{LockMode, WaitPolicy};
use std::sync::Arc;

/// Most tables of a block.
pub const MAX_TABLES: usize = 61;

/// A part of FROM: its tree, the columns it shows, the tables it has (by position in the block).
struct Part {
    tree: Tree,
    visible: Vec<(usize, usize)>,
    tables: Vec<usize>,
}

fn is_dual(name: &sp::ObjectName) -> bool {
    name.0.len() == 1
        && name.0[0]
            .as_ident()
            .is_some_and(|i| i.quote_style.is_none() && i.value.eq_ignore_ascii_case("dual"))
}

/// Database (if given) and name.
pub fn split_name(name: &sp::ObjectName) -> SqlResult<(Option<String>, String)> {
    let mut parts: Vec<String> = name
        .0
        .iter()
        .filter_map(|p| p.as_ident().map(|i| i.value.clone()))
        .collect();
    match parts.len() {
        1 => Ok((None, parts.remove(0))),
        2 => {
            let database = parts.remove(0);
            Ok((Some(database), parts.remove(0)))
        }
        _ => Err(SqlError::syntax(format_args!("bad table name '{name}'"))),
    }
}

impl Binder<'_, '_> {
    /// Registers the tables of a FROM clause in the innermost block and binds its joins.
    pub fn bind_from(
        &mut self,
        from: &[sp::TableWithJoins],
        locks: &[sp::LockClause],
    ) -> SqlResult<Option<Tree>> {
        let mut parts = Vec::new();
        for t in from {
            if matches!(&t.relation, sp::TableFactor::Table { name, .. } if is_dual(name))
                && t.joins.is_empty()
            {
                continue;
            }
            parts.push(self.table_with_joins(t, locks)?);
        }
        let f = self.frame();
        f.visible = parts.iter().flat_map(|p| p.visible.clone()).collect();
        f.reachable = parts.iter().flat_map(|p| p.tables.clone()).collect();
        Ok(match parts.len() {
            0 => None,
            1 => parts.pop().map(|p| p.tree),
            _ => Some(Tree::Inner {
                parts: parts.into_iter().map(|p| p.tree).collect(),
                on: Vec::new(),
                straight: false,
            }),
        })
    }

    fn table_with_joins(
        &mut self,
        t: &sp::TableWithJoins,
        locks: &[sp::LockClause],
    ) -> SqlResult<Part> {
        let mut left = self.factor(&t.relation, locks)?;
        for j in &t.joins {
            let right = self.factor(&j.relation, locks)?;
            use sp::JoinOperator as J;
            let (kind, constraint) = match &j.join_operator {
                J::Join(c) | J::Inner(c) | J::CrossJoin(c) => ('i', c),
                J::StraightJoin(c) => ('s', c),
                J::Left(c) | J::LeftOuter(c) => ('l', c),
                J::Right(c) | J::RightOuter(c) => ('r', c),
                J::FullOuter(_) => return Err(SqlError::unsupported("FULL OUTER JOIN")),
                _ => return Err(SqlError::unsupported("this kind of join")),
            };
            left = self.join(left, right, kind, constraint)?;
        }
        Ok(left)
    }

    fn join(
        &mut self,
        left: Part,
        right: Part,
        kind: char,
        constraint: &sp::JoinConstraint,
    ) -> SqlResult<Part> {
        let mut on = Vec::new();
        let tables: Vec<usize> = left.tables.iter().chain(&right.tables).copied().collect();
        let mut visible: Vec<(usize, usize)> = Vec::new();
        let common = match constraint {
            sp::JoinConstraint::On(e) => {
                let all: Vec<(usize, usize)> =
                    left.visible.iter().chain(&right.visible).copied().collect();
                let f = self.frame();
                f.visible = all;
                f.reachable = tables.clone();
                on = self.bind(e, "on clause")?.into_conjuncts();
                None
            }
            sp::JoinConstraint::Using(names) => {
                let mut list = Vec::new();
                for n in names {
                    list.push(super::from::split_name(n)?.1);
                }
                Some(list)
            }
            sp::JoinConstraint::Natural => {
                let f = self.frames.last().expect("a block is being bound");
                let name = |&(s, c): &(usize, usize)| f.tables[s].column(c).0.to_string();
                let rights: Vec<String> = right.visible.iter().map(name).collect();
                Some(
                    left.visible
                        .iter()
                        .map(name)
                        .filter(|n| rights.iter().any(|r| r.eq_ignore_ascii_case(n)))
                        .collect(),
                )
            }
            sp::JoinConstraint::None => {
                if kind == 'l' || kind == 'r' {
                    return Err(SqlError::syntax("an outer join needs ON, USING or NATURAL"));
                }
                None
            }
        };
        match common {
            None => visible.extend(left.visible.iter().chain(&right.visible)),
            Some(names) => {
                let f = self.frames.last().expect("a block is being bound");
                let find = |list: &[(usize, usize)], n: &str| -> SqlResult<(usize, usize)> {
                    let mut hits = list
                        .iter()
                        .filter(|(s, c)| f.tables[*s].column(*c).0.eq_ignore_ascii_case(n));
                    match (hits.next(), hits.next()) {
                        (Some(&h), None) => Ok(h),
                        (None, _) => Err(SqlError::new(
                            1054,
                            format!("Unknown column '{n}' in 'from clause'"),
                        )),
                        _ => Err(SqlError::new(
                            1052,
                            format!("Column '{n}' in from clause is ambiguous"),
                        )),
                    }
                };
                let mut gone = Vec::new();
                for n in &names {
                    let (l, r) = (find(&left.visible, n)?, find(&right.visible, n)?);
                    on.push(equal(f.column_expr(l.0, l.1), f.column_expr(r.0, r.1)));
                    // The kept side's column stands for both.
                    visible.push(if kind == 'r' { r } else { l });
                    gone.push(l);
                    gone.push(r);
                }
                let (a, b) = if kind == 'r' {
                    (&right.visible, &left.visible)
                } else {
                    (&left.visible, &right.visible)
                };
                visible.extend(a.iter().chain(b).filter(|c| !gone.contains(c)));
            }
        }
        let missing = match kind {
            'l' => &right.tables[..],
            'r' => &left.tables[..],
            _ => &[],
        };
        for &s in missing {
            self.frame().nullable[s] = true;
        }
        let tree = match kind {
            'l' => Tree::Left {
                left: Box::new(left.tree),
                right: Box::new(right.tree),
                on,
            },
            'r' => Tree::Left {
                left: Box::new(right.tree),
                right: Box::new(left.tree),
                on,
            },
            _ => Tree::Inner {
                parts: vec![left.tree, right.tree],
                on,
                straight: kind == 's',
            },
        };
        Ok(Part {
            tree,
            visible,
            tables,
        })
    }

    fn factor(&mut self, f: &sp::TableFactor, locks: &[sp::LockClause]) -> SqlResult<Part> {
        match f {
            sp::TableFactor::Table {
                name,
                alias,
                args: None,
                partitions,
                index_hints,
                ..
            } => {
                let (database, table) = split_name(name)?;
                if alias.as_ref().is_some_and(|a| !a.columns.is_empty()) {
                    return Err(SqlError::syntax(
                        "only a derived table may have a list of column names",
                    ));
                }
                let mut t = self.table_source(database, &table, alias.as_ref(), locks)?;
                select_partitions(&mut t.kind, partitions, &table)?;
                if let TableKind::Stored { schema, .. } = &t.kind {
                    t.hints = index_hints_of(index_hints, schema, &t.name)?;
                }
                self.register(t)
            }
            sp::TableFactor::Derived {
                lateral,
                subquery,
                alias,
                ..
            } => {
                if *lateral {
                    return Err(SqlError::unsupported("LATERAL"));
                }
                let Some(alias) = alias else {
                    return Err(SqlError::new(
                        1248,
                        "Every derived table must have its own alias",
                    ));
                };
                let names: Vec<String> =
                    alias.columns.iter().map(|c| c.name.value.clone()).collect();
                let (derived, columns) = self.derive(subquery, &alias.name.value, &names)?;
                let id = self.arena.table_id();
                self.register(Table {
                    id,
                    name: alias.name.value.clone(),
                    database: String::new(),
                    table: String::new(),
                    kind: TableKind::Derived { derived, columns },
                    hints: Hints::default(),
                })
            }
            sp::TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.table_with_joins(table_with_joins, locks),
            _ => Err(SqlError::unsupported("this kind of table reference")),
        }
    }

    fn register(&mut self, table: Table) -> SqlResult<Part> {
        let f = self.frame();
        if f.tables.len() >= MAX_TABLES {
            return Err(SqlError::new(
                1116,
                "Too many tables; MySQL can only use 61 tables in a join",
            ));
        }
        let same = |t: &Table| t.name == table.name && t.database == table.database;
        if f.tables.iter().any(same) {
            return Err(SqlError::new(
                1066,
                format!("Not unique table/alias: '{}'", table.name),
            ));
        }
        let n = f.tables.len();
        let part = Part {
            tree: Tree::Leaf(table.id),
            visible: (0..table.columns()).map(|c| (n, c)).collect(),
            tables: vec![n],
        };
        f.tables.push(table);
        f.nullable.push(false);
        Ok(part)
    }

    /// The table of a name: a WITH query, a virtual table or a stored one.
    pub fn table_source(
        &mut self,
        database: Option<String>,
        table: &str,
        alias: Option<&sp::TableAlias>,
        locks: &[sp::LockClause],
    ) -> SqlResult<Table> {
        let name = alias.map_or_else(|| table.to_string(), |a| a.name.value.clone());
        let (id, hints) = (self.arena.table_id(), Hints::default());
        if database.is_none()
            && let Some(at) = self.ctes.iter().rposition(|c| c.name == table)
        {
            let (derived, columns) = self.bind_cte(at)?;
            return Ok(Table {
                id,
                hints,
                name,
                database: String::new(),
                table: String::new(),
                kind: TableKind::Derived { derived, columns },
            });
        }
        let database = self.database(database)?;
        if crate::show::is_system_schema(&database) {
            let Some(v) = crate::show::find(&database, table) else {
                return Err(if database.eq_ignore_ascii_case("information_schema") {
                    SqlError::new(
                        1109,
                        format!(
                            "Unknown table '{}' in information_schema",
                            table.to_uppercase()
                        ),
                    )
                } else {
                    no_such_table(&database, table)
                });
            };
            return Ok(Table {
                id,
                hints,
                name,
                database: v.database().to_string(),
                table: v.name().to_string(),
                kind: TableKind::Virtual(VirtualRef(v)),
            });
        }
        if self
            .targets
            .iter()
            .any(|(d, t)| *d == database && t == table)
        {
            self.reading_target = true;
            // A subquery of UPDATE or DELETE; derived tables are read to their end first.
            if self.frames.len() > 1 && self.frames[0].tables.iter().any(is_target) {
                return Err(SqlError::new(
                    1093,
                    format!("You can't specify target table '{table}' for update in FROM clause"),
                ));
            }
        }
        let at = self.open(&database, table, false)?;
        self.tables[at].goes_by(&name, false);
        let lock = lock_of(locks, &name)?;
        Ok(Table {
            id,
            hints,
            name,
            database,
            table: table.to_string(),
            kind: TableKind::Stored {
                table: at,
                schema: self.tables[at].schema.clone(),
                lock,
                partitions: None,
            },
        })
    }

    /// The database named, or the current one.
    pub fn database(&self, given: Option<String>) -> SqlResult<String> {
        given
            .or_else(|| self.cx.env.database.borrow().clone())
            .ok_or_else(|| SqlError::new(1046, "No database selected"))
    }

    /// Opens a stored table, the session's temporary one if there is one of this name; its position in the plan.
    pub fn open(&mut self, database: &str, name: &str, write: bool) -> SqlResult<usize> {
        if let Some(at) = self
            .tables
            .iter()
            .position(|t| t.table.def().database == database && t.table.def().name == name)
        {
            self.tables[at].write |= write;
            return Ok(at);
        }
        let table = match self.cx.env.temporary.get(database, name) {
            Some(table) => table,
            None => self
                .open_stored(database, name, write)
                .map_err(|e| match e {
                    millpond_store::Error::NoSuchTable(_)
                    | millpond_store::Error::NoSuchDatabase(_) => no_such_table(database, name),
                    e => crate::exec::store_error(e, name),
                })?,
        };
        let schema = row::schema_of(&table)?;
        let known = statistics::of(self.cx.engine, &table)?;
        self.tables.push(PlanTable {
            table,
            write,
            names: Vec::new(),
            schema,
            rows: known.rows,
            statistics: known.statistics,
        });
        Ok(self.tables.len() - 1)
    }

    fn open_stored(
        &mut self,
        database: &str,
        name: &str,
        write: bool,
    ) -> millpond_store::Result<Arc<millpond_store::Table>> {
        // What is only prepared writes nothing yet.
        match write && self.cx.params.is_some() {
            true => (self.cx.engine).open_table_for_write(self.cx.txn, database, name),
            false => self.cx.engine.open_table(self.cx.txn, database, name),
        }
    }

    /// Binds a derived table, which sees nothing of the blocks around it.
    pub fn derive(
        &mut self,
        query: &sp::Query,
        name: &str,
        columns: &[String],
    ) -> SqlResult<(DerivedId, Columns)> {
        let frames = std::mem::take(&mut self.frames);
        let bound = self.query(query);
        self.frames = frames;
        let (query, heads) = bound?;
        let columns = derived_columns(&query, heads, name, columns)?;
        self.arena.derived.push(Derived { query, uses: 1 });
        Ok((self.arena.derived.len() - 1, columns))
    }

    fn bind_cte(&mut self, at: usize) -> SqlResult<(DerivedId, Columns)> {
        if let Some(p) = &self.ctes[at].bound {
            self.arena.derived[p.0].uses += 1;
            return Ok(p.clone());
        }
        let Cte {
            name,
            columns,
            query,
            ..
        } = self.ctes[at].clone();
        // A WITH query sees those before it.
        let hidden = self.ctes.split_off(at);
        let bound = self.derive(&query, &name, &columns);
        self.ctes.extend(hidden);
        let bound = bound?;
        self.ctes[at].bound = Some(bound.clone());
        Ok(bound)
    }
}

/// Names and types of a derived table's columns.
fn derived_columns(
    query: &Query,
    heads: Vec<super::heads::Head>,
    table: &str,
    given: &[String],
) -> SqlResult<Columns> {
    if !given.is_empty() && given.len() != heads.len() {
        return Err(SqlError::new(
            1353,
            format!(
                "In definition of view, derived table or common table expression, SELECT list and \
                 column names list have different column counts ('{table}')"
            ),
        ));
    }
    let mut out: Columns = Vec::new();
    for (n, h) in heads.into_iter().enumerate() {
        let name = given.get(n).cloned().unwrap_or(h.meta.name);
        if out.iter().any(|o| o.name.eq_ignore_ascii_case(&name)) {
            return Err(SqlError::new(
                1060,
                format!("Duplicate column name '{name}'"),
            ));
        }
        out.push(DerivedColumn {
            name,
            ty: query.types[n].clone(),
            nullable: h.nullable,
            hold: h.hold,
        });
    }
    Ok(out)
}

fn is_target(t: &Table) -> bool {
    matches!(
        t.kind,
        TableKind::Stored {
            lock: Some((LockMode::Exclusive, _)),
            ..
        }
    )
}

/// 1146.
pub fn no_such_table(database: &str, name: &str) -> SqlError {
    SqlError::new(1146, format!("Table '{database}.{name}' doesn't exist"))
}

/// The positions that a PARTITION clause names: errors 1735 and 1747.
pub fn partitions_of(
    schema: &Schema,
    names: &[sp::Ident],
    table: &str,
) -> SqlResult<Option<Arc<[usize]>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let Some(p) = &schema.partitioning else {
        return Err(not_partitioned());
    };
    let names: Vec<&str> = names.iter().map(|n| n.value.as_str()).collect();
    Ok(Some(p.selected(&names, table)?.into()))
}

/// Notes a PARTITION clause at a table.
pub fn select_partitions(kind: &mut TableKind, names: &[sp::Ident], table: &str) -> SqlResult<()> {
    match kind {
        TableKind::Stored {
            schema, partitions, ..
        } => *partitions = partitions_of(schema, names, table)?,
        _ if !names.is_empty() => return Err(not_partitioned()),
        _ => {}
    }
    Ok(())
}

fn not_partitioned() -> SqlError {
    SqlError::new(1747, "PARTITION () clause on non partitioned table")
}

/// `a = b`, for USING.
fn equal(a: Expr, b: Expr) -> Expr {
    let collation = string_collation(&a.ty, &b.ty);
    let nullable = a.nullable || b.nullable;
    Expr {
        kind: ExprKind::Compare(CompareOp::Eq, Box::new([a, b]), collation),
        ty: SqlType::boolean(),
        nullable,
    }
}

/// Error 3568 if FOR UPDATE OF and the like name what is not there.
pub fn check_locks(locks: &[sp::LockClause], tables: &[Table]) -> SqlResult<()> {
    for of in locks.iter().filter_map(|l| l.of.as_ref()) {
        let name = split_name(of)?.1;
        if !tables.iter().any(|t| t.name == name) {
            return Err(SqlError::new(
                3568,
                format!("Unresolved table name `{name}` in locking clause."),
            ));
        }
    }
    Ok(())
}

/// How FOR UPDATE and FOR SHARE lock a table.
fn lock_of(locks: &[sp::LockClause], name: &str) -> SqlResult<Option<(LockMode, WaitPolicy)>> {
    let mut found = None;
    for l in locks {
        let here = match &l.of {
            None => true,
            Some(of) => split_name(of)?.1 == name,
        };
        if !here {
            continue;
        }
        let mode = match l.lock_type {
            sp::LockType::Share => LockMode::Shared,
            sp::LockType::Update => LockMode::Exclusive,
        };
        let wait = match l.nonblock {
            None => WaitPolicy::Wait,
            Some(sp::NonBlock::Nowait) => WaitPolicy::NoWait,
            Some(sp::NonBlock::SkipLocked) => WaitPolicy::SkipLocked,
        };
        found = Some((mode, wait));
    }
    Ok(found)
}

fn index_hints_of(list: &[sp::TableIndexHints], schema: &Schema, table: &str) -> SqlResult<Hints> {
    let mut h = Hints::default();
    for hint in list {
        let mut found = Vec::new();
        for n in &hint.index_names {
            match schema
                .indexes
                .iter()
                .position(|i| i.name.eq_ignore_ascii_case(&n.value))
            {
                Some(at) => found.push(at),
                None => {
                    return Err(SqlError::new(
                        1176,
                        format!("Key '{}' doesn't exist in table '{table}'", n.value),
                    ));
                }
            }
        }
        match hint.hint_type {
            sp::TableIndexHintType::Use | sp::TableIndexHintType::Force => {
                h.force |= matches!(hint.hint_type, sp::TableIndexHintType::Force);
                h.only.get_or_insert_default().extend(found);
            }
            sp::TableIndexHintType::Ignore => h.ignore.extend(found),
        }
    }
    Ok(h)
}
