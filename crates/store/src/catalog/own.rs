//! The catalog's own tables: definitions, keys and roots; and how table objects are made.

use super::row::{self, TableRow};
use super::{CATALOG_DATABASE, IndexDef, KeyCodec, TableDef, full_name};
use crate::btree::Tree;
use crate::error::{Error, Result};
use crate::hash_index::KeyPart;
use crate::log::op::Op;
use crate::page::{PageNo, PageType, page_no, page_space, page_type};
use crate::pool::Pager;
use crate::space::{AllocKind, FileId, SpaceId};
use crate::table::format::SEC_KEY_PART;
use crate::table::{Context, Core, Index, Table};
use crate::txn::TrxId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Spaces of the catalog's trees; the first three are also the ids of the tables.
const SPACES: [SpaceId; 4] = [SpaceId(16), SpaceId(17), SpaceId(18), SpaceId(19)];

/// Root pages of the catalog's trees. They are the first pages ever allocated in the shared file, behind its
/// header and first allocation map.
const ROOTS: [PageNo; 4] = [2, 3, 4, 5];

/// A table of the catalog's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnTable {
    /// Name -> options.
    Databases,
    /// Database and name -> definition; a second index finds a definition by the table's id.
    Tables,
    /// Space id -> where its pages are that nobody needs.
    Graveyard,
    /// Table id -> what the layer above has found out. Its place is in the tables' rows, as any table's is.
    Statistics,
    /// What refers to what. Its place is in the tables' rows, too.
    References,
    /// General tablespaces and what is in them. The same.
    Tablespaces,
    /// Stored objects that are no tables. Its place is in the tables' rows, too.
    Objects,
}

impl OwnTable {
    /// The one made when it was needed, by its name.
    pub fn named(name: &str) -> OwnTable {
        match name {
            super::REFERENCES => OwnTable::References,
            super::TABLESPACES => OwnTable::Tablespaces,
            super::OBJECTS => OwnTable::Objects,
            _ => OwnTable::Statistics,
        }
    }
    /// Positions in [`SPACES`] of its indexes' spaces.
    fn spaces(self) -> &'static [usize] {
        match self {
            OwnTable::Databases => &[0],
            OwnTable::Tables => &[1, 3],
            OwnTable::Graveyard => &[2],
            OwnTable::Statistics
            | OwnTable::References
            | OwnTable::Tablespaces
            | OwnTable::Objects => &[],
        }
    }
}

impl KeyCodec for OwnTable {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match (self, index) {
            (OwnTable::Statistics, _) => out.extend_from_slice(super::statistics::key_of(row)?),
            // Both are keyed by the byte string that their rows begin with.
            (OwnTable::References | OwnTable::Tablespaces, _) => {
                out.extend_from_slice(super::references::key_of(row)?);
            }
            (OwnTable::Objects, _) => out.extend_from_slice(super::objects::key_of(row)?),
            (OwnTable::Databases, _) => {
                out.extend_from_slice(crate::table::format::Reader(row).bytes()?);
                out.push(0);
            }
            (OwnTable::Tables, 0) => row::put_table_key(row, out)?,
            (OwnTable::Tables, _) => row::put_id_key(row::table_id(row)?, out),
            (OwnTable::Graveyard, _) => {
                let grave = row::decode_grave(row)?;
                out.extend_from_slice(&grave.space.0.to_be_bytes());
            }
        }
        Ok(false)
    }
}

/// The catalog's roots, made now if there are none: all of them by one mini-transaction, so they are there wholly or not
/// at all.
pub(super) fn roots(pager: &Arc<Pager>) -> Result<[PageNo; 4]> {
    let spaces = SPACES.map(|id| pager.space(id, FileId::SHARED));
    let mut there = 0;
    for (space, &root) in spaces.iter().zip(&ROOTS) {
        let page = pager.fetch(space, root)?;
        let tree = matches!(page_type(&page), Some(PageType::Leaf | PageType::Inner));
        if tree && page_space(&page) == space.id.0 && page_no(&page) == root {
            there += 1;
        }
    }
    match there {
        4 => return Ok(ROOTS),
        0 => {}
        _ => {
            return Err(Error::Corrupt(
                "some of the catalog's roots are missing".into(),
            ));
        }
    }
    let mut mtr = pager.mtr_in(&spaces[0], 4)?;
    let mut made = [0; 4];
    let init = Op::Init {
        kind: PageType::Leaf,
        level: 0,
    };
    for (space, root) in spaces.iter().zip(&mut made) {
        let page = mtr.alloc(space, AllocKind::Root, 0, init)?;
        *root = mtr.page_no(page);
    }
    mtr.commit();
    if made != ROOTS {
        return Err(Error::Corrupt(format!(
            "the shared file has no catalog, yet pages before {made:?} are in use"
        )));
    }
    Ok(ROOTS)
}

