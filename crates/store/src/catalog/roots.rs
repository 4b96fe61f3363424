//! Where it is recorded which root an index has: in its table's row, or in its grave while it is being built.

use super::row::{Fixed, grave_root_at, id_key};
use crate::btree::{MakeRoot, Missing, Roots};
use crate::error::{Error, Result};
use crate::page::{PageNo, get_u32};
use crate::space::Space;
use crate::table::{Index, visit_key};
use std::sync::Arc;

/// The table of tables, as indexes that move out need it: the record is found by the table's id, for it may have another name by now.
pub(super) struct Recorded {
    /// By name.
    pub tables: Arc<Index>,
    /// By id.
    pub ids: Arc<Index>,
    /// The graveyard.
    pub graves: Arc<Index>,
}

impl Roots for Recorded {
    fn record(
        &self,
        table: u64,
        space: &Arc<Space>,
        make: &mut MakeRoot<'_>,
    ) -> Result<std::result::Result<PageNo, Missing>> {
        for key in self.keys(table)? {
            if let Some(made) = self.in_row(&key, table, space, make)? {
                return Ok(made);
            }
        }
        if let Some(made) = self.in_grave(space, make)? {
            return Ok(made);
        }
        let id = space.id.0;
        Err(Error::Corrupt(format!(
            "no row of the catalog says that table {table} has space {id}"
        )))
    }
}

impl Recorded {
    /// Keys of rows that may be the table's: one, but where DDL has given it another name.
    fn keys(&self, table: u64) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        let (mut resume, mut next) = (Vec::new(), Vec::new());
        let id = id_key(table);
        visit_key(&self.ids.tree, &id, &mut resume, &mut next, |key, value| {
            if !value.marked() {
                keys.push(key.to_vec());
            }
        })?;
        Ok(keys)
    }

    /// [`Roots::record`] in the space's grave; `None` if it has none.
    fn in_grave(
        &self,
        space: &Arc<Space>,
        make: &mut MakeRoot<'_>,
    ) -> Result<Option<std::result::Result<PageNo, Missing>>> {
        let key = space.id.0.to_be_bytes();
        self.graves.tree.edit_allocating(&key, 0, space, |leaf| {
            let Some(value) = leaf.value() else {
                return Ok(None);
            };
            let at = grave_root_at(Some(value))?;
            match get_u32(value, at) {
                0 => {}
                there => return Ok(Some(Ok(there))),
            }
            let made = make(leaf.mtr())?;
            if let Ok(root) = &made {
                leaf.patch(at, &root.to_le_bytes());
            }
            Ok(Some(made))
        })
    }

    /// [`Roots::record`] in the row with this key; `None` if it is not one of the table that has the space.
    fn in_row(
        &self,
        key: &[u8],
        table: u64,
        space: &Arc<Space>,
        make: &mut MakeRoot<'_>,
    ) -> Result<Option<std::result::Result<PageNo, Missing>>> {
        self.tables.tree.edit_allocating(key, 0, space, |leaf| {
            let found = leaf.value().and_then(|value| {
                let fixed = Fixed::locate(value, table).ok()?;
                fixed.root_of(value, space.id)
            });
            let Some((at, there)) = found else {
                return Ok(None);
            };
            if there != 0 {
                return Ok(Some(Ok(there)));
            }
            let made = make(leaf.mtr())?;
            if let Ok(root) = &made {
                leaf.patch(at, &root.to_le_bytes());
            }
            Ok(Some(made))
        })
    }
}
