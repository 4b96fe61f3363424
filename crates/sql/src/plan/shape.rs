//! How a plan finds its rows, in the counts that MySQL's statement tables have (`SELECT_SCAN`, `SELECT_FULL_JOIN`, …).
//!
//! They follow from the plan alone, so they are counted when it is made; an execution adds them up.

use super::Root;
use super::nodes::{
    Access, Block, Body, Derived, EqCond, Level, LevelFrom, Query, SetOp, SourceKind,
};

/// What one execution of a plan counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// SELECTs whose first table is read whole.
    pub scans: u16,
    /// SELECTs of whose first table ranges are read.
    pub ranges: u16,
    /// Tables joined to others that are read whole.
    pub full_joins: u16,
    /// Tables joined to others of which ranges are read.
    pub range_joins: u16,
    /// Sorts of rows of a table that is read whole, or of computed ones.
    pub sorted_scans: u16,
    /// Sorts of rows found by ranges.
    pub sorted_ranges: u16,
    /// Computed tables: derived ones, groups, DISTINCT, UNION.
    pub temporaries: u16,
    /// Whether a table is read whole.
    pub no_index: bool,
}

/// How a table's rows are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Whole,
    Range,
    Key,
}

impl Shape {
    /// That of a plan.
    pub(super) fn of(root: &Root, derived: &[Derived]) -> Shape {
        let mut shape = Shape::default();
        match root {
            Root::Query(q) | Root::Do(q) => shape.query(q),
            Root::Insert(i) => {
                if let super::dml::InsertRows::Query { query, .. } = &i.rows {
                    shape.query(query);
                }
            }
            Root::Update(u) => shape.changed(&u.find),
            Root::Delete(d) => shape.changed(&d.find),
            Root::Several(s) => shape.changed(&s.find),
            Root::Explain(_) => {}
        }
        for d in derived {
            if !matches!(d.query.body, Body::JsonTable(_)) {
                shape.temporaries += 1;
            }
            shape.query(&d.query);
        }
        shape
    }

    /// What UPDATE and DELETE look for: no SELECT.
    fn changed(&mut self, b: &Block) {
        let before = *self;
        self.block(b);
        for (now, then) in [
            (&mut self.scans, before.scans),
            (&mut self.ranges, before.ranges),
        ] {
            *now = then;
        }
    }

    fn query(&mut self, q: &Query) {
        match &q.body {
            Body::Block(b) => self.block(b),
            Body::Set(u) => {
                let distinct = u.arms.iter().any(|(_, distinct)| *distinct);
                self.temporaries += u16::from(u.op != SetOp::Union || distinct);
                self.sorted_scans += u16::from(!u.order.is_empty());
                u.arms.iter().for_each(|(arm, _)| self.query(arm));
            }
            Body::Windowed(w) => {
                self.temporaries += 1;
                self.query(&w.input);
            }
            Body::JsonTable(t) => self.query(&t.input),
            Body::Recursive(r) => {
                self.query(&r.seed);
                r.steps.iter().for_each(|step| self.query(step));
            }
            Body::Values(_) => {}
        }
    }

    fn block(&mut self, b: &Block) {
        let mut first = None;
        self.levels(&b.levels, &mut first);
        let groups = b.group.as_ref().is_some_and(|g| g.explicit && !g.ordered);
        self.temporaries += u16::from(groups || b.distinct && b.group.is_none());
        if b.sorts() {
            match first {
                Some(How::Range) => self.sorted_ranges += 1,
                _ => self.sorted_scans += 1,
            }
        }
        for s in &b.sources {
            if let SourceKind::Lateral(l) = &s.kind {
                self.query(&l.query);
            }
        }
        for s in b.subqueries.iter().filter(|s| !s.is_call()) {
            self.query(&s.query);
        }
    }

    fn levels(&mut self, levels: &[Level], first: &mut Option<How>) {
        for level in levels {
            let how = match &level.from {
                LevelFrom::Nest(list) => {
                    self.levels(list, first);
                    continue;
                }
                LevelFrom::Table(_, access) => how(access),
                LevelFrom::Rows(_) => How::Whole,
                LevelFrom::Hash(h) => h.access.as_ref().map_or(How::Whole, how),
            };
            self.no_index |= how == How::Whole;
            let count = match (first.is_none(), how) {
                (_, How::Key) => None,
                (true, How::Whole) => Some(&mut self.scans),
                (true, How::Range) => Some(&mut self.ranges),
                (false, How::Whole) => Some(&mut self.full_joins),
                (false, How::Range) => Some(&mut self.range_joins),
            };
            if let Some(count) = count {
                *count += 1;
            }
            first.get_or_insert(how);
        }
    }
}

/// How an access finds its rows: what EXPLAIN calls `ALL` and `index`, `range` and its kin, and the rest.
fn how(a: &Access) -> How {
    let listed = |c: &EqCond| matches!(c, EqCond::In(_));
    let ranges = a.range.is_some()
        || a.skip.is_some()
        || a.jump.is_some()
        || a.merge.is_some()
        || a.spatial.is_some()
        || !a.arms.is_empty()
        || !a.unique && a.eq.iter().any(listed);
    match a.is_bounded() || a.jump.is_some() {
        false => How::Whole,
        true if ranges => How::Range,
        true => How::Key,
    }
}
