//! Random conditions, orders and groupings over a table with indexes of all kinds: whatever path the planner takes, the
//! answer is that of a scan that no index has a part in.

use crate::support::{Client, TestDb};

fn rows(s: &mut Client, sql: &str) -> Vec<String> {
    s.rows(sql)
}

struct Rng(u64);

impl Rng {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.next(list.len() as u64) as usize]
    }
}

/// A value for a column, sometimes of another type than the column's.
fn constant(r: &mut Rng, column: &str) -> String {
    match (column, r.next(12)) {
        (_, 0) => "null".into(),
        ("id", 1) => format!("{}.5", r.next(300)),
        ("id", 2) => format!("'{}'", r.next(300)),
        ("id", _) => r.next(320).to_string(),
        ("a" | "b", 1) => "-1".into(),
        ("a" | "b", 2) => format!("{}.5", r.next(8)),
        ("a" | "b", 3) => "99999999999".into(),
        ("a" | "b", 4) => format!("'{}'", r.next(8)),
        ("a" | "b", _) => r.next(8).to_string(),
        ("s", 1) => "''".into(),
        ("s", 2) => r.next(3).to_string(),
        ("s", _) => {
            let n = 1 + r.next(4);
            let text: String = (0..n).map(|_| r.pick(&["a", "B", "b", "c"])).collect();
            format!("'{text}'")
        }
        ("n", 1) => format!("{}", r.next(5)),
        ("n", 2) => format!("{}.255", r.next(5)),
        ("n", _) => format!("{}.{}", r.next(5), r.next(100)),
        ("d", 1) => "'2020-01-03 10:00:00'".into(),
        ("d", 2) => "20200105".into(),
        (_, _) => format!("'2020-01-{:02}'", 1 + r.next(10)),
    }
}

fn atom(r: &mut Rng) -> String {
    let c = r.pick(&["id", "a", "b", "s", "n", "d", "u"]);
    let column = if c == "u" { "a" } else { c };
    let k = |r: &mut Rng| constant(r, column);
    match r.next(14) {
        0..=3 => format!("{c} = {}", k(r)),
        4 => format!("{c} <=> {}", k(r)),
        5 => format!("{} {} {c}", k(r), r.pick(&["<", "<=", ">", ">="])),
        6..=7 => format!("{c} {} {}", r.pick(&["<", "<=", ">", ">=", "<>"]), k(r)),
        8 => format!("{c} between {} and {}", k(r), k(r)),
        9 => format!("{c} not between {} and {}", k(r), k(r)),
        10 => {
            let n = 1 + r.next(4);
            let list: Vec<String> = (0..n).map(|_| k(r)).collect();
            let not = r.pick(&["", "", "", "not "]);
            format!("{c} {not}in ({})", list.join(", "))
        }
        11 => format!("{c} is {}null", r.pick(&["", "not "])),
        12 => {
            let n = r.next(3);
            let text: String = (0..n).map(|_| r.pick(&["a", "B", "b", "_"])).collect();
            format!("s like '{text}{}'", r.pick(&["%", "%", "", "%a"]))
        }
        _ => format!("({c} = {} or {c} = {})", k(r), k(r)),
    }
}

/// One alternative of an OR, mostly about columns that one index leads with.
fn alternative(r: &mut Rng, column: &str) -> String {
    let k = |r: &mut Rng, c: &str| constant(r, c);
    match r.next(8) {
        0..=2 => format!("{column} between {} and {}", k(r, column), k(r, column)),
        3 => format!("{column} in ({}, {})", k(r, column), k(r, column)),
        4 => format!("{column} {} {}", r.pick(&["<", ">=", "="]), k(r, column)),
        5 => format!(
            "a = {} and b {} {}",
            k(r, "a"),
            r.pick(&["=", "<", ">"]),
            k(r, "b")
        ),
        6 => format!("a = {} and {}", k(r, "a"), atom(r)),
        _ => format!("{column} is null"),
    }
}

/// An OR of ranges, maybe with more around it.
fn union(r: &mut Rng) -> String {
    let column = r.pick(&["id", "a", "b", "s", "n", "d"]);
    let n = 2 + r.next(4);
    let arms: Vec<String> = (0..n).map(|_| alternative(r, column)).collect();
    let or = arms.join(" or ");
    match r.next(3) {
        0 => format!("({or}) and {}", atom(r)),
        _ => or,
    }
}

