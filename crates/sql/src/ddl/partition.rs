//! ALTER TABLE's changes of partitions.
//!
//! Whole partitions come, go, are emptied and change places in one catalog step that reads none of their rows. What moves
//! rows between partitions writes them anew ([`super::rebuild`], beside reads and writes where those can be followed): REORGANIZE and REBUILD
//! those of the partitions named, the rest (PARTITION BY, REMOVE PARTITIONING, and HASH or KEY with another number of partitions) the whole
//! table. The table's metadata lock guards its partitions. Up to the catalog step at the end a failure leaves the table as it was.

use std::ops::Bound;
use std::sync::Arc;

use millpond_store::engine::{Beside, PartitionChange, Place};
use millpond_store::{Direction, Fetch, Isolation, KeyRange, ReadMode};

use super::change::{Changed, Way};
use super::clauses::Clauses;
use super::foreign_keys::not_with_partitions;
use super::inplace::Limits;
use super::rebuild::{Anew, Plan};
use super::temporary::not_temporary;
use super::work::Home;
use super::{Ddl, Done};
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{
    AlterAction, Ident, ObjectName, PartitionAction, PartitionBy, PartitionDef, PartitionMethod,
    PartitionVerb, PlainAlter,
};
use crate::partition::{self, Partition, Partitioning};
use crate::store_error::store_error;
use crate::types::Schema;
use crate::write::counter;

/// 1507.
fn no_such(what: &str) -> SqlError {
    SqlError::new(1507, format!("Error in list of partitions to {what}"))
}

/// 1512.
fn only_range_list(what: &str) -> SqlError {
    SqlError::new(
        1512,
        format!("{what} PARTITION can only be used on RANGE/LIST partitions"),
    )
}

fn is_hashed(p: &Partitioning) -> bool {
    matches!(p.method, PartitionMethod::Hash | PartitionMethod::Key)
}

/// Positions of partitions, ascending; an error if one is missing or named twice.
fn positions(p: &Partitioning, names: &[Ident], what: &str) -> SqlResult<Vec<usize>> {
    let mut list = Vec::with_capacity(names.len());
    for name in names {
        let at = p.position(name.as_str()).ok_or_else(|| no_such(what))?;
        if list.contains(&at) {
            return Err(no_such(what));
        }
        list.push(at);
    }
    list.sort_unstable();
    Ok(list)
}

/// The leaves of partitions.
fn leaves(p: &Partitioning, list: &[usize]) -> Vec<usize> {
    list.iter().flat_map(|&part| p.leaves_of(part)).collect()
}

/// Names in the store of the leaves of partitions.
fn stored(p: &Partitioning, list: &[usize]) -> impl Iterator<Item = String> {
    leaves(p, list).into_iter().map(|at| p.stored_name(at))
}

/// A table whose partitions are changed, locked exclusively.
struct Target<'t> {
    database: &'t str,
    table: &'t str,
    schema: Schema,
    clauses: &'t Clauses,
}

/// A change of partitions that an ALTER TABLE asks for.
#[derive(Clone, Copy)]
pub(super) enum PartitionChangeAsked<'s> {
    Action(&'s PartitionAction),
    /// REMOVE PARTITIONING.
    Remove,
}

fn asked(action: &AlterAction) -> Option<PartitionChangeAsked<'_>> {
    match action {
        AlterAction::Partition(p) => Some(PartitionChangeAsked::Action(p)),
        AlterAction::Plain(PlainAlter::RemovePartitioning) => Some(PartitionChangeAsked::Remove),
        _ => None,
    }
}

