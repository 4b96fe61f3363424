//! How much memory trees take, at the most while they are built, for texts chosen to take much:
//! `cargo test -p millpond-syntax --test memory -- --nocapture` prints the table.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use millpond_syntax::{LexMode, parse_statement};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is the system's allocator; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is counted is the whole process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes taken at the most per byte of text, a realloc counting both blocks; the error's number, or 0.
fn per_byte(text: &str) -> (f64, u16) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let code = parse_statement(text, LexMode::default()).map_or_else(|e| e.code, |_| 0);
    let most = MOST.load(Ordering::Relaxed) - before;
    (most as f64 / text.len() as f64, code)
}

/// Times that each text repeats what it repeats.
const N: usize = 1 << 15;

fn list(item: &str) -> String {
    vec![item; N].join(",")
}

fn chain(item: &str) -> String {
    item.repeat(N)
}

/// A tree of calls, each with `wide` arguments, that reaches `bytes`.
fn nested_calls(wide: usize, bytes: usize) -> String {
    let mut text = "a".to_string();
    while text.len() < bytes {
        text = format!("f({})", vec![text; wide].join(","));
    }
    text
}

/// Each text with its name: what is a statement.
fn statements() -> Vec<(&'static str, String)> {
    let select = |e: String| format!("select {e}");
    vec![
        (
            "IN list of numbers",
            select(format!("a in ({})", list("1"))),
        ),
        (
            "IN list of columns",
            select(format!("a in ({})", list("a"))),
        ),
        (
            "IN list of rows",
            select(format!("a in ({})", list("(1,1)"))),
        ),
        (
            "rows of VALUES",
            format!("insert into t values {}", list("(1,'a',NULL)")),
        ),
        (
            "rows of calls",
            format!("insert into t values {}", list("(f(1),a+b)")),
        ),
        ("quotes", select("'".repeat(N))),
        ("texts in a row", select(chain("'a' "))),
        ("comments", select(format!("{} 1", chain("/**/")))),
        (
            "version comments",
            select(format!("1 {}", chain("/*!+1*/"))),
        ),
        (
            "index hints",
            format!("select 1 from t {}", chain("use key()")),
        ),
        ("OR", select(format!("{} 1", chain("a or ")))),
        (
            "OR of comparisons",
            select(format!("{} 1", chain("a=1 or "))),
        ),
        ("sum", select(format!("{} 1", chain("1+")))),
        ("sum and difference", select(format!("{} 1", chain("1+1-")))),
        ("comparisons", select(format!("{} 1", chain("1=")))),
        ("sum of products", select(format!("{} 1", chain("1*1+")))),
        ("sum of signs", select(format!("{} 1", chain("-a+")))),
        ("sum of NOT", select(format!("{} 1", chain("!a+")))),
        ("sum of sums", select(format!("{} 1", chain("(1-1)+")))),
        ("sum of calls", select(format!("{} 1", chain("f(1)+")))),
        (
            "sum of calls without arguments",
            select(format!("{} 1", chain("f()+"))),
        ),
        (
            "sum of CASE",
            select(format!("{} 1", chain("case when a then b end+"))),
        ),
        (
            "sum of subqueries",
            select(format!("{} 1", chain("(select 1)+"))),
        ),
        (
            "sum of qualified columns",
            select(format!("{} 1", chain("a.b+"))),
        ),
        ("sum of variables", select(format!("{} 1", chain("@a+")))),
        (
            "sum of system variables",
            select(format!("{} 1", chain("@@a+"))),
        ),
        ("sum of decimals", select(format!("{} 1", chain(".1+")))),
        ("arguments", select(format!("f({})", list("a")))),
        (
            "arguments that are qualified",
            select(format!("f({})", list("a.b"))),
        ),
        (
            "arguments that are texts",
            select(format!("f({})", list("''"))),
        ),
        (
            "COUNT DISTINCT",
            select(format!("count(distinct {})", list("a"))),
        ),
        (
            "GROUP_CONCAT",
            select(format!("group_concat({})", list("a"))),
        ),
        (
            "ORDER BY of GROUP_CONCAT",
            select(format!("group_concat(a order by {})", list("a"))),
        ),
        (
            "windows' partitions",
            select(format!("sum(a) over (partition by {})", list("a"))),
        ),
        (
            "CASE",
            select(format!("case {} end", chain("when a then b "))),
        ),
        (
            "GROUP BY",
            format!("select 1 from t group by {}", list("a")),
        ),
        (
            "ORDER BY",
            format!("select 1 from t order by {}", list("a")),
        ),
        ("UNION", select(format!("1 {}", chain("union select 1 ")))),
        (
            "UNION of tables",
            format!("table t {}", chain("union table t ")),
        ),
        (
            "UNION of VALUES",
            format!("table t {}", chain("union values row(1) ")),
        ),
        (
            "INTERSECT",
            select(format!("1 {}", chain("intersect select 1 "))),
        ),
        ("locks", format!("select 1 from t {}", chain("for share "))),
        ("CALL", format!("call p({})", list("1"))),
        (
            "table options",
            format!("create table t (a int) {}", chain("engine=a ")),
        ),
        (
            "SIGNAL",
            format!("signal sqlstate '45000' set {}", list("mysql_errno=1")),
        ),
    ]
}

