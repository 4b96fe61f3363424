//! A table in the making follows the rows of the one that it is to replace, which change while they are copied.
//!
//! Each row that is in doubt is made anew as the copied ones were ([`super::convert`]), and put where it belongs. Where it lies until then is
//! known by its old clustered key in one of two ways ([`Places`]): it is there under the same key, in the partition of the same position; or
//! the key follows from the row's values, so the row is where the version that was copied says, which is read by the copy's view, or where it
//! was put last, which is noted. So only rows that come, go or move cost memory.
//!
//! **What waits.** Rows are not followed in the order in which they changed, and what is followed may be rolled back yet. So where a unique key
//! is in the way, or the row can't be what the new definition asks, the row is taken out and waits aside until the other has moved, or
//! the row itself changes again. What still waits when all has been followed and nobody can change rows is an error of the statement: 1062, or
//! that of the conversion.
//! **Locks.** Rows are put by transactions of an owner that never waits: nobody else knows the table. The old table's rows are read without
//! locks.
//! **Failure.** Any error leaves the old table as it was; the table in the making is dropped by its maker. What is noted and what waits is bounded
//! by what the row log may hold ([`Error::RowLogFull`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use millpond_store::engine::RowFollower;
use millpond_store::{
    Engine, Error, Isolation, LockMode, Owner, ReadMode, Result, Table, Txn, WaitPolicy,
};

use super::convert::Conversion;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::row;
use crate::types::Schema;
use crate::write::{NewRow, RowWriter, WriteContext, duplicate};

/// The tables whose rows are followed, by number, ascending: a table, or partitions of it.
pub(super) type Sources = Vec<(u16, Arc<Table>)>;

/// How a row of the old table is found in the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// Under the same clustered key, in the partition at the position that is its source's number.
    Same,
    /// Under a key, and in a partition, that follow from its values.
    Computed,
}

/// A row of the old table: its source, its clustered key.
type From = (u16, Vec<u8>);

/// Where a row is in the new table: partition, clustered key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place(u32, Vec<u8>);

/// Why a row waits aside.
enum Waiting {
    /// Another has a unique key of it: the row as it was, and as it is to be, and the index.
    Duplicate(Vec<u8>, Vec<u8>, usize),
    /// It can't be in the new table.
    Refused(SqlError),
}

/// Where rows are that lie elsewhere than under the keys they had.
pub(super) struct Moved<'w> {
    /// Has the view by which rows were copied.
    pub view: &'w mut Txn,
    pub sources: &'w [(u16, Arc<Table>)],
    /// Rows that are elsewhere than the version copied; `None`: nowhere.
    pub put: BTreeMap<From, Option<Vec<u8>>>,
}

/// What following works with.
pub(super) struct Means<'w, 'a> {
    pub engine: &'w Engine,
    pub env: &'w SessionEnv,
    /// Whose the rows' transactions are.
    pub owner: &'w Arc<Owner>,
    /// The table in the making.
    pub table: &'w Arc<Table>,
    pub schema: &'a Schema,
    pub writer: &'w mut RowWriter<'a>,
    pub conversion: &'w Conversion<'w>,
    /// Bytes that may be noted.
    pub limit: u64,
}

/// Puts rows as they are now into a table in the making.
pub(super) struct Following<'w, 'a> {
    with: Means<'w, 'a>,
    /// `None`: [`Places::Same`].
    moved: Option<Moved<'w>>,
    txn: Option<Txn>,
    aside: BTreeMap<From, Waiting>,
    /// Bytes noted: rows aside, rows moved.
    noted: u64,
    clustered: Vec<u8>,
    old: Vec<u8>,
    new: Vec<u8>,
    /// For a row under the new table's schema version.
    image: Vec<u8>,
}

impl<'w, 'a> Following<'w, 'a> {
    /// `moved`: for [`Places::Computed`].
    pub fn new(with: Means<'w, 'a>, moved: Option<Moved<'w>>) -> Following<'w, 'a> {
        Following {
            with,
            moved,
            txn: None,
            aside: BTreeMap::new(),
            noted: 0,
            clustered: Vec::new(),
            old: Vec::new(),
            new: Vec::new(),
            image: Vec::new(),
        }
    }

    /// Why the table can't be what was asked for, once all rows have been followed. `shown`: its name in messages.
    pub fn refusal(mut self, shown: &str) -> Option<SqlError> {
        let (_, first) = self.aside.pop_first()?;
        Some(match first {
            Waiting::Refused(e) => e,
            Waiting::Duplicate(_, row, index) => {
                let zone = self.with.env.zone.get();
                duplicate(self.with.schema, shown, index, &row, zone)
            }
        })
    }