/// The change of partitions among the changes of a table, if there is one, and how it is to be made: error 1235 if another change comes with it.
pub(super) fn change(
    actions: &[AlterAction],
) -> SqlResult<Option<(PartitionChangeAsked<'_>, Clauses)>> {
    let Some(op) = actions.iter().find_map(asked) else {
        return Ok(None);
    };
    let mut clauses = Clauses::new();
    for action in actions {
        match action {
            AlterAction::How(how) => clauses.take(*how),
            action if asked(action).is_some() => {}
            _ => {
                return Err(SqlError::unsupported(
                    "ALTER TABLE that changes partitions and something else",
                ));
            }
        }
    }
    clauses.check()?;
    let changes = actions.iter().filter(|a| asked(a).is_some()).count();
    match changes {
        1 => Ok(Some((op, clauses))),
        _ => Err(SqlError::unsupported(
            "ALTER TABLE that changes partitions and something else",
        )),
    }
}

impl<'a> Ddl<'a> {
    /// Gives a new table's schema its partitions.
    pub fn partition(&self, schema: &mut Schema, by: &PartitionBy) -> SqlResult<()> {
        let p = partition::define(by, schema, self.env)?;
        schema.partitioning = Some(Arc::new(p));
        super::fulltext::refuse_partitioned(schema)?;
        super::spatial::refuse_partitioned(schema)
    }

    /// Takes a table's partitioning over to a changed schema, whose columns it must fit.
    pub(super) fn repartition(&self, old: &Schema, new: &mut Schema) -> SqlResult<()> {
        let Some(p) = &old.partitioning else {
            return Ok(());
        };
        let (_, text) = partition::partition_text(p);
        let by = crate::parse::parse_partition_by(&text)?;
        self.partition(new, &by)
    }

    /// ALTER TABLE that changes partitions.
    pub(super) fn alter_partitions(
        &self,
        name: &ObjectName,
        op: PartitionChangeAsked<'_>,
        clauses: &Clauses,
    ) -> SqlResult<Done> {
        use PartitionChangeAsked as Asked;
        let (database, table) = self.target(name)?;
        if let Asked::Action(PartitionAction::Exchange {
            partition,
            table: other,
            validation,
        }) = op
        {
            let other = self.target(other)?;
            if self.temporary(&other.0, &other.1).is_some() {
                let what = format!(
                    "Table to exchange with partition is temporary: '{}'",
                    other.1
                );
                return Err(SqlError::new(1733, what));
            }
            let validate = validation.unwrap_or(true);
            return self.exchange(&database, &table, partition.as_str(), other, validate);
        }
        self.locked(&database, &table, || {
            let (_, schema) = self.definition(&database, &table)?;
            let t = Target {
                database: &database,
                table: &table,
                schema,
                clauses,
            };
            if let Asked::Action(PartitionAction::By(by)) = op {
                if self.temporary(&database, &table).is_some() {
                    return Err(not_temporary());
                }
                let mut schema = t.schema.clone();
                let referred = !self.children(&database, &table)?.is_empty();
                if referred || !schema.foreign_keys.is_empty() {
                    return Err(not_with_partitions());
                }
                self.partition(&mut schema, by)?;
                return self.write_all(&t, schema);
            }
            let p = t.schema.partitioning.clone().ok_or_else(not_partitioned)?;
            match op {
                Asked::Action(action) => self.change_partitions(&t, &p, action),
                Asked::Remove => {
                    let mut schema = t.schema.clone();
                    schema.partitioning = None;
                    self.write_all(&t, schema)
                }
            }
        })
    }

    fn change_partitions(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        action: &PartitionAction,
    ) -> SqlResult<Done> {
        use PartitionAction as A;
        match action {
            A::Add { partitions, .. } => self.add(t, p, &partitions.all(), None),
            A::AddCount { count, .. } => self.add(t, p, &[], Some(*count)),
            A::Coalesce { count, .. } => self.coalesce(t, p, *count),
            A::Reorganize { from, into, .. } => self.reorganize(t, p, &from.all(), &into.all()),
            A::Verb {
                verb,
                if_exists: false,
                partitions,
                ..
            } => {
                let partitions = partitions.as_ref().map(|list| list.all());
                let partitions = partitions.as_deref();
                match verb {
                    PartitionVerb::Drop => {
                        self.drop_partitions(t, p, partitions.unwrap_or_default())
                    }
                    PartitionVerb::Truncate => self.empty_partitions(t, p, partitions),
                    PartitionVerb::Rebuild => self.rebuild_partitions(t, p, partitions),
                    _ => Err(SqlError::unsupported(format_args!(
                        "ALTER TABLE ... {verb} PARTITION"
                    ))),
                }
            }
            // PARTITION BY and EXCHANGE PARTITION are carried out before.
            A::Verb { .. } | A::By(_) | A::Exchange { .. } => Err(SqlError::unsupported(
                format_args!("ALTER TABLE ... {action}"),
            )),
        }
    }

