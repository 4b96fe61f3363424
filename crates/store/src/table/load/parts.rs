//! Filling the partitions of a table that nobody else knows: a [`Load`] each, one after the other, so that the memory is that of one.
//!
//! Rows that come partition by partition, in the order of the clustered key within each, go straight into the load of their partition, which
//! ends when the next partition's rows come. One that comes late, because it lay where it does not belong, is put aside and handed
//! back at the end, to be inserted as any row. Rows in any other order are sorted first, by partition and key, and stay in their order
//! where the table numbers them.

use super::{Load, Means, Refused, RowOrder};
use crate::btree::Records;
use crate::error::{Error, Result};
use crate::sort::{Sorted, Sorter};
use crate::table::Table;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Loads of partitions under way. Dropped, they leave the table to be dropped.
pub struct PartLoads {
    means: Means,
    order: RowOrder,
    /// The partition that is being filled.
    current: Option<(u32, Load)>,
    /// Rows to be sorted, or that came late.
    sorter: Sorter,
    /// Partitions of rows in the sorter.
    tables: BTreeMap<u32, Arc<Table>>,
    rows: u64,
    key: Vec<u8>,
}

impl PartLoads {
    /// Begins to fill the partitions of an empty table, whose rows come in this order within each, and then partition by partition.
    pub(crate) fn start(order: RowOrder, means: Means) -> PartLoads {
        PartLoads {
            sorter: means.sorter(1),
            means,
            order,
            current: None,
            tables: BTreeMap::new(),
            rows: 0,
            key: Vec::new(),
        }
    }

    /// Adds a row to the partition at a position.
    pub fn add(
        &mut self,
        position: u32,
        table: &Arc<Table>,
        row: &[u8],
    ) -> std::result::Result<(), Refused> {
        if self.order == RowOrder::Any {
            return Ok(self.sort(position, table, row)?);
        }
        match &mut self.current {
            Some((current, load)) if *current == position => return Ok(load.add(row)?),
            // Late.
            Some((current, _)) if *current > position => {
                return Ok(self.sorter.add(&[], row, &|| self.means.go_on())?);
            }
            _ => {}
        }
        self.next(position, table)?.add(row)?;
        Ok(())
    }

    fn sort(&mut self, position: u32, table: &Arc<Table>, row: &[u8]) -> Result<()> {
        self.tables.entry(position).or_insert_with(|| table.clone());
        self.key.clear();
        self.key.extend_from_slice(&position.to_be_bytes());
        if !table.def.hidden_row_id {
            table.codec.key(0, row, &mut self.key)?;
        }
        self.sorter.add(&self.key, row, &|| self.means.go_on())
    }

    /// Ends the load under way and begins that of another partition.
    fn next(
        &mut self,
        position: u32,
        table: &Arc<Table>,
    ) -> std::result::Result<&mut Load, Refused> {
        self.end()?;
        let load = Load::start(table, RowOrder::Clustered, self.means.clone())?;
        Ok(&mut self.current.insert((position, load)).1)
    }

    fn end(&mut self) -> std::result::Result<(), Refused> {
        if let Some((_, load)) = self.current.take() {
            self.rows += load.finish()?;
        }
        Ok(())
    }

    /// Writes what is left; returns the number of rows, and those that came late, if there are any.
    pub fn finish(mut self) -> std::result::Result<(u64, Option<Sorted>), Refused> {
        let new = self.means.sorter(1);
        let sorter = std::mem::replace(&mut self.sorter, new);
        let any = !sorter.is_empty();
        let mut sorted = sorter.finish(&|| self.means.go_on())?;
        if self.order == RowOrder::Clustered {
            self.end()?;
            return Ok((self.rows, any.then_some(sorted)));
        }
        while let Some((key, row)) = sorted.next()? {
            let position = key.first_chunk().map_or(0, |p| u32::from_be_bytes(*p));
            let load = match &mut self.current {
                Some((current, load)) if *current == position => load,
                _ => {
                    let table = self.tables.get(&position).cloned();
                    let none = || Error::Invalid("a row of no partition".into());
                    self.next(position, &table.ok_or_else(none)?)?
                }
            };
            load.add(row).map_err(|error| {
                let row = matches!(error, Error::DuplicateKey { .. }).then(|| row.to_vec());
                Refused { error, row }
            })?;
        }
        self.end()?;
        Ok((self.rows, None))
    }
}
