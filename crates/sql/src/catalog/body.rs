//! Schemas as bytes: what the store keeps in `TableDef.body` (columns and options) and `IndexDef.body` (key parts).

use super::bytes::{
    FULLTEXT, PARTITIONED, PARTITIONED_SECTIONS, Reader, SECTIONS, SPATIAL, VERSION, Writer,
    corrupt,
};
use super::{
    Column, DefaultValue, FulltextIndex, Index, KeyPart, Partitioning, Schema, Visibility,
};
use super::{partition_body, sections};
use crate::error::SqlResult;
use crate::types::{BaseType, Collation, SqlType};
use millpond_store::TableDef;
use std::sync::Arc;

// Of a column. What a flag says is said is written behind them only then: most columns have their type's own length, the table's
// collation and no comment, and there may be a million tables.
const NULLABLE: u64 = 1;
const UNSIGNED: u64 = 2;
const LENGTH_SAID: u64 = 4;
const DECIMALS_SAID: u64 = 8;
const COLLATION_SAID: u64 = 16;
const DEFAULT_SAID: u64 = 32;
const AUTO_INCREMENT: u64 = 64;
const ON_UPDATE_NOW: u64 = 128;
const EXPLICIT_COLLATION: u64 = 256;
const MEMBERS_SAID: u64 = 512;
const COMMENT_SAID: u64 = 1024;

// Of an index, below the number of its parts.
const INDEX_BTREE: u64 = 1;
const INDEX_IMPLIED: u64 = 2;
const INDEX_COMMENTED: u64 = 4;
const INDEX_BITS: u32 = 3;
// Of a part, below the column's position.
const PART_DESC: u64 = 1;
const PART_PREFIX: u64 = 2;
const PART_BITS: u32 = 2;

fn flag(on: bool, flag: u64) -> u64 {
    if on { flag } else { 0 }
}

/// What a column has of which nothing is said: the type as it is by itself, a text's collation that of the table.
fn unsaid(base: BaseType, table: Collation) -> SqlType {
    let mut ty = SqlType::new(base);
    if ty.collation != Collation::Binary {
        ty.collation = table;
    }
    ty
}

fn write_column(w: &mut Writer, c: &Column, table: Collation) {
    w.text(&c.name);
    w.number(c.ty.base.number().into());
    let unsaid = unsaid(c.ty.base, table);
    let members = c.ty.members.as_deref().unwrap_or(&[]);
    let flags = flag(c.nullable, NULLABLE)
        | flag(c.ty.unsigned, UNSIGNED)
        | flag(c.ty.length != unsaid.length, LENGTH_SAID)
        | flag(c.ty.decimals != unsaid.decimals, DECIMALS_SAID)
        | flag(c.ty.collation != unsaid.collation, COLLATION_SAID)
        | flag(c.default != DefaultValue::None, DEFAULT_SAID)
        | flag(c.auto_increment, AUTO_INCREMENT)
        | flag(c.on_update_now, ON_UPDATE_NOW)
        | flag(c.explicit_collation, EXPLICIT_COLLATION)
        | flag(!members.is_empty(), MEMBERS_SAID)
        | flag(!c.comment.is_empty(), COMMENT_SAID);
    w.number(flags);
    let said = |flag: u64| flags & flag != 0;
    if said(LENGTH_SAID) {
        w.number(c.ty.length as u64);
    }
    if said(DECIMALS_SAID) {
        w.number(c.ty.decimals as u64);
    }
    if said(COLLATION_SAID) {
        w.number(c.ty.collation.id() as u64);
    }
    if said(MEMBERS_SAID) {
        w.number(members.len() as u64);
        members.iter().for_each(|m| w.text(m));
    }
    if said(DEFAULT_SAID) {
        write_default(w, &c.default);
    }
    if said(COMMENT_SAID) {
        w.text(&c.comment);
    }
}