/// Others, most of which stand once in a statement.
fn trees() -> Vec<(&'static str, String)> {
    let select = |e: String| format!("select {e}");
    let table = |e: String| format!("create table t ({e})");
    vec![
        (
            "columns of INSERT",
            format!("insert into t ({}) select 1", list("a")),
        ),
        ("INSERT SET", format!("insert into t set {}", list("a=1"))),
        (
            "ON DUPLICATE KEY",
            format!(
                "insert into t values (1) on duplicate key update {}",
                list("a=1")
            ),
        ),
        ("UPDATE", format!("update t set {}", list("a=1"))),
        ("hints", format!("select /*+ {} */ 1", chain("A() "))),
        (
            "names of an index hint",
            format!("select 1 from t use key({})", list("a")),
        ),
        ("calls in calls, 2 wide", select(nested_calls(2, 2 * N))),
        ("calls in calls, 10 wide", select(nested_calls(10, 2 * N))),
        ("calls in calls, 40 wide", select(nested_calls(40, N))),
        ("row", select(format!("({}) = 1", list("a")))),
        ("INTERVAL", select(format!("interval({})", list("1")))),
        (
            "MATCH",
            select(format!("match({}) against ('a')", list("a"))),
        ),
        (
            "JSON_TABLE",
            format!(
                "select 1 from json_table('[]', '$' columns({})) t",
                list("a for ordinality")
            ),
        ),
        ("windows", format!("select 1 window {}", list("a as ()"))),
        ("WITH", format!("with {} select 1", list("a as (select 1)"))),
        (
            "USING",
            format!("select 1 from a join b using ({})", list("a")),
        ),
        (
            "partitions",
            format!("select 1 from t partition ({})", list("a")),
        ),
        ("INTO", select(format!("1 into {}", list("@a")))),
        ("DO", format!("do {}", list("1"))),
        ("EXECUTE", format!("execute s using {}", list("@a"))),
        ("DELETE", format!("delete {} from t", list("a"))),
        ("SET", format!("set {}", list("@a=1"))),
        ("SET of system variables", format!("set {}", list("a=1"))),
        ("GRANT to", format!("grant select on *.* to {}", list("a"))),
        (
            "GRANT of columns",
            format!("grant select ({}) on t to a", list("a")),
        ),
        ("GRANT of roles", format!("grant {} to a", list("a"))),
        ("CREATE USER", format!("create user {}", list("a"))),
        ("DROP USER", format!("drop user {}", list("a"))),
        ("key columns", table(format!("a int, key ({})", list("a")))),
        ("keys", table(format!("a int, {}", list("key(a)")))),
        ("checks", table(format!("a int, {}", list("check(1)")))),
        (
            "column attributes",
            table(format!("a int {}", chain("null "))),
        ),
        ("members of ENUM", table(format!("a enum({})", list("''")))),
        (
            "partitions of a table",
            format!(
                "create table t (a int) partition by list (a) ({})",
                list("partition a values in (1)")
            ),
        ),
        (
            "values of a partition",
            format!(
                "create table t (a int) partition by list (a) (partition a values in ({}))",
                list("1")
            ),
        ),
        (
            "merged tables",
            format!("create table t (a int) union ({})", list("a")),
        ),
        ("ALTER TABLE", format!("alter table t {}", list("force"))),
        (
            "ALTER TABLE, dropped",
            format!("alter table t {}", list("drop a")),
        ),
        ("DROP TABLE", format!("drop table {}", list("a"))),
        ("RENAME TABLE", format!("rename table {}", list("a to b"))),
        ("LOCK TABLES", format!("lock tables {}", list("a read"))),
        ("ANALYZE TABLE", format!("analyze table {}", list("a"))),
        ("FLUSH TABLES", format!("flush tables {}", list("a"))),
        (
            "LOAD DATA",
            format!("load data infile 'a' into table t ({})", list("a")),
        ),
        (
            "statements of a procedure",
            format!("create procedure p() begin {} end", chain("do 1;")),
        ),
        (
            "IFs of a procedure",
            format!(
                "create procedure p() begin {} end",
                chain("if 1 then do 1;end if;")
            ),
        ),
        (
            "variables of a procedure",
            format!("create procedure p() begin declare {} int; end", list("a")),
        ),
        (
            "parameters of a procedure",
            format!("create procedure p({}) do 1", list("a int")),
        ),
    ]
}

