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
use crate::types::{BaseType, SqlType};
use millpond_store::TableDef;
use std::sync::Arc;

const F_NULLABLE: u64 = 1;
const F_AUTO_INCREMENT: u64 = 2;
const F_ON_UPDATE_NOW: u64 = 4;
const F_UNSIGNED: u64 = 8;
const F_COLLATION: u64 = 16;
const F_UNIQUE: u64 = 16;
const F_DESC: u64 = 32;
const F_PREFIX: u64 = 64;
const F_BTREE: u64 = 128;
const F_IMPLIED: u64 = 256;

fn write_column(w: &mut Writer, c: &Column) {
    w.text(&c.name);
    w.number(c.ty.base.number().into());
    let flag = |on: bool, f: u64| if on { f } else { 0 };
    w.number(
        flag(c.nullable, F_NULLABLE)
            | flag(c.auto_increment, F_AUTO_INCREMENT)
            | flag(c.on_update_now, F_ON_UPDATE_NOW)
            | flag(c.ty.unsigned, F_UNSIGNED)
            | flag(c.explicit_collation, F_COLLATION),
    );
    w.number(c.ty.length as u64);
    w.number(c.ty.decimals as u64);
    w.number(c.ty.collation.id() as u64);
    let members = c.ty.members.as_deref().unwrap_or(&[]);
    w.number(members.len() as u64);
    for m in members {
        w.text(m);
    }
    match &c.default {
        DefaultValue::None => w.number(0),
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
    w.text(&c.comment);
}

fn read_column(r: &mut Reader<'_>) -> SqlResult<Column> {
    let name = r.text()?.to_string();
    let base = BaseType::of_number(r.small()?).ok_or_else(corrupt)?;
    let flags = r.number()?;
    let length = r.small()?;
    let decimals = r.small()?;
    let collation = r.collation()?;
    let count = r.count()?;
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        members.push(r.text()?.to_string());
    }
    let default = match r.number()? {
        0 => DefaultValue::None,
        1 => DefaultValue::Null,
        2 => DefaultValue::Now,
        3 => DefaultValue::Literal(r.text()?.to_string()),
        4 => DefaultValue::Expr(r.text()?.to_string()),
        _ => return Err(corrupt()),
    };
    Ok(Column {
        name,
        ty: SqlType {
            base,
            unsigned: flags & F_UNSIGNED != 0,
            // In sections of their own.
            zerofill: 0,
            srid: None,
            chosen: false,
            length,
            decimals,
            collation,
            members: base.has_members().then(|| Arc::from(members)),
        },
        nullable: flags & F_NULLABLE != 0,
        default,
        auto_increment: flags & F_AUTO_INCREMENT != 0,
        on_update_now: flags & F_ON_UPDATE_NOW != 0,
        explicit_collation: flags & F_COLLATION != 0,
        comment: r.text()?.to_string(),
        generated: None,
        visibility: Visibility::Visible,
    })
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
            columns.push(read_column(&mut r)?);
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
            write_column(&mut w, c);
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
        let flag = |on: bool, f: u64| if on { f } else { 0 };
        let (btree, implied) = (flag(self.btree, F_BTREE), flag(self.implied, F_IMPLIED));
        w.number(btree | implied | flag(self.unique, F_UNIQUE));
        w.number(self.parts.len() as u64);
        for p in &self.parts {
            w.number(p.column as u64);
            let prefix = if p.prefix.is_some() { F_PREFIX } else { 0 };
            w.number(prefix | if p.desc { F_DESC } else { 0 });
            if let Some(n) = p.prefix {
                w.number(n as u64);
            }
        }
        w.text(&self.comment);
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
    let count = r.count()?;
    index.parts.reserve(count);
    for _ in 0..count {
        let column: usize = r.small()?;
        if column >= columns {
            return Err(corrupt());
        }
        let flags = r.number()?;
        let prefix = match flags & F_PREFIX {
            0 => None,
            _ => Some(r.small()?),
        };
        index.parts.push(KeyPart {
            column,
            prefix,
            desc: flags & F_DESC != 0,
        });
    }
    index.comment = r.text()?.to_string();
    index.btree = of_index & F_BTREE != 0;
    index.implied = of_index & F_IMPLIED != 0;
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
