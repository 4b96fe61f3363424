//! `value [NOT] IN (list)`.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use super::operators::compare;
use super::{EvalContext, Expr, ExprKind, kinds};
use crate::env::lists::Sorted;
use crate::error::SqlResult;
use crate::types::{BaseType, Collation};
use crate::value::env::Diagnostic;
use crate::value::parse_time::{parse_datetime_in, parse_time};
use crate::value::{Value, member_number, printable, shown};

/// `value [NOT] IN (list)`.
#[derive(Clone, Debug)]
pub struct InList {
    /// The value looked for.
    pub value: Expr,
    /// The list.
    pub list: Vec<Expr>,
    /// NOT.
    pub negated: bool,
    /// Collation for strings.
    pub collation: Collation,
    /// The list sorted, if it is constants that can be.
    sorted: Option<Sorted>,
    /// What texts are read as, if there are dates or times beside them.
    among: Option<Among>,
    /// Whether dates and times in it are the numbers beside numbers that they are, and the texts beside a text: it has both, and more than
    /// constants.
    apart: bool,
    /// What a list with parameters is called in [`crate::env::lists::Lists`], if it may be sorted when it runs.
    name: Option<u64>,
}

/// Lists with parameters, which are sorted anew for each execution, are looked through one by one if they are shorter than this.
const SORT_NOW_FROM: usize = 16;

impl InList {
    /// Prepares a list.
    pub fn new(value: Expr, list: Vec<Expr>, negated: bool, collation: Collation) -> InList {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let constants: Option<Vec<_>> = list
            .iter()
            .map(|e| match &e.kind {
                ExprKind::Literal(v) => Some(v.clone()),
                _ => None,
            })
            .collect();
        let lasts = |e: &Expr| e.is_given() || matches!(e.kind, ExprKind::Literal(_));
        let later = constants.is_none() && list.len() >= SORT_NOW_FROM && list.iter().all(lasts);
        let temporal = |e: &Expr| e.ty.is_temporal();
        let other = |e: &Expr| !temporal(e) && e.ty.base != BaseType::Null;
        let apart = list.len() > 1
            && (list.iter().any(temporal) || temporal(&value) && !list.iter().all(lasts))
            && (other(&value) || list.iter().any(other));
        InList {
            among: Among::of(&value, &list),
            apart,
            value,
            list,
            negated,
            collation,
            sorted: constants.and_then(|list| Sorted::new(list, collation)),
            name: later.then(|| NAMES.fetch_add(1, Atomic::Relaxed)),
        }
    }

    /// The list as its parameters have it now, from the second time it is asked for.
    fn sorted_now(&self, cx: &EvalContext<'_>) -> SqlResult<Option<Arc<Sorted>>> {
        let Some(name) = self.name else {
            return Ok(None);
        };
        let params = cx.params.as_ptr() as usize;
        cx.session.lists.sorted(name, params, self.collation, || {
            let values = self.list.iter().map(|e| Ok(e.shown(cx)?.into_owned()));
            values.collect()
        })
    }

    /// Whether the value is in the list (NOT applied); `None` for NULL.
    pub(super) fn truth(&self, cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let v = self.value.shown(cx)?;
        if v.is_null() {
            return Ok(None);
        }
        if let Some(among) = &self.among {
            return self.truth_among(v, among, cx);
        }
        let now = self.sorted_now(cx)?;
        if let Some(sorted) = self.sorted.as_ref().or(now.as_deref())
            && let Some(found) = sorted.has(&v, self.collation)
        {
            return Ok(self.answer(found, sorted.null));
        }
        let mut null = false;
        for e in &self.list {
            let mut item = e.shown(cx)?;
            if self.apart
                && let Some(equal) = self.equal_apart(&v, &mut item, e)
            {
                match equal {
                    true => return Ok(self.answer(true, false)),
                    false => continue,
                }
            }
            if self.list.len() > 1
                && let Value::Bytes(text) = &item
                && let Some(read) = kinds::listed(&v, text, self, cx)?
            {
                match v.compare(&read, self.collation) {
                    Some(Ordering::Equal) => return Ok(self.answer(true, false)),
                    _ => continue,
                }
            }
            // An ENUM is its position beside a number.
            let index = match &v {
                Value::Bytes(b) if item.is_number() => member_number(b, &self.value.ty),
                _ => None,
            };
            let by = [Some(&self.value), Some(e)];
            match compare(index.as_ref().unwrap_or(&v), &item, self.collation, by, cx)? {
                Some(Ordering::Equal) => return Ok(self.answer(true, false)),
                Some(_) => {}
                None => null = true,
            }
        }
        Ok(self.answer(false, null))
    }

