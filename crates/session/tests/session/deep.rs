//! Long and deeply nested statements work, or are refused; none overflows the stack.

use millpond_session::result::{ColumnMeta, Completion, ResultSink};
use millpond_session::{ConnectionInfo, Instance, InstanceOptions, Value};

struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value<'_>]) -> std::io::Result<()> {
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// Statements that nest `n` times.
fn nested(n: usize) -> Vec<String> {
    let nest = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    let numbered = |f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<String>();
    let derived = |inner: &str| {
        let ends = numbered(&|i| format!(") t{i}"));
        format!("select * from {}{inner}{ends}", "(select * from ".repeat(n))
    };
    let scalar = nest("(select ", "1", ")");
    let both = nest(
        "(select a from (select 1 a from (",
        "select 1 a",
        ") z) t limit 1)",
    );
    vec![
        derived("(select 1 a) t"),
        format!("explain {}", derived("(select 1 a) t")),
        format!("insert into u select 1, 2 from ({}) x", derived("t")),
        format!("create table if not exists v as {}", derived("t")),
        format!("select {scalar}"),
        format!("do {scalar}"),
        format!("set @a = {scalar}"),
        format!("show tables where {scalar}"),
        format!("prepare s from 'select {scalar}'"),
        format!("insert into t values ({scalar}, 1) on duplicate key update a = {scalar}"),
        format!("update t set a = {both}"),
        format!("delete from u where a = {both}"),
        format!("select {both}"),
        format!(
            "select 1 from t where a in ({})",
            nest("select a from t where a in (", "1", ")")
        ),
        format!(
            "select {}",
            nest("exists (select 1 from t where ", "1", ")")
        ),
        format!("select {}", nest("(select max(a) + ", "1", " from t)")),
        format!(
            "select {}",
            nest("(select a from t where a = ", "1", " order by a limit 1)")
        ),
        format!("select {}", nest("1 = all (select ", "1", ")")),
        format!(
            "with c as (select 1 a){} select * from c{}",
            numbered(&|i| {
                let before = i.checked_sub(1).map(|i| i.to_string()).unwrap_or_default();
                format!(", c{i} as (select a from c{before})")
            }),
            n - 1
        ),
        format!(
            "{}select 1 a{}",
            numbered(&|i| format!("with c{i} as (")),
            numbered(&|i| format!(") select * from c{}", n - 1 - i))
        ),
        nest("select 1 union all (", "select 1", ")"),
        nest("(", "select 1", " union all select 1)"),
        nest("(", "select 1", ")"),
        format!(
            "select 1 from {}t{}",
            "(".repeat(n),
            numbered(&|i| format!(" join t a{i})"))
        ),
        format!(
            "select 1 from {}t z{}",
            numbered(&|i| format!("t a{i} left join (")),
            " join t y on 1) on 1".replace(" y ", " ").repeat(n)
        ),
        format!("select {}", nest("not ", "1", "")),
        format!("select {}", nest("- ", "1", "")),
        format!("select {}", nest("binary ", "1", "")),
        format!("select {}", nest("case when 1 then ", "1", " end")),
        format!("select {}", nest("case ", "1", " when 1 then 2 end")),
        format!("select {}", nest("(", "1", ")")),
        format!("select {}", nest("abs(", "1", ")")),
        format!("select {}", nest("if(1,", "1", ",2)")),
        format!("select {}", nest("concat('a', ", "1", ", 2)")),
        format!("select {}", nest("cast(", "1", " as char)")),
        format!("select {}", nest("substring(", "1", " from 1)")),
        format!(
            "select {}",
            nest("date_add(", "'2020-01-01'", ", interval 1 day)")
        ),
        format!("select {}", nest("1 in (2, ", "1", ")")),
        format!("select {}", nest("1 between 0 and (", "1", ")")),
        format!("select {}", nest("1 like (", "1", ")")),
        format!("select {}", nest("(1, 2) = (1, ", "1", ")")),
        format!(
            "select {}",
            nest("(1 or 2 and 3 = 4 | 5 & 6 << 7 + 8 * - ", "1", ")")
        ),
        format!(
            "select {}",
            nest(
                "case when (select 1 from (select (select max(abs(a)) from t where a in (1, 2, ",
                "1",
                ")) q) t) then 1 else 2 end"
            )
        ),
        // Words that open and close nothing.
        format!(
            "select * from {}",
            nest("(select t.end from (select 1 `end` from ", "t", ") t) t")
        ),
        format!(
            "select 1 from t {}",
            nest("where a in (select a from t ", "", ")")
        ),
        format!(
            "create table p{n} (a int) partition by hash (a{})",
            "+1".repeat(n)
        ),
        format!("insert into p{n} values (1), (2)"),
        format!("select {}", nest("1 is null or ", "1", "")),
        format!("select 1{}", " is null".repeat(n)),
        format!("select 1{}", " + greatest(1, 2)".repeat(n)),
        format!(
            "select 1 from t where a in (1, 2){}",
            " or a in (1, 2)".repeat(n)
        ),
        format!(
            "select 1 from t where a in (1, 2){}",
            " and a in (1, 2)".repeat(n)
        ),
        format!("select 1, 1{}", " union all select 1, 1".repeat(n)),
        format!("explain {}select 1", "explain ".repeat(n)),
        format!(
            "select 1 as a0{}",
            numbered(&|i| format!(", (select a{i}) as a{}", i + 1))
        ),
    ]
}