    /// Begins the transaction if there is none.
    fn begin(&mut self) -> Result<()> {
        if self.txn.is_some() {
            return Ok(());
        }
        let Means {
            engine,
            owner,
            table,
            ..
        } = &self.with;
        let mut txn = engine.begin(owner, Isolation::ReadCommitted);
        let pinned = table.pin_for_write(&mut txn);
        match pinned {
            Ok(_) => {
                self.txn = Some(txn);
                Ok(())
            }
            Err(e) => {
                engine.commit(txn)?;
                Err(e)
            }
        }
    }

    /// The table's partition at a position, or the table.
    fn part(&self, at: u32) -> Result<Arc<Table>> {
        let Means {
            engine,
            table,
            schema,
            ..
        } = &self.with;
        match &schema.partitioning {
            None => Ok((*table).clone()),
            Some(p) => {
                let (at, count) = (at as usize, p.leaves());
                let open = table.opened_partition(at).cloned();
                open.map_or_else(
                    || engine.partition(table, at, count, &p.stored_name(at)),
                    Ok,
                )
            }
        }
    }

    /// Makes a row, into `new`, and says where it belongs.
    fn make(&mut self, (source, key): (u16, &[u8]), row: &[u8]) -> SqlResult<Place> {
        let Some(txn) = &mut self.txn else {
            return Err(SqlError::new(1105, "no transaction to follow rows by"));
        };
        let Means {
            engine,
            env,
            table,
            schema,
            writer,
            conversion,
            ..
        } = &mut self.with;
        let mut cx = WriteContext {
            engine,
            txn,
            env,
            table,
            load: None,
        };
        let mut part = u32::from(source);
        if conversion.keeps_images() {
            let row = row::at_version(row, schema.versions().current(), &mut self.image);
            conversion.check(row)?;
            self.new.clear();
            self.new.extend_from_slice(row);
            if self.moved.is_some() {
                part = writer.place_of(&cx, row)?;
            }
        } else {
            let mut before = Vec::with_capacity(conversion.old.columns.len());
            row::decode_row(conversion.old, row, env.zone.get(), &mut before);
            let mut new = NewRow::default();
            writer.begin(env, false, &mut new);
            conversion.fill(writer, &before, &mut new)?;
            let routed = writer.make(&mut cx, &mut new, &mut self.new)?;
            if self.moved.is_some() {
                part = routed;
            }
        }
        if self.moved.is_none() {
            return Ok(Place(part, key.to_vec()));
        }
        let mut key = Vec::new();
        schema.key_of_row(0, &self.new, &mut key);
        Ok(Place(part, key))
    }

    /// Where a row of the old table is now. With it, of what has moved: where the version copied was.
    fn current(&mut self, from: &From) -> Result<(Option<Place>, Option<Place>)> {
        let Some(moved) = &mut self.moved else {
            let place = Place(u32::from(from.0), from.1.clone());
            let there = self.fetch(&place)?;
            return Ok((there.then_some(place), None));
        };
        let source = moved.sources.binary_search_by_key(&from.0, |(n, _)| *n);
        let Ok(at) = source else {
            return Err(Error::Invalid("a row of no table that is followed".into()));
        };
        let (mut key, mut row) = (Vec::new(), Vec::new());
        let view = ReadMode::Consistent;
        let copied = moved.sources[at]
            .1
            .get(moved.view, 0, &from.1, view, &mut key, &mut row)?;
        let put = moved.put.get(from).cloned();
        let said = self.with.env.diagnostics.borrow().len();
        let copied = match copied {
            false => None,
            // It was made before, and what there was to say of it was said then.
            true => Some(
                self.make((from.0, &from.1), &row)
                    .map_err(|e| Error::Invalid(e.message))?,
            ),
        };
        self.with.env.diagnostics.borrow_mut().truncate(said);
        let now = match put {
            None => copied.clone(),
            Some(put) => put.map(|bytes| Place::read(&bytes)),
        };
        Ok((now, copied))
    }

    /// Reads the row at a place into `old`, locked; whether there is one.
    fn fetch(&mut self, place: &Place) -> Result<bool> {
        let part = self.part(place.0)?;
        let Some(txn) = &mut self.txn else {
            return Ok(false);
        };
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        part.get(txn, 0, &place.1, mode, &mut self.clustered, &mut self.old)
    }

    /// Has the row at its present place in `old`: where rows keep their places it was read when it was looked for.
    fn read(&mut self, place: &Place) -> Result<()> {
        match self.moved.is_none() || self.fetch(place)? {
            true => Ok(()),
            false => Err(Error::Corrupt("a row that was copied is missing".into())),
        }
    }

    /// Takes the row at a place out.
    fn remove(&mut self, place: &Place) -> Result<()> {
        self.read(place)?;
        let part = self.part(place.0)?;
        match &mut self.txn {
            Some(txn) => part.delete(txn, &self.clustered, &self.old),
            None => Ok(()),
        }
    }