    /// Whether a value is a member of a list that has numbers, dates or times, where one of the two is a date or time and the other a number, or
    /// the value a text: of that a date or time is made a text.
    fn equal_apart(&self, v: &Value<'_>, item: &mut Value<'_>, e: &Expr) -> Option<bool> {
        let moment =
            |v: &Value<'_>| matches!(v, Value::Date(_) | Value::DateTime(_) | Value::Time(_));
        if moment(v) && item.is_number() || v.is_number() && moment(item) {
            return Some(v.to_f64() == item.to_f64());
        }
        if matches!(v, Value::Bytes(_)) && !self.value.ty.is_enumerated() && moment(item) {
            *item = shown(item.borrowed().into_owned(), &e.ty);
        }
        None
    }

    /// The same of dates or times among texts, which are all read as such.
    fn truth_among(
        &self,
        v: Value<'_>,
        among: &Among,
        cx: &EvalContext<'_>,
    ) -> SqlResult<Option<bool>> {
        let (v, is) = among.read(v, cx)?;
        // A text that is no time is none of the times, only what all such texts are.
        let none = !is && among.base == BaseType::Time;
        let mut null = false;
        for e in &self.list {
            let (item, is) = among.read(e.shown(cx)?, cx)?;
            if none && is && !item.is_null() {
                continue;
            }
            match compare(&v, &item, self.collation, [None, None], cx)? {
                Some(Ordering::Equal) => return Ok(self.answer(true, false)),
                Some(_) => {}
                None => null = true,
            }
        }
        Ok(self.answer(false, null))
    }

    /// Whether dates and times in it are beside anything else.
    pub(crate) fn is_among(&self) -> bool {
        self.among.is_some() || self.apart
    }

    fn answer(&self, found: bool, null: bool) -> Option<bool> {
        if !found && null {
            None
        } else {
            Some(found != self.negated)
        }
    }
}

/// What the texts of a list are read as that has dates or times too, and nothing else.
#[derive(Clone, Debug)]
struct Among {
    /// TIME, DATE or DATETIME.
    base: BaseType,
    /// The first column of dates, which texts are told not to be values of.
    column: Option<Arc<str>>,
    /// Whether all but the value looked for is constant: then it is told once.
    once: bool,
}

impl Among {
    fn of(value: &Expr, list: &[Expr]) -> Option<Among> {
        let all = || {
            let all = std::iter::once(value).chain(list);
            all.filter(|e| e.ty.base != BaseType::Null)
        };
        let text = |e: &Expr| e.ty.is_string();
        if list.len() < 2 || !all().all(|e| text(e) || e.ty.is_temporal()) || !all().any(text) {
            return None;
        }
        let time = |e: &Expr| e.ty.base == BaseType::Time;
        let mut dates = all().filter(|e| e.ty.is_temporal() && !time(e));
        let constant = |e: &Expr| e.is_given() || matches!(e.kind, ExprKind::Literal(_));
        let once = value.ty.is_temporal() && list.iter().all(constant);
        let Some(first) = dates.next() else {
            return all().any(time).then_some(Among {
                base: BaseType::Time,
                column: None,
                once,
            });
        };
        let day = |e: &Expr| e.ty.base == BaseType::Date;
        let only_days = day(first) && dates.all(day);
        let column = match &first.kind {
            ExprKind::Column { label, .. } if !(once && only_days) => label.rsplit('.').next(),
            _ => None,
        };
        Some(Among {
            base: match only_days {
                true => BaseType::Date,
                false => BaseType::DateTime,
            },
            column: column.map(Arc::from),
            once,
        })
    }