fn write_default(w: &mut Writer, default: &DefaultValue) {
    match default {
        // Not said.
        DefaultValue::None => {}
        DefaultValue::Null => w.number(1),
        DefaultValue::Now => w.number(2),
        DefaultValue::Literal(s) => {
            w.number(3);
            w.text(s);
        }
        DefaultValue::Expr(s) => {
            w.number(4);
            w.text(s);
        }
    }
}

fn read_default(r: &mut Reader<'_>) -> SqlResult<DefaultValue> {
    Ok(match r.number()? {
        1 => DefaultValue::Null,
        2 => DefaultValue::Now,
        3 => DefaultValue::Literal(r.text()?.to_string()),
        4 => DefaultValue::Expr(r.text()?.to_string()),
        _ => return Err(corrupt()),
    })
}

fn read_column(r: &mut Reader<'_>, table: Collation) -> SqlResult<Column> {
    let name = r.text()?.to_string();
    let base = BaseType::of_number(r.small()?).ok_or_else(corrupt)?;
    let flags = r.number()?;
    let said = |flag: u64| flags & flag != 0;
    let mut ty = unsaid(base, table);
    if said(LENGTH_SAID) {
        ty.length = r.small()?;
    }
    if said(DECIMALS_SAID) {
        ty.decimals = r.small()?;
    }
    if said(COLLATION_SAID) {
        ty.collation = r.collation()?;
    }
    let mut members = Vec::new();
    if said(MEMBERS_SAID) {
        let count = r.count()?;
        members.reserve(count);
        for _ in 0..count {
            members.push(r.text()?.to_string());
        }
    }
    let default = match said(DEFAULT_SAID) {
        true => read_default(r)?,
        false => DefaultValue::None,
    };
    let comment = match said(COMMENT_SAID) {
        true => r.text()?.to_string(),
        false => String::new(),
    };
    Ok(Column {
        name,
        ty: SqlType {
            unsigned: said(UNSIGNED),
            // In sections of their own.
            zerofill: 0,
            srid: None,
            chosen: false,
            members: base.has_members().then(|| Arc::from(members)),
            ..ty
        },
        nullable: said(NULLABLE),
        default,
        auto_increment: said(AUTO_INCREMENT),
        on_update_now: said(ON_UPDATE_NOW),
        explicit_collation: said(EXPLICIT_COLLATION),
        comment,
        generated: None,
        visibility: Visibility::Visible,
    })
}

/// Passes a column by.
pub(super) fn skip_column(r: &mut Reader<'_>) -> SqlResult<()> {
    r.bytes()?;
    r.number()?;
    let flags = r.number()?;
    let said = |flag: u64| flags & flag != 0;
    for flag in [LENGTH_SAID, DECIMALS_SAID, COLLATION_SAID] {
        if said(flag) {
            r.number()?;
        }
    }
    if said(MEMBERS_SAID) {
        for _ in 0..r.count()? {
            r.bytes()?;
        }
    }
    if said(DEFAULT_SAID) && r.number()? > 2 {
        r.bytes()?;
    }
    if said(COMMENT_SAID) {
        r.bytes()?;
    }
    Ok(())
}