fn condition(r: &mut Rng) -> String {
    let n = 1 + r.next(3);
    let list: Vec<String> = (0..n).map(|_| atom(r)).collect();
    let glue = if r.next(5) == 0 { " or " } else { " and " };
    list.join(glue)
}

fn sorted(mut v: Vec<String>) -> Vec<String> {
    v.sort();
    v
}

struct Fixture {
    session: Client,
    /// Gone when the fixture is.
    _db: TestDb,
}

fn fixture(r: &mut Rng) -> Fixture {
    let db = TestDb::new();
    let mut session = db.raw();
    for sql in [
        "create database d",
        "use d",
        "create table t (id int primary key, a int, b int not null, s varchar(10), n decimal(6,2), d date,
           u int unsigned, key ka (a), key kab (a, b desc), key kbs (b, s), key ks (s(2)), key kn (n desc), key kd (d),
           unique key ku (u), key kda (d, a), key ksn (s, n), key ksa (s, a))",
        "create table w (wa int, ws varchar(10), k int, key (wa))",
    ] {
        rows(&mut session, sql);
    }
    let or_null = |r: &mut Rng, make: &dyn Fn(&mut Rng) -> String| {
        if r.next(6) == 0 {
            "null".into()
        } else {
            make(r)
        }
    };
    let mut batch = Vec::new();
    for id in 0..300 {
        let text: String = (0..r.next(5))
            .map(|_| r.pick(&["a", "B", "b", "c"]))
            .collect();
        let row = [
            id.to_string(),
            or_null(r, &|r| r.next(8).to_string()),
            r.next(8).to_string(),
            or_null(r, &|_| format!("'{text}'")),
            or_null(r, &|r| format!("{}.{}", r.next(5), r.next(100))),
            or_null(r, &|r| format!("'2020-01-{:02}'", 1 + r.next(10))),
            if id % 3 == 0 {
                "null".into()
            } else {
                id.to_string()
            },
        ];
        batch.push(format!("({})", row.join(",")));
    }
    rows(
        &mut session,
        &format!("insert into t values {}", batch.join(",")),
    );
    for id in 0..40 {
        let row = [
            or_null(r, &|r| r.next(8).to_string()),
            format!("'{}'", r.pick(&["a", "B", "bb", "c", "zz"])),
            id.to_string(),
        ];
        rows(
            &mut session,
            &format!("insert into w values ({})", row.join(",")),
        );
    }
    Fixture { session, _db: db }
}

#[test]
fn conditions_orders_and_groups() {
    let mut r = Rng(0x9e37_79b9_7f4a_7c15);
    let mut f = fixture(&mut r);
    let s = &mut f.session;
    for n in 0..600 {
        let c = if n % 3 == 0 {
            union(&mut r)
        } else {
            condition(&mut r)
        };
        // `(x) is true` says nothing that an index could use.
        let plain = format!("({c}) is true");
        let list = r.pick(&["id", "id, a", "a, b, id", "s, b, id", "id, s, n", "*"]);
        let got = sorted(rows(s, &format!("select {list} from t where {c}")));
        let want = sorted(rows(s, &format!("select {list} from t where {plain}")));
        assert_eq!(got, want, "where {c}");
        let order = r.pick(&[
            "a, id",
            "a, b desc, id",
            "a desc, b, id desc",
            "n desc, id",
            "d, a, id",
            "b, s, id",
        ]);
        let limit = r.pick(&["", " limit 5", " limit 3, 4"]);
        let got = rows(
            s,
            &format!("select id from t where {c} order by {order}{limit}"),
        );
        let want = rows(
            s,
            &format!("select id from t use index () where {plain} order by {order}{limit}"),
        );
        assert_eq!(got, want, "where {c} order by {order}{limit}");
        let key = r.pick(&["a", "b", "a, b", "d", "n", "b, a", "s"]);
        let shown = if key == "s" { "upper(s)" } else { key };
        let tail = "count(*), sum(id), min(b), max(n), count(distinct s)";
        let select = |filter: &str, hint: &str| {
            format!("select {shown}, {tail} from t {hint} where {filter} group by {shown}")
        };
        let got = sorted(rows(s, &select(&c, "")));
        let want = sorted(rows(s, &select(&plain, "use index ()")));
        assert_eq!(got, want, "where {c} group by {key}");
        let end = r.pick(&[
            "min(a)", "max(a)", "min(n)", "max(n)", "max(id)", "min(u)", "max(d)", "count(*)",
        ]);
        let got = rows(s, &format!("select {end} from t where {c}"));
        let want = rows(
            s,
            &format!("select {end} from t use index () where {plain}"),
        );
        assert_eq!(got, want, "{end} where {c}");
    }
}

