//! A tour of the embedded database: tables, prepared statements, transactions, errors.
//!
//! Run with `cargo run -p millpond --example tour [DIRECTORY]`.

use millpond::{Database, Error, Result};

fn main() -> Result<()> {
    let temporary = std::env::temp_dir().join(format!("millpond-tour-{}", std::process::id()));
    let given = std::env::args().nth(1);
    let path = given
        .as_ref()
        .map_or(temporary.clone(), std::path::PathBuf::from);
    let db = Database::builder().pool_size(64 << 20).open(&path)?;
    let mut conn = db.connect()?;
    println!("open: {}", path.display());

    conn.execute_batch(
        "CREATE DATABASE IF NOT EXISTS tour; USE tour; DROP TABLE IF EXISTS fish;
         CREATE TABLE fish (
             id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
             name VARCHAR(40) NOT NULL UNIQUE,
             pond VARCHAR(20) NOT NULL,
             grams INT,
             KEY by_pond (pond, grams)
         )",
    )?;

    // A statement with placeholders is planned once and kept by the connection.
    for (name, pond, grams) in [
        ("pike", "mill", Some(5200)),
        ("carp", "mill", Some(7300)),
        ("tench", "mill", None),
        ("trout", "brook", Some(900)),
    ] {
        let added = conn.execute(
            "INSERT INTO fish (name, pond, grams) VALUES (?, ?, ?)",
            (name, pond, grams),
        )?;
        println!("{name} has number {}", added.last_insert_id);
    }

    for row in &conn.query(
        "SELECT name, grams FROM fish WHERE pond = ? ORDER BY grams DESC",
        ("mill",),
    )? {
        let grams: Option<i64> = row.get("grams")?;
        println!(
            "{:<6} {}",
            row.get::<String>("name")?,
            grams.map_or("not weighed".into(), |g| format!("{g} g"))
        );
    }

    // A transaction that is dropped without a commit never happened.
    {
        let mut tx = conn.transaction()?;
        tx.execute("UPDATE fish SET pond = 'brook'", ())?;
    }
    let mut tx = conn.transaction()?;
    tx.execute("DELETE FROM fish WHERE name = ?", ("trout",))?;
    tx.commit()?;
    let left: i64 = conn.query_value("SELECT COUNT(*) FROM fish WHERE pond = 'mill'", ())?;
    println!("{left} fish in the mill pond");

    // Errors carry MySQL's codes.
    match conn.execute("INSERT INTO fish (name, pond) VALUES ('pike', 'mill')", ()) {
        Err(e @ Error::Sql(_)) if e.code() == Some(1062) => println!("{e}"),
        other => println!("unexpected: {other:?}"),
    }

    let shown = conn.query("SHOW CREATE TABLE fish", ())?;
    if let Some(row) = shown.get(0) {
        println!("{}", row.get::<String>(1)?);
    }
    drop(conn);
    db.close()?;
    if given.is_none()
        && let Err(e) = std::fs::remove_dir_all(&temporary)
    {
        println!("{} stays: {e}", temporary.display());
    }
    Ok(())
}