    /// A text as the date or time that it begins with, and whether it does; what is none is told, and zero.
    fn read<'v>(&self, v: Value<'v>, cx: &EvalContext<'_>) -> SqlResult<(Value<'v>, bool)> {
        let Value::Bytes(text) = &v else {
            return Ok((v, true));
        };
        let (read, is, whole) = match self.base {
            BaseType::Time => {
                let p = parse_time(text);
                let time = p.map(|p| p.value).unwrap_or_default();
                (
                    Value::Time(time),
                    p.is_some(),
                    p.is_some_and(|p| !p.trailing && !p.clamped),
                )
            }
            _ => {
                let p = parse_datetime_in(text, cx.session.sql_mode.get());
                if p.is_some() && !self.once {
                    let env = cx.session;
                    env.warn_of_delimiter(text, env.rows_sent.get() + 1);
                }
                let date = p.map(|p| p.value).unwrap_or_default();
                (
                    Value::DateTime(date),
                    p.is_some(),
                    p.is_some_and(|p| !p.trailing),
                )
            }
        };
        if !whole {
            self.tell(text, cx)?;
        }
        Ok((read, is))
    }

    #[cold]
    fn tell(&self, text: &[u8], cx: &EvalContext<'_>) -> SqlResult<()> {
        let kind = match self.base {
            BaseType::Time => "time",
            BaseType::Date => "date",
            _ => "datetime",
        };
        let shown = printable(text);
        let m = match &self.column {
            Some(name) => {
                let row = match self.once {
                    true => 1,
                    false => cx.session.rows_sent.get() + 1,
                };
                format!("Incorrect {kind} value: '{shown}' for column '{name}' at row {row}")
            }
            None => format!("Truncated incorrect {kind} value: '{shown}'"),
        };
        let said = |d: &Diagnostic| *d.message == *m;
        if self.once && cx.session.diagnostics.borrow().iter().any(said) {
            return Ok(());
        }
        cx.session.complain(1292, m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;
    use crate::types::SqlType;

    fn int(n: i64) -> Expr {
        Expr::literal(Value::Int(n), SqlType::bigint())
    }

    #[test]
    fn a_list_of_parameters_is_sorted_the_second_time() {
        let session = env();
        let collation = Collation::Utf8mb4GeneralCi;
        let param = |n| Expr::new(ExprKind::Param(n), SqlType::bigint(), true);
        let asked = |n| InList::new(int(n), (0..20).map(param).collect(), false, collation);
        let (mut there, mut missing) = (asked(7), asked(8));
        missing.name = there.name;
        there.negated = true;
        let ask = |list: &InList, params: &[Value<'_>]| {
            let cx = EvalContext {
                rows: &[],
                params,
                session: &session,
            };
            list.truth(&cx).unwrap()
        };
        let odd: Vec<Value<'_>> = (0..20).rev().map(|n| Value::Int(2 * n + 1)).collect();
        let sorted = || session.lists.are_sorted()[0];
        for time in 0..3 {
            assert_eq!(ask(&there, &odd), Some(false));
            assert_eq!(ask(&missing, &odd), Some(false));
            assert!(sorted(), "time {time}");
        }
        // Another set of parameters.
        let mut some = odd.clone();
        some[3] = Value::Null;
        some[4] = Value::UInt(u64::MAX);
        for _ in 0..3 {
            assert_eq!(ask(&there, &some), Some(false));
            assert_eq!(ask(&missing, &some), None);
            assert!(sorted());
        }
        some[5] = Value::Double(8.0);
        session.lists.clear();
        for _ in 0..3 {
            assert_eq!(ask(&missing, &some), Some(true));
            assert_eq!(ask(&there, &some), Some(false));
            assert_eq!(session.lists.are_sorted(), [false]);
        }
        session.lists.clear();
        assert!(session.lists.are_sorted().is_empty());
    }
}
