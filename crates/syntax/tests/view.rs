//! Queries in SHOW CREATE VIEW's form.

use millpond_syntax::ast::{Query, Statement, StatementKind};
use millpond_syntax::print::View;
use millpond_syntax::{LexMode, parse_statement};

fn parse(text: &str) -> Statement {
    parse_statement(text, LexMode::default()).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn query(statement: &Statement) -> Option<&Query> {
    match &statement.kind {
        StatementKind::Query(q) => Some(q),
        _ => None,
    }
}

fn shown(text: &str, columns: &[&str]) -> String {
    let statement = parse(text);
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let query = query(&statement).expect("a query");
    let columns = &columns;
    View { query, columns }.to_string()
}

#[test]
fn views_are_shown_as_in_mysql() {
    let cases = [
        (
            "SELECT `jt`.`b` AS `b` FROM `d`.`t` LEFT JOIN JSON_TABLE(`d`.`t`.`doc`, '$.A[*]' COLUMNS (n FOR ORDINALITY, b VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin PATH '$.B' DEFAULT '\"X\"' ON EMPTY ERROR ON ERROR, e ENUM('It','''S') EXISTS PATH '$', NESTED PATH '$.C' COLUMNS (c JSON PATH '$' NULL ON ERROR NULL ON EMPTY))) AS jt ON TRUE",
            "select `jt`.`b` AS `b` from (`d`.`t` left join json_table(`d`.`t`.`doc`, '$.A[*]' columns (`n` for ordinality, `b` varchar(10) character set latin1 collate latin1_bin path '$.B' default '\"X\"' on empty error on error, `e` enum('It','''S') exists path '$', nested path '$.C' columns (`c` json path '$' null on empty null on error))) `jt` on(true))",
        ),
        (
            "SELECT `t`.`a` FROM `t` WHERE `t`.`a` > 1 AND `t`.`b` = 2 OR NOT `t`.`c`",
            "select `t`.`a` AS `a` from `t` where (((`t`.`a` > 1) and (`t`.`b` = 2)) or (not(`t`.`c`)))",
        ),
        (
            "select 1 + 2 - 3 * x as a from d.t, u as v",
            "select ((1 + 2) - (3 * `x`)) AS `a` from (`d`.`t` join `u` `v`)",
        ),
        (
            "select count(*), sum(distinct b) as s from t group by a desc having sum(b) > 1 order by 1 asc limit 2 offset 3",
            "select count(0) AS `a`,sum(distinct `b`) AS `s` from `t` group by `a` desc having (sum(`b`) > 1) order by 1 limit 3,2",
        ),
        (
            "select a from t left join u on t.x = u.x join w using (y)",
            "select `a` AS `a` from ((`t` left join `u` on((`t`.`x` = `u`.`x`))) join `w` using (`y`))",
        ),
        (
            "select a from t right join u on t.x = u.x straight_join w",
            "select `a` AS `a` from ((`u` left join `t` on((`t`.`x` = `u`.`x`))) straight_join `w`)",
        ),
        (
            "select a from t where a and b and c or d is not null and e in (1, 2) union all select 1",
            "select `a` AS `a` from `t` where ((`a` and `b` and `c`) or ((`d` is not null) and (`e` in (1,2)))) \
             union all select 1",
        ),
        (
            "select case a when 1 then 'x' else Concat(b, 'y') end from (select 1 as a) d where exists (select 1 from e)",
            "select (case `a` when 1 then 'x' else concat(`b`,'y') end) AS `a` from (select 1 AS `a`) `d` \
             where exists(select 1 from `e`)",
        ),
        (
            "select cast(a as char(3)) from t where b between 1 and 2 and c like 'x' and d >= now() - interval 1 day",
            "select cast(`a` as char(3)) AS `a` from `t` where ((`b` between 1 and 2) and (`c` like 'x') and \
             (`d` >= (now() - interval 1 day)))",
        ),
        (
            "select group_concat(a order by b), -a, if(a, null, true) from t",
            "select group_concat(`a` order by `b` ASC separator ',') AS `a`,-(`a`),if(`a`,null,true) from `t`",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(shown(text, &["a"]), want);
    }
}

/// What a text says, its form left aside.
fn said(statement: &Statement) -> String {
    let text = statement.to_string();
    let text = text.replace("COUNT(*)", "COUNT(0)").replace(" ASC,", ",");
    let text = text.replace(" ASC)", ")").replace(" ASC ", " ");
    let text = text.strip_suffix(" ASC").unwrap_or(&text).to_string();
    let text = text.replace("CROSS JOIN", ",").replace(" JOIN ", ",");
    let text = text.replace(" SEPARATOR ','", "").replace("{OJ ", "");
    let text = text.replace("SUBSTRING(", "substr(");
    let form = |c: char| c == '(' || c == ')' || c == '}' || c.is_whitespace();
    let text: String = text.chars().filter(|c| !form(*c)).collect();
    let text = text.to_lowercase();
    // Arrows are shown as the functions that they stand for.
    let text = text.replace("->>", ",").replace("->", ",");
    text.replace("json_unquote", "").replace("json_extract", "")
}

/// What is wrong with the form of a query that may be a view's, if anything.
fn fault(text: &str) -> Option<String> {
    let first = parse_statement(text, LexMode::default()).ok()?;
    let q = query(&first).filter(|_| first.params == 0)?;
    let columns = &[][..];
    let view = View { query: q, columns }.to_string();
    let again = match parse_statement(&view, LexMode::default()) {
        Ok(again) => again,
        Err(e) => return Some(format!("{text}\n  {view}\n  {e}")),
    };
    let (was, is) = (said(&first), said(&again));
    // A right join is shown as a left one, its sides swapped; ON EMPTY is shown before ON ERROR.
    let swapped = was.contains("right") || was.contains("onerrordefault");
    if was != is && !swapped {
        return Some(format!("{text}\n  {view}\n  {was}\n  {is}"));
    }
    let query = query(&again)?;
    let second = View { query, columns }.to_string();
    (second != view).then(|| format!("{text}\n  {view}\n  {second}"))
}

#[test]
fn what_is_shown_parses_to_the_same() {
    let mut texts: Vec<String> = Vec::new();
    texts.extend(include_str!("statements.txt").lines().map(Into::into));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../session/tests/slt");
    for file in std::fs::read_dir(folder).expect("the folder of tests") {
        let text = std::fs::read_to_string(file.expect("a file").path()).unwrap_or_default();
        for record in text.split("\n\n") {
            let lines = record.lines().skip_while(|l| !l.starts_with("query "));
            let sql: Vec<&str> = lines.skip(1).take_while(|l| *l != "----").collect();
            texts.push(sql.join("\n"));
        }
    }
    let faults: Vec<String> = texts.iter().filter_map(|text| fault(text)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
