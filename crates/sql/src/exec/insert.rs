//! INSERT and REPLACE.

use millpond_store::{Error, Table};
use smallvec::SmallVec;

use super::block;
use super::partitions::{self, Changing};
use super::rows;
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use super::{Outcome, store_error};
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::plan::PlanTable;
use crate::plan::dml::{Given, Insert, InsertRows, column_count};
use crate::value::{self, StoreContext, Value, Zone};

/// The values of a row being made.
type Row<'v> = SmallVec<[Value<'v>; 16]>;

/// An INSERT under way.
struct Inserter<'s> {
    plan: &'s Insert,
    t: &'s PlanTable,
    step: (u64, u64),
    found_rows: bool,
    strict: bool,
    /// NULL is refused where it cannot be, strict or not: so for one row of VALUES.
    no_nulls: bool,
    tz: Zone,
    /// AUTO_INCREMENT values reserved: (next, how many).
    reserved: (u64, u64),
    /// `reserved` starts where `insert_id` says: the table's counter must be told.
    forced: bool,
    /// Rows that may still come and want a value.
    expected: u64,
    subqueries: Vec<Value<'static>>,
    encoded: Vec<u8>,
    old_key: Vec<u8>,
    old_row: Vec<u8>,
    new_row: Vec<u8>,
    rows: u64,
    duplicates: u64,
    affected: u64,
    generated: Option<u64>,
    explicit: u64,
}

/// Runs an INSERT or REPLACE.
pub fn run<'s>(
    st: &mut State<'s>,
    plan: &'s Insert,
    auto_increment: (u64, u64),
    insert_id: u64,
    found_rows: bool,
) -> SqlResult<Outcome> {
    let t = &st.plan.tables[plan.table];
    let mut subqueries = Vec::new();
    if !plan.subqueries.is_empty() {
        // The row being made, the row to be inserted and those selected (ON DUPLICATE KEY UPDATE), a group that is none,
        // subqueries.
        let source = subquery_source(plan);
        let rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
        let all: Vec<usize> = (0..plan.subqueries.len()).collect();
        subqueries = st.subquery_values(&plan.subqueries, source, &all, &rows)?;
    }
    let mut i = Inserter {
        plan,
        t,
        step: auto_increment,
        found_rows,
        strict: st.env.sql_mode.get().strict && !plan.ignore,
        no_nulls: false,
        tz: st.env.zone.get(),
        // Values asked for by `insert_id` are nobody's to reserve.
        reserved: (insert_id, if insert_id > 0 { u64::MAX } else { 0 }),
        forced: insert_id > 0,
        expected: 1,
        subqueries,
        encoded: st.scratch.take(),
        old_key: st.scratch.take(),
        old_row: st.scratch.take(),
        new_row: st.scratch.take(),
        rows: 0,
        duplicates: 0,
        affected: 0,
        generated: None,
        explicit: 0,
    };
    let mut several = true;
    match &plan.rows {
        InsertRows::Values(list) => {
            // The one row of a generalised statement, once per set of parameters.
            let all = st.params;
            let width = st.plan.params.max(1);
            let times = (all.len() / width).max(1);
            several = list.len() * times > 1;
            i.no_nulls = !several && !plan.ignore;
            for time in 0..times {
                if times > 1 {
                    st.params = &all[time * width..][..width];
                }
                for (n, row) in list.iter().enumerate() {
                    i.expected = (list.len() * (times - time) - n) as u64;
                    st.tick()?;
                    i.given(st, row)?;
                }
            }
        }
        InsertRows::Query { query, buffered } => {
            if *buffered {
                // In the order they come in: their keys are all the same.
                let mut found = Sorter::new(st, u64::MAX);
                block::query(st, query, &[], &mut |_, r| {
                    found.add(&[], r)?;
                    Ok(Flow::Continue)
                })?;
                found.rows(st, 0, u64::MAX, |st, r| {
                    i.selected(st, r)?;
                    Ok(Flow::Continue)
                })?;
            } else {
                block::query(st, query, &[], &mut |st, r| {
                    i.selected(st, r)?;
                    Ok(Flow::Continue)
                })?;
            }
        }
    }
    for b in [i.encoded, i.old_key, i.old_row, i.new_row] {
        st.scratch.give(b);
    }
    Ok(Outcome {
        affected: i.affected,
        last_insert_id: i.generated.unwrap_or(i.explicit),
        generated_id: i.generated,
        info: if several {
            format!(
                "Records: {}  Duplicates: {}  Warnings: {}",
                i.rows,
                i.duplicates,
                st.env.diagnostics.borrow().len()
            )
        } else {
            String::new()
        },
        found_rows: 0,
    })
}

