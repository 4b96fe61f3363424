//! Statistics as bytes: what the store keeps for a table beside its definition.
//!
//! A version byte, the incarnation that was measured, the measure, the histograms. Indexes are known by their spaces and columns by name
//! and type, so that whatever has become of the table since, what is found under a name still holds or is not found: numbers of an
//! earlier incarnation and of dropped indexes, histograms of columns that were dropped, renamed or given another type.

use std::sync::Arc;

use super::histogram::{Bucket, Histogram, Point};
use super::table::{IndexStatistics, TableStatistics};
use crate::catalog::bytes::{Reader, Writer, corrupt};
use crate::error::SqlResult;
use crate::types::{Column, Schema, SqlType};
use crate::value::{Date, DateTime, Decimal, Json, Time, Value};
use millpond_store::TableDef;

const VERSION: u8 = 1;

/// What is kept for a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub measure: Option<Arc<Measure>>,
    pub histograms: Vec<StoredHistogram>,
}

/// A table as it was measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Measure {
    /// The incarnation.
    pub table: u64,
    pub rows: u64,
    pub row_bytes: u64,
    /// Seconds since 1970.
    pub updated: u64,
    /// By the index's space.
    pub indexes: Vec<(u64, IndexStatistics)>,
}

/// A histogram, and of what.
#[derive(Clone, Debug)]
pub(super) struct StoredHistogram {
    pub column: String,
    /// The type it was made for, as text.
    pub ty: String,
    pub form: Form,
}

/// A histogram needs its column's type to be read.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Read(Arc<Histogram>),
    Bytes(Arc<[u8]>),
}

/// A type as text, so that any change of it shows.
pub(super) fn type_text(ty: &SqlType) -> String {
    format!("{} {}", ty.column_type(), ty.collation.name())
}

impl Stored {
    pub fn is_empty(&self) -> bool {
        self.measure.is_none() && self.histograms.is_empty()
    }

    /// The histogram of a column as it is now.
    pub fn histogram(&self, column: &Column) -> Option<Arc<Histogram>> {
        let ty = type_text(&column.ty);
        let of = |h: &&StoredHistogram| h.column.eq_ignore_ascii_case(&column.name) && h.ty == ty;
        match &self.histograms.iter().find(of)?.form {
            Form::Read(h) => Some(h.clone()),
            Form::Bytes(b) => read_histogram(b, &column.ty).ok().map(Arc::new),
        }
    }

    /// Takes a column's histogram away; whether there was one.
    pub fn drop_histogram(&mut self, column: &str) -> bool {
        let before = self.histograms.len();
        self.histograms
            .retain(|h| !h.column.eq_ignore_ascii_case(column));
        self.histograms.len() != before
    }

    pub fn put_histogram(&mut self, column: &Column, histogram: Arc<Histogram>) {
        self.drop_histogram(&column.name);
        self.histograms.push(StoredHistogram {
            column: column.name.clone(),
            ty: type_text(&column.ty),
            form: Form::Read(histogram),
        });
    }

