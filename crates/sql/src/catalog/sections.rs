//! What follows the columns and partitions in the bodies of tables that have more than those.
//!
//! A body with sections has a version of its own, so that a server that knows none refuses the table rather than losing a rule of
//! it. Each section is a number, a length and its bytes, and stands there only if there is something in it; one that is not known is
//! refused like a version.
//!
//! | number | section |
//! |---|---|
//! | 1 | generated and invisible columns, CHECK constraints, invisible indexes |
//! | 2 | foreign keys |
//! | 3 | schema versions of rows |
//! | 4 | ZEROFILL: columns by position, each with its width |
//! | 5 | what a view shows |
//! | 6 | VIRTUAL columns whose values rows don't hold, by position |
//! | 7 | options that are shown and change nothing |
//! | 8 | SRID: columns by position, each with its reference system |

use super::bytes::{Reader, Writer, corrupt};
use super::{Column, ForeignKey, KeptOptions, Schema, Versions, View};
use super::{foreign_keys, rule_body};
use crate::error::SqlResult;

const RULES: u64 = 1;
pub const FOREIGN_KEYS: u64 = 2;
const VERSIONS: u64 = 3;
const ZEROFILL: u64 = 4;
const VIEW: u64 = 5;
const COMPUTED: u64 = 6;
const OPTIONS: u64 = 7;
const SRIDS: u64 = 8;

/// Whether a section says nothing that is bound or named elsewhere than in it: what it says is the same in a copy, but for foreign keys.
pub fn is_plain(number: u64) -> bool {
    matches!(number, FOREIGN_KEYS | VERSIONS | ZEROFILL | OPTIONS | SRIDS)
}

/// The sections of a schema, with the bytes of each.
pub fn of(s: &Schema) -> Vec<(u64, Vec<u8>)> {
    let mut list = Vec::new();
    if rule_body::has_rules(s) {
        list.push((RULES, rule_body::bytes(s)));
    }
    if !s.foreign_keys.is_empty() {
        let mut w = Writer(Vec::new());
        foreign_keys::write(&s.foreign_keys, &mut w);
        list.push((FOREIGN_KEYS, w.0));
    }
    if !s.versions().is_first() {
        let mut w = Writer(Vec::new());
        s.versions().write(&mut w);
        list.push((VERSIONS, w.0));
    }
    let filled = s.columns.iter().enumerate();
    let filled: Vec<_> = filled.filter(|(_, c)| c.ty.zerofill > 0).collect();
    if !filled.is_empty() {
        let mut w = Writer(Vec::new());
        w.number(filled.len() as u64);
        for (at, c) in filled {
            w.number(at as u64);
            w.number(c.ty.zerofill.into());
        }
        list.push((ZEROFILL, w.0));
    }
    if let Some(view) = &s.view {
        let mut w = Writer(Vec::new());
        view.write(&mut w);
        list.push((VIEW, w.0));
    }
    // A server that knows of no such columns could not read rows that have been without one either.
    if s.layout().computes() || s.versions().dropped_computed() {
        let computed = (0..s.columns.len()).filter(|c| s.layout().is_computed(*c));
        let mut w = Writer(Vec::new());
        w.number(computed.clone().count() as u64);
        computed.for_each(|at| w.number(at as u64));
        list.push((COMPUTED, w.0));
    }
    if !s.options.is_empty() {
        let mut w = Writer(Vec::new());
        s.options.write(&mut w);
        list.push((OPTIONS, w.0));
    }
    let columns = s.columns.iter().enumerate();
    let placed: Vec<_> = columns
        .filter_map(|(at, c)| Some((at, c.ty.srid?)))
        .collect();
    if !placed.is_empty() {
        let mut w = Writer(Vec::new());
        w.number(placed.len() as u64);
        for (at, srid) in placed {
            w.number(at as u64);
            w.number(srid.into());
        }
        list.push((SRIDS, w.0));
    }
    list
}

/// Appends sections.
pub fn write(list: &[(u64, Vec<u8>)], w: &mut Writer) {
    w.number(list.len() as u64);
    for (number, bytes) in list {
        w.number(*number);
        w.bytes(bytes);
    }
}

/// What sections say that is not said of the columns one by one.
#[derive(Default)]
pub struct Sections {
    /// CHECK constraints.
    pub checks: Vec<super::Check>,
    /// Names of invisible indexes.
    pub invisible: Vec<String>,
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// Schema versions.
    pub versions: Versions,
    /// What it shows, if it is a view.
    pub view: Option<View>,
    /// Options that are shown.
    pub options: KeptOptions,
}

/// Reads sections back, into the columns where they are about them.
pub fn read(r: &mut Reader<'_>, columns: &mut [Column]) -> SqlResult<Sections> {
    let mut sections = Sections::default();
    for _ in 0..r.count()? {
        match r.number()? {
            RULES => {
                let rules = &mut Reader(r.bytes()?);
                (sections.checks, sections.invisible) = rule_body::read(rules, columns)?;
            }
            FOREIGN_KEYS => {
                let keys = &mut Reader(r.bytes()?);
                sections.foreign_keys = foreign_keys::read(keys)?;
                if !keys.0.is_empty() {
                    return Err(corrupt());
                }
            }
            VERSIONS => {
                let versions = &mut Reader(r.bytes()?);
                sections.versions = Versions::read(versions, columns.len())?;
                if !versions.0.is_empty() {
                    return Err(corrupt());
                }
            }
            ZEROFILL => {
                let filled = &mut Reader(r.bytes()?);
                for _ in 0..filled.count()? {
                    let (at, width): (usize, u8) = (filled.small()?, filled.small()?);
                    columns.get_mut(at).ok_or_else(corrupt)?.ty.zerofill = width;
                }
                if !filled.0.is_empty() {
                    return Err(corrupt());
                }
            }
            SRIDS => {
                let placed = &mut Reader(r.bytes()?);
                for _ in 0..placed.count()? {
                    let (at, srid): (usize, u32) = (placed.small()?, placed.small()?);
                    columns.get_mut(at).ok_or_else(corrupt)?.ty.srid = Some(srid);
                }
                if !placed.0.is_empty() {
                    return Err(corrupt());
                }
            }
            VIEW => {
                let view = &mut Reader(r.bytes()?);
                sections.view = Some(View::read(view)?);
                if !view.0.is_empty() {
                    return Err(corrupt());
                }
            }
            COMPUTED => {
                let computed = &mut Reader(r.bytes()?);
                for _ in 0..computed.count()? {
                    let at: usize = computed.small()?;
                    let column = columns.get_mut(at).ok_or_else(corrupt)?;
                    let generated = column.generated.as_mut().filter(|g| !g.stored);
                    generated.ok_or_else(corrupt)?.in_rows = false;
                }
                if !computed.0.is_empty() {
                    return Err(corrupt());
                }
            }
            OPTIONS => {
                let options = &mut Reader(r.bytes()?);
                sections.options = KeptOptions::read(options)?;
                if !options.0.is_empty() {
                    return Err(corrupt());
                }
            }
            _ => return Err(corrupt()),
        }
    }
    Ok(sections)
}