    /// TRUNCATE PARTITION; no names: all.
    fn empty_partitions(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        names: Option<&[Ident]>,
    ) -> SqlResult<Done> {
        let leaves = match names {
            None => (0..p.leaves()).collect(),
            Some(names) => {
                let names: Vec<&str> = names.iter().map(Ident::as_str).collect();
                p.selected(&names, t.table)?
            }
        };
        let names = leaves.into_iter().map(|at| p.stored_name(at));
        let changes: Vec<_> = names.map(PartitionChange::Truncate).collect();
        self.apply(t, &t.schema, &changes)?;
        Ok(Done::default())
    }

    /// REBUILD PARTITION; no names: all.
    fn rebuild_partitions(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        names: Option<&[Ident]>,
    ) -> SqlResult<Done> {
        let list = match names {
            None => (0..p.parts.len()).collect(),
            Some(names) => positions(p, names, "REBUILD")?,
        };
        if list.len() == p.parts.len() || is_hashed(p) {
            self.write_all(t, t.schema.clone())?;
            return Ok(Done::default());
        }
        let same: Vec<Partition> = list.iter().map(|&n| p.parts[n].clone()).collect();
        self.move_rows(t, p, &list, same, t.schema.clone())?;
        Ok(Done::default())
    }

    /// OPTIMIZE PARTITION; no names: all.
    pub fn optimize_partitions(&self, name: &ObjectName, names: Option<&[Ident]>) -> SqlResult<()> {
        let (database, table) = self.target(name)?;
        self.locked(&database, &table, || {
            let (_, schema) = self.definition(&database, &table)?;
            let p = schema.partitioning.clone().ok_or_else(not_partitioned)?;
            let t = Target {
                database: &database,
                table: &table,
                schema,
                clauses: &Clauses::new(),
            };
            self.rebuild_partitions(&t, &p, names)
        })?;
        self.outdate_statistics(name);
        Ok(())
    }

    /// One catalog step: the new definition and what becomes of partitions.
    fn apply(&self, t: &Target<'_>, schema: &Schema, changes: &[PartitionChange]) -> SqlResult<()> {
        self.engine
            .alter_partitions(
                self.owner,
                (t.database, t.table),
                changes,
                schema.table_body(),
                &schema.partition_body(),
            )
            .map_err(|e| store_error(e, t.table))
    }

    /// What may go on while rows are written anew; errors 1845 and 1846.
    fn beside_rows(&self, t: &Target<'_>, way: &Way, limits: Limits) -> SqlResult<Beside> {
        Ok(t.clauses.allow(way, limits, false)?.max(self.beside()))
    }

    /// Writes the whole table anew under other partitions.
    fn write_all(&self, t: &Target<'_>, schema: Schema) -> SqlResult<Done> {
        let own = (t.database, t.table);
        let changed = Changed::same(schema);
        let by = |s: &Schema| s.partitioning.as_ref().map(|p| (p.method, p.by.clone()));
        // Another way to divide rows is a matter of copying for MySQL.
        let limits = match by(&changed.schema) == by(&t.schema) {
            true => Limits::default(),
            false => Limits {
                copies: Some(None),
                ..Limits::default()
            },
        };
        let beside = self.beside_rows(t, &changed.anew(&t.schema, self.env)?, limits)?;
        let rows = self.rebuild(own, changed, own, beside)?;
        Ok(Done::records(rows))
    }

