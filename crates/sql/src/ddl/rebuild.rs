//! Tables written anew: ALTER TABLE and OPTIMIZE TABLE.
//!
//! The new table is filled where no session looks ([`super::work`]), and takes its place by one atomic rename. Steps: (1) the old table is locked exclusively, then, where the statement allows it, readers
//! are let in, and writers where rows that change can be followed ([`super::follow`], [`super::inplace`]); before (4) it is locked
//! exclusively again; (2) the new one is made and filled in bulk: rows in the order of the clustered index go straight into packed pages, others are
//! sorted first; (3) secondary indexes are built from keys that were sorted beside ([`millpond_store::Load`]); then what has changed since (1)
//! is followed, until (4) old and new change places; (5) the old one is dropped. Up to (4) a failure, a KILL or a crash leaves the old table as it
//! was, with all that was written to it meanwhile.
//!
//! **Lock order.** DDL's lock above all names, the metadata locks of the tables concerned (exclusively, names ascending), the catalog's rows; the
//! new table's own locks last, which nobody else waits for. Between (1) and (4) the old table's metadata lock is upgradable: others read and write, DDL
//! waits. Other tables that the statement has locked (those of its foreign keys) stay locked exclusively, so then nobody writes meanwhile: who
//! did might wait for them while the statement waits for its end.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use millpond_store::btree::Records;
use millpond_store::engine::{Beside, Follow, Place};
use millpond_store::space::FileId;
use millpond_store::txn::DdlStage;
use millpond_store::txn::progress::Seen;
use millpond_store::{
    Direction, Error, Fetch, Isolation, KeyRange, ReadMode, RowOrder, Table, Txn,
};

use super::Ddl;
use super::change::Changed;
use super::convert::Conversion;
use super::create::unix_now;
use super::follow::{Moved, Places, Sources};
use super::tablespace::check_partitioned;
use super::work::{Home, Work};
use crate::catalog::Versions;
use crate::error::SqlResult;
use crate::partition::partition_text;
use crate::row::encode_sort_value;
use crate::store_error::store_error;
use crate::types::Schema;
use crate::write::counter;

/// Rows between two looks at whether they can be followed still.
const CHECK_ROWS: u64 = 1_000;

/// In which order the rows of a table that is written anew come for what it will be.
fn row_order(changed: &Changed, old: &Schema) -> RowOrder {
    let (new_parts, old_parts) = (&changed.schema.indexes[0].parts, &old.indexes[0].parts);
    let mut pairs = new_parts.iter().zip(old_parts);
    let all = new_parts.len() <= old_parts.len()
        && pairs.all(|(new, was)| changed.same_part(new, was, old));
    let clause = |s: &Schema| s.partitioning.as_deref().map(partition_text);
    let parts = match (&old.partitioning, &changed.schema.partitioning) {
        (None, None) => true,
        // Each row stays in its partition.
        (Some(_), Some(_)) => changed.same_rows(old) && clause(&changed.schema) == clause(old),
        _ => false,
    };
    // Rows that agree in fewer parts than before are met as they come.
    match all && parts && !new_parts.is_empty() {
        true => RowOrder::Clustered,
        false => RowOrder::Any,
    }
}

/// What is written anew, and how.
pub(super) struct Plan<'c> {
    /// Database and name of the table.
    pub own: (&'c str, &'c str),
    /// Those that it is to have.
    pub name: (&'c str, &'c str),
    pub old: &'c Schema,
    pub changed: &'c Changed,
    pub home: Home,
    /// What may go on meanwhile.
    pub beside: Beside,
    /// How rows that change are found; `None`: none may.
    pub places: Option<Places>,
    /// The positions of the partitions that are written anew, in the order of their numbers; `None`: all.
    pub partitions: Option<&'c [usize]>,
}

/// A table that has been written anew, and the old one as it is followed until that has gone.
pub(super) struct Anew<'c> {
    pub work: Work<'c>,
    pub _follow: Option<Follow<'c>>,
    pub _seen: Seen<'c>,
}

/// A table while it is written anew.
struct Old<'o> {
    table: Arc<Table>,
    /// Its rows, by partition.
    sources: Sources,
    follow: Option<Follow<'o>>,
}

