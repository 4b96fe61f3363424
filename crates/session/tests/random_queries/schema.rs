//! Random tables: a column of each kind, few different values, many NULLs and duplicates, indexes or none. With indexes, some columns are VIRTUAL
//! over others that nobody sees.

use crate::query::Kind;
use crate::rng::Rng;

/// A column's name and definition, and the literals that its rows and conditions have.
pub struct Domain {
    pub kind: Kind,
    pub name: &'static str,
    definition: &'static str,
    pub literals: &'static [&'static str],
}

pub const DOMAINS: [Domain; 8] = [
    Domain {
        kind: Kind::Int,
        name: "i",
        definition: "INT",
        literals: &["-2", "0", "1", "2", "3", "4", "5"],
    },
    Domain {
        kind: Kind::Unsigned,
        name: "u",
        definition: "INT UNSIGNED",
        literals: &["0", "1", "2", "3", "4", "4294967295"],
    },
    Domain {
        kind: Kind::Decimal,
        name: "d",
        definition: "DECIMAL(6,2)",
        literals: &["-1.50", "0.00", "1.00", "2.00", "2.50", "3.00"],
    },
    Domain {
        kind: Kind::Text,
        name: "c",
        definition: "VARCHAR(10) COLLATE utf8mb4_0900_ai_ci",
        literals: &["''", "'a'", "'A'", "'b'", "'B'", "'ab'", "'1'"],
    },
    Domain {
        kind: Kind::Exact,
        name: "b",
        definition: "VARCHAR(10) COLLATE utf8mb4_bin",
        literals: &["''", "'a'", "'A'", "'b'", "'B'", "'ab'", "'2'"],
    },
    Domain {
        kind: Kind::Date,
        name: "e",
        definition: "DATE",
        literals: &[
            "'2024-01-31'",
            "'2024-02-29'",
            "'2024-03-01'",
            "'1999-12-31'",
        ],
    },
    Domain {
        kind: Kind::Bits,
        name: "t",
        definition: "BIT(5)",
        literals: &["0", "1", "2", "3", "16", "31"],
    },
    // No two of these are equal but in their texts, and no order of theirs is the texts'.
    Domain {
        kind: Kind::Json,
        name: "j",
        definition: "JSON",
        literals: &[
            "'null'",
            "'true'",
            "'10'",
            "'9.5'",
            "'\"b\"'",
            "'[1, 2]'",
            "'[10]'",
            "'{\"a\": 1}'",
        ],
    },
];

/// Kinds of columns that indexes may have: those before JSON.
const KEYABLE: u64 = DOMAINS.len() as u64 - 1;

pub fn domain(kind: Kind) -> &'static Domain {
    let of = DOMAINS.iter().find(|d| d.kind == kind);
    of.expect("no domain of predicates")
}

#[derive(Clone, Debug)]
pub struct Relation {
    pub name: String,
    /// Names of columns that are NOT NULL.
    required: Vec<&'static str>,
    /// Names of columns that are VIRTUAL where there are indexes.
    computed: Vec<&'static str>,
    /// `(name, definition)`: `("k0", "KEY k0 (i, d)")`.
    pub keys: Vec<(String, String)>,
    /// Each as in VALUES.
    pub rows: Vec<String>,
}

impl Relation {
    pub fn new(rng: &mut Rng, name: String) -> Relation {
        let required: Vec<_> = DOMAINS
            .iter()
            .filter(|_| rng.below(5) == 0)
            .map(|d| d.name)
            .collect();
        let mut keys = Vec::new();
        if rng.below(3) > 0 {
            keys.push(("PRIMARY".to_string(), "PRIMARY KEY (id)".to_string()));
        }
        for n in 0..rng.below(4) {
            let mut columns: Vec<&str> = Vec::new();
            for _ in 0..1 + rng.below(3) {
                let column = DOMAINS[rng.below(KEYABLE) as usize].name;
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
            let key = format!("k{n}");
            let definition = format!("KEY {key} ({})", columns.join(", "));
            keys.push((key, definition));
        }
        let count = match rng.below(12) {
            0 => 0,
            1 => 40,
            _ => 2 + rng.below(10),
        };
        let rows = (0..count).map(|id| row(rng, id, &required)).collect();
        let computed = match rng.below(3) {
            0 => DOMAINS.iter().map(|d| d.name).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        let computed = computed.into_iter().filter(|_| rng.below(2) == 0);
        Relation {
            name,
            required,
            computed: computed.collect(),
            keys,
            rows,
        }
    }

    /// CREATE TABLE and INSERT, with the indexes or without.
    pub fn script(&self, keyed: bool) -> Vec<String> {
        let mut parts = vec!["id INT NOT NULL".to_string()];
        let (mut names, mut bases) = (vec!["id".to_string()], Vec::new());
        for d in &DOMAINS {
            let (name, definition) = (d.name, d.definition);
            if keyed && self.computed.contains(&name) {
                parts.push(format!("{name} {definition} AS ({name}0)"));
                bases.push(format!("{name}0 {definition} INVISIBLE"));
                names.push(format!("{name}0"));
                continue;
            }
            let required = self.required.contains(&name);
            let not_null = if required { " NOT NULL" } else { "" };
            parts.push(format!("{name} {definition}{not_null}"));
            names.push(name.to_string());
        }
        parts.extend(bases);
        if keyed {
            parts.extend(self.keys.iter().map(|(_, d)| d.clone()));
        }
        let create = format!("CREATE TABLE {} ({})", self.name, parts.join(", "));
        let (names, rows) = (names.join(", "), self.rows.join(", "));
        let insert = format!("INSERT INTO {} ({names}) VALUES {rows}", self.name);
        if self.rows.is_empty() {
            vec![create]
        } else {
            vec![create, insert]
        }
    }
}

fn row(rng: &mut Rng, id: u64, required: &[&str]) -> String {
    let mut values = vec![id.to_string()];
    for d in &DOMAINS {
        let null = !required.contains(&d.name) && rng.below(6) == 0;
        let literal = d.literals[rng.below(d.literals.len() as u64) as usize];
        values.push(if null { "NULL".into() } else { literal.into() });
    }
    format!("({})", values.join(", "))
}
