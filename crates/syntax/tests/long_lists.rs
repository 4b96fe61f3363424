//! Lists that are held as text say what they said: nothing of them is lost, moved or read twice.

use std::borrow::Cow;

use millpond_syntax::ast::{Expr, ExprKind, QueryBody, SelectItem, StatementKind};
use millpond_syntax::{LexMode, parse_statement};

/// The marks `x0`, `x1`, … of a text, in order.
fn marks(text: &str) -> Vec<u32> {
    let pieces = text.split('x').skip(1);
    let number = |piece: &str| {
        let digits = piece.find(|c: char| !c.is_ascii_digit());
        piece[..digits.unwrap_or(piece.len())].parse().ok()
    };
    pieces.filter_map(number).collect()
}

/// `item` many times with `#` a mark, each another one, and `separator` between.
fn many(n: u32, item: &str, separator: &str, marks: &mut u32) -> String {
    let items: Vec<String> = (0..n)
        .map(|_| {
            let mut text = String::new();
            for piece in item.split_inclusive('#') {
                text.push_str(piece.trim_end_matches('#'));
                if piece.ends_with('#') {
                    text.push_str(&format!("x{marks}"));
                    *marks += 1;
                }
            }
            text
        })
        .collect();
    items.join(separator)
}

#[track_caller]
fn check(text: &str) {
    let tree = parse_statement(text, LexMode::default()).expect(text);
    let printed = tree.to_string();
    assert_eq!(marks(&printed), marks(text), "{text}\n{printed}");
    let again = parse_statement(&printed, LexMode::default()).expect(&printed);
    assert_eq!(again, tree, "{text}");
    assert_eq!(again.to_string(), printed);
}

#[test]
fn nothing_is_lost() {
    // Before the list, an item, what separates items, behind the list.
    let shapes = [
        ("select a in (", "#", ",", ")"),
        ("select a in (", "(#, #)", " , ", ") from t"),
        ("select f(", "#", ",", ") + 1"),
        ("select f(", "# as y", ",", ")"),
        ("select f(", "g(#)", " /* c */ , -- d\n", ")"),
        ("select ", "#", " + ", ""),
        ("select ", "#", " or ", " or (a and b)"),
        ("select ", "# * #", " - ", " from t"),
        ("select (", "#", " + ", ") + c * d"),
        ("select ", "#", " and ", " = 1"),
        ("select ", "interval(#, #)", " + ", " + 1"),
        ("select ", "#", " < ", ""),
        ("select case ", "when # then #", " ", " else 1 end"),
        ("select case a ", "when # then #", " ", " end"),
        ("select 1 from t group by ", "#", ", ", " having 1"),
        ("select 1 from t order by ", "# desc", ", ", " limit 1"),
        (
            "select group_concat(",
            "#",
            ", ",
            " order by b separator 'c')",
        ),
        ("select count(distinct ", "#", ", ", ")"),
        ("", "select #", " union ", " order by 1"),
        ("", "select #", " union all ", " union select 1 into @a"),
        ("", "select # intersect select #", " union all ", ""),
        ("", "select #", " except ", ""),
        ("", "table #", " union ", " limit 1"),
        ("", "(select # order by 1)", " union ", ""),
        ("insert into t values ", "(#, 1)", ", ", ""),
        ("call p(", "#", ", ", ")"),
        ("update t set a = 1 order by ", "#", ", ", ""),
        ("select 1 /*! + ", "#", " + ", " */ + c"),
        ("select ", "#", " /*!+*/ ", ""),
        ("select 1 ", "/*!+#*/", " ", " + c"),
    ];
    for (before, item, between, after) in shapes {
        for n in [2, 48, 49, 50, 200] {
            let list = many(n, item, between, &mut 0);
            check(&format!("{before}{list}{after}"));
        }
    }
}

#[test]
fn lists_in_lists() {
    let mut n = 0;
    let shapes = [
        ("select f(", ",", ")", "f(", ",", ")"),
        ("select a in (", ",", ")", "b in (", ",", ")"),
        ("select ", "+", "", "(", "+", ")"),
        ("select ", " or ", "", "(", " and ", ")"),
        ("", " union ", "", "select ", " + ", ""),
        ("select f(", ",", ")", "(select ", " union select ", ")"),
        ("select case ", " ", " end", "when (", " + ", ") then 1"),
    ];
    for (before, between, after, open, inner, close) in shapes {
        for (short, long) in [(0, 60), (60, 60), (3, 60)] {
            let mut items = Vec::new();
            for _ in 0..60 {
                let list = many(long, "#", inner, &mut n);
                items.push(format!("{open}{list}{close}"));
                let plain = many(short, "#", inner, &mut n);
                if short > 0 {
                    items.push(format!("{open}{plain}{close}"));
                }
            }
            check(&format!("{before}{}{after}", items.join(between)));
        }
    }
}

#[test]
fn chains_continue_behind_parentheses() {
    let mut n = 0;
    let first = many(60, "#", " + ", &mut n);
    let second = many(60, "#", " + ", &mut n);
    let third = many(60, "#", " - ", &mut n);
    check(&format!("select (({first}) + {second}) - {third}"));
    check(&format!("select {first} + ({second}) + ({third} * 2)"));
}

/// The expression that a statement selects.
fn selected(text: &str) -> Expr {
    let tree = parse_statement(text, LexMode::default()).expect(text);
    let StatementKind::Query(query) = tree.kind else {
        panic!("{text} is no query");
    };
    let QueryBody::Select(select) = query.body else {
        panic!("{text} is no SELECT");
    };
    match select.items.first().map(Cow::into_owned) {
        Some(SelectItem::Expr { expr, .. }) => expr,
        _ => panic!("{text} selects no expression"),
    }
}

#[test]
fn placeholders_keep_their_numbers_and_spans_their_places() {
    let text = format!("select ? + {} + ?", vec!["f(?, ?)"; 100].join(" + "));
    let ExprKind::Chain(chain) = selected(&text).kind else {
        panic!("no chain");
    };
    let last = chain.rest.iter().last().expect("operands");
    assert_eq!(last.operand.kind, ExprKind::Param(201));
    let fiftieth = chain.rest.iter().nth(79).expect("operands");
    let ExprKind::Call(call) = &fiftieth.operand.kind else {
        panic!("no call");
    };
    let args: Vec<_> = call.args.iter().map(|a| a.kind.clone()).collect();
    assert_eq!(args, [ExprKind::Param(159), ExprKind::Param(160)]);
    assert_eq!(fiftieth.operand.span.of(&text), "f(?, ?)");
    assert_eq!(chain.rest.len(), 101);
}
