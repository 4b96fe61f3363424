//! The `millpond` command as a user runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of its own for each test, removed in the end.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("millpond-cli-{}-{n}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Dir(path)
    }
    fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn millpond(args: &[&str], data: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_millpond"));
    c.args(args)
        .args(["--log-size", "16M", "--pool", "16M", "--data"])
        .arg(data);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MILLPOND_")) {
        c.env_remove(name);
    }
    c
}

fn run(args: &[&str], data: &Path) -> Output {
    millpond(args, data).output().unwrap()
}

fn stdout(out: &Output) -> &str {
    std::str::from_utf8(&out.stdout).unwrap()
}

fn stderr(out: &Output) -> &str {
    std::str::from_utf8(&out.stderr).unwrap()
}

fn sql(data: &Path, input: &str, args: &[&str]) -> Output {
    let mut child = millpond(&[&["sql"], args].concat(), data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// A server that has said that it is ready; killed if the test fails.
struct Serving {
    child: Child,
    greeting: String,
}

impl Serving {
    fn start(data: &Path, args: &[&str]) -> Serving {
        let mut child = millpond(&[&["serve"], args].concat(), data)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        while !greeting.contains("Stop with") {
            if out.read_line(&mut greeting).unwrap() == 0 {
                let mut why = String::new();
                let _ = child.stderr.take().unwrap().read_to_string(&mut why);
                panic!("the server ended: {why}");
            }
        }
        Serving { child, greeting }
    }

    /// Sends a signal, waits for the end; returns whether it was a success, and what was logged.
    fn stop(mut self, signal: &str) -> (bool, String) {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let status = self.child.wait().unwrap();
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        (status.success(), log)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_shell_reads_a_pipe() {
    let dir = Dir::new();
    let data = dir.data();
    let out = sql(
        &data,
        "CREATE DATABASE d;\nUSE d;\nCREATE TABLE t (id INT PRIMARY KEY,\n v VARCHAR(20));\n\
         INSERT INTO t VALUES (1, 'a;b'), (2, NULL); -- two\nSELECT * FROM t;\nSELECT COUNT(*) AS n FROM t",
        &[],
    );
    assert!(out.status.success(), "{}", stderr(&out));
    assert_eq!(stdout(&out), "id\tv\n1\ta;b\n2\tNULL\nn\n2\n");
    let out = run(
        &[
            "sql",
            "-t",
            "-e",
            "SELECT id, v FROM t WHERE id = 1; SELECT 2\\G",
            "d",
        ],
        &data,
    );
    let text = stdout(&out);
    assert!(
        text.starts_with(
            "+----+-----+\n| id | v   |\n+----+-----+\n|  1 | a;b |\n+----+-----+\n1 row in set ("
        ),
        "{text}"
    );
    assert!(
        text.contains("1. row ***************************\n2: 2\n"),
        "{text}"
    );
}

#[test]
fn the_shell_stops_at_an_error_unless_forced() {
    let dir = Dir::new();
    let out = sql(&dir.data(), "SELECT 1;\nSELEKT;\nSELECT 2;\n", &[]);
    assert!(!out.status.success());
    assert_eq!(stdout(&out), "1\n1\n");
    assert!(
        stderr(&out).contains("ERROR 1064 (42000)"),
        "{}",
        stderr(&out)
    );
    let out = sql(&dir.data(), "SELEKT;\nSELECT 2;\n", &["--force"]);
    assert!(out.status.success());
    assert_eq!(stdout(&out), "2\n2\n");
}

#[test]
fn a_server_greets_refuses_a_second_one_and_stops_cleanly() {
    let dir = Dir::new();
    let data = dir.data();
    for signal in ["-TERM", "-INT"] {
        let server = Serving::start(&data, &["--port", "0"]);
        assert!(
            server.greeting.contains("mysql -h 127.0.0.1 -P "),
            "{}",
            server.greeting
        );
        assert!(data.join("millpond.sock").exists());
        for command in [
            &["serve", "--port", "0"][..],
            &["sql", "-e", "SELECT 1"],
            &["check"],
        ] {
            let refused = run(command, &data);
            assert_eq!(refused.status.code(), Some(1), "{command:?}");
            let why = stderr(&refused);
            assert!(why.contains("in use by another process"), "{why}");
            assert!(why.contains(data.to_str().unwrap()), "{why}");
        }
        let (clean, log) = server.stop(signal);
        assert!(clean, "{log}");
        assert!(log.contains("stopped"), "{log}");
        assert!(!data.join("millpond.sock").exists());
        let checked = run(&["check"], &data);
        assert!(checked.status.success(), "{}", stderr(&checked));
        assert!(stdout(&checked).contains("no problems found"));
    }
}

#[test]
fn settings_come_from_flags_environment_and_file() {
    let dir = Dir::new();
    let config = dir.0.join("millpond.toml");
    std::fs::write(
        &config,
        "max-connections = 77\n[variables]\ninnodb_flush_log_at_trx_commit = 2\nwait_timeout = 99\n",
    )
    .unwrap();
    let shown =
        "SELECT @@innodb_flush_log_at_trx_commit, @@GLOBAL.wait_timeout, @@innodb_buffer_pool_size";
    let out = Command::new(env!("CARGO_BIN_EXE_millpond"))
        .args(["sql", "--set", "wait_timeout=55", "-e", shown])
        .env("MILLPOND_CONFIG", &config)
        .env("MILLPOND_DATA", dir.data())
        .env("MILLPOND_POOL", "24M")
        .env("MILLPOND_LOG_SIZE", "16M")
        .output()
        .unwrap();
    let last = stdout(&out).lines().last().unwrap_or_default();
    assert_eq!(last, "2\t55\t25165824", "{}", stderr(&out));
    std::fs::write(&config, "prot = 1\n").unwrap();
    let config = config.to_str().unwrap();
    let out = run(&["serve", "--config", config], &dir.data());
    assert!(
        stderr(&out).contains("prot = 1: unknown setting"),
        "{}",
        stderr(&out)
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    let dir = Dir::new();
    let data = dir.data();
    for (args, reason) in [
        (&["check"][..], "no Millpond database there"),
        // It looks at the accounts, so there is a database from then on.
        (&["serve", "--bind", "0.0.0.0"], "has no password"),
        (&["serve", "--bind", "here"], "invalid"),
        (&["serve", "--log-level", "loud"], "unknown log level"),
        (
            &["serve", "--port", "0", "--set", "nothing=1"],
            "Unknown system variable",
        ),
        (&["lab", "many-tables", "--tables", "0"], "invalid value"),
    ] {
        let out = if args[0] == "lab" {
            Command::new(env!("CARGO_BIN_EXE_millpond"))
                .args(args)
                .output()
                .unwrap()
        } else {
            run(args, &data)
        };
        assert!(!out.status.success(), "{args:?}");
        assert!(stderr(&out).contains(reason), "{args:?}: {}", stderr(&out));
    }
}

#[test]
fn check_says_that_it_makes_nothing() {
    let help = run(&["check", "--help"], Path::new("."));
    let text = stdout(&help);
    assert!(
        text.contains("it must be there") && !text.contains("created"),
        "{text}"
    );
}

#[test]
fn reports_are_looked_after_before_a_run_and_kept_from_failed_ones() {
    let dir = Dir::new();
    let lab = |args: &[&str], report: &Path| {
        let out = Command::new(env!("CARGO_BIN_EXE_millpond"))
            .arg("lab")
            .args(args)
            .arg("--report")
            .arg(report)
            .current_dir(&dir.0)
            .output()
            .unwrap();
        assert!(!out.status.success(), "{args:?}");
        stderr(&out).to_string()
    };
    let missing = dir.0.join("no/such/report.html");
    let target = ["--target", "mysql://root@127.0.0.1:1"];
    for experiment in [
        "drop-throughput",
        "drop-stall",
        "truncate-scale",
        "rebuild",
        "alter",
        "many-tables",
        "all",
    ] {
        // Known before anybody is asked for anything.
        let args = [&[experiment][..], &target].concat();
        assert!(lab(&args, &missing).contains("--report"), "{experiment}");
    }
    assert!(lab(&["qps", "no.log"], &missing).contains("--report"));
    let earlier = dir.0.join("report.html");
    std::fs::write(&earlier, "earlier").unwrap();
    for experiment in [
        "drop-throughput",
        "drop-stall",
        "truncate-scale",
        "rebuild",
        "alter",
        "many-tables",
        "all",
    ] {
        let args = [&[experiment][..], &target].concat();
        assert!(lab(&args, &earlier).contains("--force"), "{experiment}");
        let args = [&args[..], &["--force"]].concat();
        assert!(!lab(&args, &earlier).contains("--report"), "{experiment}");
        assert_eq!(std::fs::read_to_string(&earlier).unwrap(), "earlier");
    }
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
}

#[test]
fn many_tables_runs_embedded_and_on_a_server() {
    let dir = Dir::new();
    let json = dir.0.join("report.json");
    let csv = dir.0.join("report.csv");
    let lab = |extra: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_millpond"))
            .args(["lab", "many-tables", "--force", "--json"])
            .arg(&json)
            .arg("--csv")
            .arg(&csv)
            .args(extra)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", stderr(&out));
        let report = std::fs::read_to_string(&json).unwrap();
        assert!(report.contains("\"complete\": true"), "{report}");
        assert!(std::fs::read_to_string(&csv).unwrap().contains("drop,"));
        stdout(&out).to_string()
    };
    let here = dir.0.to_str().unwrap();
    let text = lab(&[
        "--tables",
        "50",
        "--threads",
        "3",
        "--dir",
        here,
        "--durability",
        "2",
    ]);
    assert!(text.contains("50 tables, 3 threads; NOT durable"), "{text}");
    let server = Serving::start(&dir.data(), &["--skip-networking"]);
    let socket = dir.data().join("millpond.sock");
    let url = format!("mysql://root@localhost/?socket={}", socket.display());
    let text = lab(&[
        "--threads",
        "2",
        "--tables-per-thread",
        "20",
        "--target",
        &url,
    ]);
    assert!(text.contains("40 tables, 2 threads; durable"), "{text}");
    assert!(server.stop("-TERM").0);
    let left = run(
        &["sql", "-e", "SHOW DATABASES LIKE 'millpond_lab'"],
        &dir.data(),
    );
    assert_eq!(stdout(&left).lines().count(), 1, "{}", stdout(&left));
}

/// A connection to a server that listens on the socket in its data directory.
fn client(data: &Path) -> mysql::Conn {
    client_as(data, "root")
}

fn client_as(data: &Path, user: &str) -> mysql::Conn {
    let socket = data.join("millpond.sock").display().to_string();
    let options = mysql::OptsBuilder::new()
        .socket(Some(socket))
        .prefer_socket(false)
        .user(Some(user));
    mysql::Conn::new(options).unwrap()
}

/// A command that opens no data directory of its own.
fn command(args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_millpond"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MILLPOND_")) {
        c.env_remove(name);
    }
    c.args(args).output().unwrap()
}

fn succeeds(args: &[&str]) -> String {
    let out = command(args);
    assert!(out.status.success(), "{args:?}: {}", stderr(&out));
    stdout(&out).to_string()
}

fn fails(args: &[&str], why: &str) {
    let out = command(args);
    assert!(!out.status.success(), "{args:?}");
    assert!(stderr(&out).contains(why), "{args:?}: {}", stderr(&out));
}

/// Sums and counts of the table, read from a copy that was restored.
fn restored(data: &Path) -> Vec<(u64, u64)> {
    let out = run(&["check"], data);
    assert!(out.status.success(), "{}{}", stdout(&out), stderr(&out));
    let server = Serving::start(data, &["--port", "0"]);
    let found = sums(&mut client(data));
    assert!(server.stop("-TERM").0);
    found
}

fn sums(c: &mut mysql::Conn) -> Vec<(u64, u64)> {
    use mysql::prelude::Queryable;
    c.query("SELECT COUNT(*), COALESCE(SUM(n), 0) FROM d.t UNION ALL SELECT COUNT(*), 0 FROM d.big")
        .unwrap()
}

#[test]
fn a_server_is_backed_up_and_restored_to_any_time() {
    use mysql::prelude::Queryable;
    let dir = Dir::new();
    let data = dir.data();
    let at = |name: &str| dir.0.join(name).display().to_string();
    let allowed = format!("secure_file_priv={}", dir.0.display());
    let archive = format!("millpond_log_archive_dir={}", at("archive"));
    let server = Serving::start(
        &data,
        &["--port", "0", "--set", &allowed, "--set", &archive],
    );
    let mut c = client(&data);
    c.query_drop("CREATE DATABASE d").unwrap();
    c.query_drop("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, KEY (n))")
        .unwrap();
    c.query_drop("CREATE TABLE d.big (id INT PRIMARY KEY, pad CHAR(200))")
        .unwrap();
    c.query_drop("SET PERSIST long_query_time = 7").unwrap();
    let insert = |c: &mut mysql::Conn, n: u32| {
        c.query_drop(format!("INSERT INTO d.t (n) VALUES ({n}), ({n})"))
            .unwrap();
    };
    insert(&mut c, 1);
    let socket = data.join("millpond.sock").display().to_string();
    let backup = |args: &[&str]| {
        succeeds(&[&["backup", "--socket", &socket, "--to"], args].concat());
    };
    backup(&[&at("full")]);
    let full = sums(&mut c);
    // In bulk, past the log.
    c.query_drop("SET SESSION cte_max_recursion_depth = 100000")
        .unwrap();
    c.query_drop(
        "INSERT INTO d.big WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 12000) SELECT i, 'x' FROM s",
    )
    .unwrap();
    insert(&mut c, 10);
    backup(&[&at("more"), "--base", &at("full")]);
    let more = sums(&mut c);
    insert(&mut c, 100);
    let last = sums(&mut c);
    // Past that, by what the archive takes for times.
    std::thread::sleep(std::time::Duration::from_millis(2200));
    let time: String = c
        .query_first("SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%d %H:%i:%s')")
        .unwrap()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    c.query_drop("DROP TABLE d.t").unwrap();

    let codes = [
        (format!("BACKUP TO '{}'", at("full")), 1086),
        ("BACKUP TO '/nowhere/else'".to_string(), 1290),
        (
            format!("BACKUP TO '{}' INCREMENTAL FROM '{}'", at("x"), at("none")),
            29,
        ),
        ("BACKUP TO".to_string(), 1064),
    ];
    c.query_drop("CREATE USER u").unwrap();
    for (statement, code) in codes {
        match c.query_drop(&statement) {
            Err(mysql::Error::MySqlError(e)) => assert_eq!(e.code, code, "{statement}: {e}"),
            other => panic!("{statement}: {other:?}"),
        }
    }
    match client_as(&data, "u").query_drop("BACKUP TO '/x'") {
        Err(mysql::Error::MySqlError(e)) => assert_eq!(e.code, 1227, "{e}"),
        other => panic!("{other:?}"),
    }
    let status = |c: &mut mysql::Conn, name: &str| -> u64 {
        let row: (String, u64) = c
            .query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .unwrap()
            .unwrap();
        row.1
    };
    let end = status(&mut c, "Innodb_redo_log_flushed_to_disk_lsn");
    while status(&mut c, "Millpond_log_archived_lsn") < end {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(status(&mut c, "Millpond_log_archive_gaps"), 0);
    assert_eq!(status(&mut c, "Millpond_log_archive_failing"), 0);
    drop(c);
    assert!(server.stop("-TERM").0);

    let restore = |args: &[&str], to: &str| {
        succeeds(&[&["restore", "--to", &at(to)], args].concat());
        restored(&dir.0.join(to))
    };
    let (f, m, a) = (at("full"), at("more"), at("archive"));
    assert_eq!(restore(&["--from", &f], "r1"), full);
    assert!(dir.0.join("r1/mysqld-auto.cnf").exists());
    assert_eq!(restore(&["--from", &f, "--from", &m], "r2"), more);
    let args = ["--from", &f, "--archive", &a, "--until", &time];
    assert_eq!(restore(&args, "r3"), last);
    let args = [
        "--from",
        &f,
        "--from",
        &m,
        "--archive",
        &a,
        "--until",
        &time,
    ];
    assert_eq!(restore(&args, "r4"), last);
    fails(&["restore", "--from", &f, "--to", &at("r1")], "not empty");
    fails(&["restore", "--from", &m, "--to", &at("r5")], "incremental");
    fails(
        &["restore", "--from", &a, "--to", &at("r5")],
        "no finished backup",
    );
    fails(
        &["restore", "--from", &f, "--to", &at("r5"), "--until", &time],
        "--archive",
    );
}

/// KILL ends a backup, and leaves nothing of it.
#[test]
fn a_backup_is_shown_and_killed() {
    use mysql::prelude::Queryable;
    let dir = Dir::new();
    let data = dir.data();
    let allowed = format!("secure_file_priv={}", dir.0.display());
    let slow = "millpond_backup_bytes_per_sec=1000";
    let _server = Serving::start(&data, &["--port", "0", "--set", &allowed, "--set", slow]);
    let (mut c, mut other) = (client(&data), client(&data));
    c.query_drop("CREATE DATABASE d; ").unwrap();
    let to = dir.0.join("slow");
    let id = c.connection_id();
    let statement = format!("BACKUP TO '{}'", to.display());
    let backup = std::thread::spawn(move || c.query_drop(statement));
    let state = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
    loop {
        let state: Option<Option<String>> = other.query_first(&state).unwrap();
        if state
            .flatten()
            .unwrap_or_default()
            .starts_with("copying pages for a backup")
        {
            break;
        }
        assert!(!backup.is_finished());
    }
    match other.query_drop(format!("BACKUP TO '{}'", dir.0.join("beside").display())) {
        Err(mysql::Error::MySqlError(e)) => assert_eq!(e.code, 3634),
        other => panic!("{other:?}"),
    }
    other.query_drop(format!("KILL QUERY {id}")).unwrap();
    match backup.join().unwrap() {
        Err(mysql::Error::MySqlError(e)) => assert_eq!(e.code, 1317),
        other => panic!("{other:?}"),
    }
    assert!(!to.exists() && !dir.0.join("beside").exists());
}

/// With a server and clients: made by a keyring, rotated, backed up, restored, and nothing of it in the clear.
#[test]
fn an_encrypted_server_is_rotated_backed_up_and_restored() {
    use mysql::prelude::Queryable;
    const MARK: &str = "a heron that nobody else may see";
    let dir = Dir::new();
    let data = dir.data();
    let at = |name: &str| dir.0.join(name).display().to_string();
    let elsewhere = Dir::new();
    let keys = elsewhere.0.join("keys").display().to_string();
    let allowed = format!("secure_file_priv={}", dir.0.display());
    let archive = format!("millpond_log_archive_dir={}", at("archive"));
    let with = ["--port", "0", "--keyring-file", &keys];
    let all = [&with[..], &["--set", &allowed, "--set", &archive]].concat();
    let server = Serving::start(&data, &all);
    let mut c = client(&data);
    c.query_drop("CREATE DATABASE d").unwrap();
    c.query_drop("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, v TEXT)")
        .unwrap();
    c.query_drop("CREATE TABLE d.big (id INT PRIMARY KEY)")
        .unwrap();
    let insert = |c: &mut mysql::Conn, n: u32| {
        let row = format!("INSERT INTO d.t (n, v) VALUES ({n}, REPEAT('{MARK}', 1000))");
        c.query_drop(row).unwrap();
    };
    insert(&mut c, 1);
    let socket = data.join("millpond.sock").display().to_string();
    succeeds(&["backup", "--socket", &socket, "--to", &at("full")]);
    insert(&mut c, 10);
    let lines = || std::fs::read_to_string(&keys).unwrap().lines().count();
    assert_eq!(lines(), 1);
    c.query_drop("ALTER INSTANCE ROTATE INNODB MASTER KEY")
        .unwrap();
    assert_eq!(lines(), 2);
    c.query_drop("CREATE USER u").unwrap();
    match client_as(&data, "u").query_drop("ALTER INSTANCE ROTATE INNODB MASTER KEY") {
        Err(mysql::Error::MySqlError(e)) => assert_eq!(e.code, 1227, "{e}"),
        other => panic!("{other:?}"),
    }
    succeeds(&[
        "backup",
        "--socket",
        &socket,
        "--to",
        &at("more"),
        "--base",
        &at("full"),
    ]);
    insert(&mut c, 100);
    drop(c);
    // A crash, and then the other way to name the keys.
    assert!(!server.stop("-KILL").0);
    let refused = run(&["check"], &data);
    assert!(
        stderr(&refused).contains("there is no keyring"),
        "{}",
        stderr(&refused)
    );
    let command_of = format!("cat '{keys}'");
    let checked = run(&["check", "--keyring-command", &command_of], &data);
    assert!(checked.status.success(), "{}", stderr(&checked));
    let server = Serving::start(&data, &all);
    let mut c = client(&data);
    assert_eq!(sums(&mut c), [(3, 111), (0, 0)]);
    drop(c);
    assert!(server.stop("-TERM").0);

    let (full, more, archived) = (at("full"), at("more"), at("archive"));
    let from = ["restore", "--from", &full, "--from", &more];
    let again = at("again");
    fails(
        &[&from[..], &["--to", &again]].concat(),
        "there is no keyring",
    );
    let keyed = [&from[..], &["--keyring-file", &keys]].concat();
    // What is refused leaves the directory to the command that is right.
    let late = ["--archive", &archived, "--until", "2000-01-01 00:00:00"];
    fails(
        &[&keyed[..], &late, &["--to", &again]].concat(),
        "nothing from before that time",
    );
    fails(
        &[
            "restore",
            "--from",
            &more,
            "--keyring-file",
            &keys,
            "--to",
            &again,
        ],
        "the first backup is incremental",
    );
    succeeds(&[&keyed[..], &["--to", &again]].concat());
    let server = Serving::start(Path::new(&again), &with);
    assert_eq!(sums(&mut client(Path::new(&again))), [(2, 11), (0, 0)]);
    assert!(server.stop("-TERM").0);
    let plain = at("plain");
    succeeds(
        &[
            &keyed[..],
            &["--archive", &archived, "--plain", "--to", &plain],
        ]
        .concat(),
    );
    assert_eq!(restored(Path::new(&plain)), [(3, 111), (0, 0)]);
    let inside = data.join("keys").display().to_string();
    let refused = run(&["check", "--keyring-file", &inside], &data);
    assert!(
        stderr(&refused).contains("in the data directory"),
        "{}",
        stderr(&refused)
    );

    let seen = |folder: &str| {
        let mut folders = vec![dir.0.join(folder)];
        let mut seen = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = std::fs::read(&path)
                    && String::from_utf8_lossy(&bytes).contains(&MARK[8..16])
                {
                    seen.push(path);
                }
            }
        }
        seen
    };
    assert!(!seen("plain").is_empty());
    for folder in ["data", "full", "more", "archive", "again"] {
        assert_eq!(seen(folder), Vec::<PathBuf>::new(), "{folder}");
    }
}

/// Whoever may read files by statements can't read the keys, though they lie where such files are.
#[test]
fn statements_do_not_reach_the_keyring() {
    use mysql::prelude::Queryable;
    let dir = Dir::new();
    let data = dir.data();
    let at = |name: &str| dir.0.join(name).display().to_string();
    let (keys, allowed) = (at("keys"), format!("secure_file_priv={}", dir.0.display()));
    let with = ["--port", "0", "--keyring-file", &keys, "--set", &allowed];
    let server = Serving::start(&data, &with);
    let mut c = client(&data);
    c.query_drop("CREATE DATABASE d").unwrap();
    c.query_drop("CREATE TABLE d.t (v TEXT)").unwrap();
    std::os::unix::fs::symlink(&keys, at("link")).unwrap();
    std::fs::hard_link(&keys, at("hard")).unwrap();
    std::fs::write(at("other"), "heron").unwrap();
    std::fs::write(at("keys.new"), "a draft that a crash left").unwrap();
    let code = |c: &mut mysql::Conn, text: String| match c.query_drop(&text) {
        Err(mysql::Error::MySqlError(e)) => e.code,
        other => panic!("{text}: {other:?}"),
    };
    for name in ["keys", "link", "hard", "keys.new", "data/../keys"] {
        let name = at(name);
        let read = format!("SELECT LOAD_FILE('{name}')");
        let read: Option<Option<String>> = c.query_first(read).unwrap();
        assert_eq!(read, Some(None), "{name}");
        let load = format!("LOAD DATA INFILE '{name}' INTO TABLE d.t");
        assert_eq!(code(&mut c, load), 1290, "{name}");
    }
    let read: Option<String> =
        (c.query_first(format!("SELECT LOAD_FILE('{}')", at("other")))).unwrap();
    assert_eq!(read.as_deref(), Some("heron"));
    // A keyring that is lost is none that a statement can make.
    std::fs::rename(&keys, at("kept")).unwrap();
    std::fs::remove_file(at("keys.new")).unwrap();
    for name in ["keys", "keys.new"] {
        let write = format!("SELECT 'key' INTO OUTFILE '{}'", at(name));
        assert_eq!(code(&mut c, write), 1290, "{name}");
    }
    assert!(!Path::new(&keys).exists());
    drop(c);
    assert!(server.stop("-TERM").0);
}
