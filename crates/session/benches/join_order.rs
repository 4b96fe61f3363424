//! Join orders: how long planning takes, and how the order chosen compares with random ones: `cargo bench -p millpond-session --bench join_order`.
//!
//! Stars, snowflakes, chains and cliques of 6 to 20 tables of very different sizes. Random orders are connected ones, forced by
//! STRAIGHT_JOIN; one that takes longer than twice the best so far is cut off. `JOIN_ORDERS` sets how many are tried (1000),
//! `JOIN_SECONDS` how long at most for each join (8), `JOIN_SHAPES` which joins (`star,chain`), `JOIN_PLANS=1` prints the plans of those
//! that are off. Times are the best of several runs; rows are those read from indexes.

use std::time::{Duration, Instant};

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{ConnectionInfo, Instance, InstanceOptions, Session, Value};
use millpond_store::Options;

/// Rows of the largest table.
const LARGEST: u64 = 20_000;
/// Runs of the order chosen and of the best one in the end.
const AGAIN: usize = 200;
const SIZES: [usize; 6] = [6, 8, 10, 12, 16, 20];

/// What a query returns.
#[derive(Default)]
struct Rows(Vec<Vec<String>>);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let text = |v: &Value<'_>| match v {
            Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            v => format!("{v:?}"),
        };
        self.0.push(row.iter().map(text).collect());
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

