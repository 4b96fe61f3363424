//! EXPLAIN FORMAT=JSON: a plan as MySQL 8's objects (the format's version 1, `explain_json_format_version` of later versions).
//!
//! A `query_block` holds the operations of a SELECT, outermost first (`ordering_operation`, `duplicates_removal`,
//! `grouping_operation`), each within the one that reads it, and in the innermost the tables in the order in which they are joined:
//! `table`, or `nested_loop` if there are several. A table computed from a query has that as `materialized_from_subquery`, a condition's
//! subqueries stand beside it. Costs are texts in MySQL's unit, cumulative as `prefix_cost`, as in EXPLAIN FORMAT=TREE.

use super::table::{Line, describe, filtered, inserted_partitions, partitions, table_function};
use super::tree::{ROW_COST, conditions};
use crate::env::SessionEnv;
use crate::plan::dml::InsertRows;
use crate::plan::nodes::{
    Access, Block, Body, ExprWithSubqueries, Level, LevelFrom, LevelKind, Query,
};
use crate::plan::nodes::{SetOp, SetOperation, SourceKind};
use crate::plan::{Plan, Root};

/// A JSON value.
enum Json {
    Bool(bool),
    Number(u64),
    Text(String),
    Array(Vec<Json>),
    Object(Object),
}

/// Members in order.
type Object = Vec<(&'static str, Json)>;

impl Json {
    fn text(s: impl Into<String>) -> Json {
        Json::Text(s.into())
    }

    fn texts(comma_separated: &str) -> Json {
        Json::Array(comma_separated.split(',').map(Json::text).collect())
    }

    /// Appends it, its inner lines indented by one more than `depth`.
    fn print(&self, depth: usize, out: &mut String) {
        let mut each =
            |marks: [char; 2], items: &mut dyn Iterator<Item = (Option<&str>, &Json)>| {
                out.push(marks[0]);
                let mut any = false;
                for (name, value) in items {
                    out.push_str(if any { ",\n" } else { "\n" });
                    any = true;
                    out.push_str(&"  ".repeat(depth + 1));
                    if let Some(name) = name {
                        quote(name, out);
                        out.push_str(": ");
                    }
                    value.print(depth + 1, out);
                }
                if any {
                    out.push('\n');
                    out.push_str(&"  ".repeat(depth));
                }
                out.push(marks[1]);
            };
        match self {
            Json::Array(list) => each(['[', ']'], &mut list.iter().map(|v| (None, v))),
            Json::Object(list) => each(['{', '}'], &mut list.iter().map(|(n, v)| (Some(*n), v))),
            Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Json::Number(n) => out.push_str(&n.to_string()),
            Json::Text(s) => quote(s, out),
        }
    }
}

/// Appends a text in quotes.
fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A plan's description.
pub fn described(plan: &Plan, env: &SessionEnv) -> String {
    let mut w = Writer { plan, env, next: 1 };
    let mut out = String::new();
    Json::Object(vec![("query_block", Json::Object(w.root()))]).print(0, &mut out);
    out
}

struct Writer<'p> {
    plan: &'p Plan,
    env: &'p SessionEnv,
    /// The next SELECT's number.
    next: u64,
}

/// The tables of a join as they are described.
struct Joined {
    tables: Vec<Json>,
    cost: f64,
    rows: f64,
}

