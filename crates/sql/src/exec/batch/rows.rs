//! A batch of rows of a join: for each source the rows as they are stored, or positions in columns that are kept.

use super::vector::{Data, Kind, Vector};
use crate::types::Schema;
use crate::value::{Decimal, Value, Zone};

/// Rows that a batch has at most.
pub const BATCH_ROWS: usize = 1024;

/// A position that stands for no row: NULLs.
pub const NO_ROW: u32 = u32::MAX;

/// Rows of a join's sources side by side.
#[derive(Debug, Default)]
pub struct Batch<'b> {
    /// How many.
    pub len: usize,
    /// By source number; as long as there are sources in sight.
    pub sources: Vec<SourceRows<'b>>,
}

/// A source's rows in a batch.
#[derive(Clone, Debug, Default)]
pub enum SourceRows<'b> {
    /// NULLs in all of them: not joined yet.
    #[default]
    Nulls,
    /// Bytes of stored rows; `None`: NULLs.
    Stored(&'b Schema, Vec<Option<&'b [u8]>>),
    /// Positions in columns; [`NO_ROW`]: NULLs.
    Kept(&'b Columns, Vec<u32>),
}

/// Rows that are kept, column by column.
#[derive(Debug, Default)]
pub struct Columns {
    /// How many.
    pub len: usize,
    /// By column number; `None`: nobody reads it.
    pub columns: Vec<Option<Column>>,
}

/// A column that is kept.
#[derive(Debug)]
pub struct Column {
    data: Kept,
    /// Which are NULL, from the first that is.
    nulls: Vec<bool>,
}

#[derive(Debug)]
enum Kept {
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Decimal(Vec<i64>, u8),
    Double(Vec<f64>),
    Date(Vec<u32>),
    /// Strings one after the other, and where each begins and ends: one more than there are strings.
    Bytes(Vec<u8>, Vec<usize>),
    Values(Vec<Value<'static>>),
}

impl Columns {
    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.columns.iter().flatten().map(Column::bytes).sum()
    }
    /// Bytes of the largest column.
    pub fn largest(&self) -> usize {
        let each = self.columns.iter().flatten().map(Column::bytes);
        each.max().unwrap_or(0)
    }
    /// Appends all rows of others of the same columns. Each of theirs is given back when it was read.
    pub fn extend(&mut self, other: Columns) {
        self.len += other.len;
        for (own, more) in self.columns.iter_mut().zip(other.columns) {
            if let (Some(own), Some(more)) = (own, more) {
                own.extend(&more);
            }
        }
    }
}

impl Batch<'_> {
    /// Keeps the rows at these positions, which ascend.
    pub fn select(&mut self, rows: &[u32]) {
        if rows.len() == self.len {
            return;
        }
        fn pick<T: Copy>(list: &mut Vec<T>, rows: &[u32]) {
            for (to, from) in rows.iter().enumerate() {
                list[to] = list[*from as usize];
            }
            list.truncate(rows.len());
        }
        for s in &mut self.sources {
            match s {
                SourceRows::Nulls => {}
                SourceRows::Stored(_, list) => pick(list, rows),
                SourceRows::Kept(_, list) => pick(list, rows),
            }
        }
        self.len = rows.len();
    }
}

impl<'b> SourceRows<'b> {
    /// The rows at these positions, in their order; a position may come again.
    pub fn gather(&self, rows: &[u32]) -> SourceRows<'b> {
        match self {
            SourceRows::Nulls => SourceRows::Nulls,
            SourceRows::Stored(schema, list) => {
                SourceRows::Stored(schema, rows.iter().map(|r| list[*r as usize]).collect())
            }
            SourceRows::Kept(columns, list) => {
                SourceRows::Kept(columns, rows.iter().map(|r| list[*r as usize]).collect())
            }
        }
    }

    /// A column of all rows.
    pub fn column(&self, rows: usize, column: usize, zone: Zone) -> Vector<'b> {
        match self {
            SourceRows::Kept(columns, list) => match &columns.columns[column] {
                Some(c) => c.gather(list),
                None => Vector::of(Data::Values(vec![Value::Null; rows])),
            },
            _ => Vector::of(Data::Values(
                (0..rows).map(|r| self.value(r, column, zone)).collect(),
            )),
        }
    }

    /// A column's value in one row.
    pub fn value(&self, row: usize, column: usize, zone: Zone) -> Value<'b> {
        match self {
            SourceRows::Nulls => Value::Null,
            SourceRows::Stored(schema, list) => match list[row] {
                Some(bytes) => schema.layout().column(schema, bytes, column, zone),
                None => Value::Null,
            },
            SourceRows::Kept(columns, list) => match &columns.columns[column] {
                Some(c) if list[row] != NO_ROW => c.value(list[row] as usize),
                _ => Value::Null,
            },
        }
    }
}