impl Schema {
    /// The schema of a stored table; error 1033 for bytes that are none.
    pub fn of(def: &TableDef) -> SqlResult<Schema> {
        let mut r = Reader(&def.body);
        let (partitioned, sectioned) = r.parts()?;
        let collation = r.collation()?;
        let comment = r.text()?.to_string();
        let created = r.number()?;
        let count = r.count()?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push(read_column(&mut r, collation)?);
        }
        let partitioning = match partitioned {
            true => Some(Arc::new(partition_body::read(&mut r)?)),
            false => None,
        };
        let more = match sectioned {
            true => sections::read(&mut r, &mut columns)?,
            false => sections::Sections::default(),
        };
        let mut indexes = Vec::with_capacity(def.indexes.len());
        for i in &def.indexes {
            let index = read_index(&i.body, columns.len())?;
            indexes.push(Index {
                name: i.name.clone(),
                unique: i.unique,
                visible: !more.invisible.contains(&i.name),
                ..index
            });
        }
        let mut schema = Schema::new(columns, indexes, collation, comment, created);
        schema.partitioning = partitioning;
        schema.checks = more.checks;
        schema.foreign_keys = more.foreign_keys;
        schema.view = more.view.map(Arc::new);
        schema.options = more.options;
        Ok(schema.with_versions(more.versions))
    }
    /// Bytes for `TableDef.body`: columns, options and partitions, not the indexes.
    pub fn table_body(&self) -> Vec<u8> {
        self.body(self.partitioning.as_deref())
    }
    /// Bytes for the body of a partition: those of a table without partitions.
    pub fn partition_body(&self) -> Vec<u8> {
        self.body(None)
    }
    fn body(&self, partitioning: Option<&Partitioning>) -> Vec<u8> {
        let sections = sections::of(self);
        let mut w = self.plain_body(match (partitioning, sections.is_empty()) {
            (None, true) => VERSION,
            (None, false) => SECTIONS,
            (Some(_), true) => PARTITIONED,
            (Some(_), false) => PARTITIONED_SECTIONS,
        });
        if let Some(p) = partitioning {
            partition_body::write(p, &mut w);
        }
        if !sections.is_empty() {
            sections::write(&sections, &mut w);
        }
        w.0
    }
    fn plain_body(&self, version: u8) -> Writer {
        let mut w = Writer(vec![version]);
        w.number(self.collation.id() as u64);
        w.text(&self.comment);
        w.number(self.created);
        w.number(self.columns.len() as u64);
        for c in &self.columns {
            write_column(&mut w, c, self.collation);
        }
        w
    }
    /// Bytes for `indexes[i]`'s `IndexDef.body`.
    pub fn index_body(&self, index: usize) -> Vec<u8> {
        self.indexes[index].body()
    }
}

impl Index {
    /// Bytes for its `IndexDef.body`.
    pub fn body(&self) -> Vec<u8> {
        if let Some(f) = &self.fulltext {
            let mut w = Writer(vec![FULLTEXT]);
            w.number(f.columns.len() as u64);
            f.columns.iter().for_each(|c| w.number(*c as u64));
            f.write(&mut w);
            w.text(&self.comment);
            return w.0;
        }
        if let Some(column) = self.spatial {
            let mut w = Writer(vec![SPATIAL]);
            w.number(column as u64);
            w.text(&self.comment);
            return w.0;
        }
        let mut w = Writer(vec![VERSION]);
        w.number(
            (self.parts.len() as u64) << INDEX_BITS
                | flag(self.btree, INDEX_BTREE)
                | flag(self.implied, INDEX_IMPLIED)
                | flag(!self.comment.is_empty(), INDEX_COMMENTED),
        );
        for p in &self.parts {
            let flags = flag(p.desc, PART_DESC) | flag(p.prefix.is_some(), PART_PREFIX);
            w.number((p.column as u64) << PART_BITS | flags);
            if let Some(n) = p.prefix {
                w.number(n as u64);
            }
        }
        if !self.comment.is_empty() {
            w.text(&self.comment);
        }
        w.0
    }
}

/// The positions of a FULLTEXT index's columns, and what it is besides.
fn read_fulltext(r: &mut Reader<'_>, columns: usize) -> SqlResult<FulltextIndex> {
    let mut of = Vec::new();
    for _ in 0..r.count()? {
        let column: usize = r.small()?;
        if column >= columns {
            return Err(corrupt());
        }
        of.push(column);
    }
    FulltextIndex::read(r, of)
}

