//! How a table is partitioned, as its definition says. Which rows are where, and what a statement needs of them, is
//! [`crate::partition`]'s business.

use std::any::Any;

use super::bound::BoundOnce;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::PartitionMethod;

/// Most partitions of a table.
pub const MAX_PARTITIONS: usize = 8192;

/// How a table is partitioned.
#[derive(Debug)]
pub struct Partitioning {
    /// How.
    pub method: PartitionMethod,
    /// LINEAR.
    pub linear: bool,
    /// ALGORITHM of KEY as it was given; 0: not.
    pub algorithm: u64,
    /// By what.
    pub by: By,
    /// How the statement said which partitions there are.
    pub spelled: Spelled,
    /// The partitions, in order.
    pub parts: Vec<Partition>,
    /// How each partition is partitioned again, by HASH or KEY; of its partitions only the number counts.
    pub sub: Option<Box<Partitioning>>,
    /// What decides, as bound at the first use: see [`Partitioning::bound`].
    bound: BoundOnce,
    /// For LIST: values in order, each with its partition. For RANGE: upper ends.
    keys: Vec<(Box<[u8]>, u32)>,
}

/// How a statement says which partitions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelled {
    /// Not at all: there is one.
    Nothing,
    /// PARTITIONS: how many.
    Number,
    /// One by one.
    List,
}

/// By what a table is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The value of an expression: its text, as SHOW CREATE TABLE has it.
    Expr(String),
    /// Columns by name; none: those of the primary key (KEY).
    Columns(Vec<String>),
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Name.
    pub name: String,
    /// VALUES: LESS THAN is one row of limits, IN one per value; HASH and KEY have none.
    pub values: Vec<Vec<Limit>>,
    /// COMMENT.
    pub comment: String,
    /// Its subpartitions, in order; none if the table has none.
    pub subs: Vec<Subpartition>,
}

/// A subpartition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subpartition {
    /// Name.
    pub name: String,
    /// COMMENT.
    pub comment: String,
}

/// A value of VALUES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// As SHOW CREATE TABLE has it.
    pub text: String,
    /// Its bytes in the order of values.
    pub key: Vec<u8>,
}

/// Byte above every value's first.
const MAX_KEY: u8 = 0xff;
/// Byte above every value's first, and below MAXVALUE.
pub(crate) const HIGH_KEY: u8 = 0xfe;

impl Limit {
    /// MAXVALUE.
    pub fn max() -> Limit {
        Limit {
            text: "MAXVALUE".into(),
            key: vec![MAX_KEY],
        }
    }
    /// Whether it is MAXVALUE.
    pub fn is_max(&self) -> bool {
        self.key == [MAX_KEY]
    }
}

impl Partitioning {
    /// Puts one together.
    pub fn new(
        method: PartitionMethod,
        linear: bool,
        algorithm: u64,
        by: By,
        spelled: Spelled,
        parts: Vec<Partition>,
    ) -> Partitioning {
        let mut keys: Vec<(Box<[u8]>, u32)> = Vec::new();
        for (n, p) in parts.iter().enumerate() {
            for row in &p.values {
                let key: Vec<u8> = row.iter().flat_map(|l| l.key.iter().copied()).collect();
                keys.push((key.into(), n as u32));
            }
        }
        if method == PartitionMethod::List {
            keys.sort();
        }
        Partitioning {
            method,
            linear,
            algorithm,
            by,
            spelled,
            parts,
            sub: None,
            bound: BoundOnce::default(),
            keys,
        }
    }

    /// The same with subpartitions, which the partitions have already.
    pub fn with_sub(self, sub: Option<Partitioning>) -> Partitioning {
        Partitioning {
            sub: sub.map(Box::new),
            ..self
        }
    }

    /// The same with other partitions.
    pub fn with_parts(&self, parts: Vec<Partition>) -> Partitioning {
        let spelled = match self.spelled {
            Spelled::Nothing if parts.len() != 1 => Spelled::Number,
            spelled => spelled,
        };
        let sub = self.sub.as_ref().map(|s| s.with_parts(s.parts.clone()));
        Partitioning::new(
            self.method,
            self.linear,
            self.algorithm,
            self.by.clone(),
            spelled,
            parts,
        )
        .with_sub(sub)
    }

