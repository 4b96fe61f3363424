//! The published ways of dropping a table's cached pages, as a target of ours offers them by `SET GLOBAL millpond_drop_algorithm`.
//! Names and history only: what they do is the engine's.

use std::str::FromStr;

/// The variable by which a target is told which one to use.
pub const VARIABLE: &str = "millpond_drop_algorithm";

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// MySQL 5.1 to 5.5.22.
    FullScan,
    /// Percona Server 5.1.56 and 5.5.10, `innodb_lazy_drop_table`.
    LazyMark,
    /// MySQL 5.6.2.
    Cleaner,
    /// MySQL 5.5.23.
    FlushList,
    /// MySQL 8.0.23.
    Stale,
    /// Ours.
    Millpond,
}

impl Algorithm {
    /// In the order in which they were published.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::FullScan,
        Algorithm::LazyMark,
        Algorithm::Cleaner,
        Algorithm::FlushList,
        Algorithm::Stale,
        Algorithm::Millpond,
    ];

    /// As the variable has it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::FullScan => "full_scan",
            Algorithm::LazyMark => "lazy_mark",
            Algorithm::Cleaner => "cleaner",
            Algorithm::FlushList => "flush_list",
            Algorithm::Stale => "stale",
            Algorithm::Millpond => "millpond",
        }
    }

    /// Where it comes from.
    pub fn origin(self) -> &'static str {
        match self {
            Algorithm::FullScan => "MySQL 5.1 to 5.5.22",
            Algorithm::LazyMark => "Percona Server 5.1.56, 5.5.10",
            Algorithm::Cleaner => "MySQL 5.6.2",
            Algorithm::FlushList => "MySQL 5.5.23",
            Algorithm::Stale => "MySQL 8.0.23",
            Algorithm::Millpond => "Millpond's own",
        }
    }
}

/// Some of them, as a flag's value: `all` or `full_scan,millpond`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithms(pub Vec<Algorithm>);

impl FromStr for Algorithms {
    type Err = String;
    fn from_str(s: &str) -> Result<Algorithms, String> {
        if s.eq_ignore_ascii_case("all") {
            return Ok(Algorithms(Algorithm::ALL.to_vec()));
        }
        let mut chosen = Vec::new();
        for name in s.split(',').map(str::trim) {
            let found = Algorithm::ALL.into_iter().find(|a| a.name() == name);
            let known = || Algorithm::ALL.map(Algorithm::name).join(", ");
            let found = found.ok_or_else(|| format!("unknown '{name}'; all, or of {}", known()))?;
            if !chosen.contains(&found) {
                chosen.push(found);
            }
        }
        Ok(Algorithms(chosen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_a_list() {
        assert_eq!("all".parse::<Algorithms>().unwrap().0.len(), 6);
        let some: Algorithms = "millpond, full_scan,millpond".parse().unwrap();
        assert_eq!(some.0, [Algorithm::Millpond, Algorithm::FullScan]);
        assert!("fullscan".parse::<Algorithms>().is_err());
        assert!("".parse::<Algorithms>().is_err());
    }
}
