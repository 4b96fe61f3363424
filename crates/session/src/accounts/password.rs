//! What is kept of passwords, and how a client proves that it knows one.
//!
//! `caching_sha2_password` keeps `$A$005$`, a salt of 20 characters and the digest of SHA-crypt (U. Drepper, "Unix crypt using SHA-256 and
//! SHA-512", 2007) with 5,000 rounds, as MySQL does: hashes of dumps work. `mysql_native_password` keeps `*` and the SHA-1 of the SHA-1. A client
//! of either proves by a challenge of 20 bytes that it knows what lies before the outermost hash. Comparisons take the same time whatever
//! differs.

use std::fs::File;
use std::io::Read;

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Thousands of rounds of SHA-crypt.
const ROUNDS: usize = 5;
/// Length of a salt.
const SALT: usize = 20;
/// Length of the digest in characters.
const DIGEST: usize = 43;

/// Bytes that nobody can guess; an error if the system gives none.
pub fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut out = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut out)?;
    Ok(out)
}

/// As many random characters, letters and digits.
pub fn random_text(length: usize) -> std::io::Result<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
    let mut out = String::with_capacity(length);
    while out.len() < length {
        out.push(char::from(LETTERS[usize::from(random::<1>()?[0]) % 64]));
    }
    Ok(out)
}

/// Whether two byte strings are the same, in a time that their length alone decides.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y));
    std::hint::black_box(differ) == 0 && a.len() == b.len()
}

/// `mysql_native_password`'s hash of a password.
pub fn native(password: &str) -> String {
    let mut out = "*".to_string();
    for b in Sha1::digest(Sha1::digest(password)) {
        out.push_str(&format!("{b:02X}"));
    }
    out
}

