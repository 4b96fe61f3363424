//! Scripts of statements, and what each leaves.

use crate::common::*;
use millpond_store::RowOrder;
use std::collections::BTreeMap;

/// Rows by the first field.
pub type Rows = BTreeMap<i64, Vec<u8>>;

/// Names of indexes, and rows, by table.
pub type Tables = BTreeMap<String, (Vec<String>, Rows)>;

/// Databases by name, of which one has tables; and another that is made of it, or of which it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub databases: Vec<String>,
    pub tablespaces: Vec<String>,
    pub tables: Tables,
    pub copy: Option<Tables>,
}

/// The other one.
pub const COPY: &str = "copy";

/// One statement of the script.
pub enum Op {
    CreateDatabase,
    DropDatabase,
    /// Another database is made like it, with rows or without.
    Copy(bool),
    /// It is made like the other one, with rows.
    CopyBack,
    DropCopy,
    Create(&'static str, bool),
    CreateTablespace(&'static str),
    RenameTablespace(&'static str, &'static str),
    DropTablespace(&'static str),
    /// A table in a tablespace.
    CreateIn(&'static str, &'static str),
    Drop(&'static [&'static str]),
    Truncate(&'static str),
    Rename(&'static str, &'static str),
    CreateIndex(&'static str),
    DropIndex(&'static str),
    /// Written anew in bulk; in the order of the clustered key, or as if in any other.
    Rebuild(&'static str, RowOrder),
    /// An empty table filled in bulk by a transaction, which ends like this.
    Fill(&'static str, Vec<(i64, Option<Vec<u8>>)>, bool),
    /// A transaction: table, rows by key (`None`: delete), committed or not.
    Rows(&'static str, Vec<(i64, Option<Vec<u8>>)>, bool),
    /// All of these in one transaction, committed or not: rows and definitions.
    Within(Vec<Op>, bool),
    /// Within a transaction: rolled back to before it.
    Undone(Vec<Op>),
}

pub fn a_row(id: i64, n: i64, pad: usize) -> Vec<u8> {
    let pad: Vec<u8> = (0..pad).map(|i| (i as i64 * n) as u8).collect();
    row(&[Some(&int(id)), Some(&int(n)), Some(&pad)])
}

pub fn put_rows(ids: std::ops::Range<i64>, n: i64, pad: usize) -> Vec<(i64, Option<Vec<u8>>)> {
    ids.map(|i| (i, Some(a_row(i, n + i, pad)))).collect()
}

/// Tables in tablespaces: made, filled, written anew, emptied and dropped there, and the tablespaces renamed and dropped.
pub fn tablespaces_script() -> Vec<Op> {
    vec![
        Op::CreateDatabase,
        Op::CreateTablespace("ts"),
        Op::CreateIn("a", "ts"),
        Op::Rows("a", put_rows(0..10, 0, 10), true),
        Op::CreateIn("b", "ts"),
        Op::Rows("b", put_rows(0..6, 1, 20_000), true),
        Op::CreateIndex("a"),
        Op::Rebuild("b", RowOrder::Clustered),
        Op::CreateTablespace("other"),
        Op::RenameTablespace("ts", "space"),
        Op::Truncate("a"),
        Op::Rows("a", put_rows(2..5, 3, 3000), true),
        Op::DropTablespace("other"),
        Op::Drop(&["a", "b"]),
        Op::DropTablespace("space"),
        Op::CreateTablespace("space"),
        Op::CreateIn("a", "space"),
        Op::Rows("a", put_rows(0..3, 0, 10), true),
        Op::DropDatabase,
        Op::DropTablespace("space"),
    ]
}

/// Empty tables filled in bulk: in the shared file and files of their own, with pages past the log and without, and chains.
pub fn fill_script() -> Vec<Op> {
    let many = || put_rows(0..200, 0, 1200);
    vec![
        Op::CreateDatabase,
        Op::Create("few", false),
        Op::Fill("few", put_rows(0..3, 0, 10), true),
        Op::Rows("few", put_rows(2..6, 1, 20_000), true),
        Op::Create("a", false),
        Op::CreateIndex("a"),
        Op::Fill("a", many(), false),
        Op::Fill("a", put_rows(0..4, 3, 40_000), false),
        Op::Fill("a", many(), true),
        Op::Rows("a", put_rows(5..9, 3, 9_000), true),
        Op::Create("own", true),
        Op::Fill("own", many(), false),
        Op::Fill("own", put_rows(0..120, 2, 2000), true),
        Op::Rows("own", put_rows(100..110, 1, 200), false),
        Op::Truncate("own"),
        Op::Fill("own", put_rows(0..4, 2, 50_000), true),
        Op::Rename("own", "b"),
        Op::Truncate("a"),
        Op::Fill("a", put_rows(0..50, 2, 600), true),
        Op::Drop(&["b", "few"]),
        Op::Create("own", true),
        Op::Fill("own", put_rows(0..2, 2, 50), true),
    ]
}

/// Databases made of others, with small tables and large ones, chains, files of their own and tablespaces, and changed and dropped then.
pub fn copies_script() -> Vec<Op> {
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Copy(true),
        Op::DropCopy,
        Op::Create("a", false),
        Op::Rows("a", put_rows(0..6, 0, 40), true),
        Op::Rows("a", gone(1..3), true),
        Op::Create("b", false),
        Op::Rows("b", put_rows(0..9, 1, 30), true),
        Op::CreateIndex("b"),
        Op::Create("empty", false),
        Op::Copy(true),
        Op::Rows("a", put_rows(3..9, 2, 30), true),
        Op::DropDatabase,
        Op::CopyBack,
        Op::DropCopy,
        Op::CreateTablespace("ts"),
        Op::CreateIn("in", "ts"),
        Op::Rows("in", put_rows(0..3, 4, 9000), true),
        Op::Create("own", true),
        Op::Rows("own", put_rows(0..3, 5, 20_000), true),
        Op::Create("large", false),
        Op::Fill("large", put_rows(0..120, 6, 1200), true),
        Op::Rows("large", put_rows(3..5, 7, 20_000), true),
        Op::Rows("large", gone(7..9), true),
        Op::Copy(true),
        Op::DropDatabase,
        Op::CopyBack,
        Op::Rows("large", put_rows(100..104, 9, 300), true),
        Op::DropCopy,
        Op::Rows("in", put_rows(2..5, 9, 300), true),
    ]
}

/// Databases dropped with their tables to follow, and made again with tables of the same names meanwhile.
pub fn dropped_script() -> Vec<Op> {
    let few = |n| put_rows(0..4, n, 10);
    vec![
        Op::CreateDatabase,
        Op::CreateTablespace("ts"),
        Op::Create("a", false),
        Op::Rows("a", few(0), true),
        Op::Create("own", true),
        Op::Rows("own", put_rows(0..3, 1, 20_000), true),
        Op::CreateIn("b", "ts"),
        Op::Rows("b", few(2), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("own", false),
        Op::Rows("own", few(3), true),
        Op::Create("c", true),
        Op::Rows("c", few(4), true),
        Op::Rename("own", "a"),
        Op::CreateIn("b", "ts"),
        Op::Rows("b", put_rows(0..3, 5, 9000), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("b", true),
        Op::Create("c", false),
        Op::Rows("c", few(6), true),
        Op::DropTablespace("ts"),
        Op::Drop(&["b"]),
    ]
}

/// Definitions and rows that transactions change together, and keep or undo, wholly and in part.
pub fn transactions_script() -> Vec<Op> {
    let put = put_rows;
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Rows("a", put(0..12, 0, 10), true),
        Op::Within(
            vec![
                Op::Create("b", false),
                Op::Rows("b", put(0..5, 1, 20_000), true),
                Op::CreateIndex("b"),
                Op::Rows("a", put(3..6, 2, 300), true),
                Op::Drop(&["a"]),
            ],
            false,
        ),
        Op::Within(
            vec![
                Op::Create("b", false),
                Op::Rows("b", put(0..4, 1, 20_000), true),
                Op::CreateIndex("a"),
                Op::Rows("a", gone(2..5), true),
                Op::Rename("b", "c"),
                Op::Rows("c", put(2..6, 3, 40), true),
            ],
            true,
        ),
        Op::Within(
            vec![
                Op::Truncate("a"),
                Op::Rows("a", put(1..3, 4, 2000), true),
                Op::DropIndex("a"),
                Op::Rows("a", put(2..9, 5, 10), true),
            ],
            false,
        ),
        Op::Rows("a", put(20..24, 5, 30), true),
        Op::Within(
            vec![
                Op::DropIndex("a"),
                Op::Truncate("a"),
                Op::Rows("a", put(1..3, 4, 2000), true),
                Op::Create("own", true),
                Op::Rows("own", put(0..3, 6, 3000), true),
            ],
            true,
        ),
        Op::Within(
            vec![
                Op::Drop(&["own"]),
                Op::Create("own", true),
                Op::Rows("own", put(0..2, 7, 30_000), true),
                Op::Drop(&["own", "a"]),
            ],
            false,
        ),
        Op::Within(
            vec![
                Op::Undone(vec![
                    Op::Create("d", true),
                    Op::Rows("d", put(0..2, 8, 9000), true),
                    Op::Rows("c", gone(0..2), true),
                    Op::Truncate("c"),
                    Op::Drop(&["a"]),
                ]),
                Op::Rows("a", put(5..7, 8, 50), true),
                Op::Rename("a", "d"),
                Op::Undone(vec![Op::CreateIndex("d"), Op::Drop(&["c"])]),
                Op::Rows("d", gone(1..2), true),
            ],
            true,
        ),
        Op::Within(
            vec![
                Op::Rows("c", gone(3..4), true),
                Op::Rebuild("c", RowOrder::Clustered),
                Op::Rows("c", put(0..9, 9, 500), true),
            ],
            false,
        ),
        Op::Within(
            vec![
                Op::Rows("c", put(4..7, 9, 100), true),
                Op::Rebuild("c", RowOrder::Any),
                Op::Rows("c", put(0..2, 10, 30_000), true),
                Op::CreateIndex("c"),
            ],
            true,
        ),
        Op::CreateTablespace("ts"),
        Op::Within(
            vec![
                Op::CreateIn("in", "ts"),
                Op::Rows("in", put(0..3, 6, 9000), true),
                Op::CreateIndex("in"),
            ],
            false,
        ),
        Op::Within(
            vec![
                Op::CreateIn("in", "ts"),
                Op::Rows("in", put(0..3, 6, 9000), true),
                Op::Undone(vec![Op::Drop(&["in"])]),
            ],
            true,
        ),
        Op::Within(vec![Op::Truncate("in"), Op::Drop(&["in"])], true),
        Op::DropTablespace("ts"),
        Op::Within(vec![Op::DropDatabase], false),
        Op::Within(
            vec![
                Op::DropDatabase,
                Op::CreateDatabase,
                Op::Create("a", false),
                Op::Rows("a", put(0..3, 11, 10), true),
            ],
            true,
        ),
        Op::Rows("a", put(1..4, 12, 10), true),
    ]
}

/// Small tables side by side: some outgrow their page, some are emptied, dropped, rebuilt and get indexes while they are small.
pub fn small_script() -> Vec<Op> {
    let put = put_rows;
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Create("b", false),
        Op::Create("c", false),
        Op::Create("d", false),
        Op::Rows("b", put(0..6, 0, 400), true),
        Op::Rows("a", put(0..6, 1, 400), true),
        Op::Rows("c", put(0..6, 2, 400), true),
        Op::Rows("d", put(0..4, 3, 10), true),
        // They move out: as a leaf is full, though it is undone then, and for a long row, and a longer one.
        Op::Rows("b", put(6..30, 4, 400), false),
        Op::Rows("a", put(3..30, 5, 300), true),
        Op::Rows("c", put(2..4, 6, 5000), false),
        Op::Rows("c", gone(0..3), true),
        Op::Create("e", false),
        Op::Rows("e", put(0..3, 7, 30_000), true),
        Op::Create("f", false),
        Op::Rows("f", put(0..9, 8, 40), true),
        Op::Rows("f", gone(2..7), true),
        Op::Rows("f", put(3..6, 8, 60), false),
        Op::CreateIndex("f"),
        Op::Rows("f", put(1..4, 9, 20), true),
        Op::DropIndex("f"),
        Op::Rebuild("f", RowOrder::Clustered),
        Op::Rows("f", put(2..12, 9, 30), true),
        Op::Truncate("d"),
        Op::Rows("d", put(0..4, 3, 10), true),
        Op::Truncate("b"),
        Op::Drop(&["a", "d"]),
        Op::Create("a", false),
        Op::CreateIndex("a"),
        Op::Fill("a", put(0..5, 1, 30), false),
        Op::Fill("a", put(0..5, 1, 30), true),
        Op::Rows("a", put(3..8, 2, 30), true),
        Op::Rename("a", "g"),
        Op::Rows("g", put(5..9, 3, 3500), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Rows("a", put(0..2, 0, 10), true),
    ]
}

pub fn script() -> Vec<Op> {
    let put = put_rows;
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Rows("a", put(0..20, 0, 10), true),
        Op::Create("own", true),
        Op::Rows("own", put(0..3, 0, 3000), true),
        Op::Rows("a", put(5..8, 100, 20_000), true),
        Op::Rows("a", put(6..12, 50, 40_000), false),
        Op::Rows("a", gone(3..7), true),
        Op::Rows("a", gone(7..9), false),
        Op::Rows("a", put(2..7, 7, 200), true),
        Op::CreateIndex("a"),
        Op::Rows("a", put(0..5, 1, 30_000), true),
        Op::Rebuild("a", RowOrder::Clustered),
        Op::DropIndex("a"),
        Op::Rows("a", put(3..9, 4, 20_000), true),
        Op::Rows("own", put(40..100, 9, 2500), true),
        Op::Rebuild("own", RowOrder::Any),
        Op::Truncate("own"),
        Op::Rows("own", put(1..3, 5, 60_000), true),
        Op::Rebuild("own", RowOrder::Clustered),
        Op::Rename("a", "b"),
        Op::Create("a", false),
        Op::Rows("a", put(0..2, 0, 10), true),
        Op::Drop(&["a", "own"]),
        Op::CreateIndex("b"),
        Op::Rows("b", put(30..34, 3, 5000), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("a", true),
        Op::Rows("a", put(0..2, 0, 10), true),
    ]
}

pub fn model_of(op: &Op, m: &Model) -> Model {
    let mut m = m.clone();
    match op {
        Op::Within(ops, true) => m = ops.iter().fold(m, |m, op| model_of(op, &m)),
        Op::Within(_, false) | Op::Undone(_) => {}
        Op::CreateDatabase => m.databases.push(D.into()),
        Op::DropDatabase => {
            m.databases.retain(|d| d != D);
            m.tables.clear();
        }
        Op::Copy(rows) => {
            m.databases.insert(0, COPY.into());
            let mut tables = m.tables.clone();
            if !rows {
                tables.values_mut().for_each(|t| t.1.clear());
            }
            m.copy = Some(tables);
        }
        Op::CopyBack => {
            m.databases.push(D.into());
            m.tables = m.copy.clone().unwrap();
        }
        Op::DropCopy => {
            m.databases.retain(|d| d != COPY);
            m.copy = None;
        }
        Op::CreateTablespace(name) => m.tablespaces.push((*name).into()),
        Op::DropTablespace(name) => m.tablespaces.retain(|t| t != name),
        Op::RenameTablespace(from, to) => {
            m.tablespaces.retain(|t| t != from);
            m.tablespaces.push((*to).into());
        }
        Op::Create(t, _) | Op::CreateIn(t, _) => {
            let indexes = vec!["PRIMARY".into(), "n".into()];
            m.tables.insert((*t).into(), (indexes, BTreeMap::new()));
        }
        Op::Drop(names) => names.iter().for_each(|t| drop(m.tables.remove(*t))),
        Op::Truncate(t) => m.tables.get_mut(*t).unwrap().1.clear(),
        Op::Rename(from, to) => {
            let t = m.tables.remove(*from).unwrap();
            m.tables.insert((*to).into(), t);
        }
        Op::CreateIndex(t) => m.tables.get_mut(*t).unwrap().0.push("x".into()),
        Op::DropIndex(t) => m.tables.get_mut(*t).unwrap().0.retain(|i| i != "x"),
        Op::Rows(_, _, false) | Op::Fill(_, _, false) | Op::Rebuild(..) => {}
        Op::Rows(t, rows, true) | Op::Fill(t, rows, true) => {
            let t = &mut m.tables.get_mut(*t).unwrap().1;
            for (id, row) in rows {
                match row {
                    Some(row) => drop(t.insert(*id, row.clone())),
                    None => drop(t.remove(id)),
                }
            }
        }
    }
    m
}
