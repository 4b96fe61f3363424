//! Numbers of tables that are not open, for listings: a look at the catalog row and at few pages. Nothing is put into the cache of open tables, so
//! that a listing of all there are closes none that is in use.

use super::{Engine, ddl};
use crate::catalog::{full_name, tree_of};
use crate::error::Result;
use crate::table::TableSize;
use crate::txn::{MdlMode, Txn};

/// What [`Engine::glance`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Estimated number of rows.
    pub rows: u64,
    /// The room it takes.
    pub size: TableSize,
    /// Where the AUTO_INCREMENT counter is to go on; `None`: that is not written down.
    pub auto_increment: Option<u64>,
    /// Whether a row was ever written to it.
    pub written: bool,
}

impl Engine {
    /// What can be told of a table without opening it, which the transaction locks as one that it opens; `None`: the table is open, or its numbers
    /// are those of its partitions.
    pub fn glance(&self, txn: &mut Txn, database: &str, name: &str) -> Result<Option<Glance>> {
        ddl::not_partition(database, name)?;
        let inner = &self.0;
        let mdl = inner.sys.mdl();
        let lock = mdl.get(&full_name(database, name));
        mdl.lock(txn.owner(), &lock, MdlMode::Shared)?;
        let row = inner.while_opening(txn, database, || {
            let catalog = &inner.catalog;
            let row = catalog.read(|txn| catalog.table(txn, database, name))?;
            row.ok_or_else(|| super::no_table(database, name))
        })?;
        let def = &row.def;
        if inner.catalog.is_open(def.id) || def.partitioned {
            return Ok(None);
        }
        let mut glance = Glance {
            rows: 0,
            size: TableSize::default(),
            auto_increment: (row.auto_increment != 0).then_some(row.auto_increment),
            written: false,
        };
        for (at, index) in def.indexes.iter().enumerate() {
            let tree = tree_of(&inner.ctx, def, index);
            if tree.is_unwritten()? {
                continue;
            }
            glance.written = true;
            let (used, reserved) = inner.pager.space_room(tree.space())?;
            glance.size.add_tree(at, &tree, (used, reserved))?;
            if at == 0 {
                glance.rows = tree.estimate_total()?;
            }
        }
        Ok(Some(glance))
    }
}
