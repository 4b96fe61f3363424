//! CASE and IF: each row's condition decides which operand is evaluated for it.

use super::super::vector::{Data, Vector};
use super::arithmetic::scaled;
use super::build::Node;
use super::logic::{TRUE, positions};
use super::operand::{Operand, Rows, typed};
use super::{Frame, Tried};
use crate::expr::Expr;
use crate::types::{BaseType, SqlType};
use crate::value::{Value, conform};

/// The first branch whose condition is true, else the last, else NULL.
pub(super) fn case<'e: 'b, 'b>(
    e: &Expr,
    branches: &[(Node<'e>, Node<'e>)],
    last: Option<&Node<'e>>,
    f: &Frame<'_, 'b>,
    rows: Rows<'_>,
) -> Tried<Operand<'b>> {
    let mut made = Made::new(rows.len());
    // Which of the rows have met no condition that is true, and where these are in the batch.
    let mut left: Vec<u32> = (0..rows.len() as u32).collect();
    for (when, then) in branches {
        if left.is_empty() {
            break;
        }
        let at = rows.subset(&left);
        let truths = when.truths(f, Rows::Some(&at))?;
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        positions(&truths, |t| t == TRUE, &mut yes);
        positions(&truths, |t| t != TRUE, &mut no);
        let pick = |list: &[u32]| list.iter().map(|i| left[*i as usize]).collect::<Vec<u32>>();
        let (yes, no) = (pick(&yes), pick(&no));
        made.branch(e, then, &yes, f, rows)?;
        left = no;
    }
    if let Some(last) = last {
        made.branch(e, last, &left, f, rows)?;
    }
    Ok(Operand::Each(made.into_vector()))
}

/// Values being put together from those of branches.
struct Made<'b> {
    n: usize,
    data: Option<Data<'b>>,
    /// What is not written yet is NULL.
    nulls: Vec<bool>,
}

impl<'b> Made<'b> {
    fn new(n: usize) -> Made<'b> {
        Made {
            n,
            data: None,
            nulls: vec![true; n],
        }
    }

    /// Puts a branch's values to the rows that it is for.
    fn branch<'e: 'b>(
        &mut self,
        e: &Expr,
        branch: &Node<'e>,
        to: &[u32],
        f: &Frame<'_, 'b>,
        rows: Rows<'_>,
    ) -> Tried<()> {
        if to.is_empty() {
            return Ok(());
        }
        let values = branch.values(f, Rows::Some(&rows.subset(to)))?;
        if values.is_null() {
            return Ok(());
        }
        let v = conformed(values.into_vector(to.len()), &e.ty);
        self.put(to, v);
        Ok(())
    }

    fn put(&mut self, to: &[u32], v: Vector<'b>) {
        for (i, at) in to.iter().enumerate() {
            self.nulls[*at as usize] = v.is_null(i);
        }
        let n = self.n;
        let data = self.data.get_or_insert_with(|| empty(&v.data, n));
        if scatter(data, &v.data, to) {
            return;
        }
        // Values of several kinds.
        let before = Vector {
            data: std::mem::replace(data, Data::Values(Vec::new())),
            nulls: None,
        };
        let all = (0..n).map(|i| {
            if self.nulls[i] {
                Value::Null
            } else {
                owned(&before, i)
            }
        });
        let mut all: Vec<Value<'b>> = all.collect();
        for (i, at) in to.iter().enumerate() {
            all[*at as usize] = owned(&v, i);
        }
        *data = Data::Values(all);
    }

    fn into_vector(self) -> Vector<'b> {
        let data = self
            .data
            .unwrap_or_else(|| Data::Values(vec![Value::Null; self.n]));
        match data {
            data @ Data::Values(_) => Vector { data, nulls: None },
            data => Vector {
                data,
                nulls: self.nulls.contains(&true).then_some(self.nulls),
            },
        }
    }
}

/// A value as long-lived as the vector's.
fn owned<'b>(v: &Vector<'b>, at: usize) -> Value<'b> {
    match &v.data {
        Data::Bytes(all) if !v.is_null(at) => Value::Bytes(all[at].into()),
        Data::Values(all) => all[at].clone(),
        _ => v.value(at).into_owned(),
    }
}

fn empty<'b>(like: &Data<'b>, n: usize) -> Data<'b> {
    match like {
        Data::Int(_) => Data::Int(vec![0; n]),
        Data::UInt(_) => Data::UInt(vec![0; n]),
        Data::Decimal(_, scale) => Data::Decimal(vec![0; n], *scale),
        Data::Double(_) => Data::Double(vec![0.0; n]),
        Data::Date(_) => Data::Date(vec![0; n]),
        Data::Bytes(_) => Data::Bytes(vec![&[]; n]),
        Data::Values(_) => Data::Values(vec![Value::Null; n]),
    }
}

/// Writes values of the same kind; `false`: they are of another.
fn scatter<'b>(data: &mut Data<'b>, v: &Data<'b>, to: &[u32]) -> bool {
    fn put<T: Clone>(all: &mut [T], v: &[T], to: &[u32]) {
        for (at, v) in to.iter().zip(v) {
            all[*at as usize] = v.clone();
        }
    }
    match (data, v) {
        (Data::Int(all), Data::Int(v)) => put(all, v, to),
        (Data::UInt(all), Data::UInt(v)) => put(all, v, to),
        (Data::Decimal(all, a), Data::Decimal(v, b)) if a == b => put(all, v, to),
        (Data::Double(all), Data::Double(v)) => put(all, v, to),
        (Data::Date(all), Data::Date(v)) => put(all, v, to),
        (Data::Bytes(all), Data::Bytes(v)) => put(all, v, to),
        (Data::Values(all), Data::Values(v)) => put(all, v, to),
        _ => return false,
    }
    true
}

/// Values as [`conform`] brings them to a type.
fn conformed<'b>(v: Vector<'b>, ty: &SqlType) -> Vector<'b> {
    use BaseType as B;
    let as_is = match (&v.data, ty.base) {
        (_, B::Null) => true,
        (Data::Decimal(_, scale), B::Decimal) => *scale >= ty.decimals,
        (Data::Double(_), B::Float | B::Double) | (Data::Date(_), B::Date) => true,
        (Data::Int(_), _) => ty.is_integer() && !ty.unsigned,
        (Data::UInt(_), _) => ty.is_integer() && ty.unsigned,
        (Data::Bytes(_), _) => ty.is_string(),
        _ => false,
    };
    if as_is {
        return v;
    }
    let up = match &v.data {
        Data::Decimal(digits, scale) if ty.base == B::Decimal => {
            scaled(digits, ty.decimals - scale)
        }
        Data::Int(digits) if ty.base == B::Decimal => scaled(digits, ty.decimals),
        _ => None,
    };
    if let Some(digits) = up {
        return Vector {
            data: Data::Decimal(digits.into_owned(), ty.decimals),
            nulls: v.nulls,
        };
    }
    typed((0..v.len()).map(|i| conform(owned(&v, i), ty)).collect())
}