/// A server's connection has this much stack.
const STACK: usize = (2 << 20) - (128 << 10);

#[test]
fn deep_and_long_statements() {
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(deep_and_long)
        .expect("a thread")
        .join()
        .expect("no panic");
}

fn deep_and_long() {
    let path = std::env::temp_dir().join(format!("millpond-deep-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let instance = Instance::open(InstanceOptions {
        path: path.clone(),
        store: millpond_store::Options {
            pool_bytes: 8 << 20,
            log_bytes: 16 << 20,
            ..Default::default()
        },
        variables: Vec::new(),
    })
    .expect("open");
    let info = ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        ..Default::default()
    };
    let mut s = instance.connect(info).expect("connect");
    let mut run = |q: &str| s.execute(q, &mut Nowhere).map_err(|e| e.code);
    for q in [
        "create database d",
        "use d",
        "create table t (id int primary key, a int)",
        "create table u (id int, a int)",
    ] {
        assert_eq!(run(q), Ok(()));
    }
    for n in [40, 90, 3000] {
        let many = |item: &str, glue: &str| vec![item; n].join(glue);
        for q in [
            format!("select * from t where a in ({})", many("1", ",")),
            format!("select * from t where {}", many("a = 1", " or ")),
            format!("select * from t where {}", many("a = 1", " and ")),
            format!(
                "insert into t values {} on duplicate key update a = 2",
                many("(1, 1)", ",")
            ),
            format!("select {}", many("1", " + ")),
            many("select 1", " union all "),
        ] {
            assert_eq!(run(&q), Ok(()), "{n}: {}", &q[..60]);
        }
    }
    let mut refused = 0;
    for n in [1, 2, 5, 10, 16, 24, 36, 46, 60, 95, 150, 250, 1000, 4000] {
        for q in nested(n) {
            // What else is wrong with it is found before it nests too deeply, or not.
            refused += usize::from(run(&q) == Err(1436));
        }
        // The functions of partitioned tables are read anew.
        assert_eq!(run("flush tables"), Ok(()));
    }
    assert!(refused > 100, "{refused}");
    for q in nested(5) {
        let got = run(&q);
        let fine = matches!(
            got,
            Ok(()) | Err(1050 | 1054 | 1064 | 1066 | 1093 | 1231 | 1235)
        );
        assert!(fine, "{} {got:?}", &q[..40]);
    }
    // A derived table in 46 others is none too many.
    for q in &nested(46)[..2] {
        assert_eq!(run(q), Ok(()));
    }
    instance.close().expect("close");
    let _ = std::fs::remove_dir_all(&path);
}
