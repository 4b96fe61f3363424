//! How much memory trees take, at the most while they are built, for texts chosen to take much:
//! `cargo test -p millpond-syntax --test memory -- --nocapture` prints the table.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use millpond_syntax::parse::MOST_BYTES;
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

/// Texts whose trees take more.
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
        ("select list", format!("select {}", list("1")), 1117),
        ("tables", format!("select 1 from {}", list("a")), 1116),
        (
            "tables in parentheses",
            format!("select 1 from ({})", list("a")),
            1116,
        ),
        (
            "JOIN",
            format!("select 1 from a {}", chain("join a ")),
            1436,
        ),
        (
            "one row of empty texts",
            format!("insert into t values ({})", list("''")),
            1136,
        ),
    ]
}

#[test]
fn trees_are_small() {
    let mut wrong = Vec::new();
    let mut check = |name: &str, text: &str, code: u16, bound: f64| {
        let (bytes, got) = per_byte(text);
        println!("{name}: {bytes:.2} bytes per byte");
        if got != code || bytes > bound {
            wrong.push(format!("{name}: {bytes:.2} error {got}"));
        }
    };
    for (name, text) in statements() {
        check(name, &text, 0, 8.0);
    }
    for (name, text, code) in others() {
        check(name, &text, code, 8.0);
    }
    for (name, text) in trees() {
        check(name, &text, 0, 200.0);
    }
    // What takes that much is refused before it takes much.
    let list8 = vec!["a"; 16].join(",");
    let users = format!("create user {}", list(&list8));
    let bound = 2.5 * MOST_BYTES as f64 / users.len() as f64;
    check("many accounts", &users, 3170, bound);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
