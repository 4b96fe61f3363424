//! Generated and invisible columns, CHECK constraints and invisible indexes as bytes: the columns that are either by position, then the
//! constraints, then the names of the indexes. (The bytes of an index can't be changed without making it anew.)

use super::bytes::{Reader, Writer, corrupt};
use super::{Check, CheckName, Column, Generated, Schema, Visibility};
use crate::error::SqlResult;

/// Of a column: it is generated, its values are STORED, `*` leaves it out, nobody can name it.
const GENERATED: u64 = 1;
const STORED: u64 = 2;
const INVISIBLE: u64 = 4;
const HIDDEN: u64 = 8;
/// Of a constraint: rows are held to it, its name is made of the table's.
const ENFORCED: u64 = 1;
const NUMBERED: u64 = 2;

fn flags(c: &Column) -> u64 {
    let generated = match &c.generated {
        None => 0,
        Some(g) if g.stored => GENERATED | STORED,
        Some(_) => GENERATED,
    };
    generated
        | match c.visibility {
            Visibility::Visible => 0,
            Visibility::Invisible => INVISIBLE,
            Visibility::Hidden => HIDDEN,
        }
}

/// Whether a schema has anything of this.
pub fn has_rules(s: &Schema) -> bool {
    !s.checks.is_empty()
        || s.columns.iter().any(|c| flags(c) != 0)
        || s.indexes.iter().any(|i| !i.visible)
}

/// What a schema has of it.
pub fn bytes(s: &Schema) -> Vec<u8> {
    let mut w = Writer(Vec::new());
    let marked = s.columns.iter().enumerate().filter(|(_, c)| flags(c) != 0);
    w.number(marked.clone().count() as u64);
    for (at, c) in marked {
        w.number(at as u64);
        w.number(flags(c));
        if let Some(g) = &c.generated {
            w.text(&g.text);
        }
    }
    w.number(s.checks.len() as u64);
    for check in &s.checks {
        let numbered = match check.name {
            CheckName::Given(_) => 0,
            CheckName::Numbered(_) => NUMBERED,
        };
        w.number(numbered | if check.enforced { ENFORCED } else { 0 });
        match &check.name {
            CheckName::Given(name) => w.text(name),
            CheckName::Numbered(number) => w.number((*number).into()),
        }
        w.text(&check.condition);
    }
    let invisible = s.indexes.iter().filter(|i| !i.visible);
    w.number(invisible.clone().count() as u64);
    invisible.for_each(|i| w.text(&i.name));
    w.0
}

/// Reads it back: marks the columns, and gives the constraints and the names of invisible indexes.
pub fn read(r: &mut Reader<'_>, columns: &mut [Column]) -> SqlResult<(Vec<Check>, Vec<String>)> {
    for _ in 0..r.count()? {
        let at: usize = r.small()?;
        let column = columns.get_mut(at).ok_or_else(corrupt)?;
        let flags = r.number()?;
        if flags & GENERATED != 0 {
            column.generated = Some(Box::new(Generated {
                text: r.text()?.to_string(),
                stored: flags & STORED != 0,
                // Unless a section of its own says otherwise.
                in_rows: true,
            }));
        }
        column.visibility = match flags & (INVISIBLE | HIDDEN) {
            0 => Visibility::Visible,
            INVISIBLE => Visibility::Invisible,
            HIDDEN => Visibility::Hidden,
            _ => return Err(corrupt()),
        };
    }
    let mut checks = Vec::new();
    for _ in 0..r.count()? {
        let flags = r.number()?;
        let name = match flags & NUMBERED {
            0 => CheckName::Given(r.text()?.to_string()),
            _ => CheckName::Numbered(r.small()?),
        };
        checks.push(Check {
            name,
            condition: r.text()?.to_string(),
            enforced: flags & ENFORCED != 0,
        });
    }
    let mut invisible = Vec::new();
    for _ in 0..r.count()? {
        invisible.push(r.text()?.to_string());
    }
    Ok((checks, invisible))
}
