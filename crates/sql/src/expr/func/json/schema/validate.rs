//! Whether a document is what a JSON Schema says: draft 4, without what says nothing about values (titles, formats, defaults).
//!
//! Keywords whose values aren't what the draft asks for say nothing, as in MySQL; nor do patterns that are none. What `$ref` names
//! must be in the schema itself. Members and elements are looked at before the object or array as a whole, so that of several
//! failures the same one is told as MySQL tells.

use std::collections::{HashMap, HashSet};

use regex::Regex;

use crate::error::{SqlError, SqlResult};
use crate::value::json::{Array, Object, Ref, View, compare, sort_key};

/// What a document fails by.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The keyword.
    pub(super) keyword: &'static str,
    /// The schema that has it: a JSON Pointer within the whole schema.
    pub(super) schema: String,
    /// The value that it is about: a JSON Pointer within the document.
    pub(super) document: String,
}

/// A validation under way.
pub(super) struct Validation<'s> {
    root: Ref<'s>,
    /// Where in the schema and in the document: JSON Pointers.
    schema: String,
    document: String,
    /// What came of values under schemas that `$ref` named: `None` while that is being found out.
    named: HashMap<(*const u8, *const u8), Option<Outcome>>,
    patterns: HashMap<*const u8, Option<Regex>>,
}

type Outcome = Result<(), Failure>;

/// Why a validation has no outcome yet: a failure ends it as an error of the session does.
enum Stop {
    Failed(Failure),
    Error(SqlError),
}

type Checked = Result<(), Stop>;

/// Whether a document is what a schema, an object, says. Error 1235 where it names what is elsewhere.
pub(super) fn validate(schema: Ref<'_>, document: Ref<'_>) -> SqlResult<Outcome> {
    let mut validation = Validation {
        root: schema,
        schema: "#".to_string(),
        document: "#".to_string(),
        named: HashMap::new(),
        patterns: HashMap::new(),
    };
    match validation.value(schema, document) {
        Ok(()) => Ok(Ok(())),
        Err(Stop::Failed(failure)) => Ok(Err(failure)),
        Err(Stop::Error(e)) => Err(e),
    }
}

/// Appends a step to a JSON Pointer; its length before.
fn step(pointer: &mut String, to: &str) -> usize {
    let before = pointer.len();
    pointer.push('/');
    pointer.push_str(&to.replace('~', "~0").replace('/', "~1"));
    before
}

impl<'s> Validation<'s> {
    fn fail(&self, keyword: &'static str) -> Checked {
        Err(Stop::Failed(Failure {
            keyword,
            schema: self.schema.clone(),
            document: self.document.clone(),
        }))
    }

    fn hold(&self, holds: bool, keyword: &'static str) -> Checked {
        match holds {
            true => Ok(()),
            false => self.fail(keyword),
        }
    }

    /// A value under a schema.
    fn value(&mut self, schema: Ref<'s>, v: Ref<'_>) -> Checked {
        let View::Object(s) = schema.view() else {
            return Ok(());
        };
        if let Some(View::String(name)) = s.get("$ref").map(Ref::view) {
            return self.referred(name, v);
        }
        if let Some(types) = s.get("type") {
            self.hold(is_of(v, types), "type")?;
        }
        match v.view() {
            View::Object(o) => self.object(&s, &o, v)?,
            View::Array(a) => self.array(&s, &a)?,
            View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => {
                self.number(&s, v)?;
            }
            View::Null | View::Bool(_) => {}
            // Dates and bytes are strings in JSON.
            View::String(text) => self.string(&s, text)?,
            _ => {
                let mut text = Vec::new();
                v.write_unquoted(&mut text);
                self.string(&s, &String::from_utf8_lossy(&text))?;
            }
        }
        self.combined(&s, v)
    }

    /// The same under a schema at a place below this.
    fn below(&mut self, at: &[&str], schema: Ref<'s>, v: Ref<'_>) -> Checked {
        let before = self.schema.len();
        for to in at {
            step(&mut self.schema, to);
        }
        let checked = self.value(schema, v);
        self.schema.truncate(before);
        checked
    }

    /// The same with the value at a place below this.
    fn within(&mut self, to: &str, at: &[&str], schema: Ref<'s>, v: Ref<'_>) -> Checked {
        let before = step(&mut self.document, to);
        let checked = self.below(at, schema, v);
        self.document.truncate(before);
        checked
    }