/// Source of subquery values; see [`Insert`].
fn subquery_source(plan: &Insert) -> usize {
    2 + plan.carried.widths.len() + usize::from(plan.update.is_some())
}

/// The rows selected from each table, as far as ON DUPLICATE KEY UPDATE reads them.
fn selected_rows<'v>(plan: &Insert, carried: &'v [Value<'_>]) -> Vec<Vec<Value<'v>>> {
    let widths = &plan.carried.widths;
    let mut rows: Vec<Vec<Value<'v>>> = widths.iter().map(|&n| vec![Value::Null; n]).collect();
    for (&(table, column), v) in plan.carried.columns.iter().zip(carried) {
        rows[table][column] = v.borrowed();
    }
    rows
}

impl<'s> Inserter<'s> {
    fn cx(&self, st: &State<'s>) -> StoreContext<'s> {
        StoreContext {
            session: st.env,
            strict: self.strict,
            row: self.rows,
        }
    }

    /// A row of VALUES or SET.
    fn given(&mut self, st: &mut State<'s>, list: &'s [Given]) -> SqlResult<()> {
        self.rows += 1;
        let plan = self.plan;
        let schema = &*self.t.schema;
        let cx = self.cx(st);
        let none: [RowRef<'_>; 0] = [];
        let reads = |g: &Given| matches!(g, Given::Value { reads_new, .. } if *reads_new);
        let mut values: Row<'_> = if list.iter().any(reads) {
            let columns = schema.columns.iter();
            columns.map(|c| value::initial_value(c, &cx)).collect()
        } else {
            SmallVec::from_elem(Value::Null, schema.columns.len())
        };
        // Values of subqueries are copied so that `self` is free to be changed.
        let subqueries = std::mem::take(&mut self.subqueries);
        let mut generated = false;
        for (g, &c) in list.iter().zip(&plan.columns) {
            let column = &schema.columns[c];
            let v = match g {
                Given::Default => value::default_value(column, &cx)?,
                Given::Value { value, reads_new } => {
                    if *reads_new || !subqueries.is_empty() {
                        let own: Vec<Value<'static>> =
                            values.iter().map(|v| v.clone().into_owned()).collect();
                        let mut rows: Rows<'_> =
                            std::iter::repeat_n(RowRef::Nulls, subquery_source(plan) + 1).collect();
                        rows[0] = RowRef::Values(&own);
                        rows[subquery_source(plan)] = RowRef::Values(&subqueries);
                        value.expr.eval(&st.context(&rows))?.into_owned()
                    } else {
                        value.expr.eval(&st.context(&none))?
                    }
                }
            };
            values[c] = self.stored(st, c, v, &mut generated)?;
        }
        self.subqueries = subqueries;
        if list.is_empty() {
            // `VALUES ()`: every column has its default.
            for c in 0..schema.columns.len() {
                let v = value::default_value(&schema.columns[c], &cx)?;
                values[c] = self.stored(st, c, v, &mut generated)?;
            }
        } else {
            self.rest(st, &mut values, &mut generated)?;
        }
        if generated {
            self.generate(st, &mut values)?;
        }
        self.put(st, &values, &[], generated)
    }

    /// A row of SELECT.
    fn selected(&mut self, st: &mut State<'s>, row: &[Value<'_>]) -> SqlResult<()> {
        self.rows += 1;
        let schema = &*self.t.schema;
        let plan = self.plan;
        let Some((row, carried)) = row
            .split_at_checked(plan.columns.len())
            .filter(|(_, more)| more.len() == plan.carried.columns.len())
        else {
            return Err(column_count(self.rows));
        };
        let mut values: Row<'_> = SmallVec::from_elem(Value::Null, schema.columns.len());
        let mut generated = false;
        for (v, &c) in row.iter().zip(&plan.columns) {
            values[c] = self.stored(st, c, v.borrowed(), &mut generated)?;
        }
        self.rest(st, &mut values, &mut generated)?;
        if generated {
            self.generate(st, &mut values)?;
        }
        self.put(st, &values, carried, generated)
    }

    /// Columns that the statement does not name.
    fn rest(
        &mut self,
        st: &mut State<'s>,
        values: &mut Row<'_>,
        generated: &mut bool,
    ) -> SqlResult<()> {
        let plan = self.plan;
        let schema = &*self.t.schema;
        let cx = self.cx(st);
        for &c in &plan.others {
            let v = if Some(c) == plan.auto {
                Value::Null
            } else {
                value::default_value(&schema.columns[c], &cx)?
            };
            values[c] = self.stored(st, c, v, generated)?;
        }
        Ok(())
    }

    /// A value as its column stores it. If it stands for an AUTO_INCREMENT value, that is to be `generated`, and 0 until then.
    fn stored<'v>(
        &mut self,
        st: &mut State<'s>,
        c: usize,
        v: Value<'v>,
        generated: &mut bool,
    ) -> SqlResult<Value<'v>> {
        let column = &self.t.schema.columns[c];
        let cx = self.cx(st);
        if Some(c) != self.plan.auto {
            if self.no_nulls && v.is_null() && !column.nullable {
                return Err(value::null_refused(column));
            }
            // Defaults went through this already; it is cheap and changes nothing.
            return value::store(v, column, &cx);
        }
        let zero = |v: &Value<'_>| matches!(v, Value::Int(0) | Value::UInt(0));
        let keep_zero = st.env.sql_mode.get().no_auto_value_on_zero;
        if !v.is_null() {
            let v = value::store(v, column, &cx)?;
            if !zero(&v) || keep_zero {
                return Ok(v);
            }
        }
        *generated = true;
        Ok(if column.ty.unsigned {
            Value::UInt(0)
        } else {
            Value::Int(0)
        })
    }

    /// Takes the next AUTO_INCREMENT value for a row that is complete but for it: one that fails before uses up none.
    fn generate(&mut self, st: &mut State<'s>, values: &mut Row<'_>) -> SqlResult<()> {
        let Some(c) = self.plan.auto else {
            return Ok(());
        };
        let column = &self.t.schema.columns[c];
        let n = self.next_value(st)?;
        values[c] = value::generated(n, column, &self.cx(st))?;
        Ok(())
    }

    fn next_value(&mut self, st: &mut State<'s>) -> SqlResult<u64> {
        if self.reserved.1 == 0 {
            self.init_counter(st)?;
            let count = self.expected.max(1);
            let first = self
                .t
                .table
                .auto_increment(count, self.step.0, self.step.1)
                .map_err(|e| store_error(e, &self.t.table.def().name))?;
            self.reserved = (first, count);
        }
        let n = self.reserved.0;
        self.reserved = (n.saturating_add(self.step.0), self.reserved.1 - 1);
        Ok(n)
    }

    /// Makes sure that the table's counter has been set up.
    fn init_counter(&self, st: &mut State<'s>) -> SqlResult<()> {
        super::counter::start(st.engine, &self.t.table, &self.t.schema)
    }

    /// Stores the row, or does what is to be done with a duplicate.
    fn put(
        &mut self,
        st: &mut State<'s>,
        values: &[Value<'_>],
        carried: &[Value<'_>],
        generated: bool,
    ) -> SqlResult<()> {
        let t = self.t;
        let Some(p) = &t.schema.partitioning else {
            return self.put_into(st, (&t.table, 0), values, carried, generated);
        };
        let given = self.plan.partitions.as_deref();
        match partitions::target(st, t, p, given, values, &mut self.encoded) {
            Ok(part) => {
                let open = p.open(st.engine, &t.table, part)?;
                self.put_into(st, (&open, part), values, carried, generated)
            }
            Err(e) if self.plan.ignore && partitions::ignorable(&e) => {
                self.duplicates += 1;
                st.env.warn(e.code, e.message);
                if generated {
                    self.give_back();
                }
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    /// The same, into the table or the partition the row belongs to. A duplicate can only be there, too: unique keys hold what
    /// decides about partitions.
    fn put_into(
        &mut self,
        st: &mut State<'s>,
        (table, part): (&Table, usize),
        values: &[Value<'_>],
        carried: &[Value<'_>],
        generated: bool,
    ) -> SqlResult<()> {
        let t = self.t;
        let name = &t.table.def().name;
        rows::encode(&t.schema, values, self.tz, &mut self.encoded)?;
        loop {
            let index = match table.insert(st.txn, &self.encoded) {
                Ok(()) => {
                    self.affected += 1;
                    self.inserted(values, generated);
                    return Ok(());
                }
                Err(Error::DuplicateKey { index }) => index,
                Err(e) => return Err(store_error(e, name)),
            };
            if self.plan.replace || self.plan.update.is_some() {
                let found = table
                    .find_duplicate(
                        st.txn,
                        index,
                        &self.encoded,
                        &mut self.old_key,
                        &mut self.old_row,
                    )
                    .map_err(|e| store_error(e, name))?;
                if !found {
                    continue;
                }
                self.duplicates += 1;
                if self.plan.update.is_some() {
                    return self.update(st, (table, part), values, carried, generated);
                }
                // As in MySQL, the same row again counts as one if no other key can be in the way.
                let later = &t.schema.indexes[index + 1..];
                if self.old_row == self.encoded && !later.iter().any(|i| i.unique) {
                    self.affected += 1;
                    self.inserted(values, generated);
                    return Ok(());
                }
                table
                    .delete(st.txn, &self.old_key, &self.old_row)
                    .map_err(|e| store_error(e, name))?;
                self.affected += 1;
                continue;
            }
            let e = rows::duplicate(&t.schema, name, index, &self.encoded, self.tz);
            if !self.plan.ignore {
                return Err(e);
            }
            self.duplicates += 1;
            st.env.warn(e.code, e.message);
            if generated {
                self.give_back();
            }
            return Ok(());
        }
    }

    /// The AUTO_INCREMENT value last taken went to no row: the next row gets it.
    fn give_back(&mut self) {
        self.reserved = (
            self.reserved.0.saturating_sub(self.step.0),
            self.reserved.1.saturating_add(1),
        );
    }

    fn inserted(&mut self, values: &[Value<'_>], generated: bool) {
        let Some(c) = self.plan.auto else { return };
        let v = &values[c];
        if generated {
            self.generated.get_or_insert(v.to_u64());
            if self.forced {
                self.t.table.auto_increment_seen(v.to_u64());
            }
            return;
        }
        let positive = match v {
            Value::Int(n) => *n > 0,
            Value::UInt(n) => *n > 0,
            _ => false,
        };
        if positive {
            self.explicit = v.to_u64();
            self.seen(self.explicit);
        }
    }

    /// An AUTO_INCREMENT value was given: none up to it is generated any more, those reserved included.
    fn seen(&mut self, v: u64) {
        self.t.table.auto_increment_seen(v);
        let (next, left) = self.reserved;
        if left > 0 && v >= next {
            let passed = ((v - next) / self.step.0).saturating_add(1).min(left);
            let next = next.saturating_add(passed.saturating_mul(self.step.0));
            self.reserved = (next, left - passed);
        }
    }

    /// ON DUPLICATE KEY UPDATE.
    fn update(
        &mut self,
        st: &mut State<'s>,
        (table, part): (&Table, usize),
        new: &[Value<'_>],
        carried: &[Value<'_>],
        generated: bool,
    ) -> SqlResult<()> {
        let plan = self.plan;
        let t = self.t;
        let name = &t.table.def().name;
        let Some(set) = &plan.update else {
            return Ok(());
        };
        if generated {
            self.give_back();
        }
        let schema = &*t.schema;
        let cx = self.cx(st);
        let old_row = std::mem::take(&mut self.old_row);
        let mut values: Row<'_> = (0..schema.columns.len())
            .map(|c| schema.layout().column(schema, &old_row, c, self.tz))
            .collect();
        let source = subquery_source(plan);
        let selected = selected_rows(plan, carried);
        for (c, g) in set {
            let column = &schema.columns[*c];
            let v = match g {
                Given::Default => value::default_value(column, &cx)?,
                Given::Value { value, .. } => {
                    let mut rows: Rows<'_> =
                        std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
                    rows[0] = RowRef::Values(&values);
                    rows[1] = RowRef::Values(new);
                    for (n, r) in selected.iter().enumerate() {
                        rows[2 + n] = RowRef::Values(r);
                    }
                    rows[source] = RowRef::Values(&self.subqueries);
                    let v = value.expr.eval(&st.context(&rows))?.into_owned();
                    if self.no_nulls && v.is_null() && !column.nullable {
                        return Err(value::null_refused(column));
                    }
                    value::store(v, column, &cx)?
                }
            };
            values[*c] = v;
        }
        let changed = finish_update(
            schema,
            &old_row,
            &mut values,
            &mut self.new_row,
            self.tz,
            &cx,
            |c| set.iter().any(|(s, _)| *s == c),
        )?;
        if changed {
            let done = match &schema.partitioning {
                None => table.update(st.txn, &self.old_key, &old_row, &self.new_row),
                Some(p) => {
                    let given = plan.partitions.as_deref();
                    let target = partitions::target(st, t, p, given, &values, &mut self.encoded)?;
                    let row = Changing {
                        part,
                        key: &self.old_key,
                        old: &old_row,
                        new: &self.new_row,
                    };
                    partitions::update(st, t, p, &row, target)?
                }
            };
            match done {
                Ok(()) => {
                    self.affected += 2;
                    if let Some(c) = plan.auto {
                        let v = values[c].to_u64();
                        if matches!(plan.rows, InsertRows::Values(_)) {
                            self.explicit = v;
                        }
                        if set.iter().any(|(s, _)| *s == c) && v > 0 {
                            self.seen(v);
                        }
                    }
                }
                Err(Error::DuplicateKey { index }) => {
                    let e = rows::duplicate(schema, name, index, &self.new_row, self.tz);
                    if !plan.ignore {
                        return Err(e);
                    }
                    st.env.warn(e.code, e.message);
                }
                Err(e) => return Err(store_error(e, name)),
            }
        } else if self.found_rows {
            self.affected += 1;
        }
        drop(values);
        self.old_row = old_row;
        Ok(())
    }
}

/// Encodes an updated row and tells whether it differs from the old one; a changed row's ON UPDATE CURRENT_TIMESTAMP
/// columns, unless assigned, get the clock.
pub fn finish_update(
    schema: &crate::types::Schema,
    old: &[u8],
    values: &mut [Value<'_>],
    out: &mut Vec<u8>,
    tz: Zone,
    cx: &StoreContext<'_>,
    assigned: impl Fn(usize) -> bool,
) -> SqlResult<bool> {
    rows::encode(schema, values, tz, out)?;
    if out[..] == *old {
        return Ok(false);
    }
    let mut again = false;
    for (c, column) in schema.columns.iter().enumerate() {
        if column.on_update_now && !assigned(c) {
            values[c] = rows::now_for(column, cx)?;
            again = true;
        }
    }
    if again {
        rows::encode(schema, values, tz, out)?;
    }
    Ok(true)
}
