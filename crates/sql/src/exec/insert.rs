//! INSERT, REPLACE and LOAD DATA: the rows that VALUES, SET and SELECT give (`load` those of a file), and what ON DUPLICATE KEY UPDATE makes of those in their way.

use super::Outcome;
use super::block;
use super::bulk::Filler;
use super::dml::DmlOptions;
use super::load;
use super::sort::Sorter;
use super::state::{Flow, Rows, State};
use super::update::is_itself;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::logical::column_count;
use crate::plan::dml::{Assignments, Given, Insert, InsertRows};
use crate::result::ResultSink;
use crate::types::{DefaultValue, SqlType};
use crate::value::env::Diagnostic;
use crate::value::{self, Value};
use crate::write::{
    AutoIncrement, Inserted, NewRow, OnDuplicate, RowWriter, StoredRow, Updated, WritePolicy,
};

/// An INSERT under way.
pub(super) struct Insertion<'s> {
    pub(super) plan: &'s Insert,
    pub(super) t: &'s PlanTable,
    pub(super) writer: RowWriter<'s>,
    /// Where the rows go instead, if they fill the table in bulk.
    pub(super) filler: Option<Filler<'s>>,
    /// Values of the statement's subqueries.
    pub(super) subqueries: Vec<Value<'static>>,
    found_rows: bool,
    duplicates: u64,
    /// Rows that made way for others.
    deleted: u64,
    /// Rows that IGNORE passed over.
    skipped: u64,
    affected: u64,
}

/// Runs an INSERT, REPLACE or LOAD DATA.
pub fn run<'s>(
    st: &mut State<'s>,
    plan: &'s Insert,
    dml: &DmlOptions<'s>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let t = &st.plan.tables[plan.table];
    let mut subqueries = Vec::new();
    let file = matches!(plan.rows, InsertRows::File(_));
    if !plan.subqueries.is_empty() && !file {
        // The row being made, the row to be inserted and those selected (ON DUPLICATE KEY UPDATE), a group that is none,
        // subqueries.
        let source = subquery_source(plan);
        let rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
        let all: Vec<usize> = (0..plan.subqueries.len()).collect();
        subqueries = st.subquery_values(&plan.subqueries, source, &all, &rows)?;
    }
    // The one row of a generalised statement comes once per set of parameters.
    let times = (st.params.len() / st.plan.params.max(1)).max(1);
    let several = match &plan.rows {
        InsertRows::Values(list) => list.len() * times > 1,
        InsertRows::Query { .. } | InsertRows::File(_) => true,
    };
    let policy = WritePolicy {
        duplicates: match (plan.replace, &plan.update) {
            (true, _) => OnDuplicate::Replace,
            (false, Some(_)) => OnDuplicate::Update,
            (false, None) => OnDuplicate::Refuse,
        },
        refuse_nulls: !several && !plan.ignore,
        ..st.policy(plan.ignore)
    };
    let mut writer = st.writer(t, plan.partitions.as_deref(), policy, dml);
    if let Some(c) = plan.auto {
        writer.number_by(AutoIncrement::new(c, dml.auto_increment, dml.insert_id));
    }
    if let Some(set) = &plan.update {
        writer.assigns_to(|c| set.iter().any(|(s, _)| *s == c));
    }
    let mut insertion = Insertion {
        plan,
        t,
        writer,
        filler: None,
        subqueries,
        found_rows: dml.found_rows,
        duplicates: 0,
        deleted: 0,
        skipped: 0,
        affected: 0,
    };
    match &plan.rows {
        InsertRows::Values(list) => insertion.values(st, list, times)?,
        InsertRows::File(file) => load::run(&mut insertion, st, file, dml, sink)?,
        InsertRows::Query { query, buffered } => {
            insertion.filler = Filler::begin(st, plan, dml, query.expected_rows())?;
            let types = &query.types;
            if *buffered {
                // In the order they come in: their keys are all the same.
                let mut found = Sorter::new(st, u64::MAX);
                block::query(st, query, &[], &mut |st, r| {
                    insertion.hold_to_dates(st, r, types)?;
                    found.add(&[], r)?;
                    Ok(Flow::Continue)
                })?;
                found.rows(st, 0, u64::MAX, |st, r| {
                    insertion.selected(st, r, types)?;
                    Ok(Flow::Continue)
                })?;
            } else {
                block::query(st, query, &[], &mut |st, r| {
                    insertion.selected(st, r, types)?;
                    Ok(Flow::Continue)
                })?;
            }
        }
    }
    if let Some(filler) = insertion.filler.take() {
        filler.finish(st, t)?;
    }
    Ok(insertion.outcome(st, several))
}

