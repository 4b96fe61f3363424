//! Under which of the ways to serve connections tests run: the one that `MILLPOND_TEST_THREADS` names, the default without it.

/// Variables for a server: `own` for a thread per connection, `crowd` for a pool in which no connection keeps a thread.
pub fn variables() -> Vec<(String, String)> {
    let said = |name: &str, value: &str| (name.to_string(), value.to_string());
    match std::env::var("MILLPOND_TEST_THREADS").as_deref() {
        Ok("own") => vec![said("thread_handling", "one-thread-per-connection")],
        Ok("crowd") => vec![
            said("millpond_thread_pool_keep", "0"),
            said("thread_pool_size", "1"),
        ],
        Ok(other) => panic!("MILLPOND_TEST_THREADS: own or crowd, not {other}"),
        Err(_) => Vec::new(),
    }
}
