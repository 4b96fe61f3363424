//! What statements can name: tables and their columns as the database has them, and what is declared where a text is being made.

use super::grammar::{Alternative, Grammar, Part};
use super::text::Text;
use crate::engine::Engine;
use crate::rng::Rng;

/// Rules within rules, after which the shortest ways are taken.
const DEPTH: u32 = 7;

/// A column, and the letter of the rules that make expressions of its kind.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: char,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
}

/// The kind of expressions that a type is for: i integers, n other numbers, d dates, t times of day, j JSON, s the rest.
fn kind(data_type: &str) -> char {
    match data_type {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "bit" | "year" => 'i',
        "decimal" | "float" | "double" => 'n',
        "date" | "datetime" | "timestamp" => 'd',
        "time" => 't',
        "json" => 'j',
        _ => 's',
    }
}

/// Makes statements.
pub struct World<'g> {
    pub grammar: &'g Grammar,
    pub rng: Rng,
    pub tables: Vec<Table>,
    /// Tables that columns may be named of, with what stands before their names: an alias and a point, or nothing.
    scope: Vec<(String, Table)>,
    labels: Vec<String>,
    numbered: u32,
}

impl<'g> World<'g> {
    pub fn new(grammar: &'g Grammar, seed: u64) -> World<'g> {
        World {
            grammar,
            rng: Rng(seed),
            tables: Vec::new(),
            scope: Vec::new(),
            labels: Vec::new(),
            numbered: 0,
        }
    }

    /// Reads which tables there are.
    pub fn look(&mut self, engine: &mut dyn Engine) {
        let sql = "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS \
                   WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION";
        self.tables.clear();
        for row in engine.run(sql).expect("columns").rows {
            let text = |n: usize| String::from_utf8(row[n].clone().unwrap()).unwrap();
            let (table, name) = (text(0), text(1));
            if self.tables.last().is_none_or(|t| t.name != table) {
                let columns = Vec::new();
                self.tables.push(Table {
                    name: table,
                    columns,
                });
            }
            let kind = kind(&text(2));
            let columns = &mut self.tables.last_mut().unwrap().columns;
            columns.push(Column { name, kind });
        }
    }

    /// A statement of a rule.
    pub fn statement(&mut self, rule: &str) -> Text {
        self.scope.clear();
        self.labels.clear();
        self.expand(rule, 0)
    }

    fn expand(&mut self, rule: &str, depth: u32) -> Text {
        if let Some(text) = self.native(rule) {
            return text;
        }
        let grammar = self.grammar;
        let rules = grammar.rule(rule);
        let rules = rules.unwrap_or_else(|| panic!("no rule {rule}"));
        let alternative = self.choose(rules, depth);
        // Where a subquery ends, so do the names of its tables; a program's block ends its labels.
        let (scope, labels) = (self.scope.len(), self.labels.len());
        let mut parts = Vec::new();
        self.parts(&alternative.parts, depth, &mut parts);
        if !rule.starts_with('_') {
            self.scope.truncate(scope);
            self.labels.truncate(labels);
        }
        Text::Rule(parts)
    }

    fn choose(&mut self, rules: &'g [Alternative], depth: u32) -> &'g Alternative {
        let least = rules.iter().map(|a| a.depth).min().unwrap_or(0);
        let fits = |a: &&Alternative| depth < DEPTH || a.depth == least;
        let sum = rules.iter().filter(fits).map(|a| a.weight).sum();
        let mut at = self.rng.below(sum);
        for alternative in rules.iter().filter(fits) {
            if at < alternative.weight {
                return alternative;
            }
            at -= alternative.weight;
        }
        unreachable!("weights have a sum")
    }

    fn parts(&mut self, parts: &'g [Part], depth: u32, out: &mut Vec<Text>) {
        for part in parts {
            match part {
                Part::Word(w) => out.push(Text::word(w)),
                Part::OneOf(words) => {
                    let n = self.rng.below(words.len() as u64) as usize;
                    out.push(Text::word(&words[n]));
                }
                Part::Rule(name, most, between) => {
                    out.push(self.expand(name, depth + 1));
                    for _ in 0..self.rng.below(*most) {
                        let next = self.expand(name, depth + 1);
                        out.push(Text::Optional(vec![Text::word(*between), next]));
                    }
                }
                Part::Optional(parts) => {
                    if self.rng.below(2) == 0 && depth < DEPTH {
                        let mut inner = Vec::new();
                        self.parts(parts, depth, &mut inner);
                        out.push(Text::Optional(inner));
                    }
                }
            }
        }
    }

    /// What is known here by a name.
    fn native(&mut self, name: &str) -> Option<Text> {
        if let Some(alias) = name.strip_prefix("bind:") {
            self.bind(alias);
            return Some(Text::word(""));
        }
        if let Some(alias) = name.strip_prefix("name:") {
            let dotted = prefix(alias);
            let bound = self.scope.iter().rev().find(|(a, _)| *a == dotted);
            let table = bound.map_or("nothing", |(_, t)| &t.name);
            return Some(Text::word(table));
        }
        if let Some(kinds) = name.strip_prefix("col:") {
            return Some(self.column(kinds));
        }
        if let Some(variables) = name.strip_prefix("vars:") {
            let column = |v: &str| Column {
                name: v.to_string(),
                kind: v
                    .rsplit('.')
                    .next()
                    .and_then(|n| n.chars().next())
                    .unwrap_or('s'),
            };
            let columns = variables.split(' ').map(column).collect();
            let table = Table {
                name: String::new(),
                columns,
            };
            self.scope.push((String::new(), table));
            return Some(Text::word(""));
        }
        match name {
            "label+" => {
                self.numbered += 1;
                self.labels.push(format!("l{}", self.numbered));
                self.labels.last().map(Text::word)
            }
            "label" => {
                let count = self.labels.len() as u64;
                let n = (count > 0).then(|| self.rng.below(count) as usize);
                Some(Text::word(n.map_or("l0", |n| self.labels[n].as_str())))
            }
            "label!" => self.labels.last().map(Text::word),
            "number" => {
                self.numbered += 1;
                Some(Text::word(self.numbered.to_string()))
            }
            _ => None,
        }
    }

    fn bind(&mut self, alias: &str) {
        if self.tables.is_empty() {
            return;
        }
        let n = self.rng.below(self.tables.len() as u64) as usize;
        let table = self.tables[n].clone();
        self.scope.push((prefix(alias), table));
    }

    /// A column of one of these kinds (of any: `*`), or a literal of the kind if there is none. `=` before the kinds: without an alias.
    fn column(&mut self, kinds: &str) -> Text {
        let bare = kinds.strip_prefix('=');
        let kinds = bare.unwrap_or(kinds);
        let fits = |c: &&Column| kinds == "*" || kinds.contains(c.kind);
        let named = |(prefix, table): &(String, Table)| {
            let names = table.columns.iter().filter(fits);
            let prefix = if bare.is_some() { "" } else { prefix };
            names
                .map(|c| format!("{prefix}{}", c.name))
                .collect::<Vec<_>>()
        };
        let names: Vec<String> = self.scope.iter().flat_map(named).collect();
        if names.is_empty() {
            let kind = kinds.chars().next().filter(|&c| c != '*').unwrap_or('i');
            let rule = if bare.is_some() {
                "id".into()
            } else {
                format!("lit_{kind}")
            };
            return self.expand(&rule, DEPTH);
        }
        let n = self.rng.below(names.len() as u64) as usize;
        Text::Rule(vec![Text::word(&names[n])])
    }
}

fn prefix(alias: &str) -> String {
    if alias.is_empty() {
        String::new()
    } else {
        format!("{alias}.")
    }
}
