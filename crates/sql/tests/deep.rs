//! Long and deeply nested statements work, or are refused; none overflows the stack.

use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::{ConnectionInfo, Instance, InstanceOptions, Value};

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

#[test]
fn deep_and_long_statements() {
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
    ] {
        assert_eq!(run(q), Ok(()));
    }
    for n in [40, 90, 3000] {
        let many = |item: &str, glue: &str| vec![item; n].join(glue);
        let nest = |open: &str, inner: &str, close: &str| {
            format!("{}{inner}{}", open.repeat(n), close.repeat(n))
        };
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
        for q in [
            format!("select {}", nest("not ", "1", "")),
            format!("select {}", nest("- ", "1", "")),
            format!("select {}", nest("case when 1 then ", "1", " end")),
            format!("select {}", nest("(", "1", ")")),
            format!("select {}", nest("abs(", "1", ")")),
            format!("select {}", nest("if(1,", "1", ",2)")),
            format!("select {}", nest("(select ", "1", ")")),
            format!("select * from {}", nest("(select * from ", "t", ") x")),
        ] {
            let got = run(&q);
            let refused = got == Err(1436) || got == Err(1064);
            assert!(
                got == Ok(()) || n > 40 && refused,
                "{n}: {} {got:?}",
                &q[..40]
            );
        }
    }
    instance.close().expect("close");
    let _ = std::fs::remove_dir_all(&path);
}
