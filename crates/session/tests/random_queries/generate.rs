//! Makes random queries whose answers are certain: one order of rows, or none that matters, and one value for each.
//!
//! So texts that are equal but for case go through LOWER() where a row stands for several (DISTINCT, GROUP BY, UNION, LIMIT),
//! LIMIT comes with an order by all items, scalar subqueries are aggregates of one row, and there is no division.

use crate::query::{Kind, Node, Query, Source, Table};
use crate::rng::Rng;
use crate::schema::{self, Relation};

const KINDS: [Kind; 8] = [
    Kind::Int,
    Kind::Unsigned,
    Kind::Decimal,
    Kind::Text,
    Kind::Exact,
    Kind::Date,
    Kind::Bits,
    Kind::Json,
];

/// Columns that an expression may name.
#[derive(Clone, Default)]
struct Scope(Vec<(String, Kind)>);

pub struct Generator<'a> {
    pub rng: &'a mut Rng,
    relations: &'a [Relation],
    aliases: u32,
    /// Compares values of any two types, too, and has types that are others in MariaDB: what is computed of BIT is a
    /// number there, and JSON a text.
    mixed: bool,
    /// Tables that the query may still name.
    budget: u32,
    /// Of the queries around the one that is made.
    outer: Vec<Scope>,
}

/// A random query; `mixed` says whether texts, dates and numbers are compared with each other.
pub fn query(rng: &mut Rng, relations: &[Relation], mixed: bool) -> Query {
    let mut g = Generator {
        budget: 2 + rng.below(4) as u32,
        rng,
        relations,
        mixed,
        aliases: 0,
        outer: Vec::new(),
    };
    let kinds: Vec<Kind> = (0..1 + g.rng.below(3)).map(|_| g.kind()).collect();
    let mut query = match g.rng.below(8) {
        0..4 => g.plain(&kinds, 2),
        4..6 => g.grouped(&kinds, 2, true),
        6 => g.grouped(&kinds, 2, false),
        _ => g.union(&kinds, 2),
    };
    if g.rng.below(5) == 0 {
        query.limit = Some(g.rng.below(6));
        steady(&mut query);
    } else if query.group.is_empty() && query.union.is_none() && g.rng.below(6) == 0 {
        query.distinct = true;
        steady(&mut query);
    }
    query
}

/// A literal as expressions have it.
fn written(kind: Kind, literal: &str) -> Node {
    match kind {
        Kind::Json => Node::Leaf(kind, format!("CAST({literal} AS JSON)")),
        _ => Node::Leaf(kind, literal.to_string()),
    }
}

/// Makes equal items the same items. (A literal of the exact kind would have the connection's collation.)
fn steady(query: &mut Query) {
    for item in &mut query.items {
        let text = match item.kind() {
            Kind::Text => "LOWER(@)",
            Kind::Exact => "(@ COLLATE utf8mb4_bin)",
            _ => continue,
        };
        *item = Node::op(item.kind(), text, vec![item.clone()]);
    }
    // MariaDB takes no ORDER BY beside it.
    query.rollup = false;
    if let Some((_, right)) = &mut query.union {
        steady(right);
    }
}

