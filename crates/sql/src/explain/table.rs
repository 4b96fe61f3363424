//! The traditional table, and which format is whose.

use super::{json, tree};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::parse::ast::{self, StatementKind};
use crate::partition::Prune;
use crate::plan::dml::InsertRows;
use crate::plan::nodes::SetOp;
use crate::plan::nodes::{
    Access, Block, Body, EqCond, IndexMerge, Level, LevelFrom, LevelKind, Query, Source,
    SourceKind, Subquery,
};
use crate::plan::{Plan, Root};
use crate::result::ColumnMeta;
use crate::types::{BaseType, Collation, Index, KeyPart, Schema, SqlType};
use crate::value::Value;

/// EXPLAIN's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// One row per table.
    Traditional,
    /// Text tree.
    Tree,
    /// JSON.
    Json,
    /// ANALYZE: the tree of a query that has run.
    Analyze,
}

/// The format that is asked for, or that `explain_format` says, and the statement to explain: errors 1235 and 1791.
pub fn explainable<'e>(
    e: &'e ast::Explain,
    env: &SessionEnv,
) -> SqlResult<(ExplainFormat, &'e StatementKind)> {
    let ast::Explain::Statement {
        analyze,
        format,
        into,
        schema,
        statement,
        ..
    } = e
    else {
        return Err(SqlError::unsupported("this EXPLAIN"));
    };
    let refused = [
        (into.is_some(), "EXPLAIN INTO"),
        (schema.is_some(), "EXPLAIN FOR SCHEMA"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is, _)| *is) {
        return Err(SqlError::unsupported(what));
    }
    let named = format.is_some();
    let name = match format {
        Some(name) => name.as_str().to_string(),
        None => match (env.sys_var)("", "explain_format") {
            Ok(Value::Bytes(name)) => String::from_utf8_lossy(&name).into_owned(),
            _ => "TRADITIONAL".to_string(),
        },
    };
    let format = match name.to_ascii_uppercase().as_str() {
        "TRADITIONAL" | "DEFAULT" => ExplainFormat::Traditional,
        "TREE" => ExplainFormat::Tree,
        "JSON" => ExplainFormat::Json,
        other => {
            let m = format!("Unknown EXPLAIN format name: '{other}'");
            return Err(SqlError::new(1791, m));
        }
    };
    let format = match (analyze, format) {
        (false, format) => format,
        // Only trees can tell what was done, and are what is meant if no format is named.
        (true, ExplainFormat::Traditional) if named => {
            return Err(SqlError::unsupported(
                "EXPLAIN ANALYZE with TRADITIONAL format",
            ));
        }
        (true, ExplainFormat::Json) => {
            return Err(SqlError::unsupported("EXPLAIN ANALYZE with JSON format"));
        }
        (true, _) => ExplainFormat::Analyze,
    };
    Ok((format, &statement.kind))
}

/// A plan's description: columns and rows.
pub fn explain(
    plan: &Plan,
    format: ExplainFormat,
    env: &SessionEnv,
) -> (Vec<ColumnMeta>, Vec<Vec<Value<'static>>>) {
    match format {
        ExplainFormat::Traditional => {
            let mut t = Table {
                plan,
                env,
                rows: Vec::new(),
                next: 1,
            };
            t.root();
            (headings(env.collation.get()), t.rows)
        }
        ExplainFormat::Json => (
            text_heading(),
            vec![vec![Value::string(json::described(plan, env))]],
        ),
        ExplainFormat::Tree | ExplainFormat::Analyze => (
            text_heading(),
            vec![vec![Value::string(tree::expected(plan))]],
        ),
    }
}

/// The one column of the formats that are a text.
pub fn text_heading() -> Vec<ColumnMeta> {
    let ty = SqlType::varchar(4096, Collation::DEFAULT);
    vec![ColumnMeta::computed("EXPLAIN".into(), &ty, false)]
}

