use std::sync::Arc;

use crate::expr::MemoryBudget;
use crate::memory::{MemoryAccount, ServerMemory};
use millpond_syntax::LexMode;

use super::*;
use crate::env::tests::env;
use crate::expr::RowRef;
use crate::value::{Date, Decimal, write_text};

/// A scope with one row: `i` INT 7, `n` INT NULL, `u` INT UNSIGNED 3, `d` DECIMAL(10,2) 12.50, `f` DOUBLE 1.5,
/// `s` VARCHAR 'Abc', `b` VARBINARY 'abc', `e` ENUM 'y' (the second of three), `t` DATE 2024-01-31, and two placeholders.
struct OneRow {
    session: SessionEnv,
    columns: Vec<(&'static str, SqlType, Value<'static>)>,
    aggregates: Vec<AggregateSpec>,
}

impl OneRow {
    fn new() -> OneRow {
        let int = SqlType::new(BaseType::Int);
        let uint = SqlType {
            unsigned: true,
            ..int.clone()
        };
        let members = vec!["x".into(), "y".into(), "z".into()];
        let ci = Collation::Utf8mb4GeneralCi;
        let decimal = Decimal::from_i128(1250, 2);
        OneRow {
            session: env(),
            columns: vec![
                ("i", int.clone(), Value::Int(7)),
                ("n", int, Value::Null),
                ("u", uint, Value::UInt(3)),
                ("d", SqlType::decimal(10, 2), Value::Decimal(decimal)),
                ("f", SqlType::double(), Value::Double(1.5)),
                ("s", SqlType::varchar(10, ci), Value::str("Abc")),
                (
                    "b",
                    SqlType::varchar(10, Collation::Binary),
                    Value::str("abc"),
                ),
                ("e", SqlType::enumeration(members, ci), Value::str("y")),
                (
                    "t",
                    SqlType::new(BaseType::Date),
                    Value::Date(Date {
                        year: 2024,
                        month: 1,
                        day: 31,
                    }),
                ),
            ],
            aggregates: Vec::new(),
        }
    }
}

impl Scope for OneRow {
    fn session(&self) -> &SessionEnv {
        &self.session
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        match self
            .columns
            .iter()
            .position(|c| c.0.eq_ignore_ascii_case(name))
        {
            Some(i) if qualifier.is_empty() => {
                Ok(Expr::column(0, i, self.columns[i].1.clone(), true, name))
            }
            _ => Err(unknown_column(qualifier, name, self.clause())),
        }
    }
    fn param(&mut self, n: u32) -> SqlResult<usize> {
        Ok(n as usize)
    }
    fn aggregate(&mut self, spec: AggregateSpec) -> SqlResult<Expr> {
        let ty = spec.ty.clone();
        self.aggregates.push(spec);
        Ok(Expr::column(1, self.aggregates.len() - 1, ty, true, "agg"))
    }
    fn clause(&self) -> &'static str {
        "field list"
    }
}

fn parse(sql: &str) -> ast::Expr {
    millpond_syntax::parse_expression(sql, LexMode::default())
        .unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn shown(v: &Value<'_>, ty: &SqlType) -> String {
    if v.is_null() {
        return "NULL".into();
    }
    let mut out = Vec::new();
    write_text(v, ty, &mut out);
    String::from_utf8(out).unwrap_or_else(|e| format!("x'{:02X?}'", e.into_bytes()))
}

/// Evaluates a text: what a client would see, or the error's number.
fn run(sql: &str) -> (String, Vec<u16>) {
    let mut scope = OneRow::new();
    let e = match bind(&parse(sql), &mut scope) {
        Ok(e) => e,
        Err(e) => return (format!("ERROR {}: {}", e.code, e.message), Vec::new()),
    };
    let values: Vec<Value<'_>> = scope.columns.iter().map(|c| c.2.borrowed()).collect();
    let rows = [RowRef::Values(&values)];
    let params = [Value::Int(7), Value::str("abc")];
    let cx = EvalContext {
        rows: &rows,
        params: &params,
        session: &scope.session,
    };
    let result = match e.eval(&cx) {
        Ok(v) => shown(&v, &e.ty),
        Err(e) => format!("ERROR {}: {}", e.code, e.message),
    };
    let codes = scope
        .session
        .diagnostics
        .borrow()
        .iter()
        .map(|d| d.code)
        .collect();
    (result, codes)
}

/// Cases as `expression => result`, one per line; results as a client sees them.
fn check(cases: &str) {
    for line in cases.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (sql, want) = line
            .split_once(" => ")
            .unwrap_or((line.trim_end_matches(" =>"), ""));
        assert_eq!(run(sql).0.trim_end(), want.trim_end(), "{sql}");
    }
}