    /// How many tables of the store a partition is: its subpartitions, or itself.
    #[inline]
    pub fn fan(&self) -> usize {
        self.sub.as_ref().map_or(1, |s| s.parts.len())
    }

    /// How many tables of the store there are: subpartitions, or partitions. Positions of rows are among these, one partition's after the
    /// other's.
    #[inline]
    pub fn leaves(&self) -> usize {
        self.parts.len() * self.fan()
    }

    /// Those of a partition.
    pub fn leaves_of(&self, part: usize) -> std::ops::Range<usize> {
        part * self.fan()..(part + 1) * self.fan()
    }

    /// The partition that a leaf is in or is, and which of its subpartitions it is.
    pub fn leaf(&self, at: usize) -> (&Partition, Option<&Subpartition>) {
        let part = &self.parts[at / self.fan()];
        (part, part.subs.get(at % self.fan()))
    }

    /// A leaf's name.
    pub fn leaf_name(&self, at: usize) -> &str {
        let (part, sub) = self.leaf(at);
        sub.map_or(&part.name, |s| &s.name)
    }

    /// A leaf's name behind its partition's, as plans show it.
    pub fn leaf_path(&self, at: usize) -> String {
        match self.leaf(at) {
            (part, None) => part.name.clone(),
            (part, Some(sub)) => format!("{}_{}", part.name, sub.name),
        }
    }

    /// A leaf's name in the store, where case tells names apart.
    pub fn stored_name(&self, at: usize) -> String {
        self.leaf_name(at).to_lowercase()
    }

    /// Position of a partition by name; names are told apart without case.
    pub fn position(&self, name: &str) -> Option<usize> {
        let same = |p: &Partition| p.name.eq_ignore_ascii_case(name);
        self.parts.iter().position(same)
    }

    /// The leaves that a name of a partition or a subpartition means; names are told apart without case.
    pub fn named(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let is = |at: &usize| self.leaf_name(*at).eq_ignore_ascii_case(name);
        let part = self.position(name).map(|part| self.leaves_of(part));
        part.or_else(|| (0..self.leaves()).find(is).map(|at| at..at + 1))
    }

    /// Positions of the leaves named in a PARTITION clause, in order; error 1735.
    pub fn selected(&self, names: &[&str], table: &str) -> SqlResult<Vec<usize>> {
        let mut list = Vec::with_capacity(names.len());
        for name in names {
            list.extend(self.named(name).ok_or_else(|| {
                SqlError::new(
                    1735,
                    format!("Unknown partition '{name}' in table '{table}'"),
                )
            })?);
        }
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }

    /// Names of the leaves, as the store has them.
    pub fn names(&self) -> Vec<String> {
        (0..self.leaves()).map(|at| self.stored_name(at)).collect()
    }

    /// The first partition whose upper end is above a key.
    pub(crate) fn range_at(&self, key: &[u8]) -> usize {
        self.keys.partition_point(|(end, _)| **end <= *key)
    }

    /// The first partition whose upper end is not below a key.
    pub(crate) fn range_before(&self, key: &[u8]) -> usize {
        self.keys.partition_point(|(end, _)| **end < *key)
    }

    /// The partition whose VALUES IN has a key.
    pub(crate) fn listed_at(&self, key: &[u8]) -> Option<usize> {
        let at = self.keys.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        Some(self.keys[at].1 as usize)
    }

    /// Whether each key is above the one before it: upper ends rise, no value is listed twice.
    pub(crate) fn are_keys_apart(&self) -> bool {
        self.keys.windows(2).all(|w| w[0].0 < w[1].0)
    }

    /// What decides, bound to the table's columns: what `bind` makes of it, the first time. Binding needs expressions and a session, of
    /// which definitions know nothing; there is one kind of it.
    #[inline]
    pub(crate) fn bound<T: Any + Send + Sync>(
        &self,
        bind: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<&T> {
        self.bound.get(bind)
    }
}

impl Partition {
    /// Its subpartitions as they are named if nothing is said.
    pub fn default_subs(name: &str, count: usize) -> Vec<Subpartition> {
        let sub = |n| Subpartition {
            name: format!("{name}sp{n}"),
            comment: String::new(),
        };
        (0..count).map(sub).collect()
    }

    /// Whether it has others than such.
    pub fn names_subs(&self) -> bool {
        self.subs != Partition::default_subs(&self.name, self.subs.len())
    }
}
