//! A statement as a tree, so that a failing one can be reduced: what stands for an expression can be replaced by a smaller one, what is
//! optional can go.

/// A piece of a statement.
#[derive(Clone, Debug)]
pub enum Text {
    /// As it stands.
    Word(String),
    /// What one rule of the grammar gave: an expression, a clause, a statement of a program.
    Rule(Vec<Text>),
    /// A statement is as good without.
    Optional(Vec<Text>),
}

impl Text {
    pub fn word(text: impl Into<String>) -> Text {
        Text::Word(text.into())
    }

    pub fn sql(&self) -> String {
        let mut out = String::new();
        self.print(&mut out);
        out
    }

    fn print(&self, out: &mut String) {
        match self {
            Text::Word(w) => out.push_str(w),
            Text::Rule(parts) | Text::Optional(parts) => parts.iter().for_each(|p| p.print(out)),
        }
    }

    fn parts(&self) -> &[Text] {
        match self {
            Text::Word(_) => &[],
            Text::Rule(parts) | Text::Optional(parts) => parts,
        }
    }

    /// Texts a step simpler, the largest steps first.
    pub fn simpler(&self) -> Vec<Text> {
        let mut out = Vec::new();
        if let Text::Optional(_) = self {
            out.push(Text::word(""));
        }
        if let Text::Rule(parts) = self {
            for simple in ["NULL", "1", "'a'"] {
                if self.sql().len() > simple.len() {
                    out.push(Text::word(simple));
                }
            }
            // An expression in the place of what it is an operand of.
            let mut inner = Vec::new();
            parts.iter().for_each(|p| p.rules(&mut inner));
            out.extend(inner.into_iter().cloned());
        }
        for (n, part) in self.parts().iter().enumerate() {
            for simpler in part.simpler() {
                let mut parts = self.parts().to_vec();
                parts[n] = simpler;
                out.push(match self {
                    Text::Optional(_) => Text::Optional(parts),
                    _ => Text::Rule(parts),
                });
            }
        }
        out
    }

    /// The nearest rules in this.
    fn rules<'a>(&'a self, found: &mut Vec<&'a Text>) {
        match self {
            Text::Word(_) => {}
            Text::Rule(_) => found.push(self),
            Text::Optional(parts) => parts.iter().for_each(|p| p.rules(found)),
        }
    }
}