#[test]
fn constant_expressions() {
    check(include_str!("cases.txt"));
}

#[test]
fn columns_and_parameters() {
    check(
        r"
        i + 1 => 8
        i / 2 => 3.5000
        i + n => NULL
        n <=> null => 1
        u - 4 => ERROR 1690: BIGINT UNSIGNED value is out of range in '(`u` - 4)'
        i - 8 => -1
        d * 2 => 25.00
        d / 3 => 4.166667
        d = 12.5 => 1
        d = '12.50' => 1
        f + i => 8.5
        s = 'ABC' => 1
        s = b => 0
        s collate utf8mb4_bin = 'ABC' => 0
        s like 'aB%' => 1
        s > 'abb' => 1
        s = 0 => 1
        e = 'Y' => 1
        e = 2 => 1
        e + 0 => 2
        e in ('x', 'y') => 1
        e in (2, 3) => 1
        concat(e, i) => y7
        t = '2024-01-31' => 1
        t = '2024-01-31 00:00:00' => 1
        t < '2024-02-01' => 1
        t between '2024-01-01' and '2024-01-31' => 1
        t + interval 1 month => 2024-02-29
        t + interval 1 hour => 2024-01-31 01:00:00
        year(t) => 2024
        i in (1, 2, 7) => 1
        i in (1, 2, 3, 4, 5, 6, 7) => 1
        i in (1, 2, 3, 4, 5, 6, null) => NULL
        i not in (1, 2, 3, 4, 5, 6, null) => NULL
        s in ('a', 'b', 'c', 'd', 'ABC', 'e') => 1
        f in (1, 2, 3, 4, 5, 6) => 0
        n in (1, 2) => NULL
        n is null and i > 1 => 1
        n or i => 1
        n and 0 => 0
        case when n then 1 when i > 5 then 'x' else d end => x
        coalesce(n, d) => 12.50
        if(n is null, i, d) => 7
        i = ? => 1
        ? + 1 => 8
        i = ? and s = ? => 1
        i = ? and s like ? => 1
        ? in (i, 1) => 1
        nosuch => ERROR 1054: Unknown column 'nosuch' in 'field list'
        x.i => ERROR 1054: Unknown column 'x.i' in 'field list'
        (i, u) = (7, 3) => 1
        (i, u) > (7, 2) => 1
        i = (1, 2) => ERROR 1241: Operand should contain 1 column(s)
        now() => 2024-01-31 14:34:56
        now(3) => 2024-01-31 14:34:56.789
        curdate() => 2024-01-31
        current_date => 2024-01-31
        curtime() => 14:34:56
        utc_timestamp() => 2024-01-31 12:34:56
        unix_timestamp() => 1706704496
        unix_timestamp('2024-01-31 14:34:56') => 1706704496
        database() => test
        user() => root@localhost
        connection_id() => 5
        last_insert_id() => 42
        last_insert_id(7) + last_insert_id() => 14
        row_count() => 3
        found_rows() => 4
        @nothing => NULL
        @@nothing => ERROR 1193: Unknown system variable 'nothing'
        rand(3) = rand(3) => 1
        length(uuid()) => 36
        ",
    );
}

#[test]
fn warnings() {
    for (sql, codes) in [
        ("1/0", vec![1365]),
        ("'12abc' + 1", vec![1292]),
        ("cast('x' as signed)", vec![1292]),
        ("date_add('junk', interval 1 day)", vec![1292]),
        ("str_to_date('x', '%Y')", vec![1411]),
        ("i + 1", vec![]),
        ("ln(0)", vec![3020]),
    ] {
        assert_eq!(run(sql).1, codes, "{sql}");
    }
}

#[test]
fn constants_are_folded_and_read_as_their_column_s_type() {
    let mut scope = OneRow::new();
    let bound = |sql: &str, scope: &mut OneRow| bind(&parse(sql), scope).unwrap();
    assert!(matches!(
        bound("1 + 2 * 3", &mut scope).as_constant(),
        Some(Value::Int(7))
    ));
    assert!(bound("now()", &mut scope).as_constant().is_none());
    assert!(bound("1/0", &mut scope).as_constant().is_none());
    let e = bound("t = '2024-01-31'", &mut scope);
    let ExprKind::Compare(_, sides, _) = &e.kind else {
        panic!("{e}")
    };
    assert!(matches!(sides[1].as_constant(), Some(Value::Date(_))));
    let e = bound("i = ?", &mut scope);
    let ExprKind::Compare(_, sides, _) = &e.kind else {
        panic!("{e}")
    };
    assert_eq!(sides[1].ty.base, BaseType::Int);
    let e = bound("i = 1 and u = 2 and (f = 3 and d = 4)", &mut scope);
    assert_eq!(e.into_conjuncts().len(), 4);
    let mut seen = Vec::new();
    bound("i + u > d", &mut scope).columns(&mut |s, c| seen.push((s, c)));
    assert_eq!(seen, [(0, 0), (0, 2), (0, 3)]);
}