fn env<T: std::str::FromStr>(name: &str, default: T) -> T {
    let set = std::env::var(name).ok();
    set.and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// A join: sizes of the tables, which refer to which by keys, and which are filtered to one in how many rows.
struct Join {
    name: &'static str,
    rows: Vec<u64>,
    /// (from, to): a column of the first has keys of the second.
    keys: Vec<(usize, usize)>,
    /// All tables have the same key column instead.
    clique: bool,
    filters: Vec<(usize, u64)>,
}

impl Join {
    fn star(n: usize, rng: &mut Rng) -> Join {
        let mut join = Join::of("star", n, rng);
        join.rows[0] = LARGEST;
        join.keys = (1..n).map(|d| (0, d)).collect();
        join
    }
    /// Half of the tables around the facts, each with one behind it.
    fn snowflake(n: usize, rng: &mut Rng) -> Join {
        let mut join = Join::of("snowflake", n, rng);
        join.rows[0] = LARGEST;
        let inner = n.div_ceil(2);
        let outer = |d: usize| if d < inner { 0 } else { d - inner + 1 };
        join.keys = (1..n).map(|d| (outer(d), d)).collect();
        join
    }
    fn chain(n: usize, rng: &mut Rng) -> Join {
        let mut join = Join::of("chain", n, rng);
        join.keys = (1..n).map(|t| (t - 1, t)).collect();
        join
    }
    fn clique(n: usize, rng: &mut Rng) -> Join {
        let mut join = Join::of("clique", n, rng);
        join.clique = true;
        join
    }
    /// Tables of 10 rows to a third of the largest, every third of them filtered.
    fn of(name: &'static str, n: usize, rng: &mut Rng) -> Join {
        let rows: Vec<u64> = (0..n)
            .map(|_| (LARGEST / 3) >> rng.below(10).min(9))
            .collect();
        Join {
            name,
            filters: (0..n)
                .filter_map(|t| match rng.below(15) {
                    part @ 0..5 => Some((t, 2 << part)),
                    _ => None,
                })
                .collect(),
            rows,
            keys: Vec::new(),
            clique: false,
        }
    }
    fn are_joined(&self, a: usize, b: usize) -> bool {
        self.clique || self.keys.contains(&(a, b)) || self.keys.contains(&(b, a))
    }
    /// A statement that counts the join's rows, its tables in this order.
    fn sql(&self, order: &[usize], straight: bool) -> String {
        let mut conditions: Vec<String> = match self.clique {
            true => (0..order.len())
                .flat_map(|a| (0..a).map(move |b| format!("t{a}.k = t{b}.k")))
                .collect(),
            false => self
                .keys
                .iter()
                .map(|(a, b)| format!("t{a}.r{b} = t{b}.id"))
                .collect(),
        };
        conditions.extend(
            self.filters
                .iter()
                .map(|(t, part)| format!("t{t}.v < {}", 1000 / part)),
        );
        let names: Vec<String> = order.iter().map(|t| format!("t{t}")).collect();
        let straight = if straight { "STRAIGHT_JOIN " } else { "" };
        format!(
            "SELECT {straight}COUNT(*), SUM(t0.v) FROM {} WHERE {}",
            names.join(", "),
            conditions.join(" AND ")
        )
    }
    /// A random order in which each table is joined with one before it.
    fn random(&self, rng: &mut Rng) -> Vec<usize> {
        let n = self.rows.len();
        let mut order = vec![rng.below(n)];
        while order.len() < n {
            let joined =
                |t: &usize| !order.contains(t) && order.iter().any(|o| self.are_joined(*o, *t));
            let next: Vec<usize> = (0..n).filter(joined).collect();
            order.push(next[rng.below(next.len())]);
        }
        order
    }
    fn fill(&self, s: &mut Session, rng: &mut Rng) {
        let mut run = |sql: &str| {
            s.execute(sql, &mut Rows::default())
                .unwrap_or_else(|e| panic!("{sql}: {e}"))
        };
        run("DROP DATABASE IF EXISTS d; CREATE DATABASE d; USE d");
        for (t, &rows) in self.rows.iter().enumerate() {
            let to: Vec<usize> = self.keys.iter().filter(|k| k.0 == t).map(|k| k.1).collect();
            let columns: String = to
                .iter()
                .map(|r| format!(", r{r} INT NOT NULL, KEY (r{r})"))
                .collect();
            run(&format!(
                "CREATE TABLE t{t} (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, filler CHAR(40), KEY (k){columns})"
            ));
            let all: Vec<u64> = (0..rows.max(10)).collect();
            for part in all.chunks(1000) {
                let row = |id: &u64| {
                    let keys: String = to
                        .iter()
                        .map(|r| format!(", {}", rng.below(self.rows[*r].max(10) as usize)))
                        .collect();
                    // Every twentieth key comes twice.
                    format!(
                        "({id}, {}, {}, 'filler'{keys})",
                        id - id / 20,
                        rng.below(1000)
                    )
                };
                let list: Vec<String> = part.iter().map(row).collect();
                let columns: String = to.iter().map(|r| format!(", r{r}")).collect();
                run(&format!(
                    "INSERT INTO t{t} (id, k, v, filler{columns}) VALUES {}",
                    list.join(",")
                ));
            }
            run(&format!(
                "ANALYZE TABLE t{t}; ANALYZE TABLE t{t} UPDATE HISTOGRAM ON v"
            ));
        }
    }
}

/// How an execution went.
#[derive(Clone, Copy)]
struct Run {
    ms: f64,
    rows: u64,
}

fn query(s: &mut Session, sql: &str) -> Vec<Vec<String>> {
    let mut rows = Rows::default();
    s.execute(sql, &mut rows)
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
    rows.0
}

fn rows_read(s: &mut Session) -> u64 {
    let shown = query(s, "SHOW GLOBAL STATUS LIKE 'Innodb_rows_read'");
    shown[0][1].parse().expect("a number")
}

/// Runs a statement as often as asked, planned before; the best run. `None`: it took too long.
fn run(s: &mut Session, sql: &str, times: u32) -> Option<Run> {
    let statement = s.prepare(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let mut best: Option<Run> = None;
    for _ in 0..times {
        let before = rows_read(s);
        let start = Instant::now();
        s.execute_prepared(&statement, &[], &mut Rows::default())
            .ok()?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let rows = rows_read(s) - before;
        if best.is_none_or(|b| ms < b.ms) {
            best = Some(Run { ms, rows });
        }
    }
    best
}

/// Milliseconds that planning a statement takes.
fn planning(s: &mut Session, sql: &str) -> f64 {
    let explain = format!("EXPLAIN {sql}");
    let once = |_| {
        let start = Instant::now();
        query(s, &explain);
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..3).map(once).fold(f64::INFINITY, f64::min)
}

fn compare(s: &mut Session, join: &Join, rng: &mut Rng) {
    let n = join.rows.len();
    let written: Vec<usize> = (0..n).collect();
    query(s, "SET max_execution_time = 20000");
    let sql = join.sql(&written, false);
    let plan_ms = planning(s, &sql);
    let mut chosen = run(s, &sql, 5);
    let mut best = chosen;
    let mut fewest = chosen.map(|c| c.rows);
    let mut best_sql = sql.clone();
    let start = Instant::now();
    let (orders, seconds) = (env("JOIN_ORDERS", 1000), env("JOIN_SECONDS", 8));
    let mut tried = 0;
    while tried < orders && start.elapsed() < Duration::from_secs(seconds) {
        tried += 1;
        let sql = join.sql(&join.random(rng), true);
        let limit = best.map_or(10_000.0, |b| (b.ms * 2.0).ceil() + 2.0);
        query(s, &format!("SET max_execution_time = {limit}"));
        let Some(first) = run(s, &sql, 1) else {
            continue;
        };
        fewest = fewest.map(|f| f.min(first.rows));
        if best.is_none_or(|b| first.ms < b.ms * 1.2)
            && let Some(again) = run(s, &sql, 4)
            && best.is_none_or(|b| again.ms < b.ms)
        {
            best = Some(again);
            best_sql = sql;
        }
    }
    query(s, "SET max_execution_time = 0");
    // Both as often: the best of many runs is less than the best of a few.
    for (sql, so_far) in [(&sql, &mut chosen), (&best_sql, &mut best)] {
        for again in (0..AGAIN).filter_map(|_| run(s, sql, 1)) {
            if so_far.is_none_or(|b| again.ms < b.ms) {
                *so_far = Some(again);
            }
        }
    }
    let (Some(chosen), Some(best)) = (chosen, best) else {
        println!(
            "{:9} {n:2}: planned in {plan_ms:6.2} ms; not done in 20 s",
            join.name
        );
        return;
    };
    let ratio = chosen.ms / best.ms;
    println!(
        "{:9} {n:2}: planned in {plan_ms:6.2} ms; runs {:8.2} ms, {:7} rows; best of {tried:4} {:8.2} ms, fewest {:7} rows; {ratio:.2}",
        join.name,
        chosen.ms,
        chosen.rows,
        best.ms,
        fewest.unwrap_or_default(),
    );
    if ratio > 1.5 && env("JOIN_PLANS", 0) == 1 {
        for sql in [&sql, &best_sql] {
            println!("{}", query(s, &format!("EXPLAIN ANALYZE {sql}"))[0][0]);
        }
    }
}

fn main() {
    let dir = tempfile::tempdir().expect("a directory");
    let instance = Instance::open(InstanceOptions {
        path: dir.path().to_path_buf(),
        store: Options::default(),
        variables: Vec::new(),
    })
    .expect("open");
    let mut s = instance
        .connect(ConnectionInfo {
            multi_statements: true,
            ..ConnectionInfo::default()
        })
        .expect("connect");
    let shapes: String = env("JOIN_SHAPES", "star,snowflake,chain,clique".to_string());
    for (name, make) in [
        ("star", Join::star as fn(usize, &mut Rng) -> Join),
        ("snowflake", Join::snowflake),
        ("chain", Join::chain),
        ("clique", Join::clique),
    ] {
        for n in SIZES {
            // The same joins and rows whichever others are asked for.
            let mut rng = Rng(env("JOIN_SEED", 1) * 100 + n as u64);
            let join = make(n, &mut rng);
            if shapes.split(',').any(|s| s == name) {
                join.fill(&mut s, &mut rng);
                compare(&mut s, &join, &mut rng);
            }
        }
    }
    drop(s);
    instance.close().expect("close");
}
