//! The FROM clause: tables, derived tables, WITH, joins with their ON and USING.

use super::scope::{Binder, Target};
use super::table_clauses::{index_hints_of, lock_of, select_partitions};
use crate::env::is_system_schema;
use crate::env::privileges;
use crate::error::{SqlError, SqlResult};
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::PlanTable;
use crate::logical::{
    Columns, Derived, DerivedColumn, DerivedId, Hints, Query, Table, TableKind, Tree, VirtualRef,
};
use crate::parse;
use crate::parse::ast::{self, JoinKind, JoinOn, TableRef};
use crate::row;
use crate::statistics;
use crate::switches::Flag;
use crate::types::SqlType;
use crate::types::derive::string_collation;
use std::sync::Arc;

/// Most tables of a block.
pub const MAX_TABLES: usize = 61;

/// A part of FROM: its tree, the columns it shows, the tables it has (by position in the block).
struct Part {
    tree: Tree,
    visible: Vec<(usize, usize)>,
    tables: Vec<usize>,
}

/// How tables are joined, once NATURAL and the words without meaning are left aside.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Inner,
    Straight,
    Left,
    Right,
}

impl Side {
    fn of(kind: JoinKind) -> Side {
        match kind {
            JoinKind::Inner | JoinKind::Cross | JoinKind::Natural => Side::Inner,
            JoinKind::Straight => Side::Straight,
            JoinKind::Left | JoinKind::NaturalLeft => Side::Left,
            JoinKind::Right | JoinKind::NaturalRight => Side::Right,
        }
    }
}

/// The texts of names.
pub fn names_of(list: &ast::Items<ast::Ident>) -> Vec<String> {
    list.iter().map(|n| n.as_str().to_string()).collect()
}

/// Database (if given) and name.
pub fn split_name(name: &ast::ObjectName) -> (Option<String>, String) {
    let database = name.database.as_ref().map(|d| d.as_str().to_string());
    (database, name.name.as_str().to_string())
}