    /// Whether a value is what a schema below this says, whatever it fails by.
    fn admits(&mut self, schema: Ref<'s>, v: Ref<'_>) -> Result<bool, Stop> {
        match self.value(schema, v) {
            Ok(()) => Ok(true),
            Err(Stop::Failed(_)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// A value under the schema that `$ref` names. One that leads back to itself says nothing more.
    fn referred(&mut self, name: &str, v: Ref<'_>) -> Checked {
        let Some(pointer) = name.strip_prefix('#') else {
            return Err(Stop::Error(SqlError::unsupported(
                "references in JSON Schema",
            )));
        };
        let Some(schema) = self.find(pointer) else {
            return Ok(());
        };
        let key = (schema.as_bytes().as_ptr(), v.as_bytes().as_ptr());
        if let Some(known) = self.named.get(&key) {
            return match known {
                Some(Err(failure)) => Err(Stop::Failed(failure.clone())),
                _ => Ok(()),
            };
        }
        self.named.insert(key, None);
        let here = std::mem::replace(&mut self.schema, name.to_string());
        let checked = self.value(schema, v);
        self.schema = here;
        let outcome = match &checked {
            Ok(()) => Ok(()),
            Err(Stop::Failed(failure)) => Err(failure.clone()),
            Err(Stop::Error(_)) => return checked,
        };
        self.named.insert(key, Some(outcome));
        checked
    }

    /// What a JSON Pointer names within the whole schema.
    fn find(&self, pointer: &str) -> Option<Ref<'s>> {
        let mut at = self.root;
        if pointer.is_empty() {
            return Some(at);
        }
        for token in pointer.strip_prefix('/')?.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            at = match at.view() {
                View::Object(o) => o.get(&token)?,
                View::Array(a) => a.get(token.parse().ok()?)?,
                _ => return None,
            };
        }
        Some(at)
    }

    fn object(&mut self, s: &Object<'s>, o: &Object<'_>, whole: Ref<'_>) -> Checked {
        let properties = object_of(s, "properties");
        let patterns = object_of(s, "patternProperties");
        let additional = s.get("additionalProperties");
        for (key, v) in o.iter() {
            let own = properties.as_ref().and_then(|p| p.get(key));
            let mut known = own.is_some();
            if let Some(schema) = own {
                self.within(key, &["properties", key], schema, v)?;
            }
            for (pattern, schema) in patterns.iter().flat_map(|p| p.iter()) {
                if self.matches(pattern, key) == Some(true) {
                    known = true;
                    let before = step(&mut self.document, key);
                    let admitted = self.admits(schema, v)?;
                    self.hold(admitted, "patternProperties")?;
                    self.document.truncate(before);
                }
            }
            match additional {
                Some(schema) if !known => match schema.view() {
                    View::Bool(false) => {
                        step(&mut self.document, key);
                        return self.fail("additionalProperties");
                    }
                    _ => self.within(key, &["additionalProperties"], schema, v)?,
                },
                _ => {}
            }
        }
        if let Some(View::Array(names)) = s.get("required").map(Ref::view) {
            let has = |name: Ref<'_>| match name.view() {
                View::String(name) => o.get(name).is_some(),
                _ => true,
            };
            self.hold(names.iter().all(has), "required")?;
        }
        let least = |n| o.len() as u64 >= n;
        self.hold(count(s, "minProperties").is_none_or(least), "minProperties")?;
        let most = |n| o.len() as u64 <= n;
        self.hold(count(s, "maxProperties").is_none_or(most), "maxProperties")?;
        self.dependencies(s, o, whole)
    }

    fn dependencies(&mut self, s: &Object<'s>, o: &Object<'_>, whole: Ref<'_>) -> Checked {
        let Some(dependencies) = object_of(s, "dependencies") else {
            return Ok(());
        };
        for (key, needed) in dependencies.iter() {
            if o.get(key).is_none() {
                continue;
            }
            let holds = match needed.view() {
                View::Array(names) => names.iter().all(|name| match name.view() {
                    View::String(name) => o.get(name).is_some(),
                    _ => true,
                }),
                View::Object(_) => self.admits(needed, whole)?,
                _ => true,
            };
            self.hold(holds, "dependencies")?;
        }
        Ok(())
    }