/// Makes the object of a table of the catalog's own.
pub(super) fn open(ctx: &Arc<Context>, table: OwnTable, roots: &[PageNo; 4]) -> Table {
    let name = match table {
        OwnTable::Databases => "databases",
        OwnTable::Tables => "tables",
        OwnTable::Graveyard => "graveyard",
        OwnTable::Statistics => super::STATISTICS,
        OwnTable::References => super::REFERENCES,
        OwnTable::Tablespaces => super::TABLESPACES,
        OwnTable::Objects => super::OBJECTS,
    };
    let indexes = table.spaces().iter().enumerate().map(|(i, &at)| IndexDef {
        name: if i == 0 { "PRIMARY" } else { "id" }.into(),
        unique: true,
        space: SPACES[at],
        root: roots[at],
        body: Vec::new(),
    });
    let def = TableDef {
        id: SPACES[table.spaces()[0]].0,
        database: "catalog".into(),
        name: name.into(),
        file: FileId::SHARED,
        hidden_row_id: false,
        partitioned: false,
        indexes: indexes.collect(),
        body: Vec::new(),
    };
    let indexes = (0..def.indexes.len()).map(|n| open_index(ctx, &def, n, 0));
    Table {
        indexes: indexes.collect(),
        def,
        version: 0,
        codec: Arc::new(table),
        upgrades: false,
        multi: false,
        core: Core::new(0),
        ctx: ctx.clone(),
        mdl: None,
        valid: AtomicBool::new(true),
        private: 0,
        partitions: OnceLock::new(),
        children: OnceLock::new(),
        temporary: None,
    }
}

/// Whether indexes of a table share a tree while they have no root: those of users' tables in the shared file.
pub(super) fn is_sharing(def: &TableDef) -> bool {
    let own = def.id < SpaceId::FIRST_USER || def.database == CATALOG_DATABASE;
    def.file == FileId::SHARED && !own
}

/// The tree of an index of a table.
pub(crate) fn tree_of(ctx: &Context, def: &TableDef, index: &IndexDef) -> Tree {
    let space = ctx.pager.space(index.space, def.file);
    let tree = Tree::new(&ctx.pager, space, index.root);
    match is_sharing(def) {
        true => tree.sharing(&ctx.shared, def.id),
        false => tree,
    }
}

fn open_index(ctx: &Context, def: &TableDef, number: usize, created: TrxId) -> Arc<Index> {
    let index = &def.indexes[number];
    let part = if number == 0 {
        KeyPart::Whole
    } else {
        SEC_KEY_PART
    };
    Arc::new(Index {
        space: index.space,
        tree: tree_of(ctx, def, index).looked_up_by(part),
        unique: index.unique,
        created: AtomicU64::new(created),
        counts: ctx.rows.open(),
    })
}

/// Makes a table's object. It takes over the core of an earlier one, and the trees of indexes that are still there.
pub(super) fn open_user(
    ctx: &Arc<Context>,
    row: TableRow,
    codec: Arc<dyn KeyCodec>,
    old: Option<&Arc<Table>>,
) -> Table {
    let def = row.def;
    let known = |space: SpaceId, created: TrxId| {
        let old = old?.indexes.iter().find(|i| i.space == space)?;
        old.created.store(created, Ordering::Relaxed);
        Some(old.clone())
    };
    let indexes = def.indexes.iter().zip(&row.created).enumerate();
    let indexes = indexes.map(|(n, (index, &created))| {
        known(index.space, created).unwrap_or_else(|| open_index(ctx, &def, n, created))
    });
    Table {
        indexes: indexes.collect(),
        version: row.version,
        upgrades: codec.has_earlier_versions(),
        multi: (1..def.indexes.len()).any(|i| codec.is_multi(i)),
        codec,
        core: old.map_or_else(|| Core::new(row.auto_increment), |o| o.core.clone()),
        ctx: ctx.clone(),
        // A partition is locked by its table's lock.
        mdl: Some(ctx.sys.mdl().get(&full_name(
            &def.database,
            row::split_partition(&def.name).map_or(&*def.name, |(table, _)| table),
        ))),
        valid: AtomicBool::new(true),
        private: 0,
        partitions: OnceLock::new(),
        children: OnceLock::new(),
        temporary: None,
        def,
    }
}