/// Source of subquery values; see [`Insert`].
pub(super) fn subquery_source(plan: &Insert) -> usize {
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

impl<'s> Insertion<'s> {
    /// The rows of VALUES or SET, as often as there are sets of parameters.
    fn values(
        &mut self,
        st: &mut State<'s>,
        list: &'s [Vec<Given>],
        times: usize,
    ) -> SqlResult<()> {
        if let Some(numbers) = self.writer.numbers() {
            numbers.expect((list.len() * times) as u64);
        }
        let all = st.params;
        let width = st.plan.params.max(1);
        for time in 0..times {
            if times > 1 {
                st.params = &all[time * width..][..width];
            }
            for row in list {
                st.tick()?;
                self.given(st, row)?;
            }
        }
        Ok(())
    }

    /// A row of VALUES or SET.
    fn given(&mut self, st: &mut State<'s>, list: &'s [Given]) -> SqlResult<()> {
        let plan = self.plan;
        let schema = &self.t.schema;
        let reads = |(g, c): (&Given, &usize)| match g {
            Given::Value { reads_new, .. } => *reads_new,
            Given::Default => matches!(schema.columns[*c].default, DefaultValue::Expr(_)),
        };
        let none: [RowRef<'_>; 0] = [];
        let mut row = NewRow::default();
        let any_reads = list.iter().zip(&plan.columns).any(reads);
        self.writer.begin(st.env, any_reads, &mut row);
        for (g, &c) in list.iter().zip(&plan.columns) {
            let Given::Value { value, reads_new } = g else {
                self.writer.set_default(st.env, &mut row, c)?;
                continue;
            };
            let v = if *reads_new || !self.subqueries.is_empty() {
                let source = subquery_source(plan);
                let mut rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
                rows[0] = RowRef::Values(row.values());
                rows[source] = RowRef::Values(&self.subqueries);
                value.expr.eval(&st.context(&rows))?.into_owned()
            } else {
                value.expr.eval(&st.context(&none))?
            };
            self.writer.set(st.env, &mut row, c, v)?;
        }
        if list.is_empty() {
            // `VALUES ()`: every column has its default.
            let all: Vec<usize> = (0..self.t.schema.columns.len()).collect();
            self.writer.complete(st.env, &mut row, &all)?;
        } else {
            self.complete(st, &mut row)?;
        }
        if !self.put(st, &mut row, &[])? {
            // As in MySQL it isn't counted, which one of a SELECT is.
            self.writer.uncount();
        }
        Ok(())
    }

    /// Gives the columns that the statement does not name their defaults: error 1423 for one without, where a view doesn't show it.
    fn complete(&mut self, st: &mut State<'s>, row: &mut NewRow<'_>) -> SqlResult<()> {
        const NO_DEFAULT: u16 = 1364;
        let Some(t) = &self.plan.through else {
            return self.writer.complete_later(st.env, row, &self.plan.others);
        };
        let (database, name) = &t.view;
        let m = format!(
            "Field of view '{database}.{name}' underlying table doesn't have a default value"
        );
        let said = st.env.diagnostics.borrow().len();
        let done = self.writer.complete(st.env, row, &self.plan.others);
        for d in &mut st.env.diagnostics.borrow_mut()[said..] {
            if d.code == NO_DEFAULT {
                *d = Diagnostic::new(d.level, 1423, m.clone());
            }
        }
        done.map_err(|e| match e.code {
            NO_DEFAULT => SqlError::new(1423, m),
            _ => e,
        })
    }

    /// What is read whole before it is inserted is stored once more: dates that sql_mode doesn't have are told there.
    fn hold_to_dates(&self, st: &State<'s>, row: &[Value<'_>], types: &[SqlType]) -> SqlResult<()> {
        for ((v, ty), &c) in row.iter().zip(types).zip(&self.plan.columns) {
            let date = match v {
                Value::Date(d) => *d,
                Value::DateTime(d) => d.date,
                _ => continue,
            };
            if value::date_allowed(date, st.env) {
                continue;
            }
            let kind = match v {
                Value::Date(_) => "date",
                _ => "datetime",
            };
            let mut shown = Vec::new();
            value::write_text(v, ty, &mut shown);
            let (shown, name) = (
                String::from_utf8_lossy(&shown),
                &self.t.schema.columns[c].name,
            );
            let m = format!("Incorrect {kind} value: '{shown}' for column '{name}' at row 1");
            st.env.complain(1292, m)?;
        }
        Ok(())
    }

    /// A row of SELECT, whose columns have these types.
    fn selected(
        &mut self,
        st: &mut State<'s>,
        values: &[Value<'_>],
        types: &[SqlType],
    ) -> SqlResult<()> {
        let plan = self.plan;
        let mut row = NewRow::default();
        self.writer.begin(st.env, false, &mut row);
        let Some((values, carried)) = values
            .split_at_checked(plan.columns.len())
            .filter(|(_, more)| more.len() == plan.carried.columns.len())
        else {
            return Err(column_count(self.writer.row()));
        };
        for ((v, ty), &c) in values.iter().zip(types).zip(&plan.columns) {
            let value = (v.borrowed(), ty);
            if let Err(e) = self.writer.set_from(st.env, &mut row, c, value) {
                // What the row lacks is told all the same.
                if let Err(missing) = self.writer.complete(st.env, &mut row, &plan.others) {
                    st.env.behind.borrow_mut().push(Diagnostic::of(&missing));
                }
                return Err(e);
            }
        }
        self.complete(st, &mut row)?;
        self.put(st, &mut row, carried).map(|_| ())
    }

    /// Inserts a row, counting as MySQL does: 1 for it, and 1 for each that makes way. `false` if a CHECK, of the table or of a view, passes
    /// it over.
    pub(super) fn put(
        &mut self,
        st: &mut State<'s>,
        row: &mut NewRow<'_>,
        carried: &[Value<'_>],
    ) -> SqlResult<bool> {
        if self.plan.through.is_some() && !self.admits(st, row)? {
            return Ok(false);
        }
        let mut cx = st.write_to(self.t);
        cx.load = self.filler.as_mut().map(|f| &mut f.filling);
        match self.writer.insert(&mut cx, row)? {
            Inserted::Stored(replaced) => {
                self.affected += 1 + replaced;
                self.duplicates += replaced;
                self.deleted += replaced;
            }
            Inserted::Same(replaced) => {
                self.affected += 1 + replaced;
                self.duplicates += 1 + replaced;
                self.deleted += replaced;
            }
            Inserted::Skipped => {
                self.duplicates += 1;
                self.skipped += 1;
            }
            Inserted::Refused => {
                self.duplicates += 1;
                self.skipped += 1;
                return Ok(false);
            }
            Inserted::Duplicate => match &self.plan.update {
                Some(set) => self.update(st, set, row, carried)?,
                None => self.duplicates += 1,
            },
        }
        Ok(true)
    }

    /// Whether a row may be written through the statement's view.
    fn admits(&mut self, st: &mut State<'s>, row: &mut NewRow<'_>) -> SqlResult<bool> {
        let through = self.plan.through.as_ref();
        self.writer.preview(st.env, row)?;
        let sources = through.map_or(1, |t| t.sources);
        let mut rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, sources).collect();
        rows[0] = RowRef::Values(row.values());
        st.admits(through, &rows, self.plan.ignore)
    }

    /// ON DUPLICATE KEY UPDATE.
    fn update(
        &mut self,
        st: &mut State<'s>,
        set: &'s Assignments,
        new: &NewRow<'_>,
        carried: &[Value<'_>],
    ) -> SqlResult<()> {
        let found = self.writer.take_found();
        let (at, image) = &found;
        let mut row = NewRow::default();
        self.writer.begin_update(image, &mut row);
        let source = subquery_source(self.plan);
        let selected = selected_rows(self.plan, carried);
        for (c, g) in set {
            let Given::Value { value, .. } = g else {
                self.writer.assign_default(st.env, &mut row, *c)?;
                continue;
            };
            if is_itself(&value.expr, 0, *c) {
                continue;
            }
            let v = {
                let mut rows: Rows<'_> = std::iter::repeat_n(RowRef::Nulls, source + 1).collect();
                rows[0] = RowRef::Values(row.values());
                rows[1] = RowRef::Values(new.values());
                for (n, r) in selected.iter().enumerate() {
                    rows[2 + n] = RowRef::Values(r);
                }
                rows[source] = RowRef::Values(&self.subqueries);
                value.expr.eval(&st.context(&rows))?.into_owned()
            };
            self.writer.assign(st.env, &mut row, *c, v)?;
        }
        if self.plan.through.is_some()
            && self.writer.differs(st.env, image, &mut row)?
            && !self.admits(st, &mut row)?
        {
            drop(row);
            self.writer.return_found(found);
            return Ok(());
        }
        let old = StoredRow {
            key: &at.key,
            part: at.part,
            image,
        };
        match self
            .writer
            .update(&mut st.write_to(self.t), &old, &mut row)?
        {
            Updated::Changed => {
                self.affected += 2;
                self.duplicates += 1;
                let number = self.plan.auto.map(|c| row.values()[c].to_u64());
                if let (Some(numbers), Some(number), InsertRows::Values(_)) =
                    (self.writer.numbers(), number, &self.plan.rows)
                {
                    numbers.note_updated(number);
                }
            }
            Updated::Unchanged => {
                self.affected += u64::from(self.found_rows);
                self.duplicates += u64::from(self.found_rows);
            }
            Updated::Skipped => {}
        }
        drop(row);
        self.writer.return_found(found);
        Ok(())
    }

    /// Ends the statement. `several`: it may have inserted more than one row, and says how many.
    fn outcome(&mut self, st: &mut State<'s>, several: bool) -> Outcome {
        let (generated_id, given) = match self.writer.numbers() {
            Some(numbers) => {
                if self.t.schema.partitioning.is_some() {
                    numbers.release(&self.t.table);
                }
                (numbers.first_generated(), numbers.last_given())
            }
            None => (None, 0),
        };
        let (rows, warnings) = (self.writer.row(), st.env.diagnostics.borrow().len());
        let info = match &self.plan.rows {
            InsertRows::File(_) => format!(
                "Records: {rows}  Deleted: {}  Skipped: {}  Warnings: {warnings}",
                self.deleted, self.skipped
            ),
            _ if several => format!(
                "Records: {rows}  Duplicates: {}  Warnings: {warnings}",
                self.duplicates
            ),
            _ => String::new(),
        };
        st.writer_done(&mut self.writer);
        Outcome {
            affected: self.affected,
            last_insert_id: match &self.plan.rows {
                // As in MySQL, LOAD DATA tells by LAST_INSERT_ID() alone.
                InsertRows::File(_) => 0,
                _ => generated_id.unwrap_or(given),
            },
            generated_id,
            info,
            ..Outcome::default()
        }
    }
}