    fn add(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        defs: &[PartitionDef],
        count: Option<u64>,
    ) -> SqlResult<Done> {
        if is_hashed(p) {
            let added = match count {
                Some(0) => {
                    return Err(SqlError::new(1514, "At least one partition must be added"));
                }
                Some(n) => partition::unnamed(p, n)?,
                None => partition::define_more(p, defs, &t.schema, self.env)?,
            };
            let parts = p.parts.iter().cloned().chain(added).collect();
            self.write_all(t, with_parts(&t.schema, p, parts)?)?;
            return Ok(Done::records(0));
        }
        if count.is_some() {
            return Err(SqlError::new(
                1492,
                format!("For {} partitions each partition must be defined", p.method),
            ));
        }
        let added = partition::define_more(p, defs, &t.schema, self.env)?;
        let parts = p.parts.iter().cloned().chain(added).collect();
        let schema = with_parts(&t.schema, p, parts)?;
        let now = schema.partitioning.iter().flat_map(|p| p.names());
        let changes: Vec<_> = now.skip(p.leaves()).map(PartitionChange::Add).collect();
        self.apply(t, &schema, &changes)?;
        Ok(Done::records(0))
    }

    fn drop_partitions(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        names: &[Ident],
    ) -> SqlResult<Done> {
        if is_hashed(p) {
            return Err(only_range_list("DROP"));
        }
        let list = positions(p, names, "DROP")?;
        if list.len() == p.parts.len() {
            return Err(SqlError::new(
                1508,
                "Cannot remove all partitions, use DROP TABLE instead",
            ));
        }
        let changes: Vec<_> = stored(p, &list).map(PartitionChange::Drop).collect();
        let left = p.parts.iter().enumerate();
        let left = left.filter(|(n, _)| list.binary_search(n).is_err());
        let parts = left.map(|(_, part)| part.clone()).collect();
        let schema = with_parts(&t.schema, p, parts)?;
        self.apply(t, &schema, &changes)?;
        Ok(Done::records(0))
    }

    fn coalesce(&self, t: &Target<'_>, p: &Partitioning, count: u64) -> SqlResult<Done> {
        if !is_hashed(p) {
            return Err(SqlError::new(
                1509,
                "COALESCE PARTITION can only be used on HASH/KEY partitions",
            ));
        }
        if count == 0 {
            return Err(SqlError::new(
                1515,
                "At least one partition must be coalesced",
            ));
        }
        let left = (p.parts.len() as u64).saturating_sub(count) as usize;
        if left == 0 {
            return Err(SqlError::new(
                1508,
                "Cannot remove all partitions, use DROP TABLE instead",
            ));
        }
        let parts = p.parts[..left].to_vec();
        self.write_all(t, with_parts(&t.schema, p, parts)?)?;
        Ok(Done::records(0))
    }

    fn reorganize(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        from: &[Ident],
        into: &[PartitionDef],
    ) -> SqlResult<Done> {
        if is_hashed(p) {
            return Err(SqlError::new(
                1510,
                "REORGANIZE PARTITION can only be used to reorganize partitions not to change their numbers",
            ));
        }
        if from.is_empty() {
            return Err(SqlError::new(
                1511,
                "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables using HASH PARTITIONs",
            ));
        }
        if from.len() > p.parts.len() {
            return Err(SqlError::new(
                1516,
                "More partitions to reorganize than there are partitions",
            ));
        }
        let list = positions(p, from, "REORGANIZE")?;
        let (first, last) = (list[0], list[list.len() - 1]);
        if p.method == PartitionMethod::Range && last - first + 1 != list.len() {
            return Err(SqlError::new(
                1519,
                "When reorganizing a set of partitions they must be in consecutive order",
            ));
        }
        let new = partition::define_more(p, into, &t.schema, self.env)?;
        if p.method == PartitionMethod::Range {
            let end = |part: &Partition| -> Vec<u8> {
                part.values[0].iter().flat_map(|l| l.key.clone()).collect()
            };
            let (was, is) = (end(&p.parts[last]), end(&new[new.len() - 1]));
            if is != was && !(last + 1 == p.parts.len() && is > was) {
                return Err(SqlError::new(
                    1520,
                    "Reorganize of range partitions cannot change total ranges except for last partition where it can extend the range",
                ));
            }
        }
        let mut parts: Vec<Partition> = Vec::new();
        for (n, part) in p.parts.iter().enumerate() {
            if n == first {
                parts.extend(new.iter().cloned());
            }
            if list.binary_search(&n).is_err() {
                parts.push(part.clone());
            }
        }
        let schema = with_parts(&t.schema, p, parts)?;
        self.move_rows(t, p, &list, new, schema)?;
        Ok(Done::records(0))
    }

