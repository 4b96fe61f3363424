//! AES_ENCRYPT and AES_DECRYPT: the modes that `block_encryption_mode` names, over the cipher of the `aes` crate (NIST SP 800-38A).
//!
//! Keys, initialization vectors and what is encrypted show in no message.

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};

use super::call::bytes;
use super::typing::bytes_within_first;
use super::{Call, Computed, Exit, Follows, Function, Null, Typing, key_derivation, row};
use crate::error::SqlError;
use crate::types::{Collation, SqlType};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("AES_ENCRYPT", 2..=6, padded, encrypt).null(Null::Maybe).follows(Follows::Statement).reads_bytes().makes_its_own(),
    row("AES_DECRYPT", 2..=6, bytes_within_first, decrypt).null(Null::Maybe).follows(Follows::Statement).reads_bytes().makes_its_own(),
];

/// Bytes of a block.
const BLOCK: usize = 16;

type Block = [u8; BLOCK];

fn padded(t: &Typing<'_>) -> SqlType {
    let blocks = t.length(0) / BLOCK as u32;
    SqlType::varchar(
        blocks.saturating_add(1).saturating_mul(BLOCK as u32),
        Collation::Binary,
    )
}

fn encrypt<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (text, key) = prepared(c)?;
    bytes(key.encrypt(&text))
}

fn decrypt<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (text, key) = prepared(c)?;
    bytes(key.decrypt(&text).ok_or(Exit::Null)?)
}

/// The text of a call, and what it is encrypted with. Each argument is looked at before NULL ends the call.
fn prepared<'a>(c: &Call<'_, 'a>) -> Result<(std::borrow::Cow<'a, [u8]>, Keyed), Exit> {
    let name = (c.cx.session.sys_var)("", "block_encryption_mode")?;
    let (size, mode) = mode_of(&name.to_text());
    let text = c.args[0].text(c.cx)?;
    let key = c.args[1].text(c.cx)?;
    let derivation = key_derivation::asked(c)?;
    if let (Some(key), None) = (&key, &derivation)
        && key.len() > size
    {
        let m = format!(
            "AES key size should be {size} bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, please \
             provide exact AES key size or use KDF methods for better security."
        );
        c.cx.session.warn(3237, m);
    }
    let vector = initialization_vector(c, mode)?;
    let (Some(text), Some(key)) = (text, key) else {
        return Err(Exit::Null);
    };
    let key = match derivation {
        Some(derivation) => derivation.derive(&key, size),
        None => folded(&key, size),
    };
    let cipher = Cipher::new(&key);
    Ok((
        text,
        Keyed {
            cipher,
            mode,
            vector,
        },
    ))
}

/// Its third argument, which ECB has no use for and the other modes cannot be without.
fn initialization_vector(c: &Call<'_, '_>, mode: Mode) -> Result<Block, Exit> {
    let Some(given) = c.args.get(2) else {
        return match mode {
            Mode::Ecb => Ok([0; BLOCK]),
            _ => Err(super::wrong_arity(&c.name()).into()),
        };
    };
    if mode == Mode::Ecb {
        c.cx.session.warn(1618, "<IV> option ignored");
        return Ok([0; BLOCK]);
    }
    let given = given.text(c.cx)?.unwrap_or_default();
    let vector = given.first_chunk().copied();
    vector.ok_or_else(|| {
        let m = format!(
            "The initialization vector supplied to {} is too short. Must be at least {BLOCK} bytes long",
            c.name()
        );
        SqlError::new(1882, m).into()
    })
}

/// A key of any length as one of `size` bytes: its bytes are XORed over each other.
fn folded(key: &[u8], size: usize) -> Vec<u8> {
    let mut out = vec![0; size];
    for (n, b) in key.iter().enumerate() {
        out[n % size] ^= b;
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

/// Bytes of the key, and the mode, of a value of `block_encryption_mode`.
fn mode_of(name: &[u8]) -> (usize, Mode) {
    let name = String::from_utf8_lossy(name);
    let mut parts = name.split('-').skip(1);
    let size = match parts.next() {
        Some("256") => 32,
        Some("192") => 24,
        _ => 16,
    };
    let mode = match parts.next() {
        Some("cbc") => Mode::Cbc,
        Some("cfb1") => Mode::Cfb1,
        Some("cfb8") => Mode::Cfb8,
        Some("cfb128") => Mode::Cfb128,
        Some("ofb") => Mode::Ofb,
        _ => Mode::Ecb,
    };
    (size, mode)
}

enum Cipher {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Cipher {
    /// Of a key of 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Cipher {
        match key.len() {
            32 => Cipher::Aes256(Aes256::new(GenericArray::from_slice(key))),
            24 => Cipher::Aes192(Aes192::new(GenericArray::from_slice(key))),
            _ => Cipher::Aes128(Aes128::new(GenericArray::from_slice(key))),
        }
    }
    fn encrypt(&self, mut block: Block) -> Block {
        let b = GenericArray::from_mut_slice(&mut block);
        match self {
            Cipher::Aes128(c) => c.encrypt_block(b),
            Cipher::Aes192(c) => c.encrypt_block(b),
            Cipher::Aes256(c) => c.encrypt_block(b),
        }
        block
    }
    fn decrypt(&self, mut block: Block) -> Block {
        let b = GenericArray::from_mut_slice(&mut block);
        match self {
            Cipher::Aes128(c) => c.decrypt_block(b),
            Cipher::Aes192(c) => c.decrypt_block(b),
            Cipher::Aes256(c) => c.decrypt_block(b),
        }
        block
    }
}

/// A cipher with its key, and how it goes from block to block.
struct Keyed {
    cipher: Cipher,
    mode: Mode,
    vector: Block,
}

fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|n| a[n] ^ b[n])
}

