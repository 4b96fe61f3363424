//! Kernels give what the row evaluator gives: values, truths, warnings and their order, errors.

mod random;

use proptest::prelude::*;

use super::super::rows::{Batch, Column, Columns, NO_ROW, SourceRows};
use super::super::vector::Kind;
use super::by_row::of_one_scale;
use super::*;
use crate::env::tests::env;
use crate::expr::{self, AggregateSpec, Scope};
use crate::row::encode_row;
use crate::types::Schema;
use crate::value::Decimal;
use random::{Random, schema};

/// Columns are `a.…` of stored rows, `b.…` of kept ones, `c.…` of the row around.
struct Names<'t> {
    session: &'t SessionEnv,
    schema: &'t Schema,
}

impl Scope for Names<'_> {
    fn session(&self) -> &SessionEnv {
        self.session
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        let source = match qualifier {
            ["a"] => 0,
            ["b"] => 1,
            _ => 2,
        };
        let Some(at) = self.schema.column(name) else {
            panic!("column {name}")
        };
        let ty = self.schema.columns[at].ty.clone();
        Ok(Expr::column(source, at, ty, true, name))
    }
    fn param(&mut self, n: u32) -> SqlResult<usize> {
        Ok(n as usize % params().len())
    }
    fn clause(&self) -> &'static str {
        "field list"
    }
    fn aggregate(&mut self, _: AggregateSpec) -> SqlResult<Expr> {
        Err(SqlError::unsupported("aggregates"))
    }
}

fn params() -> [Value<'static>; 4] {
    [
        Value::Int(2),
        Value::Decimal(Decimal::from_i128(150, 2)),
        Value::str("abc"),
        Value::Null,
    ]
}

fn bound(sql: &str, schema: &Schema, session: &SessionEnv) -> SqlResult<Expr> {
    let parsed = millpond_syntax::parse_expression(sql, millpond_syntax::LexMode::default())
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
    let mut names = Names { session, schema };
    expr::bind(&parsed, &mut names)
}

/// A table's rows.
struct Table {
    schema: Schema,
    values: Vec<Vec<Value<'static>>>,
    stored: Vec<Vec<u8>>,
    kept: Columns,
}

impl Table {
    fn new(random: &mut Random, rows: usize, session: &SessionEnv) -> Table {
        let schema = schema();
        let zone = session.zone.get();
        let values: Vec<Vec<Value<'static>>> = (0..rows)
            .map(|_| schema.columns.iter().map(|c| random.value(&c.ty)).collect())
            .collect();
        let mut stored = Vec::new();
        for row in &values {
            let mut bytes = Vec::new();
            encode_row(&schema, row, zone, &mut bytes).unwrap();
            stored.push(bytes);
        }
        let columns = schema.columns.iter().enumerate().map(|(i, c)| {
            let mut column = Column::new(Kind::of(&c.ty));
            for row in &stored {
                // As it comes back from the row: a FLOAT has fewer digits there.
                column.push(schema.layout().column(&schema, row, i, zone));
            }
            Some(column)
        });
        let kept = Columns {
            len: rows,
            columns: columns.collect(),
        };
        Table {
            schema,
            values,
            stored,
            kept,
        }
    }
}

/// What an evaluation came to: what it gave or the error, and what was said meanwhile.
type Outcome<T> = (Result<T, (u16, String)>, Vec<(u16, String)>);

/// What a statement does before it says anything.
fn begin(session: &SessionEnv) {
    session.diagnostics.borrow_mut().clear();
    session.told.borrow_mut().clear();
}

fn outcome<T>(session: &SessionEnv, run: impl FnOnce() -> SqlResult<T>) -> Outcome<T> {
    begin(session);
    let done = run().map_err(|e| (e.code, e.message));
    let said = session.diagnostics.borrow();
    (
        done,
        said.iter().map(|d| (d.code, d.message.clone())).collect(),
    )
}

/// Evaluates by batch and by row.
fn agree(sql: &str, e: &Expr, batch: &Batch<'_>, cx: &BatchContext<'_>) {
    let session = cx.session;
    let around = cx.around();
    begin(session);
    let kernel = Kernel::new(e, &around);
    let zone = session.zone.get();
    let width = schema().columns.len();
    let rows: Vec<Vec<Vec<Value<'_>>>> = (0..batch.len)
        .map(|i| {
            let one = |s: &SourceRows<'_>| -> Vec<Value<'static>> {
                let values = (0..width).map(|c| s.value(i, c, zone).into_owned());
                values.collect()
            };
            batch.sources.iter().map(one).collect()
        })
        .collect();
    let each = |run: &mut dyn FnMut(&EvalContext<'_>) -> SqlResult<()>| -> SqlResult<()> {
        for row in &rows {
            let refs: Vec<RowRef<'_>> = row
                .iter()
                .zip(&batch.sources)
                .enumerate()
                .map(|(i, (values, s))| match s {
                    SourceRows::Nulls => cx.rows[i],
                    _ => RowRef::Values(values),
                })
                .collect();
            run(&EvalContext {
                rows: &refs,
                ..around
            })?;
        }
        Ok(())
    };
    let by_row = outcome(session, || {
        let mut all = Vec::new();
        each(&mut |cx| {
            all.push(format!("{:?}", of_one_scale(e.eval(cx)?, &e.ty)));
            Ok(())
        })?;
        Ok(all)
    });
    let by_batch = outcome(session, || {
        let v = kernel.vector(batch, cx)?;
        assert_eq!(v.len(), batch.len, "{sql}");
        let all: Vec<String> = (0..batch.len)
            .map(|i| format!("{:?}", of_one_scale(v.value(i), &e.ty)))
            .collect();
        Ok(all)
    });
    assert_eq!(by_batch, by_row, "values of {sql}");
    let by_row = outcome(session, || {
        let (mut all, mut i) = (Vec::new(), 0u32);
        each(&mut |cx| {
            if e.truth(cx)? == Some(true) {
                all.push(i);
            }
            i += 1;
            Ok(())
        })?;
        Ok(all)
    });
    let by_batch = outcome(session, || {
        let mut all: Vec<u32> = Vec::new();
        kernel.select(batch, cx, &mut all)?;
        Ok(all)
    });
    assert_eq!(by_batch, by_row, "rows of {sql}");
}