/// The columns, as MySQL describes them: texts are under the connection's collation.
fn headings(collation: Collation) -> Vec<ColumnMeta> {
    let text = |n: &str, nullable| {
        ColumnMeta::computed(n.into(), &SqlType::varchar(512, collation), nullable)
    };
    let number = |n: &str, nullable| ColumnMeta::computed(n.into(), &SqlType::ubigint(), nullable);
    let partitions = SqlType {
        collation,
        ..SqlType::new(BaseType::MediumText)
    };
    let filtered = SqlType {
        decimals: 2,
        ..SqlType::double()
    };
    vec![
        number("id", false),
        text("select_type", false),
        text("table", true),
        ColumnMeta::computed("partitions".into(), &partitions, true),
        text("type", true),
        text("possible_keys", true),
        text("key", true),
        text("key_len", true),
        text("ref", true),
        number("rows", true),
        ColumnMeta::computed("filtered".into(), &filtered, true),
        text("Extra", false),
    ]
}

/// A row of the traditional table; empty strings are NULLs.
#[derive(Default)]
pub struct Line {
    id: Option<u64>,
    select_type: String,
    table: String,
    partitions: String,
    /// `type`.
    pub access: String,
    /// `possible_keys`.
    pub possible: String,
    /// `key`.
    pub key: String,
    /// `key_len`.
    pub key_len: String,
    /// `ref`.
    pub reference: String,
    rows: Option<u64>,
    filtered: Option<f64>,
    extra: Vec<String>,
}

struct Table<'p> {
    plan: &'p Plan,
    env: &'p SessionEnv,
    rows: Vec<Vec<Value<'static>>>,
    next: u64,
}