impl<'a> Ddl<'a> {
    /// Writes a locked table anew under a changed definition and, perhaps, another name; returns how many rows were copied. `beside`: what
    /// may go on meanwhile, at most.
    pub(super) fn rebuild(
        &self,
        own: (&str, &str),
        mut changed: Changed,
        name: (&str, &str),
        beside: Beside,
    ) -> SqlResult<u64> {
        self.env.profiles.enter("setup");
        let (def, old) = self.definition(own.0, own.1)?;
        changed.schema.created = unix_now();
        changed.schema = changed.schema.with_versions(Versions::default());
        let home = match def.file {
            FileId::TEMP => Home::Temporary,
            file => Home::Stored(Some(changed.place.unwrap_or_else(|| Place::of(file)))),
        };
        if let (Home::Stored(place), Some(_)) = (home, &changed.schema.partitioning) {
            check_partitioned(place)?;
        }
        let places = changed.places(&old, self.env)?;
        let plan = Plan {
            own,
            name,
            old: &old,
            changed: &changed,
            home,
            beside: match (home, beside) {
                _ if self.works_alone() => Beside::Nothing,
                (Home::Temporary, _) => Beside::Nothing,
                (_, Beside::Writes) if places.is_none() => Beside::Reads,
                (_, beside) => beside,
            },
            places,
            partitions: None,
        };
        let made = self.write_anew(&plan)?;
        let rows = made.work.rows();
        self.env.profiles.enter("rename result table");
        self.owner.progress().enter(DdlStage::End);
        made.work
            .place(self.owner, name, Some(own), &changed.others)?;
        self.env.profiles.enter("end");
        Ok(rows)
    }

    /// Writes the rows of a locked table into one that is to replace it, and follows what becomes of them; then the table is locked exclusively
    /// again, and the other one is what it is to be.
    pub(super) fn write_anew<'c>(&'c self, plan: &Plan<'c>) -> SqlResult<Anew<'c>> {
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let made = self.write_rows(&mut txn, plan);
        // It only read.
        let read = self.engine.commit(txn);
        read.map_err(|e| store_error(e, plan.own.1))?;
        made
    }

    fn write_rows<'c>(&'c self, txn: &mut Txn, plan: &Plan<'c>) -> SqlResult<Anew<'c>> {
        let Plan {
            own,
            old,
            changed,
            home,
            places,
            ..
        } = *plan;
        let schema = &changed.schema;
        let mut source = self.source(txn, plan)?;
        let mut numbered = schema.columns.iter().zip(&changed.from);
        let counts_on = numbered
            .any(|(c, f)| c.auto_increment && f.is_some_and(|f| old.columns[f].auto_increment));
        let counter = counts_on.then(|| source.table.clone());
        let next = counter.as_ref().and_then(|t| t.auto_increment_peek());
        if plan.beside != Beside::Nothing {
            let followed = match places {
                Some(_) => source.sources.clone(),
                // Nobody writes.
                None => Sources::new(),
            };
            let (table, engine) = (&source.table, self.engine);
            source.follow = Some(engine.follow(txn, table, followed, plan.beside));
        }
        let order = row_order(changed, old);
        self.env.profiles.enter("creating table");
        let mut work = Work::start(self, own.1, schema, home, None, next.unwrap_or(0), order)?;
        self.env.profiles.enter("copy to tmp table");
        let progress = self.owner.progress();
        let seen = progress.begin(self.work_of(&source, schema, &work, order));
        let conversion = Conversion::new(old, changed, own.1, self.env);
        // Temporary tables give theirs anew: nobody follows their rows.
        let keeps_ids = places == Some(Places::Same)
            && schema.indexes[0].parts.is_empty()
            && home != Home::Temporary;
        match &*changed.order {
            [] => self.copy(txn, &source, &conversion, keeps_ids, &mut work)?,
            order => self.copy_sorted(txn, &source, &conversion, order, &mut work)?,
        }
        if places != Some(Places::Computed) {
            // Purge goes on.
            self.engine.statement(txn);
        }
        if work.is_loaded() {
            self.env.profiles.enter("restoring secondary keys");
        }
        work.finish()?;
        // Where there are new foreign keys nobody writes meanwhile.
        if home != Home::Temporary {
            let (keys, made) = (
                &schema.foreign_keys[changed.kept_keys..],
                work.name().clone(),
            );
            self.check_rows_refer((&made.0, &made.1), plan.name, keys)?;
        }
        if let Some(follow) = &source.follow {
            self.env.profiles.enter("altering table");
            progress.enter(DdlStage::LogApplyTable);
            let moved = (places == Some(Places::Computed)).then(|| Moved {
                view: txn,
                sources: &source.sources,
                put: BTreeMap::new(),
            });
            work.follow(follow, &conversion, moved, counter.as_deref())?;
        }
        Ok(Anew {
            work,
            _follow: source.follow,
            _seen: seen,
        })
    }