/// Evaluates texts over random rows; gives how many ran on loops.
fn compare(random: &mut Random, texts: &[String], session: &SessionEnv) -> usize {
    let table = Table::new(random, 40, session);
    let mut positions = |n: u32| -> Vec<u32> {
        (0..n)
            .map(|_| match random.below(50) {
                40.. => NO_ROW,
                r => (r % 40) as u32,
            })
            .collect()
    };
    let len = 60;
    let (first, second) = (positions(len), positions(len));
    let stored = first
        .iter()
        .map(|p| table.stored.get(*p as usize).map(Vec::as_slice))
        .collect();
    let batch = Batch {
        len: len as usize,
        sources: vec![
            SourceRows::Stored(&table.schema, stored),
            SourceRows::Kept(&table.kept, second),
            SourceRows::Nulls,
        ],
    };
    let params = params();
    let rows = [
        RowRef::Nulls,
        RowRef::Nulls,
        RowRef::Values(&table.values[0]),
    ];
    let cx = BatchContext {
        params: &params,
        session,
        rows: &rows,
    };
    let mut native = 0;
    for sql in texts {
        session.diagnostics.borrow_mut().clear();
        let Ok(e) = bound(sql, &table.schema, session) else {
            continue;
        };
        native += usize::from(Kernel::new(&e, &cx.around()).root.is_some());
        agree(sql, &e, &batch, &cx);
        // The conjuncts of a condition that are evaluated for some of the rows only.
        let some = Expr::new(
            ExprKind::And(vec![bound("a.ti > 0", &table.schema, session).unwrap(), e]),
            crate::types::SqlType::boolean(),
            true,
        );
        agree(&format!("a.ti > 0 AND {sql}"), &some, &batch, &cx);
    }
    native
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_expressions(seed: u64, strict: bool) {
        let session = env();
        let mut random = Random::new(seed);
        let texts: Vec<String> = (0..60)
            .map(|i| if i % 3 == 0 { random.any(3) } else { random.condition(3) })
            .collect();
        session.strict_write.set(strict);
        let native = compare(&mut random, &texts, &session);
        prop_assert!(native > 10, "{native} ran on loops");
    }

}

proptest! {
    // A case has thousands of comparisons.
    #![proptest_config(ProptestConfig::with_cases(3))]

    /// Every column against every constant and every other, by every operator.
    #[test]
    fn comparisons(seed: u64) {
        let session = env();
        let mut random = Random::new(seed);
        let mut texts = Vec::new();
        for a in schema().columns.iter() {
            for b in schema().columns.iter() {
                let op = random.operator();
                texts.push(format!("a.{} {op} b.{}", a.name, b.name));
                texts.push(format!("b.{} {op} c.{}", a.name, b.name));
            }
            for c in random::CONSTANTS {
                let op = random.operator();
                texts.push(format!("a.{} {op} {c}", a.name));
                texts.push(format!("{c} {op} b.{}", a.name));
            }
        }
        compare(&mut random, &texts, &session);
    }
}

#[test]
fn any_thread_may_have_one() {
    fn shared<T: Send + Sync>() {}
    shared::<Kernel<'_>>();
}

#[test]
fn what_a_session_knows_is_not_for_threads() {
    let session = env();
    let schema = schema();
    for (sql, may) in [
        ("a.i + 1 = ? AND a.s LIKE 'a%'", true),
        ("NOW() > a.dm AND UNIX_TIMESTAMP(a.dm) > 5", true),
        ("RAND() < 0.5", false),
        ("RAND(3) < 0.5", false),
        ("@v = a.i", false),
        ("(@v := a.i)", false),
        ("a.i + SLEEP(0)", false),
        ("LAST_INSERT_ID(a.i)", false),
        ("LAST_INSERT_ID()", false),
        ("CONNECTION_ID() = a.i", false),
        ("DATABASE()", false),
        ("DATE_FORMAT(a.dt, '%M')", false),
        ("UUID()", false),
        ("GET_LOCK('a', 1)", false),
    ] {
        let e = bound(sql, &schema, &session).unwrap();
        assert_eq!(is_batchable(&e), may, "{sql}");
    }
    let variable = ExprKind::SystemVariable("".into(), "sql_mode".into());
    let ty = crate::types::SqlType::bigint();
    assert!(!is_batchable(&Expr::new(variable, ty, true)));
}

#[test]
fn a_kernel_outlives_the_batches_it_is_evaluated_over() {
    let session = env();
    let schema = schema();
    let e = bound("a.i * 2", &schema, &session).unwrap();
    let around = EvalContext {
        rows: &[],
        params: &[],
        session: &session,
    };
    let kernel = Kernel::new(&e, &around);
    let mut sum = 0;
    for rows in 0..3u64 {
        let mut random = Random::new(rows);
        let table = Table::new(&mut random, rows as usize, &session);
        let batch = Batch {
            len: rows as usize,
            sources: vec![SourceRows::Stored(
                &table.schema,
                table.stored.iter().map(|r| Some(r.as_slice())).collect(),
            )],
        };
        let cx = BatchContext {
            params: &[],
            session: &session,
            rows: &[],
        };
        sum += kernel.vector(&batch, &cx).unwrap().len();
    }
    assert_eq!(sum, 3);
}