impl Table<'_> {
    fn line(&mut self, l: Line) {
        let text = |s: String| {
            if s.is_empty() {
                Value::Null
            } else {
                Value::string(s)
            }
        };
        let number = |n: Option<u64>| n.map_or(Value::Null, |n| Value::Int(n as i64));
        self.rows.push(vec![
            number(l.id),
            Value::string(l.select_type),
            text(l.table),
            text(l.partitions),
            text(l.access),
            text(l.possible),
            text(l.key),
            text(l.key_len),
            text(l.reference),
            number(l.rows),
            l.filtered.map_or(Value::Null, Value::Double),
            text(l.extra.join("; ")),
        ]);
    }

    fn root(&mut self) {
        match &self.plan.root {
            Root::Query(q) | Root::Do(q) => self.query(q, "SIMPLE"),
            Root::Insert(i) => {
                let id = self.next;
                self.next += 1;
                self.line(Line {
                    id: Some(id),
                    select_type: if i.replace { "REPLACE" } else { "INSERT" }.into(),
                    table: self.plan.tables[i.table].table.def().name.clone(),
                    partitions: inserted_partitions(i, &self.plan.tables[i.table].schema),
                    access: "ALL".into(),
                    ..Line::default()
                });
                if let InsertRows::Query { query, .. } = &i.rows {
                    self.query(query, "SIMPLE");
                }
            }
            Root::Update(u) => self.block(&u.find, "UPDATE"),
            Root::Delete(d) => self.block(&d.find, "DELETE"),
            Root::Several(s) => self.block(&s.find, if s.deletes { "DELETE" } else { "UPDATE" }),
            Root::Explain(_) => {}
        }
    }

    fn query(&mut self, q: &Query, kind: &str) {
        match &q.body {
            Body::Block(b) => {
                let kind = match kind {
                    "SIMPLE" if !self.is_simple(b) => "PRIMARY",
                    kind => kind,
                };
                self.block(b, kind);
            }
            Body::Set(u) => {
                for (n, (arm, _)) in u.arms.iter().enumerate() {
                    let kind = match (n, kind) {
                        (0, "SIMPLE") => "PRIMARY",
                        (0, k) => k,
                        _ => set_words(u.op).0,
                    };
                    self.query(arm, kind);
                }
                if u.op != SetOp::Union || u.arms.iter().any(|(_, distinct)| *distinct) {
                    let (_, result, table) = set_words(u.op);
                    self.line(Line {
                        select_type: result.into(),
                        table: table.into(),
                        access: "ALL".into(),
                        extra: vec!["Using temporary".into()],
                        ..Line::default()
                    });
                }
            }
            Body::Windowed(w) => self.query(&w.input, kind),
            Body::JsonTable(t) => self.query(&t.input, kind),
            Body::Recursive(r) => {
                self.query(&r.seed, kind);
                r.steps.iter().for_each(|step| self.query(step, "UNION"));
            }
            Body::Values(_) => {
                let id = self.next;
                self.next += 1;
                self.line(Line {
                    id: Some(id),
                    select_type: kind.into(),
                    extra: vec!["No tables used".into()],
                    ..Line::default()
                });
            }
        }
    }

    /// Whether a block has neither subqueries nor derived tables.
    fn is_simple(&self, b: &Block) -> bool {
        let asks = |b: &Block| !b.subqueries.iter().all(Subquery::is_call);
        let holds = |s: &Source| match computed_by(self.plan, s).map(|q| &q.body) {
            None => false,
            Some(Body::JsonTable(t)) => matches!(&t.input.body, Body::Block(b) if asks(b)),
            Some(_) => true,
        };
        !asks(b) && !b.sources.iter().any(holds)
    }

    fn block(&mut self, b: &Block, kind: &str) {
        let id = self.next;
        self.next += 1;
        if b.levels.is_empty() {
            self.line(Line {
                id: Some(id),
                select_type: kind.into(),
                extra: vec!["No tables used".into()],
                ..Line::default()
            });
        }
        let mut tail = Vec::new();
        if b.group.as_ref().is_some_and(|g| g.explicit && !g.ordered)
            || b.distinct && b.group.is_none()
        {
            tail.push("Using temporary".to_string());
        }
        if b.sorts() {
            tail.push("Using filesort".to_string());
        }
        let mut derived = Vec::new();
        self.levels(b, &b.levels, id, kind, &mut tail, &mut derived);
        for d in derived {
            self.query(&self.plan.derived[d].query, "DERIVED");
        }
        for s in &b.sources {
            if let SourceKind::Lateral(l) = &s.kind
                && document(&l.query).is_none()
            {
                self.query(&l.query, "DEPENDENT DERIVED");
            }
        }
        self.subqueries(b);
        for s in &b.sources {
            if let Some(Body::Block(document)) = table_function(self.plan, s).map(|q| &q.body) {
                self.subqueries(document);
            }
        }
    }

    fn subqueries(&mut self, b: &Block) {
        for q in b.subqueries.iter().filter(|q| !q.is_call()) {
            let kind = if q.correlated {
                "DEPENDENT SUBQUERY"
            } else if q.volatile {
                "UNCACHEABLE SUBQUERY"
            } else {
                "SUBQUERY"
            };
            self.query(&q.query, kind);
        }
    }

    fn levels(
        &mut self,
        b: &Block,
        levels: &[Level],
        id: u64,
        kind: &str,
        tail: &mut Vec<String>,
        derived: &mut Vec<usize>,
    ) {
        for l in levels {
            let mut line = Line {
                id: Some(id),
                select_type: kind.into(),
                rows: Some(l.expected.rows.round() as u64),
                filtered: Some(filtered(l)),
                ..Line::default()
            };
            let (source, access) = match &l.from {
                LevelFrom::Nest(list) => {
                    self.levels(b, list, id, kind, tail, derived);
                    continue;
                }
                LevelFrom::Table(s, a) => (*s, Some(a)),
                LevelFrom::Rows(s) => (*s, None),
                LevelFrom::Hash(h) => (h.source, h.access.as_ref()),
            };
            let src = &b.sources[source - b.base];
            line.table = src.name.clone();
            match &src.kind {
                SourceKind::Table { schema, .. } => {
                    if let Some(a) = access {
                        describe(&mut line, b, a, schema);
                        line.partitions = partitions(a, schema, self.env);
                    }
                }
                _ if table_function(self.plan, src).is_some() => {
                    line.access = "ALL".into();
                    line.extra.push("Table function: json_table".into());
                    line.extra.push("Using temporary".into());
                }
                SourceKind::Derived { derived: d } => {
                    line.table = format!("<derived:{}>", src.name);
                    derived.push(*d);
                    line.access = "ALL".into();
                }
                SourceKind::Lateral(_) => {
                    line.table = format!("<derived:{}>", src.name);
                    line.access = "ALL".into();
                }
                SourceKind::Virtual { .. } => line.access = "ALL".into(),
            }
            let filtering = !l.on.is_empty() || !l.filter.is_empty();
            if let Some(m) = access.and_then(|a| a.merge.as_ref()) {
                let how = merge_name(m);
                line.extra.push(format!("Using {how}({})", line.key));
            }
            if access.is_some_and(|a| a.pushed.is_some()) {
                line.extra.push("Using index condition".into());
            }
            if filtering {
                line.extra.push("Using where".into());
            }
            if access.is_some_and(|a| a.jump.is_some()) {
                line.extra.push("Using index for group-by".into());
            } else if access.is_some_and(|a| a.skip.is_some()) {
                if access.is_some_and(|a| a.covering.is_some()) {
                    line.extra.push("Using index".into());
                }
                line.extra.push("Using index for skip scan".into());
            } else if access.is_some_and(|a| a.covering.is_some()) {
                line.extra.push("Using index".into());
            }
            if matches!(l.from, LevelFrom::Hash(_)) {
                line.extra.push("Using join buffer (hash join)".into());
            }
            if access.is_some_and(|a| a.reverse) {
                line.extra.push("Backward index scan".into());
            }
            match l.kind {
                LevelKind::Inner | LevelKind::Outer => {}
                LevelKind::Semi => line.extra.push("FirstMatch".into()),
                LevelKind::Anti => line.extra.push("Not exists".into()),
            }
            line.extra.append(tail);
            self.line(line);
        }
    }
}