    /// About how many rows and entries a rebuild goes through: it reads each row, and one that is filled in bulk sorts and writes each entry, those
    /// of the clustered index too if the rows come in another order.
    fn work_of(&self, from: &Old<'_>, schema: &Schema, work: &Work<'_>, order: RowOrder) -> u64 {
        let rows: u64 = from.sources.iter().map(|(_, t)| t.estimate_rows()).sum();
        let written = match work.is_bulk() {
            true => schema.indexes.len() - usize::from(order == RowOrder::Clustered),
            false => 0,
        };
        rows * (1 + written as u64)
    }

    /// Opens a table that is written anew, and its partitions.
    fn source<'o>(&self, txn: &mut Txn, plan: &Plan<'o>) -> SqlResult<Old<'o>> {
        let (database, table) = plan.own;
        let open = match self.temporary(database, table) {
            Some(table) => Ok(table),
            None => self.engine.open_table(txn, database, table),
        };
        let open = open.map_err(|e| store_error(e, table))?;
        counter::start(self.engine, &open, plan.old)?;
        let sources = match &plan.old.partitioning {
            None => vec![(0, open.clone())],
            Some(p) => {
                let all: Vec<usize> = (0..p.leaves()).collect();
                let list = plan.partitions.unwrap_or(&all).iter().enumerate();
                let each = list.map(|(n, &at)| Ok((n as u16, p.open(self.engine, &open, at)?)));
                each.collect::<SqlResult<_>>()?
            }
        };
        Ok(Old {
            table: open,
            sources,
            follow: None,
        })
    }

    /// Copies the rows that the transaction's view has. `keeps_ids`: with their hidden row ids.
    fn copy(
        &self,
        txn: &mut Txn,
        from: &Old<'_>,
        conversion: &Conversion<'_>,
        keeps_ids: bool,
        work: &mut Work<'_>,
    ) -> SqlResult<()> {
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let (forward, view) = (Direction::Forward, ReadMode::Consistent);
        let mut rows = 0u64;
        for (_, source) in &from.sources {
            let wrap = |e| store_error(e, &source.def().name);
            let mut scan = source
                .scan(txn, 0, everything.clone(), forward, view, Fetch::Row)
                .map_err(wrap)?;
            while let Some(found) = scan.next(txn).map_err(wrap)? {
                rows += 1;
                if rows.is_multiple_of(CHECK_ROWS) {
                    self.owner.progress().add(CHECK_ROWS);
                    if let Some(follow) = &from.follow {
                        follow.is_possible().map_err(wrap)?;
                    }
                }
                let row_id = keeps_ids.then_some(found.clustered_key);
                work.take(conversion, row_id, found.row)?;
            }
        }
        Ok(())
    }

    /// Copies the rows in the order of some of their columns.
    fn copy_sorted(
        &self,
        txn: &mut Txn,
        from: &Old<'_>,
        conversion: &Conversion<'_>,
        order: &[(usize, bool)],
        work: &mut Work<'_>,
    ) -> SqlResult<()> {
        let (forward, view) = (Direction::Forward, ReadMode::Consistent);
        let (old, zone) = (conversion.old, self.env.zone.get());
        let wrap = |e| store_error(e, &from.table.def().name);
        let go_on = || match self.owner.is_killed() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        };
        let mut sorter = self.engine.index_sorter(1);
        let mut key = Vec::new();
        for (_, source) in &from.sources {
            let everything = KeyRange {
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
            };
            let mut scan = source
                .scan(txn, 0, everything, forward, view, Fetch::Row)
                .map_err(wrap)?;
            while let Some(found) = scan.next(txn).map_err(wrap)? {
                if sorter.len().is_multiple_of(CHECK_ROWS) {
                    go_on().map_err(wrap)?;
                }
                key.clear();
                for (c, desc) in order {
                    let v = old.layout().column(old, found.row, *c, zone);
                    encode_sort_value(&v, &old.columns[*c].ty, *desc, &mut key);
                }
                sorter.add(&key, found.row, &go_on).map_err(wrap)?;
            }
        }
        let mut sorted = sorter.finish(&go_on).map_err(wrap)?;
        while let Some((_, row)) = sorted.next().map_err(wrap)? {
            work.take(conversion, None, row)?;
        }
        Ok(())
    }

    /// What may go on beside a rebuild, if the statement does not say.
    pub(super) fn beside(&self) -> Beside {
        match self.tables_locked {
            true => Beside::Nothing,
            false => Beside::Writes,
        }
    }

    /// Writes a table anew as it is: OPTIMIZE TABLE, ALTER TABLE ... ENGINE and FORCE.
    pub fn recreate(&self, database: &str, table: &str) -> SqlResult<()> {
        self.locked(database, table, || {
            let (_, schema) = self.definition(database, table)?;
            let own = (database, table);
            self.rebuild(own, Changed::same(schema), own, self.beside())
        })?;
        Ok(())
    }
}