/// An index as its body has it: name, uniqueness and visibility are kept elsewhere.
fn read_index(body: &[u8], columns: usize) -> SqlResult<Index> {
    let mut r = Reader(body);
    let mut index = Index {
        name: String::new(),
        unique: false,
        parts: Vec::new(),
        comment: String::new(),
        visible: true,
        btree: false,
        implied: false,
        fulltext: None,
        spatial: None,
    };
    if body.first() == Some(&FULLTEXT) {
        r.byte()?;
        index.fulltext = Some(Box::new(read_fulltext(&mut r, columns)?));
        index.comment = r.text()?.to_string();
        return Ok(index);
    }
    if body.first() == Some(&SPATIAL) {
        r.byte()?;
        let column = Some(r.small()?).filter(|c| *c < columns);
        index.spatial = Some(column.ok_or_else(corrupt)?);
        index.comment = r.text()?.to_string();
        return Ok(index);
    }
    r.version()?;
    let of_index = r.number()?;
    let count = of_index >> INDEX_BITS;
    if count > r.0.len() as u64 {
        return Err(corrupt());
    }
    index.parts.reserve(count as usize);
    for _ in 0..count {
        let of_part = r.number()?;
        let column = (of_part >> PART_BITS) as usize;
        if column >= columns {
            return Err(corrupt());
        }
        let prefix = match of_part & PART_PREFIX {
            0 => None,
            _ => Some(r.small()?),
        };
        index.parts.push(KeyPart {
            column,
            prefix,
            desc: of_part & PART_DESC != 0,
        });
    }
    if of_index & INDEX_COMMENTED != 0 {
        index.comment = r.text()?.to_string();
    }
    index.btree = of_index & INDEX_BTREE != 0;
    index.implied = of_index & INDEX_IMPLIED != 0;
    Ok(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::options::KeptOption;
    use crate::catalog::tests::sample;
    use crate::catalog::{Check, CheckName, Generated};
    use millpond_store::IndexDef;

    fn def_of(s: &Schema) -> TableDef {
        let mut def = crate::catalog::tests::empty_def();
        def.body = s.table_body();
        for (i, x) in s.indexes.iter().enumerate() {
            def.indexes.push(IndexDef {
                name: x.name.clone(),
                unique: x.unique,
                space: millpond_store::space::SpaceId(0),
                root: 0,
                body: s.index_body(i),
            });
        }
        def
    }

    #[test]
    fn schemas_return() {
        let s = sample();
        let def = def_of(&s);
        let t = Schema::of(&def).unwrap();
        assert_eq!(t.columns, s.columns);
        assert_eq!(t.indexes, s.indexes);
        assert_eq!(
            (t.collation, &t.comment, t.created),
            (s.collation, &s.comment, s.created)
        );
    }

    /// The sample with rules set by expressions.
    fn with_rules() -> Schema {
        let mut s = sample();
        s.columns[2].generated = Some(Box::new(Generated {
            text: "(`c0` + 1)".into(),
            stored: true,
            in_rows: true,
        }));
        s.columns[5].generated = Some(Box::new(Generated {
            text: "`c3`".into(),
            stored: false,
            in_rows: false,
        }));
        s.columns[5].visibility = Visibility::Invisible;
        s.columns[6].visibility = Visibility::Hidden;
        // As earlier builds have them.
        s.columns[7].generated = Some(Box::new(Generated {
            text: "`c4`".into(),
            stored: false,
            in_rows: true,
        }));
        s.indexes[3].visible = false;
        let mut s = Schema::new(s.columns, s.indexes, s.collation, s.comment, s.created);
        s.indexes[2].btree = true;
        s.indexes[1].implied = true;
        s.indexes[4].parts.clear();
        s.indexes[4].unique = false;
        s.indexes[4].fulltext = Some(Box::new(FulltextIndex {
            columns: vec![11, 13],
            parser: crate::catalog::TextParser::Words { least: 3, most: 84 },
            stopwords: true,
        }));
        s.indexes[5].parts.clear();
        s.indexes[5].unique = false;
        s.indexes[5].spatial = Some(12);
        s.options.set(KeptOption::MaxRows, Some(7));
        for (n, enforced) in [(0, true), (1, false)] {
            s.checks.push(Check {
                name: [CheckName::Numbered(7), CheckName::Given("é".into())][n].clone(),
                condition: "(`c0` > 0)".into(),
                enforced,
            });
        }
        s
    }

    #[test]
    fn rules_return() {
        let s = with_rules();
        assert_eq!(s.table_body()[0], SECTIONS);
        let t = Schema::of(&def_of(&s)).unwrap();
        assert_eq!(t.columns, s.columns);
        let computed = |c: &usize| t.layout().is_computed(*c);
        assert_eq!((0..t.columns.len()).find(computed), Some(5));
        assert_eq!(t.checks, s.checks);
        assert_eq!(t.options, s.options);
        assert_eq!(t.indexes, s.indexes);
    }

    #[test]
    fn widths_of_zerofill_return() {
        let mut s = sample();
        for (at, width) in [(5, 7), (6, 11)] {
            s.columns[at].ty.zerofill = width;
        }
        let def = def_of(&s);
        assert_eq!(Schema::of(&def).unwrap().columns, s.columns);
        // A column that isn't there.
        let mut wrong = def.clone();
        let at = wrong.body.len() - 2;
        wrong.body[at] = 99;
        assert_eq!(Schema::of(&wrong).unwrap_err().code, 1033);
    }

    #[test]
    fn reference_systems_return() {
        let mut s = sample();
        s.columns[5].ty = SqlType {
            srid: Some(0),
            ..SqlType::geometry()
        };
        s.columns[6].ty = SqlType {
            srid: Some(4326),
            ..SqlType::new(BaseType::Point)
        };
        assert_eq!(Schema::of(&def_of(&s)).unwrap().columns, s.columns);
    }

    /// What is usual takes no bytes: `id INT NOT NULL` its name and its length, the type and the flags.
    #[test]
    fn what_is_usual_is_not_said() {
        let mut s = sample();
        s.columns.truncate(4);
        let named = |s: &Schema| s.columns.iter().map(|c| c.name.len() + 1).sum::<usize>();
        let plain = |s: &mut Schema, base| {
            for c in &mut s.columns {
                c.ty = SqlType::new(base);
                (c.default, c.comment) = (DefaultValue::None, String::new());
            }
        };
        let head = Schema {
            columns: Vec::new(),
            ..s.clone()
        };
        let head = head.plain_body(VERSION).0.len();
        plain(&mut s, BaseType::Int);
        assert_eq!(s.plain_body(VERSION).0.len(), head + named(&s) + 4 * 2);
        // Texts are under the table's collation.
        plain(&mut s, BaseType::Text);
        s.columns
            .iter_mut()
            .for_each(|c| c.ty.collation = s.collation);
        assert_eq!(s.plain_body(VERSION).0.len(), head + named(&s) + 4 * 2);
        s.columns[0].ty.collation = Collation::Utf8mb4Bin;
        assert_eq!(s.plain_body(VERSION).0.len(), head + named(&s) + 4 * 2 + 1);
        assert_eq!(Index::body(&s.indexes[0]).len(), 3);
    }

    #[test]
    fn bodies_without_rules_are_as_they_were() {
        assert_eq!(sample().table_body()[0], VERSION);
    }

    #[test]
    fn cut_rules_are_refused() {
        let mut def = def_of(&with_rules());
        let whole = def.body.len();
        for n in 0..whole {
            let mut cut = def.clone();
            cut.body.truncate(n);
            assert_eq!(Schema::of(&cut).unwrap_err().code, 1033, "{n}");
        }
        // An unknown section.
        let mut unknown = sample().table_body();
        unknown[0] = SECTIONS;
        unknown.extend([1, 99, 0]);
        def.body = unknown;
        assert_eq!(Schema::of(&def).unwrap_err().code, 1033);
    }

    #[test]
    fn cut_or_foreign_bytes_are_refused() {
        let s = sample();
        let mut def = def_of(&s);
        for n in 0..def.body.len() {
            let mut cut = def.clone();
            cut.body.truncate(n);
            assert_eq!(Schema::of(&cut).unwrap_err().code, 1033);
        }
        def.body[0] = 99;
        assert_eq!(Schema::of(&def).unwrap_err().code, 1033);
    }
}