/// The bytes of such a hash; `None`: it is none.
pub fn native_bytes(hash: &str) -> Option<[u8; 20]> {
    let hex = hash
        .strip_prefix('*')
        .filter(|h| h.len() == 40 && h.is_ascii())?;
    let mut out = [0; 20];
    for (n, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(out)
}

/// Whether an answer to a challenge is that of who knows the password of a native hash.
pub fn is_native_answer(hash: &[u8; 20], challenge: &[u8], answer: &[u8]) -> bool {
    let mask = Sha1::new()
        .chain_update(challenge)
        .chain_update(hash)
        .finalize();
    if answer.len() != mask.len() {
        return false;
    }
    let first: Vec<u8> = answer.iter().zip(mask).map(|(a, m)| a ^ m).collect();
    same(&Sha1::digest(first), hash)
}

/// What the server remembers of a password that was right: the SHA-256 of the SHA-256.
pub type Remembered = [u8; 32];

/// What is remembered of a password.
pub fn remembered(password: &[u8]) -> Remembered {
    Sha256::digest(Sha256::digest(password)).into()
}

/// Whether an answer to a challenge is that of who knows the password.
pub fn is_fast_answer(known: &Remembered, challenge: &[u8], answer: &[u8]) -> bool {
    let mask = Sha256::new()
        .chain_update(known)
        .chain_update(challenge)
        .finalize();
    if answer.len() != mask.len() {
        return false;
    }
    let first: Vec<u8> = answer.iter().zip(mask).map(|(a, m)| a ^ m).collect();
    same(&Sha256::digest(first), known)
}

/// `caching_sha2_password`'s hash of a password, with a new salt.
pub fn sha2(password: &[u8]) -> std::io::Result<String> {
    let salt = random_text(SALT)?;
    Ok(format!(
        "$A$00{ROUNDS}${salt}{}",
        crypt(password, salt.as_bytes(), ROUNDS * 1000)
    ))
}

/// Rounds, salt and digest of such a hash; `None`: it is none.
fn parts(hash: &str) -> Option<(usize, &[u8], &[u8])> {
    let rest = hash.strip_prefix("$A$")?.as_bytes();
    let (rounds, rest) = rest.split_at_checked(3)?;
    let rounds = usize::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()?;
    let (salt, digest) = rest.strip_prefix(b"$")?.split_at_checked(SALT)?;
    (rounds > 0 && digest.len() == DIGEST).then_some((rounds * 1000, salt, digest))
}

/// Whether a text is a hash of `caching_sha2_password`.
pub fn is_sha2(hash: &str) -> bool {
    parts(hash).is_some()
}

/// Whether a password is that of a hash.
pub fn is_sha2_of(hash: &str, password: &[u8]) -> bool {
    let Some((rounds, salt, digest)) = parts(hash) else {
        return false;
    };
    same(crypt(password, salt, rounds).as_bytes(), digest)
}

/// SHA-crypt with SHA-256, whatever the length of the salt.
fn crypt(password: &[u8], salt: &[u8], rounds: usize) -> String {
    let alternate = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize();
    // As many bytes as `length` of a digest over and over.
    let repeated = |digest: &[u8], length: usize| -> Vec<u8> {
        digest.iter().copied().cycle().take(length).collect()
    };
    let mut first = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(repeated(&alternate, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        match bits & 1 {
            1 => first.update(alternate),
            _ => first.update(password),
        }
        bits >>= 1;
    }
    let mut last = first.finalize();
    let mut of_password = Sha256::new();
    (0..password.len()).for_each(|_| of_password.update(password));
    let p = repeated(&of_password.finalize(), password.len());
    let mut of_salt = Sha256::new();
    (0..16 + usize::from(last[0])).for_each(|_| of_salt.update(salt));
    let s = repeated(&of_salt.finalize(), salt.len());
    for round in 0..rounds {
        let mut next = Sha256::new();
        match round % 2 {
            1 => next.update(&p),
            _ => next.update(last),
        }
        if round % 3 != 0 {
            next.update(&s);
        }
        if round % 7 != 0 {
            next.update(&p);
        }
        match round % 2 {
            1 => next.update(last),
            _ => next.update(&p),
        }
        last = next.finalize();
    }
    encoded(&last)
}

/// SHA-crypt's characters of a digest.
fn encoded(digest: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = String::with_capacity(DIGEST);
    let mut put = |a: u8, b: u8, c: u8, count: usize| {
        let mut bits = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
        for _ in 0..count {
            out.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    };
    // Three bytes ten apart, each time in another order.
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(digest[a], digest[b], digest[c], 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put(0, digest[31], digest[30], 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha_crypt_is_what_others_compute() {
        // `openssl passwd -5 -salt saltstring 'Hello world!'`, of OpenSSL 3.
        assert_eq!(
            crypt(b"Hello world!", b"saltstring", 5000),
            "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"
        );
        // A hash that MySQL made: hashcat's example of its mode 7401.
        let salt =
            b"\xF9\xCC\x98\xCE\x08\x89\x29\x24\xF5\x0A\x21\x3B\x6B\xC5\x71\xA2\xC1\x17\x78\xC5";
        assert_eq!(
            crypt(b"hashcat", salt, 5000),
            "bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/"
        );
    }

    #[test]
    fn a_hash_is_of_its_password_alone() {
        let hash = sha2("p\u{e4}ss".as_bytes()).unwrap();
        assert_eq!(hash.len(), 70);
        assert!(is_sha2(&hash));
        assert!(is_sha2_of(&hash, "p\u{e4}ss".as_bytes()));
        assert!(!is_sha2_of(&hash, b"pass"));
        assert!(!is_sha2("$A$005$short"));
        assert_ne!(sha2(b"x").unwrap(), sha2(b"x").unwrap());
        assert_eq!(
            native("password"),
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"
        );
        assert_eq!(native_bytes("*24"), None);
    }

    #[test]
    fn answers_prove_the_password() {
        let challenge = [7; 20];
        let hash = native_bytes(&native("secret")).unwrap();
        let answer = |password: &str| -> Vec<u8> {
            let one = Sha1::digest(password);
            let two = Sha1::digest(one);
            let mask = Sha1::new()
                .chain_update(challenge)
                .chain_update(two)
                .finalize();
            one.iter().zip(mask).map(|(a, m)| a ^ m).collect()
        };
        assert!(is_native_answer(&hash, &challenge, &answer("secret")));
        assert!(!is_native_answer(&hash, &challenge, &answer("other")));
        assert!(!is_native_answer(&hash, &challenge, b""));
        let known = remembered(b"secret");
        let answer = |password: &str| -> Vec<u8> {
            let one = Sha256::digest(password);
            let two = Sha256::digest(one);
            let mask = Sha256::new()
                .chain_update(two)
                .chain_update(challenge)
                .finalize();
            one.iter().zip(mask).map(|(a, m)| a ^ m).collect()
        };
        assert!(is_fast_answer(&known, &challenge, &answer("secret")));
        assert!(!is_fast_answer(&known, &challenge, &answer("other")));
        assert!(!is_fast_answer(&known, &challenge, b"x"));
    }
}
