//! Where the rows of a table go that is filled in bulk.

use millpond_store::{Load, PartLoads, Refused};

use super::place::Part;

/// A bulk load under way.
pub enum Filling {
    /// Of a table without partitions.
    Whole(Box<Load>),
    /// Of a table's partitions.
    Parts(Box<PartLoads>),
}

impl Filling {
    /// Adds a row, of the partition at a position, under this row id if there is one. The error names another row than this one if that
    /// is in the way.
    pub(super) fn add(
        &mut self,
        position: u32,
        part: &Part<'_>,
        row_id: Option<&[u8]>,
        image: &[u8],
    ) -> Result<(), Refused> {
        match (self, part, row_id) {
            (Filling::Whole(load), _, None) => Ok(load.add(image)?),
            (Filling::Whole(load), _, Some(id)) => Ok(load.add_under(id, image)?),
            (Filling::Parts(parts), Part::One(table), None) => parts.add(position, table, image),
            (Filling::Parts(_), ..) => {
                let what = "a row that is not for the load of a partition";
                Err(millpond_store::Error::Invalid(what.into()).into())
            }
        }
    }
}