    /// Writes the rows of some partitions into new ones, which take their place; `schema`: the table's then.
    fn move_rows(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        list: &[usize],
        new: Vec<Partition>,
        schema: Schema,
    ) -> SqlResult<()> {
        let wrap = |e| store_error(e, t.table);
        let with = |parts: Vec<Partition>| {
            let mut schema = t.schema.clone();
            schema.partitioning = Some(Arc::new(p.with_parts(parts)));
            schema
        };
        let moved = with(list.iter().map(|&n| p.parts[n].clone()).collect());
        let changed = Changed::same(with(new));
        let (places, limits) = (changed.places(&moved, self.env)?, Limits::default());
        let def = self.engine.table_def(t.database, t.table).map_err(wrap)?;
        let own = (t.database, t.table);
        let plan = Plan {
            own,
            name: own,
            old: &t.schema,
            changed: &changed,
            home: Home::Stored(Some(Place::of(def.file))),
            beside: match places {
                None => self.beside_rows(t, &Way::Copy, limits)?.max(Beside::Reads),
                Some(_) => self.beside_rows(t, &Way::Rebuild, limits)?,
            },
            places,
            partitions: Some(&leaves(p, list)),
        };
        let Anew {
            work,
            _follow,
            _seen,
        } = self.write_anew(&plan)?;
        let mut changes: Vec<_> = stored(p, list).map(PartitionChange::Drop).collect();
        changes.push(PartitionChange::Adopt(work.name().clone()));
        self.apply(t, &schema, &changes)?;
        work.placed();
        Ok(())
    }

    fn exchange(
        &self,
        database: &str,
        table: &str,
        partition: &str,
        other: (String, String),
        validate: bool,
    ) -> SqlResult<Done> {
        let work = || self.exchange_locked(database, table, partition, &other, validate);
        if self.tables_locked {
            return work();
        }
        let locks = [
            ((database.to_string(), table.to_string()), true),
            (other.clone(), true),
        ];
        let _held = self
            .engine
            .hold_tables(self.owner, &locks)
            .map_err(|e| store_error(e, table))?;
        work()
    }

