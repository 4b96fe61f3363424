//! The article's own figures: Percona Server on an unnamed machine with a buffer pool of 256 MiB, a table of 300,024 rows.

/// One of its three OPTIMIZEs; seconds.
pub(crate) struct Published {
    /// Which.
    pub what: &'static str,
    /// In the client.
    pub total: f64,
    /// Of the stage "copy to tmp table".
    pub copy: f64,
    /// Of the stage "restoring secondary keys", where there was one.
    pub keys: Option<f64>,
    /// Of the stage "rename result table".
    pub rename: f64,
}

pub(crate) const PUBLISHED: [Published; 3] = [
    Published {
        what: "expand_fast_index_creation=OFF",
        total: 32.42,
        copy: 31.557635,
        keys: None,
        rename: 0.373926,
    },
    Published {
        what: "expand_fast_index_creation=ON",
        total: 15.31,
        copy: 9.129202,
        keys: Some(5.676336),
        rename: 0.164292,
    },
    Published {
        what: "ON, with a foreign key",
        total: 33.86,
        copy: 33.049338,
        keys: None,
        rename: 0.460403,
    },
];
