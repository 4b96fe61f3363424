use super::*;
use crate::session::env::SqlMode;

/// MySQL's default sql_mode.
pub fn mode() -> SqlMode {
    SqlMode {
        strict: true,
        strict_all: false,
        no_zero_date: true,
        no_zero_in_date: true,
        error_for_division_by_zero: true,
        ansi_quotes: false,
        pipes_as_concat: false,
        no_backslash_escapes: false,
        no_auto_value_on_zero: false,
        only_full_group_by: true,
    }
}

fn parse(text: &str) -> Kind {
    match parse_one(text, mode()) {
        Ok(s) => s.kind,
        Err(e) => panic!("{text}: {e}"),
    }
}

fn error(text: &str) -> crate::SqlError {
    match parse_one(text, mode()) {
        Ok(s) => panic!("{text}: parsed as {:?}", s.kind),
        Err(e) => e,
    }
}

/// The text that sqlparser makes of an expression, fully parenthesised where we say so in the input.
fn select(text: &str) -> String {
    match parse(text) {
        Kind::Query(q) => q.to_string(),
        k => panic!("{k:?}"),
    }
}

#[test]
fn statements_of_clients_and_tools() {
    for s in [
        "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
         /*! ENGINE = innodb */",
        "CREATE INDEX k_1 ON sbtest1(k)",
        "DROP TABLE IF EXISTS sbtest1",
        "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
        "SET autocommit=0",
        "SET @@session.autocommit = OFF",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
        "SET sql_mode=(SELECT CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES'))",
        "SET character_set_results = NULL",
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
        "/*!40103 SET TIME_ZONE='+00:00' */",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "LOCK TABLES `t` WRITE, s AS x READ LOCAL",
        "UNLOCK TABLES",
        "FLUSH TABLES WITH READ LOCK",
        "FLUSH /*!40101 LOCAL */ TABLES a, b",
        "SHOW VARIABLES LIKE 'ndbinfo_version'",
        "SHOW SESSION STATUS WHERE Variable_name = 'Questions'",
        "SHOW CREATE DATABASE IF NOT EXISTS `d`",
        "SHOW FULL COLUMNS FROM `t` FROM `d` LIKE 'a%'",
        "SHOW FULL TABLES FROM `d` WHERE Table_type != 'VIEW'",
        "SHOW KEYS FROM `t` IN d",
        "SHOW ENGINE INNODB STATUS",
        "SHOW COUNT(*) WARNINGS",
        "SHOW WARNINGS LIMIT 5, 10",
        "SHOW GRANTS FOR 'root'@'localhost'",
        "SHOW MASTER STATUS",
        "SHOW TABLE STATUS LIKE 't'",
        "START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        "COMMIT AND NO CHAIN RELEASE",
        "ROLLBACK WORK TO SAVEPOINT a",
        "ROLLBACK TO a",
        "KILL QUERY 5",
        "KILL 5",
        "DO SLEEP(0), 5",
        "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`",
        "SELECT a INTO @x FROM t LIMIT 1",
        "SELECT a, b FROM t LIMIT 1 INTO @x, @y",
        "SELECT a FROM t LOCK IN SHARE MODE",
        "UPDATE LOW_PRIORITY IGNORE t SET a = DEFAULT ORDER BY b LIMIT 1",
        "DELETE QUICK IGNORE FROM t WHERE a = 1",
        "INSERT INTO t() VALUES()",
        "TABLE t",
        "ALTER DATABASE CHARACTER SET utf8mb4",
        "ALTER TABLE d.t ENGINE=InnoDB, COMMENT 'x'",
        "ALTER TABLE t RENAME s",
        "ALTER TABLE t ADD INDEX i (a)",
        "CREATE TABLE t LIKE d.s",
        "CREATE TABLE t (a int) ENGINE=InnoDB AUTO_INCREMENT=11 DEFAULT CHARSET=utf8mb4 \
         COLLATE=utf8mb4_general_ci",
        "RENAME TABLE a TO b, c.d TO e.f",
        "TRUNCATE d.t",
        "OPTIMIZE NO_WRITE_TO_BINLOG TABLE a, b",
        "CHECK TABLE a QUICK",
        "PREPARE s FROM 'select ?'",
        "EXECUTE s USING @a, @b",
        "DEALLOCATE PREPARE s",
        "EXPLAIN FORMAT='tree' SELECT 1",
        "EXPLAIN DELETE FROM t",
        "DESC t 'a%'",
        "EXPLAIN EXTENDED SELECT 1",
        "SELECT !a, a MOD 3, INTERVAL(1, 2, 3), a + INTERVAL '1:1' MINUTE_SECOND, 0b101",
        "select 1;;",
        "  -- nothing",
    ] {
        parse(s);
    }
}