impl Keyed {
    fn encrypt(&self, text: &[u8]) -> Vec<u8> {
        if !matches!(self.mode, Mode::Ecb | Mode::Cbc) {
            return self.stream(text, true);
        }
        // PKCS #7: as many bytes as are added, one at least, each says how many.
        let more = BLOCK - text.len() % BLOCK;
        let mut out = Vec::with_capacity(text.len() + more);
        out.extend_from_slice(text);
        out.resize(text.len() + more, more as u8);
        let mut last = self.vector;
        let (blocks, _) = out.as_chunks_mut::<BLOCK>();
        for block in blocks {
            let plain = match self.mode {
                Mode::Cbc => xor(*block, last),
                _ => *block,
            };
            *block = self.cipher.encrypt(plain);
            last = *block;
        }
        out
    }

    /// `None` if the text was not made by [`Keyed::encrypt`] with this key, as far as its padding tells.
    fn decrypt(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !matches!(self.mode, Mode::Ecb | Mode::Cbc) {
            return Some(self.stream(text, false));
        }
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        if !rest.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut last = self.vector;
        for block in blocks {
            let plain = self.cipher.decrypt(*block);
            out.extend(match self.mode {
                Mode::Cbc => xor(plain, last),
                _ => plain,
            });
            last = *block;
        }
        let more = usize::from(*out.last()?);
        let padding = out.len().checked_sub(more).map(|at| &out[at..])?;
        if !(1..=BLOCK).contains(&more) || padding.iter().any(|b| usize::from(*b) != more) {
            return None;
        }
        out.truncate(out.len() - more);
        Some(out)
    }

    /// The modes that make a stream to XOR the text with, of what went before.
    fn stream(&self, text: &[u8], encrypts: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut register = self.vector;
        match self.mode {
            Mode::Cfb1 => {
                for &b in text {
                    let mut made = 0;
                    for bit in (0..8).rev() {
                        let given = b >> bit & 1;
                        let other = given ^ self.cipher.encrypt(register)[0] >> 7;
                        let sent = if encrypts { other } else { given };
                        register =
                            (u128::from_be_bytes(register) << 1 | u128::from(sent)).to_be_bytes();
                        made = made << 1 | other;
                    }
                    out.push(made);
                }
            }
            Mode::Cfb8 => {
                for &b in text {
                    let other = b ^ self.cipher.encrypt(register)[0];
                    let sent = if encrypts { other } else { b };
                    register =
                        (u128::from_be_bytes(register) << 8 | u128::from(sent)).to_be_bytes();
                    out.push(other);
                }
            }
            Mode::Cfb128 | Mode::Ofb | Mode::Ecb | Mode::Cbc => {
                for part in text.chunks(BLOCK) {
                    let made = self.cipher.encrypt(register);
                    let from = out.len();
                    out.extend(part.iter().zip(made).map(|(a, b)| a ^ b));
                    let sent = match (self.mode, encrypts) {
                        (Mode::Cfb128, true) => &out[from..],
                        (Mode::Cfb128, false) => part,
                        _ => &made[..],
                    };
                    register[..sent.len()].copy_from_slice(sent);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_hex(s: &str) -> Vec<u8> {
        super::super::unhex(s.as_bytes()).unwrap()
    }

    /// NIST SP 800-38A, appendix F: the first two blocks (of CFB1 and CFB8 what it gives of them).
    #[test]
    fn published_vectors() {
        let text = of_hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let vector: Block = std::array::from_fn(|n| n as u8);
        let k128 = of_hex("2b7e151628aed2a6abf7158809cf4f3c");
        let k192 = of_hex("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b");
        let k256 = of_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        let cases = [
            (
                &k128,
                Mode::Ecb,
                32,
                "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf",
            ),
            (
                &k192,
                Mode::Ecb,
                32,
                "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef",
            ),
            (
                &k256,
                Mode::Ecb,
                32,
                "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870",
            ),
            (
                &k128,
                Mode::Cbc,
                32,
                "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            ),
            (
                &k256,
                Mode::Cbc,
                32,
                "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
            ),
            (&k128, Mode::Cfb1, 2, "68b3"),
            (
                &k128,
                Mode::Cfb8,
                18,
                "3b79424c9c0dd436bace9e0ed4586a4f32b9",
            ),
            (
                &k128,
                Mode::Cfb128,
                32,
                "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b",
            ),
            (
                &k192,
                Mode::Cfb128,
                32,
                "cdc80d6fddf18cab34c25909c99a417467ce7f7f81173621961a2b70171d3d7a",
            ),
            (
                &k128,
                Mode::Ofb,
                32,
                "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825",
            ),
            (
                &k256,
                Mode::Ofb,
                32,
                "dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d",
            ),
        ];
        for (key, mode, length, want) in cases {
            let keyed = Keyed {
                cipher: Cipher::new(key),
                mode,
                vector,
            };
            let made = keyed.encrypt(&text[..length]);
            assert_eq!(made[..length], of_hex(want), "{mode:?}");
            assert_eq!(
                keyed.decrypt(&made).as_deref(),
                Some(&text[..length]),
                "{mode:?}"
            );
        }
    }
}
