//! Statements that differ in their literals share plans as long as estimates for their values are about the same.

use crate::support::{Client, TestDb};

/// Plans made so far for the session.
fn plans(c: &mut Client) -> u64 {
    let shown = c.one("SHOW SESSION STATUS LIKE 'Statement_plans'");
    let count = shown.split('|').nth(1).map(str::parse);
    count.and_then(Result::ok).expect("a number")
}

/// Answers of statements, each told from the others by its literals, and how many plans were made for them.
fn run(c: &mut Client, statements: impl Iterator<Item = String>) -> (Vec<String>, u64) {
    let before = plans(c);
    // SHOW has a plan of its own.
    let one = plans(c) - before;
    let answers = statements.map(|sql| c.rows(&sql).join(" ")).collect();
    (answers, plans(c) - before - 2 * one)
}

/// Posts with three comments each by one of a hundred users; post 7 has a thousand.
fn posts() -> (TestDb, Client) {
    let db = TestDb::new();
    let mut c = db.client();
    for sql in [
        "SET GLOBAL innodb_stats_auto_recalc = OFF",
        "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), KEY (title))",
        "CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))",
        "CREATE TABLE comments (id INT PRIMARY KEY AUTO_INCREMENT, post_id INT NOT NULL, user_id INT NOT NULL, KEY (post_id), KEY (user_id))",
    ] {
        c.ok(sql);
    }
    let insert =
        |table: &str, rows: Vec<String>| format!("INSERT INTO {table} VALUES {}", rows.join(","));
    c.ok(&insert(
        "posts",
        (0..1000).map(|n| format!("({n}, 'post {n}')")).collect(),
    ));
    c.ok(&insert(
        "users",
        (0..100).map(|n| format!("({n}, 'user {n}')")).collect(),
    ));
    let comments = (0..4000).map(|n| match n {
        0..3000 => format!("(NULL, {}, {})", n / 3, n % 100),
        _ => format!("(NULL, 7, {})", n % 100),
    });
    c.ok(&insert("comments", comments.collect()));
    c.ok("ANALYZE TABLE posts, users, comments");
    (db, c)
}

#[test]
fn joins_by_keys_that_are_not_unique() {
    let (_db, mut c) = posts();
    let sql = |n: i64| {
        format!(
            "SELECT MIN(u.name), COUNT(*) FROM comments c JOIN users u ON u.id = c.user_id WHERE c.post_id = {n}"
        )
    };
    let (answers, made) = run(&mut c, (10..60).map(sql));
    for (n, answer) in (10i64..60).zip(&answers) {
        assert_eq!(answer.split('|').nth(1), Some("3"), "{n}: {answer}");
    }
    assert!(made <= 2, "{made} plans");
    // One of another kind gets a plan of its own, which waits for others of that kind.
    let (answers, made) = run(&mut c, [7, 11, 7, 12, 7, 13].map(sql).into_iter());
    assert_eq!(answers[0], "user 0|1003");
    assert_eq!(answers[5].split('|').nth(1), Some("3"));
    assert!(made <= 1, "{made} plans");
    // No rows at all.
    let (answers, made) = run(&mut c, [-1, 5000].map(sql).into_iter());
    assert_eq!(answers, ["NULL|0", "NULL|0"]);
    assert_eq!(made, 0);
}

#[test]
fn subqueries() {
    let (_db, mut c) = posts();
    for shape in [
        "SELECT COUNT(*) FROM posts p WHERE EXISTS (SELECT 1 FROM comments c WHERE c.post_id = p.id AND c.user_id = {})",
        "SELECT COUNT(*) FROM posts p WHERE p.id IN (SELECT c.post_id FROM comments c WHERE c.user_id = {})",
        "SELECT COUNT(*) FROM (SELECT post_id, COUNT(*) AS n FROM comments WHERE user_id = {} GROUP BY post_id) x JOIN posts p ON p.id = x.post_id",
    ] {
        let sql = |n: i64| shape.replace("{}", &n.to_string());
        let (answers, made) = run(&mut c, (1..60).map(sql));
        assert!(made <= 2, "{shape}: {made} plans");
        // The same where no literal is taken out.
        for (n, answer) in (1..60).zip(answers).step_by(20) {
            assert_eq!(
                c.one(&shape.replace("{}", &format!("{n} + 0"))),
                answer,
                "{shape}: {n}"
            );
        }
    }
}

#[test]
fn a_histogram_tells_values_apart() {
    let (_db, mut c) = posts();
    c.ok("CREATE TABLE skewed (id INT PRIMARY KEY, v INT NOT NULL)");
    let rows: Vec<String> = (0..5000)
        .map(|n| format!("({n}, {})", if n < 5 { n } else { 9 }))
        .collect();
    c.ok(&format!("INSERT INTO skewed VALUES {}", rows.join(",")));
    c.ok("ANALYZE TABLE skewed UPDATE HISTOGRAM ON v");
    let sql = |n: i64| {
        format!("SELECT COUNT(*) FROM skewed s JOIN comments c ON c.user_id = s.id WHERE s.v = {n}")
    };
    let (answers, made) = run(&mut c, [1, 2, 9, 3, 9, 4, 9].map(sql).into_iter());
    assert_eq!(answers[0], "40");
    assert_eq!(answers[2], "3800");
    assert!((2..=3).contains(&made), "{made} plans");
}

#[test]
fn values_of_other_types() {
    let (_db, mut c) = posts();
    let sql = |v: &str| {
        format!(
            "SELECT COUNT(*) FROM comments c JOIN posts p ON p.id = c.post_id WHERE p.title = {v}"
        )
    };
    let values = [
        "'post 3'",
        "'post 4'",
        "'POST 5'",
        "'none'",
        "''",
        "NULL",
        "'post 7'",
        "0x706F73742033",
    ];
    let answers: Vec<_> = values.iter().map(|v| c.one(&sql(v))).collect();
    assert_eq!(answers, ["3", "3", "3", "0", "0", "0", "1003", "3"]);
    let sql = |v: &str| {
        format!(
            "SELECT COUNT(*) FROM comments c JOIN users u ON u.id = c.user_id WHERE c.post_id = {v}"
        )
    };
    let values = [
        "3",
        "4",
        "'5'",
        "3.0",
        "3.5",
        "-1",
        "1e0",
        "99999999999999999999",
        "7",
    ];
    let answers: Vec<_> = values.iter().map(|v| c.one(&sql(v))).collect();
    assert_eq!(answers, ["3", "3", "3", "3", "0", "0", "3", "0", "1003"]);
}

#[test]
fn a_plan_for_a_table_that_is_another_now_refuses_nothing() {
    let db = TestDb::new();
    let mut c = db.client();
    for (ty, value) in [
        ("DATETIME", "2037-12-31 23:59:59"),
        ("VARCHAR(20)", "none"),
        ("DATE", "2037-12-31"),
        ("INT", "17"),
    ] {
        c.ok("DROP TABLE IF EXISTS n");
        c.ok(&format!("CREATE TABLE n (a {ty})"));
        c.ok(&format!("INSERT INTO n VALUES ('{value}')"));
        let found = c.rows(&format!("SELECT a FROM n WHERE a = '{value}'"));
        assert_eq!(found, [value]);
    }
    // What safe updates ask of a statement depends on the table, too.
    c.ok("SET sql_safe_updates = ON");
    let update = "UPDATE n SET a = 18 WHERE a = 17";
    assert_eq!(c.code(update), 1175);
    c.ok("DROP TABLE n");
    c.ok("CREATE TABLE n (a INT PRIMARY KEY)");
    c.ok(update);
}