impl Writer<'_> {
    fn number(&mut self) -> (&'static str, Json) {
        self.next += 1;
        ("select_id", Json::Number(self.next - 1))
    }

    fn root(&mut self) -> Object {
        match &self.plan.root {
            Root::Query(q) | Root::Do(q) => self.query(q),
            Root::Insert(i) => {
                let mut block = vec![self.number()];
                let what = if i.replace { "replace" } else { "insert" };
                let t = &self.plan.tables[i.table];
                let mut table = vec![
                    (what, Json::Bool(true)),
                    ("table_name", Json::text(&t.table.def().name)),
                ];
                let partitions = inserted_partitions(i, &t.schema);
                if !partitions.is_empty() {
                    table.push(("partitions", Json::texts(&partitions)));
                }
                table.push(("access_type", Json::text("ALL")));
                block.push(("table", Json::Object(table)));
                if let InsertRows::Query { query, .. } = &i.rows {
                    self.next -= 1;
                    let mut from = self.query(query);
                    from.retain(|member| member.0 != "select_id");
                    block.push(("insert_from", Json::Object(from)));
                }
                block
            }
            Root::Update(u) => self.changing(&u.find, "update", &[0]),
            Root::Delete(d) => self.changing(&d.find, "delete", &[0]),
            Root::Several(s) => {
                let targets: Vec<usize> = s.targets.iter().map(|t| t.source).collect();
                let what = if s.deletes { "delete" } else { "update" };
                self.changing(&s.find, what, &targets)
            }
            Root::Explain(_) => Vec::new(),
        }
    }

    fn query(&mut self, q: &Query) -> Object {
        match &q.body {
            Body::Block(b) => self.changing(b, "", &[]),
            Body::Set(u) => self.set_operation(u),
            Body::Windowed(w) => {
                let sort = w
                    .windows
                    .iter()
                    .any(|w| !w.partition.is_empty() || !w.order.is_empty());
                let mut windowing = vec![("using_filesort", Json::Bool(sort))];
                windowing.extend(self.query(&w.input));
                vec![("windowing", Json::Object(windowing))]
            }
            Body::Recursive(r) => {
                let mut arms = vec![part(false, true, self.query(&r.seed))];
                for step in &r.steps {
                    let mut step = self.query(step);
                    step.push(("recursive", Json::Bool(true)));
                    arms.push(part(false, true, step));
                }
                vec![("query_specifications", Json::Array(arms))]
            }
            Body::JsonTable(t) => self.query(&t.input),
            Body::Values(_) => vec![self.number(), ("message", Json::text("No tables used"))],
        }
    }

    fn set_operation(&mut self, u: &SetOperation) -> Object {
        let mut arms = Vec::new();
        let mut ids = Vec::new();
        for (arm, _) in &u.arms {
            ids.push(self.next.to_string());
            arms.push(part(false, true, self.query(arm)));
        }
        let unique = u.arms.iter().any(|(_, distinct)| *distinct);
        let kept = unique || !u.order.is_empty() || u.op != SetOp::Union;
        let (what, heading) = match u.op {
            SetOp::Union => ("union", "union_result"),
            SetOp::Intersect => ("intersect", "intersect_result"),
            SetOp::Except => ("except", "except_result"),
        };
        let mut result = vec![("using_temporary_table", Json::Bool(kept))];
        if kept {
            let name = format!("<{what}{}>", ids.join(","));
            result.push(("table_name", Json::text(name)));
            result.push(("access_type", Json::text("ALL")));
        }
        result.push(("query_specifications", Json::Array(arms)));
        let result = (heading, Json::Object(result));
        match u.order.is_empty() {
            true => vec![result],
            false => {
                let sort = vec![("using_filesort", Json::Bool(true)), result];
                vec![("ordering_operation", Json::Object(sort))]
            }
        }
    }

    /// A block that finds rows of `targets`, by source, to do something to them.
    fn changing(&mut self, b: &Block, what: &'static str, targets: &[usize]) -> Object {
        let mut out = vec![self.number()];
        let mut left: Vec<bool> = b.subqueries.iter().map(|q| !q.is_call()).collect();
        let mut joined = Joined {
            tables: Vec::new(),
            cost: 0.0,
            rows: 1.0,
        };
        let change = |source: usize| targets.contains(&source).then_some(what);
        self.levels(b, &b.levels, &change, &mut left, &mut joined);
        if b.levels.is_empty() {
            out.push(("message", Json::text("No tables used")));
        } else {
            let cost = vec![("query_cost", cost(joined.cost))];
            out.push(("cost_info", Json::Object(cost)));
            out.extend(self.operations(b, joined, &mut left));
        }
        let lists = [
            ("select_list_subqueries", &b.select),
            ("having_subqueries", &b.having),
        ];
        for (name, list) in lists {
            let asked = self.asked(b, &mut list.iter(), &mut left);
            push_some(&mut out, name, asked);
        }
        // What is asked once, before the first row.
        let rest = self.take(b, &mut (0..b.subqueries.len()), &mut left);
        push_some(&mut out, "optimized_away_subqueries", rest);
        out
    }

    /// What is done with the rows of a join.
    fn operations(&mut self, b: &Block, joined: Joined, left: &mut [bool]) -> Object {
        let mut tables = joined.tables;
        let mut inner: Object = match tables.len() {
            1 => match tables.pop() {
                Some(Json::Object(table)) => table,
                _ => Vec::new(),
            },
            _ => vec![("nested_loop", Json::Array(tables))],
        };
        if let Some(g) = b.group.as_ref().filter(|g| g.explicit) {
            let mut group = vec![
                ("using_temporary_table", Json::Bool(!g.ordered)),
                ("using_filesort", Json::Bool(false)),
            ];
            group.extend(inner);
            let asked = self.asked(b, &mut g.keys.iter(), left);
            push_some(&mut group, "group_by_subqueries", asked);
            inner = vec![("grouping_operation", Json::Object(group))];
        }
        if b.distinct {
            let mut distinct = vec![
                ("using_temporary_table", Json::Bool(true)),
                ("using_filesort", Json::Bool(false)),
            ];
            distinct.extend(inner);
            inner = vec![("duplicates_removal", Json::Object(distinct))];
        }
        if !b.order.is_empty() {
            let mut order = vec![("using_filesort", Json::Bool(b.sorts()))];
            order.extend(inner);
            let asked = self.asked(b, &mut b.order.iter().map(|o| &o.expr), left);
            push_some(&mut order, "order_by_subqueries", asked);
            inner = vec![("ordering_operation", Json::Object(order))];
        }
        inner
    }

    fn levels(
        &mut self,
        b: &Block,
        levels: &[Level],
        change: &dyn Fn(usize) -> Option<&'static str>,
        left: &mut [bool],
        joined: &mut Joined,
    ) {
        for l in levels {
            let before = joined.rows;
            if let LevelFrom::Nest(list) = &l.from {
                self.levels(b, list, change, left, joined);
                joined.rows = before * l.expected.out;
                continue;
            }
            let e = &l.expected;
            let read = e.once + before * e.each;
            joined.cost += read;
            joined.rows = before * e.out;
            let costs = vec![
                ("read_cost", cost(read - joined.rows.min(read))),
                ("eval_cost", cost(joined.rows.min(read))),
                ("prefix_cost", cost(joined.cost)),
            ];
            let table = self.table(b, l, joined.rows, costs, change, left);
            joined
                .tables
                .push(Json::Object(vec![("table", Json::Object(table))]));
        }
    }

    fn table(
        &mut self,
        b: &Block,
        l: &Level,
        rows: f64,
        costs: Object,
        change: &dyn Fn(usize) -> Option<&'static str>,
        left: &mut [bool],
    ) -> Object {
        let (source, access) = match &l.from {
            LevelFrom::Table(s, a) => (*s, Some(a)),
            LevelFrom::Rows(s) => (*s, None),
            LevelFrom::Hash(h) => (h.source, h.access.as_ref()),
            LevelFrom::Nest(_) => return Vec::new(),
        };
        let src = &b.sources[source - b.base];
        let mut out: Object = Vec::new();
        if let Some(what) = change(source - b.base) {
            out.push((what, Json::Bool(true)));
        }
        out.push(("table_name", Json::text(&src.name)));
        let mut line = Line::default();
        match (&src.kind, access) {
            (SourceKind::Table { schema, .. }, Some(a)) => {
                describe(&mut line, b, a, schema);
                let partitions = partitions(a, schema, self.env);
                if !partitions.is_empty() {
                    out.push(("partitions", Json::texts(&partitions)));
                }
                out.push(("access_type", Json::text(&line.access)));
                if !line.possible.is_empty() {
                    out.push(("possible_keys", Json::texts(&line.possible)));
                }
                if !line.key.is_empty() {
                    out.push(("key", Json::text(&line.key)));
                    let parts = &schema.indexes[a.index].parts;
                    let used = match a.is_bounded() {
                        true => a.parts_used(),
                        false => parts.len(),
                    };
                    let spatial = a.spatial.as_ref().map(|by| by.index);
                    let spatial = spatial.and_then(|i| schema.indexes[i].spatial);
                    let columns = parts.iter().take(used).map(|p| p.column);
                    let names = columns.chain(spatial);
                    let names = names.map(|c| Json::text(&schema.columns[c].name));
                    out.push(("used_key_parts", Json::Array(names.collect())));
                    out.push(("key_length", Json::text(&line.key_len)));
                }
                if !line.reference.is_empty() {
                    out.push(("ref", Json::texts(&line.reference)));
                }
            }
            _ => out.push(("access_type", Json::text("ALL"))),
        }
        out.push(("rows_examined_per_scan", whole(l.expected.rows)));
        out.push(("rows_produced_per_join", whole(rows)));
        out.push(("filtered", Json::text(format!("{:.2}", filtered(l)))));
        let flags = [
            ("backward_index_scan", access.is_some_and(|a| a.reverse)),
            ("using_index", access.is_some_and(|a| a.covering.is_some())),
            ("not_exists", l.kind == LevelKind::Anti),
        ];
        out.extend(
            flags
                .iter()
                .filter(|f| f.1)
                .map(|f| (f.0, Json::Bool(true))),
        );
        if l.kind == LevelKind::Semi {
            out.push(("first_match", Json::text(&src.name)));
        }
        if matches!(l.from, LevelFrom::Hash(_)) {
            out.push(("using_join_buffer", Json::text("hash join")));
        }
        out.push(("cost_info", Json::Object(costs)));
        let conds = asked_of(l, access, line.access == "range");
        if !conds.is_empty() {
            out.push((
                "attached_condition",
                Json::text(conditions(conds.iter().copied())),
            ));
        }
        let asked = self.asked(b, &mut conds.iter().copied(), left);
        push_some(&mut out, "attached_subqueries", asked);
        if let Some(document) = table_function(self.plan, src) {
            out.push(("table_function", Json::text("json_table")));
            out.push(("using_temporary_table", Json::Bool(true)));
            if matches!(&document.body, Body::Block(b) if !b.subqueries.is_empty()) {
                out.push(("document", Json::Object(self.query(document))));
            }
            return out;
        }
        let query = match &src.kind {
            SourceKind::Derived { derived } => Some((&self.plan.derived[*derived].query, true)),
            SourceKind::Lateral(l) => Some((&l.query, false)),
            SourceKind::Table { .. } | SourceKind::Virtual { .. } => None,
        };
        if let Some((query, once)) = query {
            let mut made = vec![
                ("using_temporary_table", Json::Bool(true)),
                ("dependent", Json::Bool(!once)),
                ("cacheable", Json::Bool(once)),
            ];
            made.push(("query_block", Json::Object(self.query(query))));
            out.push(("materialized_from_subquery", Json::Object(made)));
        }
        out
    }

    /// The subqueries that expressions ask for, those that stand elsewhere already left out.
    fn asked(
        &mut self,
        b: &Block,
        list: &mut dyn Iterator<Item = &ExprWithSubqueries>,
        left: &mut [bool],
    ) -> Vec<Json> {
        let mut ids = Vec::new();
        for e in list {
            e.expr.columns(&mut |s, c| {
                if s == b.subquery_source() {
                    ids.push(c);
                }
            });
        }
        self.take(b, &mut ids.into_iter(), left)
    }

    fn take(
        &mut self,
        b: &Block,
        ids: &mut dyn Iterator<Item = usize>,
        left: &mut [bool],
    ) -> Vec<Json> {
        let mut list = Vec::new();
        for n in ids {
            if std::mem::replace(&mut left[n], false) {
                let q = &b.subqueries[n];
                let block = self.query(&q.query);
                list.push(part(q.correlated, !q.volatile, block));
            }
        }
        list
    }
}

/// A query within another.
fn part(dependent: bool, cacheable: bool, block: Object) -> Json {
    Json::Object(vec![
        ("dependent", Json::Bool(dependent)),
        ("cacheable", Json::Bool(cacheable)),
        ("query_block", Json::Object(block)),
    ])
}

fn push_some(to: &mut Object, name: &'static str, list: Vec<Json>) {
    if !list.is_empty() {
        to.push((name, Json::Array(list)));
    }
}

/// The conditions that a loop asks of its rows; `range`: those too that its index has decided.
fn asked_of<'b>(
    l: &'b Level,
    access: Option<&'b Access>,
    range: bool,
) -> Vec<&'b ExprWithSubqueries> {
    let build: &[ExprWithSubqueries] = match &l.from {
        LevelFrom::Hash(h) => &h.build_filter,
        _ => &[],
    };
    let decided = access.filter(|_| range).map_or(&[][..], |a| &a.recheck);
    let all = decided.iter().chain(build).chain(&l.on).chain(&l.filter);
    all.collect()
}

fn cost(rows: f64) -> Json {
    Json::text(format!("{:.2}", rows * ROW_COST))
}

fn whole(n: f64) -> Json {
    Json::Number(n.round() as u64)
}