/// The query that gives a JSON_TABLE its document.
fn document(q: &Query) -> Option<&Query> {
    match &q.body {
        Body::JsonTable(t) => Some(&t.input),
        _ => None,
    }
}

/// The query that makes a source's rows, if it is computed.
fn computed_by<'p>(plan: &'p Plan, s: &'p Source) -> Option<&'p Query> {
    match &s.kind {
        SourceKind::Derived { derived } => Some(&plan.derived[*derived].query),
        SourceKind::Lateral(l) => Some(&l.query),
        SourceKind::Table { .. } | SourceKind::Virtual { .. } => None,
    }
}

/// The query that gives a source its document, if it is a JSON_TABLE.
pub fn table_function<'p>(plan: &'p Plan, s: &'p Source) -> Option<&'p Query> {
    computed_by(plan, s).and_then(document)
}

/// Names of the partitions that an access reads, as far as constants tell.
pub fn partitions(a: &Access, schema: &Schema, env: &SessionEnv) -> String {
    let Some(p) = &schema.partitioning else {
        return String::new();
    };
    let everything = Prune::default();
    let prune = a.prune.as_deref().unwrap_or(&everything);
    let list = prune.planned(p, schema, env);
    let names = list.iter().map(|&n| p.leaf_path(n as usize));
    names.collect::<Vec<_>>().join(",")
}

/// Part of the rows read that the conditions leave, in percent.
pub fn filtered(l: &Level) -> f64 {
    let decides = match &l.from {
        LevelFrom::Hash(_) => true,
        LevelFrom::Table(_, a) => a.pushed.is_some(),
        LevelFrom::Rows(_) | LevelFrom::Nest(_) => false,
    };
    if l.on.is_empty() && l.filter.is_empty() && !decides {
        return 100.0;
    }
    let part = l.expected.out / l.expected.rows.max(f64::MIN_POSITIVE);
    (part * 10_000.0).round().clamp(1.0, 10_000.0) / 100.0
}

/// Names of the partitions that an INSERT may write to.
pub fn inserted_partitions(i: &crate::plan::dml::Insert, schema: &Schema) -> String {
    let Some(p) = &schema.partitioning else {
        return String::new();
    };
    let may = |n: &usize| i.partitions.as_ref().is_none_or(|g| g.contains(n));
    let names = (0..p.leaves()).filter(may).map(|n| p.leaf_path(n));
    names.collect::<Vec<_>>().join(",")
}

/// What MySQL says is the length of a rectangle in a SPATIAL index.
const SPATIAL_KEY_LEN: &str = "34";