impl Column {
    /// A column without values so far.
    pub fn new(kind: Kind) -> Column {
        let data = match kind {
            Kind::Int => Kept::Int(Vec::new()),
            Kind::UInt => Kept::UInt(Vec::new()),
            Kind::Decimal(scale) => Kept::Decimal(Vec::new(), scale),
            Kind::Double => Kept::Double(Vec::new()),
            Kind::Date => Kept::Date(Vec::new()),
            Kind::Bytes => Kept::Bytes(Vec::new(), vec![0]),
            Kind::Values => Kept::Values(Vec::new()),
        };
        Column {
            data,
            nulls: Vec::new(),
        }
    }

    /// How many values.
    pub fn len(&self) -> usize {
        match &self.data {
            Kept::Int(v) | Kept::Decimal(v, _) => v.len(),
            Kept::UInt(v) => v.len(),
            Kept::Double(v) => v.len(),
            Kept::Date(v) => v.len(),
            Kept::Bytes(_, ends) => ends.len() - 1,
            Kept::Values(v) => v.len(),
        }
    }

    /// One of them.
    pub fn value(&self, at: usize) -> Value<'_> {
        if self.nulls.get(at) == Some(&true) {
            return Value::Null;
        }
        match &self.data {
            Kept::Int(v) => Value::Int(v[at]),
            Kept::UInt(v) => Value::UInt(v[at]),
            Kept::Decimal(v, scale) => Value::Decimal(Decimal::from_i128(v[at].into(), *scale)),
            Kept::Double(v) => Value::Double(v[at]),
            Kept::Date(v) => Value::Date(crate::value::Date::unpack(v[at])),
            Kept::Bytes(all, ends) => Value::Bytes(all[ends[at]..ends[at + 1]].into()),
            Kept::Values(v) => v[at].borrowed(),
        }
    }

    /// Values at these positions; NULL for [`NO_ROW`].
    pub fn gather(&self, rows: &[u32]) -> Vector<'_> {
        fn pick<T: Copy + Default>(all: &[T], rows: &[u32]) -> Vec<T> {
            let at = |r: &u32| all.get(*r as usize).copied().unwrap_or_default();
            rows.iter().map(at).collect()
        }
        let absent = rows.contains(&NO_ROW);
        let is_null = |r: &u32| *r == NO_ROW || self.nulls.get(*r as usize) == Some(&true);
        let nulls = (absent || !self.nulls.is_empty()).then(|| rows.iter().map(is_null).collect());
        let data = match &self.data {
            Kept::Int(v) => Data::Int(pick(v, rows)),
            Kept::UInt(v) => Data::UInt(pick(v, rows)),
            Kept::Decimal(v, scale) => Data::Decimal(pick(v, rows), *scale),
            Kept::Double(v) => Data::Double(pick(v, rows)),
            Kept::Date(v) => Data::Date(pick(v, rows)),
            Kept::Bytes(all, ends) => {
                let at = |r: &u32| match *r {
                    NO_ROW => &[][..],
                    r => &all[ends[r as usize]..ends[r as usize + 1]],
                };
                Data::Bytes(rows.iter().map(at).collect())
            }
            Kept::Values(v) => {
                let at = |r: &u32| v.get(*r as usize).map_or(Value::Null, Value::borrowed);
                let values = rows.iter().map(at).collect();
                let data = Data::Values(values);
                return Vector { data, nulls: None };
            }
        };
        Vector { data, nulls }
    }

    /// Appends all values of a vector of the column's kind, or of values of that kind.
    pub fn append(&mut self, v: &Vector<'_>) {
        let before = self.len();
        let same = match (&mut self.data, &v.data) {
            (Kept::Int(all), Data::Int(new)) => {
                all.extend_from_slice(new);
                true
            }
            (Kept::UInt(all), Data::UInt(new)) => {
                all.extend_from_slice(new);
                true
            }
            (Kept::Decimal(all, a), Data::Decimal(new, b)) if a == b => {
                all.extend_from_slice(new);
                true
            }
            (Kept::Double(all), Data::Double(new)) => {
                all.extend_from_slice(new);
                true
            }
            (Kept::Date(all), Data::Date(new)) => {
                all.extend_from_slice(new);
                true
            }
            (Kept::Bytes(all, ends), Data::Bytes(new)) => {
                for b in new {
                    all.extend_from_slice(b);
                    ends.push(all.len());
                }
                true
            }
            (Kept::Values(all), Data::Values(new)) => {
                all.extend(new.iter().map(|v| v.clone().into_owned()));
                return;
            }
            _ => false,
        };
        let rows = v.len();
        if !same {
            for at in 0..rows {
                self.push(v.value(at));
            }
            return;
        }
        if let Some(nulls) = &v.nulls
            && nulls.contains(&true)
        {
            self.nulls.resize(before, false);
            self.nulls.extend_from_slice(nulls);
        } else if !self.nulls.is_empty() {
            self.nulls.resize(before + rows, false);
        }
    }

    /// Appends a value. One of another kind turns the column into [`Kind::Values`].
    pub fn push(&mut self, v: Value<'_>) {
        let at = self.len();
        let null = v.is_null();
        if null && !matches!(self.data, Kept::Values(_)) {
            self.nulls.resize(at, false);
            self.nulls.push(true);
        } else if !self.nulls.is_empty() {
            self.nulls.push(null);
        }
        match (&mut self.data, v) {
            (Kept::Values(all), v) => all.push(v.into_owned()),
            (Kept::Int(all), Value::Int(n)) => all.push(n),
            (Kept::UInt(all), Value::UInt(n)) => all.push(n),
            (Kept::Double(all), Value::Double(n)) => all.push(n),
            (Kept::Date(all), Value::Date(d)) => all.push(d.pack()),
            (Kept::Bytes(all, ends), Value::Bytes(b)) => {
                all.extend_from_slice(&b);
                ends.push(all.len());
            }
            (Kept::Int(all) | Kept::Decimal(all, _), Value::Null) => all.push(0),
            (Kept::UInt(all), Value::Null) => all.push(0),
            (Kept::Double(all), Value::Null) => all.push(0.0),
            (Kept::Date(all), Value::Null) => all.push(0),
            (Kept::Bytes(all, ends), Value::Null) => ends.push(all.len()),
            (Kept::Decimal(all, scale), Value::Decimal(d)) if digits(&d, *scale).is_some() => {
                all.push(digits(&d, *scale).unwrap_or_default());
            }
            (_, v) => {
                self.loosen(at);
                self.push(v);
            }
        }
    }

    /// Appends all values of another.
    pub fn extend(&mut self, other: &Column) {
        let all: Vec<u32> = (0..other.len() as u32).collect();
        for part in all.chunks(BATCH_ROWS) {
            self.append(&other.gather(part));
        }
    }

    /// Turns the first values into ones of any kind.
    fn loosen(&mut self, rows: usize) {
        let all = (0..rows).map(|n| self.value(n).into_owned()).collect();
        self.data = Kept::Values(all);
        self.nulls.clear();
    }

    /// Bytes that it takes: what is in use. The rest of a large buffer's capacity was never touched, so the system gave no memory for it.
    pub fn bytes(&self) -> usize {
        let data = match &self.data {
            Kept::Int(v) | Kept::Decimal(v, _) => v.len() * 8,
            Kept::UInt(v) => v.len() * 8,
            Kept::Double(v) => v.len() * 8,
            Kept::Date(v) => v.len() * 4,
            Kept::Bytes(all, ends) => all.len() + ends.len() * 8,
            Kept::Values(v) => {
                let heap = |v: &Value<'_>| match v {
                    Value::Bytes(b) => b.len(),
                    Value::Json(j) => j.as_bytes().len(),
                    _ => 0,
                };
                v.len() * size_of::<Value<'static>>() + v.iter().map(heap).sum::<usize>()
            }
        };
        data + self.nulls.len()
    }
}

/// A decimal's digits at a scale, if they are as many and fit.
pub fn digits(d: &Decimal, scale: u8) -> Option<i64> {
    if d.scale() > scale {
        return None;
    }
    let up = 10i128.checked_pow(u32::from(scale - d.scale()))?;
    i64::try_from(d.to_i128()?.checked_mul(up)?).ok()
}
