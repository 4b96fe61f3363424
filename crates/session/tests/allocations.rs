//! How often the hot statements allocate.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::{Mutex, MutexGuard, PoisonError};

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{Session, Value};
use support::TestDb;

struct Counting;

thread_local! {
    static COUNT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    /// Bytes that this thread has allocated and not freed, and the most there were.
    static BYTES: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
    static MOST: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system allocator; counting touches no memory of its own but a
// constant-initialised thread-locals without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|c| c.set(c.get() + 1));
        let bytes =
            BYTES.with(|b| b.replace(b.get() + layout.size() as i64)) + layout.size() as i64;
        MOST.with(|m| m.set(m.get().max(bytes)));
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        BYTES.with(|b| b.set(b.get() - layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: threads lend each other the memory of large batches, so others' scans would show in what is counted.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Sum {
    rows: u64,
}

impl ResultSink for Sum {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.rows += row.len() as u64;
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

fn run(s: &mut Session, sql: &str) {
    s.execute(sql, &mut Sum::default())
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn per_execution(s: &mut Session, sql: &str, params: &dyn Fn(i64) -> Vec<Value<'static>>) -> f64 {
    let p = s.prepare(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let mut sink = Sum::default();
    let list: Vec<Vec<Value<'static>>> = (0..120).map(params).collect();
    for p2 in &list[..20] {
        s.execute_prepared(&p, p2, &mut sink).expect(sql);
    }
    let before = COUNT.with(|c| c.get());
    for p2 in &list[20..] {
        s.execute_prepared(&p, p2, &mut sink).expect(sql);
    }
    (COUNT.with(|c| c.get()) - before) as f64 / 100.0
}

#[test]
fn hot_statements() {
    let _alone = alone();
    let db = TestDb::new();
    let mut s = db.raw().0;
    run(&mut s, "create database d");
    run(&mut s, "use d");
    run(
        &mut s,
        "create table t (id int not null auto_increment, k int not null default '0', c char(120) not null default '', \
         pad char(60) not null default '', primary key (id), key k_1 (k))",
    );
    for n in 0..50 {
        let rows: Vec<String> = (0..20)
            .map(|i| format!("({}, 'c{n}', 'p')", n * 20 + i))
            .collect();
        run(
            &mut s,
            &format!("insert into t (k, c, pad) values {}", rows.join(",")),
        );
    }
    let id = |n: i64| vec![Value::Int(1 + n)];
    let range = |n: i64| vec![Value::Int(1 + n), Value::Int(100 + n)];
    // The most that each may allocate. Range scans own their bounds; updates may grow buffers.
    for (sql, params, most) in [
        (
            "select c from t where id = ?",
            &id as &dyn Fn(i64) -> Vec<Value<'static>>,
            0.0,
        ),
        ("select c from t where id between ? and ?", &range, 3.0),
        ("select sum(k) from t where id between ? and ?", &range, 3.0),
        (
            "select c from t where id between ? and ? order by c",
            &range,
            350.0,
        ),
        (
            "select distinct c from t where id between ? and ? order by c",
            &range,
            350.0,
        ),
        ("update t set k = k + 1 where id = ?", &id, 5.0),
        (
            "update t set c = ? where id = ?",
            &|n| vec![Value::string(format!("x{n}")), Value::Int(n + 1)],
            5.0,
        ),
        ("delete from t where id = ?", &id, 1.0),
        (
            "insert into t (id, k, c, pad) values (?, ?, ?, ?)",
            &|n| {
                vec![
                    Value::Int(1 + n),
                    Value::Int(n),
                    Value::string("ccc".into()),
                    Value::string("ppp".into()),
                ]
            },
            1.0,
        ),
    ] {
        let got = per_execution(&mut s, sql, params);
        assert!(got <= most, "{sql}: {got} allocations");
    }
}

/// A row with foreign keys allocates what it does without: no more than the lock table now and then for a part of it that is new.
#[test]
fn children() {
    let _alone = alone();
    let db = TestDb::new();
    let mut s = db.raw().0;
    for sql in [
        "create database d",
        "use d",
        "create table p (id int primary key, name varchar(20), unique key (name))",
        "create table c (id int primary key, pid int, name varchar(20), key (pid), key (name), foreign key (pid) references p (id), \
         foreign key (name) references p (name))",
        "create table u (id int primary key, pid int, name varchar(20), key (pid), key (name))",
    ] {
        run(&mut s, sql);
    }
    let parents: Vec<String> = (0..200).map(|n| format!("({n}, 'name {n}')")).collect();
    run(
        &mut s,
        &format!("insert into p values {}", parents.join(", ")),
    );
    let row = |n: i64| {
        let name = Value::string(format!("name {n}"));
        vec![Value::Int(n), Value::Int(n), name]
    };
    let mut each = |table: &str| {
        let sql = format!("insert into {table} values (?, ?, ?)");
        per_execution(&mut s, &sql, &row)
    };
    let (with, without) = (each("c"), each("u"));
    assert!(with <= without + 1.5, "{with} rather than {without}");
}

/// What a server has encoded of a prepared statement's columns serves its executions, for they describe the very same.
#[test]
fn executions_describe_the_columns_of_the_preparation() {
    let _alone = alone();
    #[derive(Default)]
    struct At(usize);
    impl ResultSink for At {
        fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
            self.0 = columns.as_ptr() as usize;
            Ok(())
        }
        fn row(&mut self, _: &[Value<'_>]) -> std::io::Result<()> {
            Ok(())
        }
        fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
            Ok(())
        }
    }
    let db = TestDb::new();
    for mut s in [db.client().0, db.client().0] {
        run(
            &mut s,
            "create table if not exists t (id int primary key, c char(9), n int)",
        );
        for sql in [
            "select c from t where id = ?",
            "select c, n from t where id between ? and 100 order by n",
            "select sum(n) from t where id > ?",
            "select n + 1 from t",
        ] {
            let p = s.prepare(sql).expect(sql);
            let given: &[Value<'static>] = &[Value::Int(1)];
            for _ in 0..3 {
                let mut at = At::default();
                s.execute_prepared(&p, &given[..p.params], &mut at)
                    .expect(sql);
                assert_eq!(at.0, p.columns.as_ptr() as usize, "{sql}");
            }
        }
    }
}

#[test]
fn statements_that_differ_in_literals_share_a_plan() {
    let _alone = alone();
    let db = TestDb::new();
    let mut s = db.raw().0;
    for q in [
        "create database d",
        "use d",
        "create table t (id int primary key auto_increment, a int, b varchar(20), key (a))",
    ] {
        run(&mut s, q);
    }
    for n in 0..50 {
        run(
            &mut s,
            &format!("insert into t (a, b) values ({n}, 'x{n}'), (NULL, 'it''s {n}')"),
        );
    }
    // Parsing alone takes hundreds of allocations.
    let per_statement = |s: &mut Session, sql: &dyn Fn(i64) -> String| {
        let texts: Vec<String> = (0..30).map(sql).collect();
        for t in &texts[..10] {
            run(s, t);
        }
        let before = COUNT.with(|c| c.get());
        for t in &texts[10..] {
            run(s, t);
        }
        (COUNT.with(|c| c.get()) - before) as f64 / 20.0
    };
    let point = per_statement(&mut s, &|n| format!("select b from t where id = {}", n + 1));
    assert!(point < 10.0, "{point}");
    let insert = per_statement(&mut s, &|n| {
        format!("insert into t (a, b) values ({n}, 'y')")
    });
    assert!(insert < 12.0, "{insert}");
    let update = per_statement(&mut s, &|n| {
        format!("update t set a = {n} where id = {}", n + 3)
    });
    assert!(update < 15.0, "{update}");
    // Where the values decide between ways to go, a plan serves those for which the estimates are about the same.
    let scan = per_statement(&mut s, &|n| format!("select b from t where a > {n}"));
    assert!(scan < 15.0, "{scan}");
    let mut sum = Sum::default();
    s.execute(
        "select id from t where b = 'it''s 40' and a is null",
        &mut sum,
    )
    .expect("select");
    assert_eq!(sum.rows, 1);
}

/// The rows that a LIMIT asks for are kept in memory only as long as they fit.
#[test]
fn first_rows_go_to_disk_beyond_the_memory() {
    let _alone = alone();
    let db = TestDb::new();
    let mut s = db.raw().0;
    run(&mut s, "create database d");
    run(&mut s, "use d");
    run(
        &mut s,
        "create table t (id int primary key, k int, s longtext)",
    );
    for n in 0..80 {
        let k = n * 37 % 40;
        run(
            &mut s,
            &format!("insert into t values ({n}, {k}, repeat('x', 100000))"),
        );
    }
    for size in ["sort_buffer_size", "join_buffer_size", "tmp_table_size"] {
        run(&mut s, &format!("set {size} = 300000"));
    }
    for (limit, rows) in [(2, 2), (60, 60), (1000, 80)] {
        MOST.with(|m| m.set(BYTES.with(|b| b.get())));
        let before = MOST.with(|m| m.get());
        let mut sum = Sum::default();
        let sql = format!("select k, s from t order by k limit {limit}");
        s.execute(&sql, &mut sum).expect("select");
        assert_eq!(sum.rows, 2 * rows);
        let most = MOST.with(|m| m.get()) - before;
        assert!(most < 2_000_000, "{limit}: {most} bytes");
    }
}