/// Texts that are refused, with the error's number.
fn others() -> Vec<(&'static str, String, u16)> {
    vec![
        ("blanks", " ".repeat(N), 1064),
        ("commas", format!("select {}", ",".repeat(N)), 1064),
        ("parentheses", format!("select {}", "(".repeat(N)), 1436),
        ("NOT", format!("select {} 1", chain("not ")), 1436),
        ("minus", format!("select {} 1", chain("- ")), 1436),
        ("IS NULL", format!("select 1 {}", chain("is null ")), 1436),
        ("COLLATE", format!("select a {}", chain("collate a ")), 1436),
        ("select list", format!("select {}", list("1,1,1,1")), 1117),
        ("tables", format!("select 1 from {}", list("a")), 1116),
        (
            "tables in parentheses",
            format!("select 1 from ({})", list("a")),
            1116,
        ),
        (
            "JOIN",
            format!("select 1 from a {}", chain("join a ")),
            1116,
        ),
        (
            "one row of empty texts",
            format!("insert into t values ({})", list("''")),
            1136,
        ),
    ]
}

/// What a text of 64 KiB or more may take for each byte.
const BYTES_PER_BYTE: f64 = 8.0;

/// What is wrong with a text, if anything is: that it takes too much, or gives another error.
fn wrong(name: &str, text: &str, code: u16) -> Option<String> {
    let (bytes, got) = per_byte(text);
    println!("{name}: {bytes:.2} bytes per byte");
    (got != code || bytes > BYTES_PER_BYTE).then(|| {
        let error = parse_statement(text, LexMode::default()).err();
        format!(
            "{name}: {bytes:.2} error {got} {}",
            error.map_or_else(String::new, |e| e.message)
        )
    })
}

#[test]
fn trees_are_small() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let texts = statements().into_iter().chain(trees());
    let texts = texts.map(|(name, text)| (name, text, 0)).chain(others());
    let wrong: Vec<_> = texts
        .filter_map(|(n, t, code)| wrong(n, &t, code))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What an expression, a query or a statement may consist of: each `#` is another one.
struct Grammar {
    before: &'static str,
    after: &'static str,
    leaves: &'static [&'static str],
    forms: &'static [&'static str],
}

const EXPRESSIONS: Grammar = Grammar {
    before: "select ",
    after: "",
    leaves: &["a", "1", "''", "?", "a.b"],
    forms: &[
        "f(#)",
        "f(#,#)",
        "f(#,#,#,#,#,#,#)",
        "(#+#)",
        "(#)-(#)",
        "(#*#+#)",
        "((#,#)=(#,#))",
        "((#,#)in((#,#),(#,#)))",
        "(# between # and #)",
        "(# like(#)escape(#))",
        "(# is null)",
        "-(#)",
        "(not #)",
        "(# in(#,#,#))",
        "case # when # then # when # then # else # end",
        "(select #)",
        "(select #,# from t where # group by #,# having # order by # limit 1)",
        "exists(select # from(select # x)t)",
        "(#=any(select # union select #))",
        "(# collate c)",
        "cast(# as char)",
        "interval(#,#,#)",
        "date_add(#,interval # day)",
        "concat(#,#)",
        "count(distinct #,#)",
        "sum(#)over(partition by #,# order by #)",
        "group_concat(# order by #,#)",
        "substring(#,#,#)",
        "(@a:=#)",
        "{a #}",
        "char(#,# using utf8mb4)",
        "if(#,#,#)",
    ],
};