    fn array(&mut self, s: &Object<'s>, a: &Array<'_>) -> Checked {
        let items = s.get("items");
        for (n, v) in a.iter().enumerate() {
            let place = n.to_string();
            let Some(items) = items else { break };
            let list = match items.view() {
                View::Array(list) => list,
                _ => {
                    self.within(&place, &["items"], items, v)?;
                    continue;
                }
            };
            if let Some(schema) = list.get(n) {
                self.within(&place, &["items", &place], schema, v)?;
                continue;
            }
            match s.get("additionalItems") {
                None => {}
                Some(more) if matches!(more.view(), View::Bool(false)) => {
                    step(&mut self.document, &place);
                    return self.fail("additionalItems");
                }
                Some(more) => self.within(&place, &["additionalItems"], more, v)?,
            }
        }
        let least = |n| a.len() as u64 >= n;
        self.hold(count(s, "minItems").is_none_or(least), "minItems")?;
        let most = |n| a.len() as u64 <= n;
        self.hold(count(s, "maxItems").is_none_or(most), "maxItems")?;
        if matches!(s.get("uniqueItems").map(Ref::view), Some(View::Bool(true))) {
            let mut seen = HashSet::new();
            let fresh = |v: Ref<'_>| {
                let mut key = Vec::new();
                sort_key(v, &mut key);
                seen.insert(key)
            };
            let unique = a.iter().all(fresh);
            self.hold(unique, "uniqueItems")?;
        }
        Ok(())
    }

    fn number(&self, s: &Object<'s>, v: Ref<'_>) -> Checked {
        for (keyword, exclusive, beyond) in [
            ("minimum", "exclusiveMinimum", std::cmp::Ordering::Less),
            ("maximum", "exclusiveMaximum", std::cmp::Ordering::Greater),
        ] {
            let Some(bound) = s.get(keyword).filter(|b| is_number(*b)) else {
                continue;
            };
            let strict = matches!(s.get(exclusive).map(Ref::view), Some(View::Bool(true)));
            let order = compare(v, bound);
            let holds = order != beyond && !(strict && order.is_eq());
            self.hold(holds, if strict { exclusive } else { keyword })?;
        }
        let Some(of) = s.get("multipleOf").filter(|m| is_number(*m)) else {
            return Ok(());
        };
        let whole = |v: Ref<'_>| match v.view() {
            View::Int(n) => Some(i128::from(n)),
            View::UInt(n) => Some(i128::from(n)),
            _ => None,
        };
        let double = |v: Ref<'_>| v.json().to_number().to_f64().abs();
        let multiple = match (whole(v), whole(of)) {
            (_, Some(0)) => true,
            (Some(v), Some(of)) => v % of == 0,
            _ => {
                let (v, of) = (double(v), double(of));
                of == 0.0 || v - (v / of).floor() * of <= 0.0
            }
        };
        self.hold(multiple, "multipleOf")
    }

    fn string(&mut self, s: &Object<'s>, text: &str) -> Checked {
        let chars = || text.chars().count() as u64;
        let least = count(s, "minLength").is_none_or(|n| chars() >= n);
        self.hold(least, "minLength")?;
        let most = count(s, "maxLength").is_none_or(|n| chars() <= n);
        self.hold(most, "maxLength")?;
        if let Some(View::String(pattern)) = s.get("pattern").map(Ref::view) {
            let found = self.matches(pattern, text) != Some(false);
            self.hold(found, "pattern")?;
        }
        Ok(())
    }

    /// What any value is asked.
    fn combined(&mut self, s: &Object<'s>, v: Ref<'_>) -> Checked {
        if let Some(View::Array(list)) = s.get("enum").map(Ref::view) {
            let holds = list.iter().any(|e| compare(e, v).is_eq());
            self.hold(holds, "enum")?;
        }
        for (keyword, least, most) in [
            ("allOf", usize::MAX, usize::MAX),
            ("anyOf", 1, usize::MAX),
            ("oneOf", 1, 1),
        ] {
            let Some(View::Array(list)) = s.get(keyword).map(Ref::view) else {
                continue;
            };
            let mut admitting = 0;
            for schema in list.iter() {
                admitting += usize::from(self.admits(schema, v)?);
            }
            let holds = (least.min(list.len())..=most).contains(&admitting);
            self.hold(holds, keyword)?;
        }
        if let Some(not) = s.get("not").filter(|n| matches!(n.view(), View::Object(_))) {
            let admitted = self.admits(not, v)?;
            self.hold(!admitted, "not")?;
        }
        Ok(())
    }

    /// Whether a pattern is found in a text; `None` if it is none.
    fn matches(&mut self, pattern: &'s str, text: &str) -> Option<bool> {
        let known = self.patterns.entry(pattern.as_ptr());
        let regex = known.or_insert_with(|| Regex::new(pattern).ok());
        regex.as_ref().map(|r| r.is_match(text))
    }
}

fn object_of<'s>(s: &Object<'s>, keyword: &str) -> Option<Object<'s>> {
    match s.get(keyword)?.view() {
        View::Object(o) => Some(o),
        _ => None,
    }
}

/// A keyword that is a number of things.
fn count(s: &Object<'_>, keyword: &str) -> Option<u64> {
    match s.get(keyword)?.view() {
        View::Int(n) => u64::try_from(n).ok(),
        View::UInt(n) => Some(n),
        _ => None,
    }
}

fn is_number(v: Ref<'_>) -> bool {
    matches!(
        v.view(),
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_)
    )
}

/// Whether a value is of a type, or of one of several.
fn is_of(v: Ref<'_>, types: Ref<'_>) -> bool {
    let named = |name: &str| match name {
        "null" => matches!(v.view(), View::Null),
        "boolean" => matches!(v.view(), View::Bool(_)),
        "object" => matches!(v.view(), View::Object(_)),
        "array" => matches!(v.view(), View::Array(_)),
        "number" => is_number(v),
        "integer" => matches!(v.view(), View::Int(_) | View::UInt(_)),
        "string" => {
            let other = matches!(
                v.view(),
                View::Null | View::Bool(_) | View::Object(_) | View::Array(_)
            );
            !other && !is_number(v)
        }
        _ => false,
    };
    match types.view() {
        View::String(name) => named(name),
        View::Array(list) => list.iter().any(|t| match t.view() {
            View::String(name) => named(name),
            _ => false,
        }),
        _ => true,
    }
}
