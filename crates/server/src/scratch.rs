//! A database of a test's own, small and gone after it.

use std::path::PathBuf;

use millpond_session::{Instance, InstanceOptions};

/// Open until it is dropped.
pub struct Scratch {
    dir: PathBuf,
    /// The database.
    pub instance: Instance,
}

impl Scratch {
    /// An empty one in a directory of this name and process.
    pub fn open(name: &str) -> Scratch {
        let dir = format!("millpond-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(dir);
        let instance = Instance::open(InstanceOptions {
            path: dir.clone(),
            store: millpond_store::Options {
                pool_bytes: 16 << 20,
                log_bytes: 4 << 20,
                ..millpond_store::Options::default()
            },
            variables: Vec::new(),
        });
        Scratch {
            dir,
            instance: instance.unwrap(),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.instance.close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