    /// What holds for a table as it is defined now.
    pub fn resolve(&self, def: &TableDef, schema: &Arc<Schema>) -> TableStatistics {
        let measure = self.measure.as_ref().filter(|m| m.table == def.id);
        let of_index = |space: u64| {
            let known = measure?.indexes.iter().find(|(s, _)| *s == space);
            known.map(|(_, i)| i.clone())
        };
        TableStatistics {
            rows: measure.map_or(0, |m| m.rows),
            row_bytes: measure.map_or(0, |m| m.row_bytes),
            updated: measure.map_or(0, |m| m.updated),
            indexes: def.indexes.iter().map(|i| of_index(i.space.0)).collect(),
            histograms: schema.columns.iter().map(|c| self.histogram(c)).collect(),
            schema: Some(schema.clone()),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut w = Writer::new(VERSION);
        w.number(u64::from(self.measure.is_some()));
        if let Some(m) = &self.measure {
            for n in [m.table, m.rows, m.row_bytes, m.updated] {
                w.number(n);
            }
            w.number(m.indexes.len() as u64);
            for (space, i) in &m.indexes {
                for n in [*space, i.pages, i.leaf_pages, i.sampled] {
                    w.number(n);
                }
                w.number(i.distinct.len() as u64);
                i.distinct.iter().for_each(|n| w.number(*n));
            }
        }
        w.number(self.histograms.len() as u64);
        for h in &self.histograms {
            w.text(&h.column);
            w.text(&h.ty);
            match &h.form {
                Form::Read(h) => w.bytes(&histogram_bytes(h)),
                Form::Bytes(b) => w.bytes(b),
            }
        }
        w.finish()
    }

    pub fn read(bytes: &[u8]) -> SqlResult<Stored> {
        let mut r = Reader::new(bytes, VERSION)?;
        let mut stored = Stored::default();
        if r.number()? != 0 {
            let (table, rows, row_bytes, updated) =
                (r.number()?, r.number()?, r.number()?, r.number()?);
            let count = r.count()?;
            let mut indexes = Vec::with_capacity(count);
            for _ in 0..count {
                let (space, pages, leaf_pages, sampled) =
                    (r.number()?, r.number()?, r.number()?, r.number()?);
                let parts = r.count()?;
                let distinct = (0..parts).map(|_| r.number()).collect::<SqlResult<_>>()?;
                let index = IndexStatistics {
                    distinct,
                    pages,
                    leaf_pages,
                    sampled,
                };
                indexes.push((space, index));
            }
            stored.measure = Some(Arc::new(Measure {
                table,
                rows,
                row_bytes,
                updated,
                indexes,
            }));
        }
        for _ in 0..r.count()? {
            stored.histograms.push(StoredHistogram {
                column: r.text()?.to_string(),
                ty: r.text()?.to_string(),
                form: Form::Bytes(r.bytes()?.into()),
            });
        }
        Ok(stored)
    }
}

fn histogram_bytes(h: &Histogram) -> Vec<u8> {
    let mut w = Writer::new(VERSION);
    w.number(u64::from(h.singleton));
    for n in [h.null_fraction.to_bits(), h.sampling_rate.to_bits()] {
        w.number(n);
    }
    w.number(h.specified as u64);
    w.number(h.updated_us);
    w.number(h.buckets.len() as u64);
    for b in &h.buckets {
        write_value(&mut w, &b.lower.value);
        if !h.singleton {
            write_value(&mut w, &b.upper.value);
            w.number(b.distinct.to_bits());
        }
        w.number(b.cumulative.to_bits());
    }
    w.finish()
}

fn read_histogram(bytes: &[u8], ty: &SqlType) -> SqlResult<Histogram> {
    let mut r = Reader::new(bytes, VERSION)?;
    let singleton = r.number()? != 0;
    let null_fraction = f64::from_bits(r.number()?);
    let sampling_rate = f64::from_bits(r.number()?);
    let specified = r.small()?;
    let updated_us = r.number()?;
    let count = r.count()?;
    let mut buckets = Vec::with_capacity(count);
    for _ in 0..count {
        let lower = Point::new(read_value(&mut r)?, ty);
        let (upper, distinct) = match singleton {
            true => (lower.clone(), 1.0),
            false => {
                let upper = Point::new(read_value(&mut r)?, ty);
                (upper, f64::from_bits(r.number()?))
            }
        };
        buckets.push(Bucket {
            lower,
            upper,
            cumulative: f64::from_bits(r.number()?),
            distinct,
        });
    }
    Ok(Histogram {
        singleton,
        buckets,
        null_fraction,
        sampling_rate,
        specified,
        updated_us,
    })
}

fn write_value(w: &mut Writer, value: &Value<'_>) {
    let mut tagged = |tag: u64, n: u64| {
        w.number(tag);
        w.number(n);
    };
    match value {
        Value::Null => tagged(0, 0),
        Value::Int(v) => tagged(1, *v as u64),
        Value::UInt(v) => tagged(2, *v),
        Value::Double(v) => tagged(3, v.to_bits()),
        Value::Date(d) => tagged(4, u64::from(d.pack())),
        Value::DateTime(d) => {
            tagged(5, d.pack());
            w.number(u64::from(d.micro));
        }
        Value::Time(t) => tagged(6, t.micros as u64),
        Value::Bytes(b) => {
            w.number(7);
            w.bytes(b);
        }
        Value::Decimal(d) => {
            w.number(8);
            let mut text = Vec::new();
            d.write(&mut text);
            w.bytes(&text);
        }
        Value::Json(j) => {
            w.number(9);
            w.bytes(j.as_bytes());
        }
    }
}

fn read_value(r: &mut Reader<'_>) -> SqlResult<Value<'static>> {
    let tag = r.number()?;
    if tag >= 7 {
        let bytes = r.bytes()?;
        return match tag {
            7 => Ok(Value::Bytes(bytes.to_vec().into())),
            8 => Ok(Value::Decimal(Decimal::parse_prefix(bytes).value)),
            9 => Ok(Value::Json(Json::of_bytes(bytes.to_vec()))),
            _ => Err(corrupt()),
        };
    }
    let n = r.number()?;
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Int(n as i64),
        2 => Value::UInt(n),
        3 => Value::Double(f64::from_bits(n)),
        4 => Value::Date(Date::unpack(n as u32)),
        5 => Value::DateTime(DateTime::unpack(n, r.small()?)),
        _ => Value::Time(Time { micros: n as i64 }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Collector;
    use super::*;
    use crate::types::{BaseType, Collation, DefaultValue};

    fn column(name: &str, ty: SqlType) -> Column {
        Column {
            name: name.into(),
            ty,
            nullable: true,
            default: DefaultValue::None,
            auto_increment: false,
            on_update_now: false,
            explicit_collation: false,
            comment: String::new(),
            generated: None,
            visibility: Default::default(),
        }
    }

    #[test]
    fn what_is_kept_survives_the_round_trip() {
        let day = DateTime::unpack(DateTime::default().pack(), 7);
        let cases: Vec<(SqlType, Vec<Value<'static>>)> = vec![
            (
                SqlType::new(BaseType::Int),
                vec![Value::Int(-3), Value::Null, Value::Int(9)],
            ),
            (
                SqlType::decimal(10, 2),
                vec![Value::Decimal(Decimal::from_i128(-1234, 2))],
            ),
            (SqlType::datetime(6), vec![Value::DateTime(day)]),
            (
                SqlType::varchar(9, Collation::Utf8mb40900AiCi),
                vec![Value::str("b"), Value::str("á"), Value::str("c")],
            ),
            (SqlType::new(BaseType::Double), vec![Value::Double(-0.5)]),
        ];
        let mut stored = Stored {
            measure: Some(Arc::new(Measure {
                table: 7,
                rows: 3,
                row_bytes: 40,
                updated: 5,
                indexes: vec![(
                    4000,
                    IndexStatistics {
                        distinct: vec![1, 3],
                        pages: 2,
                        leaf_pages: 1,
                        sampled: 1,
                    },
                )],
            })),
            histograms: Vec::new(),
        };
        for (i, (ty, values)) in cases.iter().enumerate() {
            for buckets in [1, 10] {
                let mut c = Collector::new(ty);
                values.iter().for_each(|v| c.add(v));
                let name = format!("c{i}_{buckets}");
                let made = Arc::new(c.finish(buckets, 0.5, 99));
                stored.put_histogram(&column(&name, ty.clone()), made);
            }
        }
        let bytes = stored.bytes();
        let read = Stored::read(&bytes).unwrap();
        for (i, (ty, _)) in cases.iter().enumerate() {
            for buckets in [1, 10] {
                let c = column(&format!("C{i}_{buckets}"), ty.clone());
                let (a, b) = (stored.histogram(&c).unwrap(), read.histogram(&c).unwrap());
                assert_eq!(format!("{a:?}"), format!("{b:?}"));
                let other = column(&c.name, SqlType::new(BaseType::Blob));
                assert!(read.histogram(&other).is_none());
            }
        }
        assert_eq!(
            format!("{:?}", stored.measure),
            format!("{:?}", read.measure)
        );
        for cut in 0..bytes.len() {
            assert!(Stored::read(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
