//! Random numbers and bytes.

use std::cell::Cell;

use super::typing::{binary, double};
use super::{Call, Computed, Exit, Follows, Function, row};
use crate::error::SqlError;
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("RAND", 0..=1, double, rand).follows(Follows::Call).takes_numbers(),
    row("RANDOM_BYTES", 1..=1, binary::<1024>, random_bytes).follows(Follows::Call).makes_its_own(),
];

/// Longest result of RANDOM_BYTES.
const MOST_RANDOM: i64 = 1024;

/// State of RAND(constant): MySQL's generator, restarted by each statement.
#[derive(Debug, Default)]
pub struct RandState {
    statement: (i64, u32),
    seeded: bool,
    a: u32,
    b: u32,
}

const RAND_MODULUS: u32 = 0x3fff_ffff;

impl RandState {
    fn seed(&mut self, seed: u32) {
        let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
        let second = seed.wrapping_mul(0x1000_0001);
        self.a = first % RAND_MODULUS;
        self.b = second % RAND_MODULUS;
        self.seeded = true;
    }
    fn step(&mut self) -> f64 {
        let m = RAND_MODULUS as u64;
        self.a = ((self.a as u64 * 3 + self.b as u64) % m) as u32;
        self.b = ((self.a as u64 + self.b as u64 + 33) % m) as u32;
        self.a as f64 / RAND_MODULUS as f64
    }
    /// The next number for the statement that began at `statement`.
    pub(crate) fn next(&mut self, seed: u32, statement: (i64, u32)) -> f64 {
        if !self.seeded || self.statement != statement {
            self.statement = statement;
            self.seed(seed);
        }
        self.step()
    }
}

/// A double in [0, 1) that nobody can predict from a seed.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0u8) | 1);
    }
    STATE.with(|s| {
        let mut x = s.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        s.set(x);
        (x >> 11) as f64 / (1u64 << 53) as f64
    })
}

fn rand<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    if c.len() == 1 {
        // A seed that changes from row to row starts anew each time.
        let mut state = RandState::default();
        let seed = c.args[0].eval(c.cx)?.to_i64() as u32;
        state.seed(seed);
        return Ok(Value::Double(state.step()));
    }
    Ok(Value::Double(random()))
}

fn random_bytes<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    use std::io::Read;
    let n = c.int(0)?;
    if !(1..=MOST_RANDOM).contains(&n) {
        let m = "length value is out of range in 'random_bytes'";
        return Err(Exit::Error(SqlError::new(1690, m)));
    }
    let mut out = vec![0; n as usize];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut out));
    read.map_err(|e| Exit::Error(SqlError::new(1105, format!("no random bytes: {e}"))))?;
    Ok(Value::Bytes(out.into()))
}
