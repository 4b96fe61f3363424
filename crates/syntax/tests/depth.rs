//! Nesting of any kind ends in an error before a stack does; what ordinary statements nest is accepted; errors say where.

use millpond_syntax::{LexMode, parse_statement};

/// Runs a test with the stack that [`millpond_syntax::parse::MAX_DEPTH`] asks for in builds for debugging.
fn with_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(8 << 20);
    thread
        .spawn(test)
        .expect("a thread")
        .join()
        .expect("no panic");
}

fn code(text: &str) -> u16 {
    match parse_statement(text, LexMode::default()) {
        Ok(statement) => {
            drop(statement.to_string());
            0
        }
        Err(e) => e.code,
    }
}

fn wrap(before: &str, inner: &str, after: &str, n: usize) -> String {
    format!("{}{inner}{}", before.repeat(n), after.repeat(n))
}

#[test]
fn nesting_is_bounded() {
    with_stack(nesting_is_bounded_there);
}

fn nesting_is_bounded_there() {
    let ways = [
        ("(", "1", ")"),
        ("not ", "1", ""),
        ("- ", "1", ""),
        ("f(", "1", ")"),
        ("(select ", "1", ")"),
        ("case when ", "1", " then 1 end"),
        ("(1,", "1", ")"),
        ("1 in (", "1", ")"),
        ("exists (select ", "1", ")"),
        ("@a := ", "1", ""),
        ("1 between 1 and ", "1", ""),
        ("1 + interval ", "1", " day"),
        ("", "1", " is null"),
        ("", "1", " collate x"),
        ("(", "1", " is null is null) + 1"),
        ("{d ", "1", "}"),
    ];
    for (before, inner, after) in ways {
        let deep = format!("select {}", wrap(before, inner, after, 10_000));
        assert_eq!(code(&deep), 1436, "{before}…{after}");
        let fine = format!("select {}", wrap(before, inner, after, 30));
        assert_eq!(code(&fine), 0, "{before}…{after}");
    }
    let tables = [
        ("(select * from ", "t", ") x", 1436),
        ("(", "t", ")", 1436),
        // There are too many before they nest too deeply.
        ("t join ", "t", "", 1116),
        ("t left join ", "t", " on 1", 1116),
    ];
    for (before, inner, after, wrong) in tables {
        let deep = format!("select 1 from {}", wrap(before, inner, after, 10_000));
        assert_eq!(code(&deep), wrong, "{before}…{after}");
        let fine = format!("select 1 from {}", wrap(before, inner, after, 30));
        assert_eq!(code(&fine), 0, "{before}…{after}");
    }
    assert_eq!(code(&wrap("(", "select 1", ")", 10_000)), 1436);
    assert_eq!(code(&wrap("explain ", "select 1", "", 10_000)), 1064);
}

#[test]
fn chains_do_not_nest() {
    with_stack(chains_do_not_nest_there);
}

fn chains_do_not_nest_there() {
    for link in [" or ", " and ", "+", "*", "|", " xor ", "=", " ^ ", "-"] {
        let text = format!("select {}", vec!["a"; 10_000].join(link));
        assert_eq!(code(&text), 0, "{link}");
    }
    let unions = vec!["select 1"; 10_000].join(" union ");
    assert_eq!(code(&unions), 0);
    // As many tables as MySQL joins.
    let joins = format!("select 1 from {}", vec!["t"; 61].join(" join "));
    assert_eq!(code(&joins), 0);
    let joins = format!("select 1 from t {}", "join t on 1 ".repeat(60));
    assert_eq!(code(&joins), 0);
    let joins = format!("select 1 from t {}", "join t on 1 ".repeat(10_000));
    assert_eq!(code(&joins), 1116);
}

#[test]
fn errors_say_where() {
    with_stack(errors_say_where_there);
}

fn errors_say_where_there() {
    let cases = [
        ("selec 1", "'selec 1' at line 1"),
        ("select 1 +\n", "'' at line 1"),
        ("select a from\nt where where b;", "'where b' at line 2"),
        ("select 'abc", "''abc' at line 1"),
        ("select 1; select 2", "'select 2' at line 1"),
        ("select count (*) from t", "'*) from t' at line 1"),
        ("insert into t values (1,)", "')' at line 1"),
        ("select a, * from t", "'* from t' at line 1"),
        ("select \u{e9}\u{e9} from from", "'from' at line 1"),
        ("select 1 /* open", "'/* open' at line 1"),
    ];
    for (text, near) in cases {
        let e = parse_statement(text, LexMode::default()).unwrap_err();
        let want = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
             right syntax to use near {near}"
        );
        assert_eq!((e.code, e.message), (1064, want), "{text}");
    }
    let long = format!("select 1 from {}", "\u{e9} ".repeat(100));
    let e = parse_statement(&long, LexMode::default()).unwrap_err();
    let shown = e.message.split('\'').nth(1).map(|s| s.chars().count());
    assert_eq!(shown, Some(80));
    let wide = format!("select {} from t", vec!["1"; 65_536].join(","));
    assert_eq!(code(&wide), 1117);
    assert_eq!(code("update t, s set a = 1 limit 1"), 1221);
}