#[test]
fn joins_and_subqueries() {
    let mut r = Rng(0x1234_5678_9abc_def1);
    let mut f = fixture(&mut r);
    let s = &mut f.session;
    for _ in 0..100 {
        let c = condition(&mut r);
        let on = r.pick(&[
            "a = wa",
            "wa = b",
            "s = ws",
            "a = wa and s = ws",
            "id = k",
            "a <=> wa",
        ]);
        let join = r.pick(&["join", "left join", "right join"]);
        let got = sorted(rows(
            s,
            &format!("select t.id, w.k from t {join} w on {on} where {c}"),
        ));
        let want = sorted(rows(
            s,
            &format!(
                "select t.id, w.k from t use index () {join} w use index () on ({on}) is true where ({c}) is true"
            ),
        ));
        assert_eq!(got, want, "{join} on {on} where {c}");
        let not = r.pick(&["", "not "]);
        let inner = r.pick(&["wa = 3", "k > 20", "wa is not null", "1"]);
        let got = sorted(rows(
            s,
            &format!(
                "select t.id from t where a {not}in (select wa from w where {inner}) and ({c})"
            ),
        ));
        let test = format!("exists (select 1 from w where {inner} and wa = t.a)");
        let nulls = format!("exists (select 1 from w where {inner} and wa is null)");
        let none = format!("not exists (select 1 from w where {inner})");
        let membership = if not.is_empty() {
            test
        } else {
            format!("({none} or a is not null and not {test} and not {nulls})")
        };
        let want = sorted(rows(
            s,
            &format!("select t.id from t use index () where ({membership}) and ({c}) is true"),
        ));
        assert_eq!(got, want, "{not}in, {inner}, {c}");
    }
}

#[test]
fn buffers_that_outgrow_memory() {
    let mut r = Rng(77);
    let mut f = fixture(&mut r);
    let s = &mut f.session;
    rows(
        s,
        "create table big (id int primary key auto_increment, k int, v varchar(60), x decimal(10,3))",
    );
    rows(
        s,
        "insert into big (k, v, x) values (1, 'a', 1.5), (2, 'b', null), (3, 'c', 2), (4, 'D', 7)",
    );
    for n in 0..12 {
        rows(
            s,
            &format!(
                "insert into big (k, v, x) select (k * 7 + {n} + id) % 5000, concat(k % 777, '-', left(v, 40), 'xyz'), x + id from big"
            ),
        );
    }
    let queries = [
        "select k, count(*), sum(x), min(v), count(distinct v) from big group by k order by k",
        "select count(*) from (select distinct v, k from big) q",
        "select v, k from big order by v, k, id limit 3000, 20",
        "select id from big order by x desc, id",
        "select distinct v from big order by v desc limit 10",
        "select count(*) from (select k from big union select id from big) q",
        "select k, id from big union all select 1, 2 order by 2 desc, 1 limit 2000, 5",
        "select sum(n), max(k) from (select k, count(*) n from big group by k having n > 1) q",
        "select t.a, count(*) from big join t on big.k = t.id group by t.a, big.v order by 1, 2 limit 50",
    ];
    let wide: Vec<Vec<String>> = queries.iter().map(|q| rows(s, q)).collect();
    for v in [
        "sort_buffer_size = 32768",
        "join_buffer_size = 1024",
        "tmp_table_size = 200000",
    ] {
        rows(s, &format!("set session {v}"));
    }
    for (q, want) in queries.iter().zip(wide) {
        assert_eq!(rows(s, q), want, "{q}");
    }
    rows(s, "set session tmp_table_size = 16777216");
    let before = rows(s, "select sum(id), sum(k) from big");
    rows(
        s,
        "update big set id = id + 100000, k = k + 1 order by id desc",
    );
    let after = rows(
        s,
        "select sum(id) - 100000 * count(*), sum(k) - count(*) from big",
    );
    assert_eq!(before, after);
}