/// What is said of how a table is read.
pub fn describe(line: &mut Line, b: &Block, a: &Access, schema: &Schema) {
    if let Some(m) = &a.merge {
        describe_merge(line, m, schema);
        return;
    }
    if let Some(f) = &a.fulltext {
        line.access = "fulltext".into();
        line.key.clone_from(&schema.indexes[f.index].name);
        line.possible.clone_from(&line.key);
        line.key_len = "0".into();
        line.reference = "const".into();
        return;
    }
    if let Some(by) = &a.spatial {
        line.access = "range".into();
        line.key.clone_from(&schema.indexes[by.index].name);
        line.possible.clone_from(&line.key);
        line.key_len = SPATIAL_KEY_LEN.into();
        return;
    }
    let index = &schema.indexes[a.index];
    let bounded = a.is_bounded();
    let single = a.arms.is_empty()
        && a.eq
            .iter()
            .all(|c| matches!(c, EqCond::Value(_) | EqCond::NullSafe(_) | EqCond::IsNull));
    let constant = |e: &Expr| {
        let mut own = false;
        e.columns(&mut |s, _| own |= s >= b.base && s < b.base + b.sources.len());
        !own
    };
    line.access = if a.unique {
        let all = a.eq.iter().all(|c| match c {
            EqCond::Value(e) => constant(e),
            _ => false,
        });
        if all { "const" } else { "eq_ref" }
    } else if a.jump.is_some() {
        "range"
    } else if !bounded {
        if a.index == 0 && a.covering.is_none() && !a.ordered {
            "ALL"
        } else {
            "index"
        }
    } else if a.range.is_some() || a.skip.is_some() || !single {
        "range"
    } else {
        "ref"
    }
    .into();
    if bounded || a.jump.is_some() || line.access == "index" {
        line.key = index.name.clone();
        if bounded || a.jump.is_some() {
            line.possible = index.name.clone();
        }
        let parts = if let Some(jump) = a.jump {
            jump.parts
        } else if bounded {
            a.parts_used()
        } else {
            index.parts.len()
        };
        line.key_len = key_len(index, parts, schema).to_string();
    }
    if bounded && a.range.is_none() && single && a.jump.is_none() && a.skip.is_none() {
        line.reference =
            a.eq.iter()
                .map(|c| match c {
                    EqCond::Value(e) | EqCond::NullSafe(e) => match &e.kind {
                        ExprKind::Column { label, .. } => label.to_string(),
                        _ if constant(e) => "const".into(),
                        _ => "func".into(),
                    },
                    _ => "const".into(),
                })
                .collect::<Vec<String>>()
                .join(",");
    }
}

/// The same for several indexes.
fn describe_merge(line: &mut Line, m: &IndexMerge, schema: &Schema) {
    let indexes = m.parts.iter().map(|p| &schema.indexes[p.index]);
    let names: Vec<&str> = indexes.clone().map(|i| &*i.name).collect();
    let lengths = indexes.zip(&m.parts);
    let lengths = lengths.map(|(i, p)| key_len(i, p.parts_used(), schema).to_string());
    line.access = "index_merge".into();
    line.key = names.join(",");
    line.possible = line.key.clone();
    line.key_len = lengths.collect::<Vec<_>>().join(",");
}

/// How several indexes come together, as MySQL says it.
pub fn merge_name(m: &IndexMerge) -> &'static str {
    match (m.all, m.in_order) {
        (true, _) => "intersect",
        (false, true) => "union",
        (false, false) => "sort_union",
    }
}

/// Bytes that MySQL counts for so many parts of an index.
fn key_len(index: &Index, parts: usize, schema: &Schema) -> u32 {
    let one = |p: &KeyPart| {
        let c = &schema.columns[p.column];
        let base = match p.prefix {
            Some(n) if c.ty.collation != Collation::Binary => n * 4 + 2,
            Some(n) => n + 2,
            None => c.ty.key_len(),
        };
        base + u32::from(c.nullable)
    };
    index.parts.iter().take(parts).map(one).sum()
}

/// What select_type says of a part of a set operation but the first, and of its result; the result's name.
fn set_words(op: SetOp) -> (&'static str, &'static str, &'static str) {
    match op {
        SetOp::Union => ("UNION", "UNION RESULT", "<union>"),
        SetOp::Intersect => ("INTERSECT", "INTERSECT RESULT", "<intersect>"),
        SetOp::Except => ("EXCEPT", "EXCEPT RESULT", "<except>"),
    }
}
