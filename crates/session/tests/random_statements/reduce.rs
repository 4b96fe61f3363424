//! Smaller scripts with the same difference at their end.

use super::text::Text;

/// The smallest script found that still fails, tried at most `tries` times. Its last statement is the one that fails.
pub fn reduce(
    mut script: Vec<Text>,
    mut tries: u32,
    fails: &mut dyn FnMut(&[Text]) -> bool,
) -> Vec<Text> {
    let mut attempt = |candidate: &[Text]| {
        tries > 0 && {
            tries -= 1;
            fails(candidate)
        }
    };
    // Runs of statements before the last, long ones first.
    let mut run = script.len().div_ceil(2);
    while run > 0 {
        let mut at = 0;
        while at + 1 < script.len() {
            let end = (at + run).min(script.len() - 1);
            let mut less = script.clone();
            less.drain(at..end);
            if attempt(&less) {
                script = less;
            } else {
                at = end;
            }
        }
        run /= 2;
    }
    for at in (0..script.len()).rev() {
        'again: loop {
            for simpler in script[at].simpler() {
                if simpler.sql().len() > script[at].sql().len() {
                    continue;
                }
                let mut less = script.clone();
                less[at] = simpler;
                if less[at].sql() != script[at].sql() && attempt(&less) {
                    script = less;
                    continue 'again;
                }
            }
            break;
        }
    }
    script
}