    /// Puts `new` where there is no row of the same.
    fn insert(&mut self, place: &Place) -> Result<()> {
        let part = self.part(place.0)?;
        match &mut self.txn {
            Some(txn) if part.def().hidden_row_id => part.insert_under(txn, &place.1, &self.new),
            Some(txn) => part.insert(txn, &self.new),
            None => Ok(()),
        }
    }

    /// Puts `new` in the place of the row there.
    fn replace(&mut self, place: &Place) -> Result<()> {
        self.read(place)?;
        let part = self.part(place.0)?;
        match &mut self.txn {
            Some(txn) if self.old != self.new => {
                part.update(txn, &self.clustered, &self.old, &self.new)
            }
            _ => Ok(()),
        }
    }

    /// Sees to it that the new table has a row as it is now, or that it waits aside.
    fn put(&mut self, from: &From, row: Option<&[u8]>) -> Result<()> {
        self.begin()?;
        let (current, copied) = self.current(from)?;
        let made = row.map(|row| self.make((from.0, &from.1), row));
        let (mut target, mut waits) = match made {
            None => (None, None),
            Some(Ok(place)) => (Some(place), None),
            Some(Err(e)) => (None, Some(Waiting::Refused(e))),
        };
        let mut done = Ok(());
        match (&current, &target) {
            (Some(current), Some(target)) if current == target => {
                done = self.replace(target);
                if let Err(Error::DuplicateKey { .. }) = done {
                    // It makes way for what may wait for it.
                    self.remove(target)?;
                }
            }
            (current, target) => {
                if let Some(current) = current {
                    self.remove(current)?;
                }
                if let Some(target) = target {
                    done = self.insert(target);
                }
            }
        }
        match (done, row) {
            (Ok(()), _) => {}
            (Err(Error::DuplicateKey { index }), Some(row)) => {
                let new = self.new.clone();
                (target, waits) = (None, Some(Waiting::Duplicate(row.to_vec(), new, index)));
            }
            (Err(e), _) => return Err(e),
        }
        self.note(from, target, copied);
        if let Some(waits) = waits {
            self.noted += waits.bytes(from);
            self.aside.insert(from.clone(), waits);
        }
        match self.noted > self.with.limit {
            true => Err(Error::RowLogFull),
            false => Ok(()),
        }
    }

    /// Notes where a row is now, if that is not where it was copied to.
    fn note(&mut self, from: &From, now: Option<Place>, copied: Option<Place>) {
        let Some(moved) = &mut self.moved else {
            return;
        };
        let bytes = |place: &Option<Vec<u8>>| {
            (NODE + from.1.len() + place.as_ref().map_or(0, Vec::len)) as u64
        };
        let before = match now == copied {
            true => moved.put.remove(from),
            false => {
                let now = now.map(|place| place.bytes());
                self.noted += bytes(&now);
                moved.put.insert(from.clone(), now)
            }
        };
        self.noted -= before.as_ref().map_or(0, bytes);
    }
}

/// What an entry of a map costs besides its bytes, about.
const NODE: usize = 64;

impl Place {
    /// As it is noted.
    fn bytes(&self) -> Vec<u8> {
        [&self.0.to_le_bytes(), &self.1[..]].concat()
    }

    fn read(bytes: &[u8]) -> Place {
        match bytes.split_first_chunk::<4>() {
            Some((part, key)) => Place(u32::from_le_bytes(*part), key.to_vec()),
            None => Place(0, Vec::new()),
        }
    }
}

impl Waiting {
    fn bytes(&self, from: &From) -> u64 {
        let own = match self {
            Waiting::Duplicate(row, new, _) => row.len() + new.len(),
            Waiting::Refused(e) => e.message.len(),
        };
        (NODE + from.1.len() + own) as u64
    }
}

impl RowFollower for Following<'_, '_> {
    fn row(&mut self, source: u16, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        let from = (source, key.to_vec());
        if let Some(waited) = self.aside.remove(&from) {
            self.noted -= waited.bytes(&from);
        }
        self.put(&from, row)
    }

    fn pause(&mut self) -> Result<()> {
        let waiting = self.aside.iter().filter_map(|(from, why)| match why {
            Waiting::Duplicate(row, ..) => Some((from.clone(), row.clone())),
            Waiting::Refused(_) => None,
        });
        for (from, row) in waiting.collect::<Vec<_>>() {
            self.row(from.0, &from.1, Some(&row))?;
        }
        match self.txn.take() {
            // Durable when the table takes its place.
            Some(txn) => self.with.engine.commit_later(txn).map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for Following<'_, '_> {
    fn drop(&mut self) {
        if let Some(txn) = self.txn.take() {
            // The table goes; what cannot be undone now is undone by recovery.
            let _ = self.with.engine.rollback(txn);
        }
    }
}