impl Generator<'_> {
    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }

    fn pick<'x, T: ?Sized>(&mut self, of: &[&'x T]) -> &'x T {
        of[self.rng.below(of.len() as u64) as usize]
    }

    fn pick_one(&mut self, of: &[(String, Kind)]) -> (String, Kind) {
        of[self.rng.below(of.len() as u64) as usize].clone()
    }

    /// The kind of a column at hand.
    fn kind_of(&mut self, scope: &Scope) -> Kind {
        self.pick_one(&scope.0).1
    }

    fn kind(&mut self) -> Kind {
        let of_all = KINDS.len() - 2;
        let count = if self.mixed { KINDS.len() } else { of_all };
        KINDS[self.rng.below(count as u64) as usize]
    }

    fn empty() -> Query {
        Query {
            distinct: false,
            items: Vec::new(),
            from: Vec::new(),
            filter: None,
            group: Vec::new(),
            rollup: false,
            having: None,
            limit: None,
            union: None,
        }
    }

    /// SELECT ... FROM ... WHERE.
    fn plain(&mut self, kinds: &[Kind], depth: u32) -> Query {
        let (from, scope) = self.from(depth);
        let filter = (!self.chance(5)).then(|| self.predicate(&scope, depth + 1));
        let mut items: Vec<Node> = kinds
            .iter()
            .map(|k| self.value(*k, &scope, depth))
            .collect();
        // One window: MariaDB mistakes the partitions of several.
        if self.outer.is_empty() && self.chance(6) {
            items[0] = self.windowed(kinds[0], &scope);
        }
        Query {
            items,
            from,
            filter,
            ..Self::empty()
        }
    }

    /// Aggregates, of groups or of all.
    fn grouped(&mut self, kinds: &[Kind], depth: u32, groups: bool) -> Query {
        let (from, scope) = self.from(depth);
        let filter = (!self.chance(3)).then(|| self.predicate(&scope, depth));
        let mut group = Vec::new();
        if groups {
            for _ in 0..1 + self.rng.below(2) {
                let kind = self.kind_of(&scope);
                group.extend(self.column(kind, &scope));
            }
        }
        if groups && group.is_empty() {
            let (name, kind) = scope.0[0].clone();
            group.push(Node::Leaf(kind, name));
        }
        let mut items = Vec::new();
        for kind in kinds {
            let of = group.iter().find(|g| g.kind() == *kind).cloned();
            items.push(match of {
                Some(g) if *kind == Kind::Text => Node::op(*kind, "LOWER(@)", vec![g]),
                Some(g) => g,
                None => self.aggregate(*kind, &scope, depth),
            });
        }
        let having = (groups && self.chance(2)).then(|| self.having(&scope, depth));
        Query {
            items,
            from,
            filter,
            rollup: groups && self.outer.is_empty() && self.chance(4),
            group,
            having,
            ..Self::empty()
        }
    }

    /// A window function that gives the same whichever of several equal rows comes first.
    fn windowed(&mut self, kind: Kind, scope: &Scope) -> Node {
        let any = |g: &mut Self| {
            let of = g.kind_of(scope);
            g.column(of, scope).unwrap_or_else(|| g.literal(Kind::Int))
        };
        let (partition, by) = (any(self), any(self));
        let desc = self.pick(&["", " DESC"]);
        let window = match self.rng.below(4) {
            0 => format!("(PARTITION BY @ ORDER BY @{desc})"),
            1 => "(PARTITION BY @, @)".to_string(),
            2 => format!(
                "(PARTITION BY @ ORDER BY @{desc} RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
            ),
            _ => format!(
                "(PARTITION BY @ ORDER BY @{desc} RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
            ),
        };
        if kind == Kind::Int && self.chance(2) {
            let f = self.pick(&["RANK()", "DENSE_RANK()", "COUNT(*)"]);
            let ranks = f != "COUNT(*)";
            let window = match ranks {
                true => format!("(PARTITION BY @ ORDER BY @{desc})"),
                false => window,
            };
            return Node::op(kind, &format!("{f} OVER {window}"), vec![partition, by]);
        }
        let f = match kind {
            Kind::Int | Kind::Decimal if self.chance(2) => "SUM(@) OVER",
            _ => self.pick(&["MIN(@) OVER", "MAX(@) OVER"]),
        };
        let of = self
            .column(kind, scope)
            .unwrap_or_else(|| self.literal(kind));
        let text = match kind {
            Kind::Text => format!("LOWER({f} {window})"),
            _ => format!("{f} {window}"),
        };
        Node::op(kind, &text, vec![of, partition, by])
    }

    fn having(&mut self, scope: &Scope, depth: u32) -> Node {
        let kind = self.kind();
        let left = self.aggregate(kind, scope, depth);
        if depth > 0 && self.budget > 0 && self.chance(3) {
            // Its columns are those of the groups' rows, which a subquery must not see.
            let outer = std::mem::take(&mut self.outer);
            let within = self.member(left, depth);
            self.outer = outer;
            return within;
        }
        let right = match self.rng.below(3) {
            0 => self.aggregate(kind, scope, depth),
            _ => self.literal(kind),
        };
        self.comparison(left, right)
    }

    fn union(&mut self, kinds: &[Kind], depth: u32) -> Query {
        let mut left = self.plain(kinds, depth);
        self.budget = self.budget.max(1);
        let right = self.plain(kinds, depth);
        let op = self.pick(&[
            "UNION",
            "UNION ALL",
            "UNION DISTINCT",
            "INTERSECT",
            "INTERSECT ALL",
            "EXCEPT",
            "EXCEPT ALL",
        ]);
        left.union = Some((op, Box::new(right)));
        steady(&mut left);
        left
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("t{}", self.aliases)
    }

    fn from(&mut self, depth: u32) -> (Vec<Source>, Scope) {
        let mut scope = Scope::default();
        let tables = 1 + self.rng.below(3);
        let mut from = Vec::new();
        for n in 0..tables {
            if n > 0 && self.budget == 0 {
                break;
            }
            let newest = scope.0.len();
            let mut source = self.source(depth, &mut scope);
            if n > 0 {
                source.join = self.pick(&[
                    "JOIN",
                    "JOIN",
                    "LEFT JOIN",
                    "LEFT JOIN",
                    "RIGHT JOIN",
                    "CROSS JOIN",
                ]);
                source.on = Some(self.join_condition(&scope, newest, depth));
            }
            from.push(source);
        }
        (from, scope)
    }

    /// One table, whose columns are put in the scope.
    fn source(&mut self, depth: u32, scope: &mut Scope) -> Source {
        self.budget = self.budget.saturating_sub(1);
        let mut source = Source {
            join: "JOIN",
            table: Table::Base(String::new()),
            alias: self.alias(),
            hint: String::new(),
            on: None,
        };
        if depth > 0 && self.chance(4) {
            let kinds: Vec<Kind> = (0..1 + self.rng.below(3)).map(|_| self.kind()).collect();
            // A derived table sees nothing around it.
            let outer = std::mem::take(&mut self.outer);
            let query = self.derived(&kinds, depth - 1);
            self.outer = outer;
            let columns = kinds.iter().enumerate();
            let named = columns.map(|(n, k)| (format!("{}.k{n}", source.alias), *k));
            scope.0.extend(named);
            source.table = Table::Derived(Box::new(query));
            return source;
        }
        if depth > 0 && self.budget > 1 && self.chance(8) {
            // Its conditions see its own tables only.
            let mut inner = Scope::default();
            let first = self.source(0, &mut inner);
            let newest = inner.0.len();
            let mut second = self.source(0, &mut inner);
            second.join = self.pick(&["JOIN", "LEFT JOIN"]);
            second.on = Some(self.join_condition(&inner, newest, 0));
            scope.0.extend(inner.0);
            source.table = Table::Nest(vec![first, second]);
            source.alias = String::new();
            return source;
        }
        let relation = &self.relations[self.rng.below(self.relations.len() as u64) as usize];
        if !relation.keys.is_empty() && self.chance(2) {
            let key = &relation.keys[self.rng.below(relation.keys.len() as u64) as usize];
            source.hint = format!(" FORCE INDEX ({})", key.0);
        }
        scope.0.push((format!("{}.id", source.alias), Kind::Int));
        let mixed = self.mixed;
        for d in schema::DOMAINS
            .iter()
            .filter(|d| mixed || !matches!(d.kind, Kind::Bits | Kind::Json))
        {
            scope
                .0
                .push((format!("{}.{}", source.alias, d.name), d.kind));
        }
        source.table = Table::Base(relation.name.clone());
        source
    }

    fn derived(&mut self, kinds: &[Kind], depth: u32) -> Query {
        let mut query = match self.rng.below(6) {
            0..3 => self.plain(kinds, depth),
            3 => self.grouped(kinds, depth, true),
            4 => self.grouped(kinds, depth, false),
            _ => self.union(kinds, depth),
        };
        match self.rng.below(8) {
            0 => query.limit = Some(1 + self.rng.below(4)),
            1 if query.group.is_empty() && query.union.is_none() => query.distinct = true,
            _ => return query,
        }
        steady(&mut query);
        query
    }

    /// Mostly an equality of the newest table's columns, which begin at `newest`, with those before.
    fn join_condition(&mut self, scope: &Scope, newest: usize, depth: u32) -> Node {
        if self.chance(6) {
            return self.predicate(scope, depth.min(1));
        }
        let (before, new) = scope.0.split_at(newest);
        let (name, kind) = self.pick_one(new);
        let before = Scope(before.to_vec());
        let Some(right) = self.column(kind, &before) else {
            return self.predicate(scope, 0);
        };
        let equal = Node::op(Kind::Truth, "(@ = @)", vec![Node::Leaf(kind, name), right]);
        if self.chance(3) {
            let more = self.predicate(scope, 0);
            return Node::op(Kind::Truth, "(@ AND @)", vec![equal, more]);
        }
        equal
    }

    fn literal(&mut self, kind: Kind) -> Node {
        if self.chance(12) {
            return Node::Leaf(kind, "NULL".into());
        }
        let literals = schema::domain(kind).literals;
        written(kind, self.pick(literals))
    }

    /// A column of the kind, of this query or now and then of one around it.
    fn column(&mut self, kind: Kind, scope: &Scope) -> Option<Node> {
        let mut names: Vec<String> = Vec::new();
        let of = |s: &Scope| {
            let fitting = s.0.iter().filter(|(_, k)| *k == kind);
            fitting.map(|(n, _)| n.clone()).collect::<Vec<_>>()
        };
        if self.rng.below(5) < 2 && !self.outer.is_empty() {
            let level = self.rng.below(self.outer.len() as u64) as usize;
            names = of(&self.outer[level]);
        }
        if names.is_empty() {
            names = of(scope);
        }
        if names.is_empty() {
            return None;
        }
        let name = names.swap_remove(self.rng.below(names.len() as u64) as usize);
        Some(Node::Leaf(kind, name))
    }

    fn value(&mut self, kind: Kind, scope: &Scope, depth: u32) -> Node {
        if depth == 0 || self.rng.below(10) < 6 {
            let column = self.column(kind, scope);
            return column.unwrap_or_else(|| self.literal(kind));
        }
        let less = depth - 1;
        match self.rng.below(8) {
            0 => self.literal(kind),
            1 => {
                let kids = vec![self.value(kind, scope, less), self.literal(kind)];
                Node::op(kind, "COALESCE(@, @)", kids)
            }
            2 => {
                let kids = vec![
                    self.predicate(scope, less),
                    self.value(kind, scope, less),
                    self.value(kind, scope, less),
                ];
                Node::op(kind, "CASE WHEN @ THEN @ ELSE @ END", kids)
            }
            3 => {
                let kids = vec![self.value(kind, scope, less), self.literal(kind)];
                Node::op(kind, "NULLIF(@, @)", kids)
            }
            4 if kind == Kind::Int => {
                let kids = vec![self.value(kind, scope, less), self.value(kind, scope, less)];
                Node::op(kind, "(@ + @)", kids)
            }
            5..8 if self.budget > 0 => {
                let query = self.within(scope, |g| g.grouped(&[kind], less, false));
                Node::Sub(kind, None, String::new(), Box::new(query))
            }
            _ => {
                let column = self.column(kind, scope);
                column.unwrap_or_else(|| self.literal(kind))
            }
        }
    }

    /// Makes a subquery, which sees the scope around it.
    fn within(&mut self, scope: &Scope, make: impl FnOnce(&mut Self) -> Query) -> Query {
        self.outer.push(scope.clone());
        let query = make(self);
        self.outer.pop();
        query
    }

    fn aggregate(&mut self, kind: Kind, scope: &Scope, depth: u32) -> Node {
        let outer = std::mem::take(&mut self.outer);
        // An aggregate of outer columns alone would belong to the query around.
        let made = match kind {
            Kind::Int => match self.rng.below(4) {
                0 => Node::Leaf(kind, "COUNT(*)".into()),
                1 => {
                    let of = self.kind();
                    let text = self.pick(&["COUNT(@)", "COUNT(DISTINCT @)"]);
                    let argument = self.argument(of, scope);
                    Node::op(kind, text, vec![argument])
                }
                _ => {
                    let text = self.pick(&["MIN(@)", "MAX(@)", "SUM(@)"]);
                    let argument = self.argument(kind, scope);
                    Node::op(kind, text, vec![argument])
                }
            },
            Kind::Text => {
                let text = self.pick(&["MIN(LOWER(@))", "MAX(LOWER(@))"]);
                let argument = self.argument(kind, scope);
                Node::op(kind, text, vec![argument])
            }
            Kind::Decimal => {
                let text = self.pick(&["SUM(@)", "MIN(@)", "SUM(DISTINCT @)"]);
                let argument = self.argument(kind, scope);
                Node::op(kind, text, vec![argument])
            }
            _ => {
                let text = self.pick(&["MIN(@)", "MAX(@)"]);
                let argument = self.argument(kind, scope);
                Node::op(kind, text, vec![argument])
            }
        };
        let _ = depth;
        self.outer = outer;
        made
    }

    /// A column of this query within whatever gives the kind.
    fn argument(&mut self, kind: Kind, scope: &Scope) -> Node {
        if let Some(column) = self.column(kind, scope) {
            return column;
        }
        let (name, of) = scope.0[0].clone();
        let literal = written(kind, schema::domain(kind).literals[1]);
        let column = Node::Leaf(of, name);
        Node::op(kind, "IF(@ IS NULL, NULL, @)", vec![column, literal])
    }

    fn comparison(&mut self, left: Node, mut right: Node) -> Node {
        if matches!((&left, &right), (Node::Leaf(_, l), Node::Leaf(_, r)) if l == r) {
            right = self.literal(left.kind());
        }
        let op = self.pick(&["=", "=", "=", "<>", "<", "<=", ">", ">=", "<=>"]);
        Node::op(Kind::Truth, &format!("(@ {op} @)"), vec![left, right])
    }

    fn predicate(&mut self, scope: &Scope, depth: u32) -> Node {
        let t = Kind::Truth;
        if depth == 0 {
            return self.simple(scope, 0);
        }
        let less = depth - 1;
        match self.rng.below(12) {
            0..2 => {
                let kids = vec![self.predicate(scope, less), self.predicate(scope, less)];
                Node::op(t, "(@ AND @)", kids)
            }
            2..4 => {
                let kids = vec![self.predicate(scope, less), self.predicate(scope, less)];
                Node::op(t, "(@ OR @)", kids)
            }
            4 => Node::op(t, "(NOT @)", vec![self.predicate(scope, less)]),
            5 => {
                let text = self.pick(&[
                    "(@ IS TRUE)",
                    "(@ IS NOT TRUE)",
                    "(@ IS UNKNOWN)",
                    "(@ IS FALSE)",
                ]);
                Node::op(t, text, vec![self.predicate(scope, less)])
            }
            6..9 if self.budget > 0 => self.subquery(scope, less),
            _ => self.simple(scope, less),
        }
    }

    /// A predicate without a subquery of its own.
    fn simple(&mut self, scope: &Scope, depth: u32) -> Node {
        let t = Kind::Truth;
        let kind = self.kind_of(scope);
        let left = self.value(kind, scope, depth);
        match self.rng.below(10) {
            0 => {
                let text = self.pick(&["(@ IS NULL)", "(@ IS NOT NULL)"]);
                Node::op(t, text, vec![left])
            }
            1 => {
                let kids = vec![left, self.literal(kind), self.literal(kind)];
                let text = self.pick(&["(@ BETWEEN @ AND @)", "(@ NOT BETWEEN @ AND @)"]);
                Node::op(t, text, kids)
            }
            2 => {
                let kids = vec![
                    left,
                    self.literal(kind),
                    self.literal(kind),
                    self.literal(kind),
                ];
                let text = self.pick(&["(@ IN (@, @, @))", "(@ NOT IN (@, @, @))"]);
                Node::op(t, text, kids)
            }
            3 if matches!(kind, Kind::Text | Kind::Exact) => {
                let pattern = self.pick(&["'a%'", "'%b'", "'_'", "''"]);
                Node::op(t, &format!("(@ LIKE {pattern})"), vec![left])
            }
            4 if matches!(kind, Kind::Int | Kind::Unsigned | Kind::Decimal) => {
                let other = [Kind::Int, Kind::Unsigned, Kind::Decimal][self.rng.below(3) as usize];
                let right = self.value(other, scope, depth);
                self.comparison(left, right)
            }
            5 if self.mixed && self.chance(3) => {
                let other = self.kind_of(scope);
                let right = self.value(other, scope, 0);
                self.comparison(left, right)
            }
            5..8 => {
                let right = self.literal(kind);
                self.comparison(left, right)
            }
            _ => {
                let right = self.value(kind, scope, depth);
                self.comparison(left, right)
            }
        }
    }

    fn subquery(&mut self, scope: &Scope, depth: u32) -> Node {
        if self.chance(3) {
            let kind = self.kind();
            let query = self.within(scope, |g| g.plain(&[kind], depth));
            let word = self.pick(&["EXISTS", "NOT EXISTS"]);
            return Node::Sub(Kind::Truth, None, word.into(), Box::new(query));
        }
        if self.chance(6) {
            return self.row_member(scope, depth);
        }
        let kind = self.kind_of(scope);
        let left = self.value(kind, scope, depth.min(1));
        self.outer.push(scope.clone());
        let node = self.member(left, depth);
        self.outer.pop();
        node
    }

    /// `(a, b) IN (SELECT x, y ...)`.
    fn row_member(&mut self, scope: &Scope, depth: u32) -> Node {
        let kinds = [self.kind_of(scope), self.kind_of(scope)];
        let left = kinds.map(|k| self.value(k, scope, 0)).to_vec();
        let less = depth.saturating_sub(1);
        let query = self.within(scope, |g| g.plain(&kinds, less));
        let left = Node::op(Kind::Row, "(@, @)", left);
        let how = self.pick(&[" IN", " NOT IN"]).to_string();
        Node::Sub(Kind::Truth, Some(Box::new(left)), how, Box::new(query))
    }

    /// IN or a quantified comparison with a subquery, which sees what is around as it stands.
    fn member(&mut self, left: Node, depth: u32) -> Node {
        let kind = left.kind();
        let less = depth.saturating_sub(1);
        let query = match self.rng.below(6) {
            0..4 => self.plain(&[kind], less),
            4 => self.grouped(&[kind], less, true),
            _ => self.union(&[kind], less),
        };
        let how = self.pick(&[
            "IN", "IN", "IN", "NOT IN", "NOT IN", "= ANY", "<> ALL", "< ANY", ">= ALL", "> ANY",
            "<= ALL", "<> ANY", "= ALL",
        ]);
        Node::Sub(
            Kind::Truth,
            Some(Box::new(left)),
            format!(" {how}"),
            Box::new(query),
        )
    }
}