#[test]
fn precedences() {
    // Each pair must parse alike.
    for (a, b) in [
        ("select a = 1 || b = 2", "select a = 1 or b = 2"),
        ("select a or b xor c and d", "select a or b xor c and d"),
        ("select a & b << c + d", "select a & b << c + d"),
        ("select a && b", "select a and b"),
    ] {
        assert_eq!(select(a), select(b).as_str());
    }
    // XOR binds weaker than a comparison, `^` stronger than `*`, a predicate stronger than `=`.
    let Kind::Query(q) = parse("select a = b xor c = d, 2 * 3 ^ 4, a = b like c, binary a = b")
    else {
        panic!()
    };
    let sp::SetExpr::Select(s) = *q.body else {
        panic!()
    };
    let ops: Vec<String> = s
        .projection
        .iter()
        .map(|i| match i {
            sp::SelectItem::UnnamedExpr(sp::Expr::BinaryOp { op, .. }) => op.to_string(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(ops, ["XOR", "*", "=", "="]);
}

#[test]
fn set_items() {
    let Kind::Set(items) = parse(
        "set global a = 1, b = on, @@c = default, @@session.d = 'x', @e := 5, local f = utf8mb4",
    ) else {
        panic!()
    };
    let text: Vec<String> = items
        .iter()
        .map(|i| match i {
            SetItem::System { scope, name, value } => {
                let v = match value {
                    SetValue::Default => "DEFAULT".into(),
                    SetValue::Word(w) => w.clone(),
                    SetValue::Expr(e) => format!("({e})"),
                };
                format!("{scope:?} {name} {v}")
            }
            SetItem::User { name, value } => format!("@{name} {value}"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        text,
        [
            "Global a (1)",
            "Global b on",
            "Default c DEFAULT",
            "Session d ('x')",
            "@e 5",
            "Session f utf8mb4"
        ]
    );
}

#[test]
fn placeholders_are_numbered() {
    let s = parse_one("select ? from t where a in (?, '?') limit ?", mode()).unwrap();
    assert_eq!(s.params, 3);
    let Kind::Query(q) = s.kind else { panic!() };
    assert_eq!(
        q.to_string(),
        "SELECT ?0 FROM t WHERE a IN (?1, '?') LIMIT ?2"
    );
}

#[test]
fn headings_are_the_source_text() {
    let s = parse_one(
        "select distinct  a+ 1, count( * ) , 'x', (select 2  , 3), 'y' 'z' from t union select 5",
        mode(),
    )
    .unwrap();
    let all: Vec<Vec<String>> = s.headings.into_iter().map(|h| h.1).collect();
    assert_eq!(all[0], ["a+ 1", "count( * )", "x", "(select 2  , 3)", "y"]);
    assert_eq!(all[1], ["2", "3"]);
    assert_eq!(all[2], ["5"]);
}

#[test]
fn select_into_variables() {
    let s = parse_one("select a, b into @X, @y from t", mode()).unwrap();
    assert_eq!(s.into, ["x", "y"]);
    let s = parse_one("select a from t limit 1 into @x", mode()).unwrap();
    assert_eq!(s.into, ["x"]);
    let s = parse_one("update ignore t set a = 1", mode()).unwrap();
    assert!(s.ignore);
}

#[test]
fn errors_point_at_the_text() {
    let e = error("selec 1");
    assert_eq!((e.code, e.state), (1064, "42000"));
    assert!(
        e.message.ends_with("near 'selec 1' at line 1"),
        "{}",
        e.message
    );
    let e = error("select 1\nfrom t wher a = 1 group");
    assert!(e.message.contains("at line 2"), "{}", e.message);
    let e = error("select 1 from");
    assert!(e.message.ends_with("near '' at line 1"), "{}", e.message);
    let e = error("select 1 1");
    assert!(e.message.ends_with("near '1' at line 1"), "{}", e.message);
    assert_eq!(error("XA START 'x'").code, 1235);
    assert_eq!(error("create view v as select 1").code, 1235);
    assert_eq!(error("select 'abc").code, 1064);
}

#[test]
fn ansi_quotes_and_pipes() {
    let mut m = mode();
    m.ansi_quotes = true;
    m.pipes_as_concat = true;
    let s = parse_one("select \"a\" || 'b'", m).unwrap();
    let Kind::Query(q) = s.kind else { panic!() };
    assert_eq!(q.to_string(), "SELECT \"a\" || 'b'");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("select {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(error(&deep).code, 1436);
}

#[test]
fn long_chains_are_parsed_and_endless_ones_refused() {
    let sum = |n: usize| format!("select 0{}", "+1".repeat(n));
    assert_eq!(parse_one(&sum(5000), mode()).unwrap().run, 10_032);
    assert_eq!(error(&sum(1_000_000)).code, 1436);
    let list = format!("select 1 in (0{})", ",1".repeat(300_000));
    assert!(parse_one(&list, mode()).is_ok());
}

#[test]
fn quoted_texts_and_names() {
    let Kind::Query(q) = parse(r#"select 'it''s \\ \f \' \n', `a``b`, 'x''' 'y', "d""q'""#) else {
        panic!()
    };
    let sp::SetExpr::Select(s) = *q.body else {
        panic!()
    };
    let texts: Vec<String> = s
        .projection
        .iter()
        .map(|i| match i {
            sp::SelectItem::UnnamedExpr(sp::Expr::Value(v)) => match &v.value {
                sp::Value::SingleQuotedString(s) | sp::Value::DoubleQuotedString(s) => s.clone(),
                other => panic!("{other}"),
            },
            sp::SelectItem::UnnamedExpr(sp::Expr::Identifier(i)) => i.value.clone(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(texts, ["it's \\ f ' \n", "a`b", "x'y", "d\"q'"]);
}

/// A PARTITION BY clause, roughly as it was written.
fn shown(by: &PartitionBy) -> String {
    let on = match &by.by {
        PartitionOn::Expr(e) => format!("({e})"),
        PartitionOn::Columns(list) => format!(" COLUMNS({})", list.join(",")),
    };
    let value = |v: &PartitionValue| match v {
        PartitionValue::Max => "MAX".to_string(),
        PartitionValue::Expr(e) => e.to_string(),
    };
    let row = |r: &Vec<PartitionValue>| r.iter().map(value).collect::<Vec<_>>().join(" ");
    let part = |p: &PartitionDef| match &p.values {
        PartitionValues::None => p.name.clone(),
        PartitionValues::LessThan(r) => format!("{}<{}", p.name, row(r)),
        PartitionValues::In(rows) => {
            format!(
                "{}={}",
                p.name,
                rows.iter().map(row).collect::<Vec<_>>().join(",")
            )
        }
    };
    let parts: Vec<String> = by.partitions.iter().map(part).collect();
    format!(
        "{}{}{on} {:?} {:?} [{}]",
        if by.linear { "LINEAR " } else { "" },
        by.method.name(),
        by.algorithm,
        by.count,
        parts.join("; ")
    )
}

#[test]
fn partition_clauses() {
    for (text, want) in [
        ("HASH(a + 1)", "HASH(a + 1) None None []"),
        (
            "LINEAR HASH (a) PARTITIONS 4",
            "LINEAR HASH(a) None Some(4) []",
        ),
        ("KEY ()", "KEY COLUMNS() None None []"),
        (
            "LINEAR KEY ALGORITHM = 1 (a, `b c`)",
            "LINEAR KEY COLUMNS(a,b c) Some(1) None []",
        ),
        (
            "RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (-5) ENGINE = InnoDB COMMENT = 'x', PARTITION p1 VALUES LESS THAN MAXVALUE)",
            "RANGE(YEAR(d)) None None [p0<-5; p1<MAX]",
        ),
        (
            "RANGE COLUMNS(a,b) PARTITIONS 1 (PARTITION p0 VALUES LESS THAN (1, MAXVALUE) STORAGE ENGINE InnoDB MAX_ROWS = 5)",
            "RANGE COLUMNS(a,b) None Some(1) [p0<1 MAX]",
        ),
        (
            "LIST (a) (PARTITION p VALUES IN (1, NULL), PARTITION q VALUES IN (2))",
            "LIST(a) None None [p=1,NULL; q=2]",
        ),
        (
            "LIST COLUMNS (a, b) (PARTITION p VALUES IN ((1, 'x'), (2, 'y')))",
            "LIST COLUMNS(a,b) None None [p=1 'x',2 'y']",
        ),
    ] {
        for create in [
            format!("CREATE TABLE t (a INT) ENGINE=InnoDB PARTITION BY {text}"),
            format!("CREATE TABLE t (a INT)\n/*!50100 PARTITION BY {text} */;"),
        ] {
            match parse(&create) {
                Kind::CreatePartitioned(t, by) => {
                    assert_eq!(shown(&by), want);
                    assert!(t.query.is_none());
                }
                k => panic!("{k:?}"),
            }
        }
        match parse(&format!("ALTER TABLE d.t PARTITION BY {text}")) {
            Kind::AlterPartitions {
                table,
                op: PartitionOp::By(by),
            } => {
                assert_eq!((table.database.as_deref(), &*table.name), (Some("d"), "t"));
                assert_eq!(shown(&by), want);
            }
            k => panic!("{k:?}"),
        }
    }
    match parse("CREATE TABLE t PARTITION BY KEY (a) AS SELECT 1 AS a") {
        Kind::CreatePartitioned(t, _) => assert!(t.query.is_some()),
        k => panic!("{k:?}"),
    }
}

#[test]
fn changes_of_partitions() {
    for (text, want) in [
        (
            "ADD PARTITION (PARTITION p VALUES IN (1))",
            "Add { partitions: [PartitionDef",
        ),
        (
            "ADD PARTITION PARTITIONS 3",
            "Add { partitions: [], count: Some(3) }",
        ),
        ("DROP PARTITION a, `B`", "Drop([\"a\", \"B\"])"),
        ("TRUNCATE PARTITION ALL", "Truncate(None)"),
        ("TRUNCATE PARTITION LOCAL p", "Truncate(Some([\"p\"]))"),
        ("COALESCE PARTITION 2", "Coalesce(2)"),
        ("REBUILD PARTITION p", "Rebuild(Some([\"p\"]))"),
        ("REMOVE PARTITIONING", "Remove"),
        (
            "REORGANIZE PARTITION a INTO (PARTITION b VALUES LESS THAN (1))",
            "Reorganize { from: [\"a\"]",
        ),
        (
            "EXCHANGE PARTITION p WITH TABLE d.u WITHOUT VALIDATION",
            "Exchange { partition: \"p\"",
        ),
    ] {
        match parse(&format!("ALTER TABLE t {text}")) {
            Kind::AlterPartitions { op, .. } => {
                assert!(format!("{op:?}").starts_with(want), "{text}: {op:?}");
            }
            k => panic!("{text}: {k:?}"),
        }
    }
    for (text, code) in [
        ("ALTER TABLE t DROP PARTITION", 1064),
        ("ALTER TABLE t COALESCE PARTITION x", 1064),
        ("ALTER TABLE t REORGANIZE PARTITION", 1511),
        (
            "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u WITHOUT",
            1064,
        ),
        ("ALTER TABLE t DISCARD PARTITION p TABLESPACE", 1235),
        ("CREATE TABLE t (a INT) PARTITION BY LINEAR RANGE (a)", 1064),
        (
            "CREATE TABLE t (a INT) PARTITION BY KEY ALGORITHM=3 (a)",
            1064,
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY HASH (a) (PARTITION p ENGINE=MyISAM)",
            1497,
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY HASH (a) (PARTITION p DATA DIRECTORY='/x')",
            1235,
        ),
    ] {
        assert_eq!(error(text).code, code, "{text}");
    }
}

#[test]
fn partitions_of_inserts() {
    for text in [
        "INSERT INTO t PARTITION (p0, p1) (a, b) VALUES (1, 2)",
        "REPLACE d.t PARTITION (p0, p1) VALUES (1, 2)",
        "INSERT IGNORE INTO t PARTITION (p0, p1) SET a = 1",
        "INSERT INTO t PARTITION (p0, p1) (a) (SELECT a FROM u)",
        "INSERT INTO t PARTITION (p0, p1) SELECT a FROM u",
        "INSERT INTO t PARTITION (p0, p1) () VALUES ()",
    ] {
        match parse(text) {
            Kind::Insert(i) => {
                let list = i.partitioned.unwrap_or_default();
                let names: Vec<String> = list.iter().map(ToString::to_string).collect();
                assert_eq!(names, ["p0", "p1"], "{text}");
                let columns = if text.contains("(a, b)") {
                    2
                } else {
                    usize::from(text.contains("(a)"))
                };
                assert_eq!(i.columns.len(), columns, "{text}");
            }
            k => panic!("{text}: {k:?}"),
        }
    }
}
