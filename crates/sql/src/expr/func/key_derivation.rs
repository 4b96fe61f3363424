//! Keys of AES made by HKDF (RFC 5869) and PBKDF2 (RFC 8018), both with HMAC-SHA-512, as AES_ENCRYPT's last arguments ask for.

use hmac::{Hmac, Mac};
use sha2::Sha512;

use super::{Call, Exit};
use crate::error::SqlError;

/// Most bytes of a name, salt or info, and one more.
const OPTION: usize = 256;
/// Most bytes of a number of iterations, and one more.
const NUMBER: usize = 6;
/// Iterations, unless they are given.
const ITERATIONS: i64 = 1000;

/// How a key is made.
pub(super) enum Derivation {
    Hkdf { salt: Vec<u8>, info: Vec<u8> },
    Pbkdf2 { salt: Vec<u8>, iterations: u32 },
}

/// What a call asks for; `None`: nothing.
pub(super) fn asked(c: &Call<'_, '_>) -> Result<Option<Derivation>, Exit> {
    let Some(name) = option(c, 3, OPTION)? else {
        return Ok(None);
    };
    let hkdf = match &*name {
        b"hkdf" => true,
        b"pbkdf2_hmac" => false,
        _ => {
            let m = "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
            return Err(SqlError::new(3235, m).into());
        }
    };
    let salt = option(c, 4, OPTION)?.unwrap_or_default();
    if hkdf {
        let info = option(c, 5, OPTION)?.unwrap_or_default();
        return Ok(Some(Derivation::Hkdf { salt, info }));
    }
    let iterations = option(c, 5, NUMBER)?.map_or(ITERATIONS, |text| leading_number(&text));
    match u32::try_from(iterations) {
        Ok(iterations @ 1000..=65_535) => Ok(Some(Derivation::Pbkdf2 { salt, iterations })),
        _ => {
            let m = "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security \
                     reasons. Please provide iterations >= 1000 and iterations < 65535";
            Err(SqlError::new(3236, m).into())
        }
    }
}

/// An argument, if there are as many: not NULL, and shorter than `bytes`.
fn option(c: &Call<'_, '_>, at: usize, bytes: usize) -> Result<Option<Vec<u8>>, Exit> {
    let Some(given) = c.args.get(at) else {
        return Ok(None);
    };
    match given.text(c.cx)? {
        Some(text) if text.len() < bytes => Ok(Some(text.into_owned())),
        _ => {
            let m = format!(
                "KDF option size is invalid, please provide valid size < {bytes} bytes and not NULL"
            );
            Err(SqlError::new(3238, m).into())
        }
    }
}

/// The number that a text begins with; 0 if there is none.
fn leading_number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let digits = std::str::from_utf8(&text[..digits]).unwrap_or_default();
    digits.parse().unwrap_or(0)
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 64] {
    // HMAC takes keys of any length.
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("a key of any length");
    parts.iter().for_each(|p| mac.update(p));
    mac.finalize().into_bytes().into()
}

impl Derivation {
    /// A key of `size` bytes, which is no more than the 64 that SHA-512 makes.
    pub(super) fn derive(&self, key: &[u8], size: usize) -> Vec<u8> {
        let made = match self {
            Derivation::Hkdf { salt, info } => {
                let extracted = mac(salt, &[key]);
                mac(&extracted, &[info, &[1]])
            }
            Derivation::Pbkdf2 { salt, iterations } => {
                let mut last = mac(key, &[salt, &1u32.to_be_bytes()]);
                let mut all = last;
                for _ in 1..*iterations {
                    last = mac(key, &[&last]);
                    all.iter_mut().zip(last).for_each(|(a, b)| *a ^= b);
                }
                all
            }
        };
        made[..size].to_vec()
    }
}