    fn exchange_locked(
        &self,
        database: &str,
        table: &str,
        partition: &str,
        other: &(String, String),
        validate: bool,
    ) -> SqlResult<Done> {
        let (def, schema) = self.definition(database, table)?;
        let t = Target {
            database,
            table,
            schema,
            clauses: &Clauses::new(),
        };
        let p = t.schema.partitioning.clone().ok_or_else(not_partitioned)?;
        let named = p.selected(&[partition], table)?;
        if p.sub.is_some() && p.position(partition).is_some() {
            return Err(SqlError::new(
                1734,
                "Subpartitioned table, use subpartition instead of partition",
            ));
        }
        let at = named[0];
        let (other_def, other_schema) = self.definition(&other.0, &other.1)?;
        if other_schema.partitioning.is_some() {
            return Err(SqlError::new(
                1732,
                format!(
                    "Table to exchange with partition is partitioned: '{}'",
                    other.1
                ),
            ));
        }
        let referred = !self.children(&other.0, &other.1)?.is_empty();
        if referred || !other_schema.foreign_keys.is_empty() {
            let what = format!(
                "Table to exchange with partition has foreign key references: '{}'",
                other.1
            );
            return Err(SqlError::new(1740, what));
        }
        let alike = t.schema.columns.len() == other_schema.columns.len()
            && t.schema
                .columns
                .iter()
                .zip(&other_schema.columns)
                .all(|(a, b)| {
                    (&a.name, &a.ty, a.nullable, a.auto_increment, &a.generated)
                        == (&b.name, &b.ty, b.nullable, b.auto_increment, &b.generated)
                })
            && t.schema.indexes == other_schema.indexes
            && t.schema.same_checks(&other_schema)
            && def.hidden_row_id == other_def.hidden_row_id;
        if !alike {
            return Err(SqlError::new(1736, "Tables have different definitions"));
        }
        let as_now = |s: &Schema| (s.versions().earlier() == 0).then(|| s.versions().current());
        if as_now(&t.schema).is_none() || as_now(&t.schema) != as_now(&other_schema) {
            return Err(SqlError::new(
                1731,
                "Non matching attribute 'INSTANT COLUMN(s)' between partition and table",
            ));
        }
        if other_def.file.is_general() {
            return Err(SqlError::new(
                1731,
                "Non matching attribute 'TABLESPACE' between partition and table",
            ));
        }
        self.check_rows(&t, &p, at, other, &other_schema, validate)?;
        let change = PartitionChange::Exchange {
            partition: p.stored_name(at),
            table: other.clone(),
        };
        self.apply(&t, &t.schema, &[change])?;
        Ok(Done::default())
    }

    /// Looks through the rows of a table that is to become a partition (error 1737), and takes notice of its
    /// AUTO_INCREMENT values.
    fn check_rows(
        &self,
        t: &Target<'_>,
        p: &Partitioning,
        at: usize,
        other: &(String, String),
        schema: &Schema,
        validate: bool,
    ) -> SqlResult<()> {
        let wrap = |e| store_error(e, &other.1);
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let mut look = || {
            let mine = self
                .engine
                .open_table(&mut txn, t.database, t.table)
                .map_err(wrap)?;
            let open = self
                .engine
                .open_table(&mut txn, &other.0, &other.1)
                .map_err(wrap)?;
            if t.schema.columns.iter().any(|c| c.auto_increment) {
                counter::start(self.engine, &mine, &t.schema)?;
                counter::start(self.engine, &open, schema)?;
                if let Some(next) = open.auto_increment_peek() {
                    mine.auto_increment_seen(next - 1);
                }
            }
            if !validate {
                return Ok(());
            }
            let everything = KeyRange {
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
            };
            let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
            let mut scan = open
                .scan(&mut txn, 0, everything, dir, mode, Fetch::Row)
                .map_err(wrap)?;
            let (mut buffer, mut rows) = (Vec::new(), 0u64);
            while let Some(r) = scan.next(&mut txn).map_err(wrap)? {
                if p.route_row(&t.schema, r.row, self.env, &mut buffer)? != Some(at) {
                    return Err(SqlError::new(
                        1737,
                        "Found a row that does not match the partition",
                    ));
                }
                rows += 1;
                if rows.is_multiple_of(1000) && self.owner.is_killed() {
                    return Err(SqlError::new(1317, "Query execution was interrupted"));
                }
            }
            Ok(())
        };
        let looked = look();
        self.engine.commit(txn).map_err(wrap)?;
        looked
    }
}

/// 1505.
fn not_partitioned() -> SqlError {
    SqlError::new(
        1505,
        "Partition management on a not partitioned table is not possible",
    )
}

/// A schema with other partitions, which must go together.
fn with_parts(schema: &Schema, p: &Partitioning, parts: Vec<Partition>) -> SqlResult<Schema> {
    let new = p.with_parts(parts);
    partition::check(&new)?;
    let mut schema = schema.clone();
    schema.partitioning = Some(Arc::new(new));
    Ok(schema)
}