const QUERIES: Grammar = Grammar {
    before: "",
    after: "",
    leaves: &["select 1", "table t", "values row(1)", "select a from t"],
    forms: &[
        "(#)",
        "(#)union(#)",
        "(#)union all(#)union(#)",
        "(#)intersect(#)",
        "select*from(#)a,(#)b",
        "select*from(#)a join((#)b left join(#)c on a)on(#)",
        "select*from(((#)a))",
        "with a as(#),b as(#)select 1",
        "select(#),(#)",
        "select 1 from t where a in(#)and exists(#)",
        "(#)order by 1,2 limit 1",
        "select*from lateral(#)a",
    ],
};

const STATEMENTS: Grammar = Grammar {
    before: "create procedure p() begin ",
    after: "end",
    leaves: &[
        "do 1;",
        "set a=1;",
        "select 1 into a;",
        "leave a;",
        "insert into t values(1);",
        "drop table t;",
    ],
    forms: &[
        "begin # # end;",
        "if 1 then # end if;",
        "if 1 then # elseif 1 then # # else # end if;",
        "case when 1 then # when 2 then # else # end case;",
        "case a when 1 then # end case;",
        "loop # # end loop;",
        "while 1 do # # end while;",
        "repeat # # until 1 end repeat;",
        "begin declare a,b int;declare exit handler for 1,2 #end;",
    ],
};

/// A generator of numbers (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005);
        self.0 = self.0.wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

impl Grammar {
    /// A text of about that many bytes within `deep` levels, of these forms. Forms of one part nest without growing: at most so many.
    fn text(&self, forms: &[&str], bytes: usize, deep: usize, numbers: &mut Numbers) -> String {
        if deep == 0 || bytes < 8 {
            return self.leaves[numbers.below(self.leaves.len())].into();
        }
        let form = forms[numbers.below(forms.len())];
        let parts = form.matches('#').count();
        let mut text = String::new();
        for (n, piece) in form.split('#').enumerate() {
            if n > 0 {
                let room = bytes.saturating_sub(form.len()) / parts;
                text += &self.text(forms, room, deep - 1, numbers);
            }
            text += piece;
        }
        text
    }

    /// A statement of these forms, of 64 KiB at least.
    fn statement(&self, forms: &[&str], numbers: &mut Numbers) -> String {
        let wide = forms.iter().any(|f| f.matches('#').count() > 1);
        let forms: Vec<&str> = if wide {
            forms.into()
        } else {
            [forms, &self.forms[1..4]].concat()
        };
        (64 << 10..)
            .step_by(64 << 10)
            .map(|bytes| self.text(&forms, bytes, 24, numbers))
            .find(|text| text.len() >= 64 << 10)
            .map(|text| format!("{}{text}{}", self.before, self.after))
            .expect("texts grow")
    }
}

#[test]
fn trees_of_nested_texts_are_small() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut numbers = Numbers(1);
    let mut bad = Vec::new();
    for grammar in [EXPRESSIONS, QUERIES, STATEMENTS] {
        for form in grammar.forms {
            let text = grammar.statement(&[form], &mut numbers);
            bad.extend(wrong(form, &text, 0));
        }
        for n in 0..5 {
            let mixed = [(); 5].map(|()| grammar.forms[numbers.below(grammar.forms.len())]);
            let text = grammar.statement(&mixed, &mut numbers);
            bad.extend(wrong(&format!("mixture {n} of {mixed:?}"), &text, 0));
        }
        let text = grammar.statement(grammar.forms, &mut numbers);
        bad.extend(wrong("mixture of all", &text, 0));
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Every statement of the grammar's own tests, many times in a procedure.
#[test]
fn trees_of_procedures_are_small() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut bad = Vec::new();
    let mut tried = 0;
    for statement in include_str!("statements.txt").lines() {
        let statement = statement.trim_end_matches(';');
        let procedure = |n| {
            let body = format!("{statement};").repeat(n);
            format!("create procedure p() begin {body} end")
        };
        let mode = LexMode::default();
        if statement.is_empty() || parse_statement(&procedure(1), mode).is_err() {
            continue;
        }
        tried += 1;
        let text = procedure((64 << 10) / statement.len() + 1);
        bad.extend(wrong(statement, &text, 0));
    }
    assert!(tried > 50, "{tried}");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