impl Binder<'_, '_> {
    /// Registers the tables of a FROM clause in the innermost block and binds its joins.
    pub fn bind_from(
        &mut self,
        from: &[TableRef],
        locks: &ast::Items<ast::Lock>,
    ) -> SqlResult<Option<Tree>> {
        let mut parts = self.side_by_side(from, locks, &[])?;
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

    /// Binds table references one after the other; each sees what is `before` it and those to its left.
    fn side_by_side(
        &mut self,
        list: &[TableRef],
        locks: &ast::Items<ast::Lock>,
        before: &[(usize, usize)],
    ) -> SqlResult<Vec<Part>> {
        let mut before = before.to_vec();
        let mut parts = Vec::new();
        for t in list {
            let part = self.table_ref(t, locks, &before)?;
            before.extend_from_slice(&part.visible);
            parts.push(part);
        }
        Ok(parts)
    }

    /// `before`: the columns of tables to its left, which a lateral derived table sees.
    fn table_ref(
        &mut self,
        t: &TableRef,
        locks: &ast::Items<ast::Lock>,
        before: &[(usize, usize)],
    ) -> SqlResult<Part> {
        match t {
            TableRef::Table(t) => self.named_table(t, locks),
            TableRef::Derived(d) => self.derived(d, before),
            TableRef::JsonTable(t) => self.json_table(t, before),
            TableRef::Join(joins) => {
                let mut left = self.table_ref(&joins.first, locks, before)?;
                for j in &joins.rest {
                    let right = self.right_side(&left, j, locks, before)?;
                    left = self.join(left, right, j)?;
                }
                Ok(left)
            }
            TableRef::Parens(list) => self.several_in_parens(list, locks, before),
            TableRef::Odbc(inner) => self.table_ref(inner, locks, before),
        }
    }

    /// The right side of a join. That of a RIGHT JOIN, which is the left one of a LEFT JOIN, sees nothing of the left side.
    fn right_side(
        &mut self,
        left: &Part,
        join: &ast::Join,
        locks: &ast::Items<ast::Lock>,
        before: &[(usize, usize)],
    ) -> SqlResult<Part> {
        if Side::of(join.kind) != Side::Right {
            let seen: Vec<_> = before.iter().chain(&left.visible).copied().collect();
            return self.table_ref(&join.right, locks, &seen);
        }
        let hidden = self.frame().hidden.len();
        self.frame().hidden.extend(&left.tables);
        let right = self.table_ref(&join.right, locks, before);
        self.frame().hidden.truncate(hidden);
        right
    }

    /// `(a, b)`: a cross join.
    fn several_in_parens(
        &mut self,
        list: &[TableRef],
        locks: &ast::Items<ast::Lock>,
        before: &[(usize, usize)],
    ) -> SqlResult<Part> {
        if let [one] = list {
            return self.table_ref(one, locks, before);
        }
        let (mut visible, mut tables, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for part in self.side_by_side(list, locks, before)? {
            visible.extend(part.visible);
            tables.extend(part.tables);
            parts.push(part.tree);
        }
        let tree = Tree::Inner {
            parts,
            on: Vec::new(),
            straight: false,
        };
        Ok(Part {
            tree,
            visible,
            tables,
        })
    }

    fn join(&mut self, left: Part, right: Part, join: &ast::Join) -> SqlResult<Part> {
        let (kind, constraint) = (join.kind, join.on.as_ref());
        let side = Side::of(kind);
        let mut on = Vec::new();
        let tables: Vec<usize> = left.tables.iter().chain(&right.tables).copied().collect();
        let mut visible: Vec<(usize, usize)> = Vec::new();
        let common = match (kind, constraint) {
            (JoinKind::Natural | JoinKind::NaturalLeft | JoinKind::NaturalRight, _) => {
                let f = self.frames.last().expect("a block is being bound");
                let name = |&(s, c): &(usize, usize)| f.tables[s].column(c).0.to_string();
                let shown = |(s, c): &&(usize, usize)| f.tables[*s].shows(*c);
                let rights = right.visible.iter().filter(shown).map(name);
                let rights: Vec<String> = rights.collect();
                Some(
                    left.visible
                        .iter()
                        .filter(shown)
                        .map(name)
                        .filter(|n| rights.iter().any(|r| r.eq_ignore_ascii_case(n)))
                        .collect(),
                )
            }
            (_, Some(JoinOn::On(e))) => {
                let all: Vec<(usize, usize)> =
                    left.visible.iter().chain(&right.visible).copied().collect();
                let f = self.frame();
                f.visible = all;
                f.reachable = tables.clone();
                on = self.bind(e, "on clause")?.into_conjuncts();
                None
            }
            (_, Some(JoinOn::Using(names))) => Some(names_of(names)),
            (_, None) => None,
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
                let mut common = Vec::new();
                let mut used: Vec<(usize, String)> = Vec::new();
                for n in &names {
                    let (l, r) = (find(&left.visible, n)?, find(&right.visible, n)?);
                    let pair = (f.column_expr(l.0, l.1), f.column_expr(r.0, r.1));
                    on.push(equal(pair.0.clone(), pair.1.clone()));
                    common.push(pair);
                    used.extend([l, r].map(|(s, c)| {
                        let t = &f.tables[s];
                        (t.id, t.column(c).0.to_string())
                    }));
                    // The kept side's column stands for both.
                    visible.push(if side == Side::Right { r } else { l });
                    gone.push(l);
                    gone.push(r);
                }
                let (a, b) = if side == Side::Right {
                    (&right.visible, &left.visible)
                } else {
                    (&left.visible, &right.visible)
                };
                visible.extend(a.iter().chain(b).filter(|c| !gone.contains(c)));
                self.note_join(join, &common);
                for (id, name) in used {
                    self.need_column(id, &name, privileges::SELECT);
                }
            }
        }
        let missing = match side {
            Side::Left => &right.tables[..],
            Side::Right => &left.tables[..],
            Side::Inner | Side::Straight => &[],
        };
        for &s in missing {
            self.frame().nullable[s] = true;
        }
        let tree = match side {
            Side::Left => Tree::Left {
                left: Box::new(left.tree),
                right: Box::new(right.tree),
                on,
            },
            Side::Right => Tree::Left {
                left: Box::new(right.tree),
                right: Box::new(left.tree),
                on,
            },
            Side::Inner | Side::Straight => Tree::Inner {
                parts: vec![left.tree, right.tree],
                on,
                straight: side == Side::Straight,
            },
        };
        Ok(Part {
            tree,
            visible,
            tables,
        })
    }

    fn named_table(
        &mut self,
        f: &ast::TableFactor,
        locks: &ast::Items<ast::Lock>,
    ) -> SqlResult<Part> {
        let mut t = self.table_source(&f.name, f.alias.as_ref(), locks)?;
        self.note_table(&f.name, &t);
        select_partitions(&mut t.kind, &f.partitions, f.name.name.as_str())?;
        if let TableKind::Stored { schema, .. } = &t.kind {
            let seen = self.cx.env.switches.get().has(Flag::UseInvisibleIndexes);
            t.hints = index_hints_of(&f.index_hints, schema, &t.name, seen)?;
        }
        self.register(t)
    }

    /// Binds a derived table. A lateral one sees what is before it in FROM; each sees the blocks around its own.
    fn derived(&mut self, d: &ast::Derived, before: &[(usize, usize)]) -> SqlResult<Part> {
        let Some(alias) = &d.alias else {
            return Err(SqlError::new(
                1248,
                "Every derived table must have its own alias",
            ));
        };
        let before = d.lateral.then_some(before);
        self.made_in_from(alias.as_str(), before, |b| {
            let (query, heads) = b.query(&d.query)?;
            let columns = derived_columns(&query, heads, alias.as_str(), &names_of(&d.columns))?;
            Ok((query, columns))
        })
    }

    /// Binds JSON_TABLE, whose document sees what is before it in FROM.
    fn json_table(&mut self, t: &ast::JsonTable, before: &[(usize, usize)]) -> SqlResult<Part> {
        self.made_in_from(t.alias.as_str(), Some(before), |b| b.json_rows(t))
    }

    /// Registers a table that a query in FROM makes. `before`: what the query sees of the block, if it sees any of it.
    fn made_in_from(
        &mut self,
        alias: &str,
        before: Option<&[(usize, usize)]>,
        bind: impl FnOnce(&mut Self) -> SqlResult<(Query, Columns)>,
    ) -> SqlResult<Part> {
        let hidden = match before {
            None => self.frames.pop(),
            Some(before) => {
                let f = self.frame();
                f.visible = before.to_vec();
                let hidden = &f.hidden;
                let open = (0..f.tables.len()).filter(|at| !hidden.contains(at));
                f.reachable = open.collect();
                None
            }
        };
        let depth = self.frames.len();
        let read = std::mem::take(&mut self.reading_target);
        self.derives += 1;
        let bound = bind(self);
        self.derives -= 1;
        self.frames.truncate(depth);
        self.frames.extend(hidden);
        let (query, columns) = bound?;
        let kind = self.computed(query, columns);
        if let TableKind::Lateral { .. } = kind
            && self.reading_target
            && let Some(target) = self.changed_around()
        {
            return Err(changed_and_read(&target.table));
        }
        self.reading_target |= read;
        let id = self.arena.table_id();
        self.register(Table {
            id,
            name: alias.to_string(),
            database: String::new(),
            table: String::new(),
            kind,
            hints: Hints::default(),
        })
    }

    /// What a query in FROM is: read once, or for each row of what it depends on.
    pub fn computed(&mut self, query: Query, columns: Columns) -> TableKind {
        if !self.arena.outer(&query).is_empty() {
            let query = Box::new(query);
            return TableKind::Lateral { query, columns };
        }
        self.arena.derived.push(Derived::of(query, 1));
        TableKind::Derived {
            derived: self.arena.derived.len() - 1,
            columns,
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
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        locks: &ast::Items<ast::Lock>,
    ) -> SqlResult<Table> {
        let (database, table) = split_name(name);
        let table = table.as_str();
        let name = alias.map_or(table, ast::Ident::as_str).to_string();
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
        parse::refuse_empty(&database, Some(table))?;
        self.ask_table(&database, table)?;
        self.need_table(id, &database, table);
        if is_system_schema(&database) {
            let Some(v) = self.cx.env.virtual_table(&database, table) else {
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
            self.notes.lists = true;
            return Ok(Table {
                id,
                hints,
                name,
                database: v.database().to_string(),
                table: v.name().to_string(),
                kind: TableKind::Virtual(VirtualRef(v)),
            });
        }
        let meant = |t: &Target| t.database == database && t.table == table;
        if let Some(at) = self.targets.iter().position(meant) {
            self.reading_target = true;
            self.refuse_target(&self.targets[at], table, &name)?;
        }
        let at = match self.open(&database, table, false) {
            Ok(at) => at,
            Err(e) => {
                // What is stored under the name of one of the system's views goes before it.
                let services = self
                    .cx
                    .env
                    .services
                    .as_ref()
                    .filter(|_| matches!(e.code, 1049 | 1146));
                let view = services.and_then(|s| s.system_view(&database, table));
                let Some((table, view)) = view else {
                    let there = services.is_some_and(|s| s.has_system_views(&database));
                    return Err(if there {
                        no_such_table(&database, table)
                    } else {
                        e
                    });
                };
                return self.system_view_source(id, view, name, (database, table));
            }
        };
        if self.views.is_empty() {
            self.tables[at].goes_by(&name, false);
        }
        let lock = lock_of(locks, &name);
        if let Some(view) = self.tables[at].schema.view.clone() {
            let own = (database, table.to_string());
            return self.view_source(id, at, &view, name, own, lock);
        }
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
            .position(|t| self.is_open(t, database, name))
        {
            self.tables[at].write |= write && self.tables[at].schema.view.is_none();
            return Ok(at);
        }
        let temporary = self.cx.env.temporary.get(database, name);
        let table = match temporary.filter(|_| self.sees_temporary()) {
            Some(table) => table,
            None => self
                .open_stored(database, name, write)
                .map_err(|e| crate::store_error::store_error(e, name))?,
        };
        let schema = row::schema_or_view(&table)?;
        let known = match schema.view {
            Some(_) => statistics::Known::default(),
            None => statistics::of(self.cx.engine, &table)?,
        };
        self.tables.push(PlanTable {
            table,
            write: write && schema.view.is_none(),
            names: Vec::new(),
            schema,
            rows: known.rows,
            statistics: known.statistics,
        });
        Ok(self.tables.len() - 1)
    }

    /// Whether names mean temporary tables where there are such: not those in a view that is there already.
    fn sees_temporary(&self) -> bool {
        self.views.is_empty()
    }

    /// Whether an open table is what a name means.
    fn is_open(&self, t: &PlanTable, database: &str, name: &str) -> bool {
        let def = t.table.def();
        let meant = def.database == database && def.name == name;
        meant && (self.sees_temporary() || !t.table.is_temporary()) && {
            // One that is open for a view may be hidden by a temporary one.
            let hidden = self.sees_temporary() && !t.table.is_temporary();
            !hidden || self.cx.env.temporary.get(database, name).is_none()
        }
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

    /// Binds a WITH query, which sees nothing of the blocks around it.
    pub fn derive(
        &mut self,
        query: &ast::Query,
        name: &str,
        columns: &[String],
    ) -> SqlResult<(DerivedId, Columns)> {
        let frames = std::mem::take(&mut self.frames);
        self.derives += 1;
        let bound = self.query(query);
        self.derives -= 1;
        self.frames = frames;
        let (query, heads) = bound?;
        let columns = derived_columns(&query, heads, name, columns)?;
        self.arena.derived.push(Derived::of(query, 1));
        Ok((self.arena.derived.len() - 1, columns))
    }

    fn bind_cte(&mut self, at: usize) -> SqlResult<(DerivedId, Columns)> {
        if let Some(p) = &self.ctes[at].bound {
            self.arena.derived[p.0].uses += 1;
            return Ok(p.clone());
        }
        if self.ctes[at].recursion.is_some() {
            return self.itself(at);
        }
        let cte = self.ctes[at].clone();
        // A WITH query sees those before it.
        let hidden = self.ctes.split_off(at);
        let bound = match cte.recursive {
            true => self.derive_recursive(&cte),
            false => self.derive(&cte.query, &cte.name, &cte.columns),
        };
        self.ctes.extend(hidden);
        let bound = bound?;
        self.ctes[at].bound = Some(bound.clone());
        Ok(bound)
    }
}

/// 1353.
pub fn column_counts(table: &str) -> SqlError {
    SqlError::new(
        1353,
        format!(
            "In definition of view, derived table or common table expression, SELECT list and \
             column names list have different column counts ('{table}')"
        ),
    )
}

/// Names and types of a derived table's columns.
pub fn derived_columns(
    query: &Query,
    heads: Vec<super::heads::Head>,
    table: &str,
    given: &[String],
) -> SqlResult<Columns> {
    if !given.is_empty() && given.len() != heads.len() {
        return Err(column_counts(table));
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

/// Error 1093.
pub(super) fn changed_and_read(table: &str) -> SqlError {
    let m = format!("You can't specify target table '{table}' for update in FROM clause");
    SqlError::new(1093, m)
}

/// 1146.
pub fn no_such_table(database: &str, name: &str) -> SqlError {
    SqlError::new(1146, format!("Table '{database}.{name}' doesn't exist"))
}

/// `a = b`, for USING.
fn equal(a: Expr, b: Expr) -> Expr {
    let collation = string_collation(&a.ty, &b.ty);
    let nullable = a.nullable || b.nullable;
    let kind = ExprKind::Compare(CompareOp::Eq, Box::new([a, b]), collation);
    Expr::new(kind, SqlType::boolean(), nullable)
}