/// Runs an aggregate over rows that give column `i` these values (and `s` their text).
fn aggregate(sql: &str, values: &[Value<'static>]) -> String {
    let mut scope = OneRow::new();
    let e = bind(&parse(sql), &mut scope).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let spec = scope.aggregates[0].clone();
    assert!(spec.same(&spec));
    let account = MemoryAccount::new(&Arc::new(ServerMemory::new(64 << 20)));
    let mut budget = MemoryBudget::new(&account, 1 << 20);
    let mut state = spec.accumulator(&mut budget);
    for v in values {
        let mut row: Vec<Value<'_>> = scope.columns.iter().map(|c| c.2.clone()).collect();
        row[0] = v.clone();
        row[5] = Value::Bytes(v.to_text().into_owned().into());
        let rows = [RowRef::Values(&row)];
        let cx = EvalContext {
            rows: &rows,
            params: &[],
            session: &scope.session,
        };
        state.update(&spec, &cx, &mut budget).unwrap();
    }
    let result = state.finish(&spec, &scope.session, &mut budget).unwrap();
    shown(&result, &e.ty)
}

#[test]
fn aggregates() {
    let some = [
        Value::Int(3),
        Value::Int(1),
        Value::Null,
        Value::Int(3),
        Value::Int(2),
    ];
    for (sql, want, empty) in [
        ("count(*)", "5", "0"),
        ("count(i)", "4", "0"),
        ("count(distinct i)", "3", "0"),
        ("count(distinct i, u)", "3", "0"),
        ("sum(i)", "9", "NULL"),
        ("sum(distinct i)", "6", "NULL"),
        ("sum(d)", "62.50", "NULL"),
        ("sum(f)", "7.5", "NULL"),
        ("sum(i * 1.5)", "13.5", "NULL"),
        ("avg(i)", "2.2500", "NULL"),
        ("avg(d)", "12.500000", "NULL"),
        ("min(i)", "1", "NULL"),
        ("max(i)", "3", "NULL"),
        ("group_concat(i)", "3,1,3,2", "NULL"),
        (
            "group_concat(distinct i order by i desc separator '; ')",
            "3; 2; 1",
            "NULL",
        ),
        ("bit_and(i)", "0", "18446744073709551615"),
        ("bit_or(i)", "3", "0"),
        ("bit_xor(i)", "3", "0"),
        ("variance(i)", "0.6875", "NULL"),
        ("std(i)", "0.82915619758885", "NULL"),
        ("var_samp(i)", "0.9166666666666666", "NULL"),
        ("any_value(i)", "3", "NULL"),
    ] {
        let got = aggregate(sql, &some);
        assert!(
            got == want || (want.len() > 12 && got.starts_with(&want[..12])),
            "{sql}: {got}"
        );
        assert_eq!(aggregate(sql, &[]), empty, "{sql}");
    }
    assert_eq!(aggregate("max(s)", &[Value::Int(10), Value::Int(9)]), "9");
    let big = [Value::Int(i64::MAX), Value::Int(i64::MAX)];
    assert_eq!(aggregate("sum(i)", &big), "18446744073709551614");
}

/// Bytes of the texts in an expression and in what its constants were.
fn held(e: &Expr) -> usize {
    let mut bytes = 0;
    e.walk(&mut |e| {
        if let Some(Value::Bytes(text)) = e.as_constant() {
            bytes += text.len();
        }
        bytes += e.folded.as_deref().map_or(0, held);
    });
    bytes
}

#[test]
fn constants_keep_no_long_texts() {
    for item in [
        "length(repeat('a', 65000))",
        "length(concat(repeat('a', 400), repeat('b', 400)))",
        "substr(repeat('a', 65000), 1, 1)",
        "repeat('a', 60000)",
    ] {
        let list = vec![item; 100].join(", ");
        let e = bind(&parse(&format!("s in ({list})")), &mut OneRow::new()).unwrap();
        assert!(held(&e) < 100 * 1024, "{item}: {}", held(&e));
    }
    // What is short is shown as it was written.
    let e = bind(&parse("length(concat('a', 'b'))"), &mut OneRow::new()).unwrap();
    assert!(e.folded.is_some());
}
