//! AES-256-XTS (IEEE 1619, NIST SP 800-38E) of whole sectors, whose numbers are the tweaks.
//!
//! The block cipher is the `aes` crate's, which uses the processor's AES instructions where there are any and is constant in time where there are
//! none. A sector's blocks, and the tweaks of many sectors, go to it together, so that it can work on several at a time. Sectors are whole
//! blocks, so there is no ciphertext stealing.

use crate::io::SECTOR;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes256, Aes256Enc, Block};

const BLOCK: usize = 16;
/// Blocks of a sector.
const BLOCKS: usize = SECTOR / BLOCK;
/// Sectors whose tweaks are encrypted together: a page's.
const TOGETHER: usize = 32;

/// The two keys, expanded.
pub struct Xts {
    data: Aes256,
    tweak: Aes256Enc,
}

impl Xts {
    /// Of the key for data and the key for tweaks, one behind the other.
    pub fn new(keys: &[u8; 64]) -> Xts {
        let (data, tweak) = keys.split_at(32);
        Xts {
            data: Aes256::new(data.into()),
            tweak: Aes256Enc::new(tweak.into()),
        }
    }

    /// Encrypts whole sectors, the first of which has this number.
    pub fn encrypt(&self, bytes: &mut [u8], first: u64) {
        self.each(bytes, first, |sector, tweak| {
            xex(sector, tweak, |blocks| self.data.encrypt_blocks(blocks));
        });
    }

    /// Decrypts whole sectors, the first of which has this number. One of zeros was never written, and stays so: no text
    /// becomes that but with a chance of 2 to the -4096th.
    pub fn decrypt(&self, bytes: &mut [u8], first: u64) {
        self.each(bytes, first, |sector, tweak| {
            if sector.iter().any(|b| *b != 0) {
                xex(sector, tweak, |blocks| self.data.decrypt_blocks(blocks));
            }
        });
    }

    /// Calls `f` with each sector and its encrypted tweak.
    fn each(&self, bytes: &mut [u8], first: u64, mut f: impl FnMut(&mut [u8], u128)) {
        debug_assert!(bytes.len().is_multiple_of(SECTOR));
        let groups = bytes.chunks_mut(TOGETHER * SECTOR);
        for (group, first) in groups.zip((first..).step_by(TOGETHER)) {
            let mut tweaks = [Block::default(); TOGETHER];
            let tweaks = &mut tweaks[..group.len() / SECTOR];
            for (tweak, number) in tweaks.iter_mut().zip(first..) {
                *tweak = u128::from(number).to_le_bytes().into();
            }
            self.tweak.encrypt_blocks(tweaks);
            for (sector, tweak) in group.chunks_exact_mut(SECTOR).zip(tweaks) {
                f(sector, u128::from_le_bytes((*tweak).into()));
            }
        }
    }
}

/// XORs the tweak's multiples before and after the cipher's work.
fn xex(sector: &mut [u8], tweak: u128, work: impl FnOnce(&mut [Block])) {
    let mut blocks = [Block::default(); BLOCKS];
    let mut t = tweak;
    for (block, bytes) in blocks.iter_mut().zip(sector.chunks_exact(BLOCK)) {
        *block = (number(bytes) ^ t).to_le_bytes().into();
        t = doubled(t);
    }
    work(&mut blocks);
    t = tweak;
    for (block, bytes) in blocks.iter().zip(sector.chunks_exact_mut(BLOCK)) {
        bytes.copy_from_slice(&(number(block) ^ t).to_le_bytes());
        t = doubled(t);
    }
}

fn number(bytes: &[u8]) -> u128 {
    u128::from_le_bytes(bytes.try_into().expect("a block"))
}

/// Times x in the field of 2 to the 128th elements, by XTS's polynomial.
fn doubled(t: u128) -> u128 {
    (t << 1) ^ ((t >> 127) * 0x87)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: String = hex.split_whitespace().collect();
        let byte = |n| u8::from_str_radix(&hex[n..n + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    }

    /// Of vectors 10 to 14 of IEEE 1619-2007, appendix B: 512 bytes by 256-bit keys. Of the last four the first and the last 32 bytes do.
    const KEYS: &str = "2718281828459045235360287471352662497757247093699959574966967627
                        3141592653589793238462643383279502884197169399375105820974944592";

    fn keyed() -> Xts {
        Xts::new(&bytes(KEYS).try_into().unwrap())
    }

    /// What comes of vector 10.
    const TENTH: &str = "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b5d31e276f8fe4a8d66b317f9ac683f44680a86ac35adfc3345befecb4bb188fd
                        5776926c49a3095eb108fd1098baec70aaa66999a72a82f27d848b21d4a741b0c5cd4d5fff9dac89aeba122961d03a757123e9870f8acf1000020887891429ca
                        2a3e7a7d7df7b10355165c8b9a6d0a7de8b062c4500dc4cd120c0f7418dae3d0b5781c34803fa75421c790dfe1de1834f280d7667b327f6c8cd7557e12ac3a0f
                        93ec05c52e0493ef31a12d3d9260f79a289d6a379bc70c50841473d1a8cc81ec583e9645e07b8d9670655ba5bbcfecc6dc3966380ad8fecb17b6ba02469a020a
                        84e18e8f84252070c13e9f1f289be54fbc481457778f616015e1327a02b140f1505eb309326d68378f8374595c849d84f4c333ec4423885143cb47bd71c5edae
                        9be69a2ffeceb1bec9de244fbe15992b11b77c040f12bd8f6a975a44a0f90c29a9abc3d4d893927284c58754cce294529f8614dcd2aba991925fedc4ae74ffac
                        6e333b93eb4aff0479da9a410e4450e0dd7ae4c6e2910900575da401fc07059f645e8b7e9bfdef33943054ff84011493c27b3429eaedb4ed5376441a77ed4385
                        1ad77f16f541dfd269d50d6a5f14fb0aab1cbb4c1550be97f7ab4066193c4caa773dad38014bd2092fa755c824bb5e54c4f36ffda9fcea70b9c6e693e148c151";

    #[test]
    fn the_standards_vectors() {
        let xts = keyed();
        let text: Vec<u8> = (0..512).map(|n| n as u8).collect();
        let ends = |number: u64, first: &str, last: &str| (number, bytes(first), bytes(last));
        for (number, first, last) in [
            ends(
                0xffff,
                "77a31251618a15e6b92d1d66dffe7b50b50bad552305ba0217a610688eff7e11",
                "54fbff89eeaeea791f4a7ab1f9868294a4f9e27b42af8100cb9d59cef9645803",
            ),
            ends(
                0xff_ffff,
                "e387aaa58ba483afa7e8eb469778317ecf4cf573aa9d4eac23f2cdf914e4e200",
                "ed242c8900dd1fa965bc950dfce09b132263a1eef52dd6888c309f5a7d712826",
            ),
            ends(
                0xffff_ffff,
                "bf53d2dade78e822a4d949a9bc6766b01b06a8ef70d26748c6a7fc36d80ae4c5",
                "f6516139420fcff3b7361d86322c4bd84c82f335abb152c4a93411373aaa8220",
            ),
            ends(
                0xff_ffff_ffff,
                "64497e5a831e4a932c09be3e5393376daa599548b816031d224bbf50a818ed23",
                "6975be5e0b4efce51cd3e70c25a1fbbbd609d273ad5b0d59631c531f6a0a57b9",
            ),
        ] {
            let mut sector = text.clone();
            xts.encrypt(&mut sector, number);
            assert_eq!(sector[..32], first, "{number:x}");
            assert_eq!(sector[480..], last, "{number:x}");
            xts.decrypt(&mut sector, number);
            assert!(sector == text, "{number:x}");
        }
        let mut sector = text.clone();
        xts.encrypt(&mut sector, 0xff);
        assert_eq!(sector, bytes(TENTH));
        xts.decrypt(&mut sector, 0xff);
        assert!(sector == text);
    }

    #[test]
    fn sectors_together_are_sectors_one_by_one() {
        let xts = keyed();
        for count in [1, 2, 31, 32, 33, 70] {
            let text: Vec<u8> = (0..count * SECTOR).map(|n| ((n * 7) >> 3) as u8).collect();
            let mut together = text.clone();
            xts.encrypt(&mut together, 77);
            let mut alone = text.clone();
            for (sector, n) in alone.chunks_exact_mut(SECTOR).zip(77..) {
                xts.encrypt(sector, n);
            }
            assert!(together == alone, "{count} sectors");
            assert!(
                together
                    .chunks(BLOCK)
                    .zip(text.chunks(BLOCK))
                    .all(|(a, b)| a != b)
            );
            xts.decrypt(&mut together, 77);
            assert!(together == text, "{count} sectors");
        }
    }

    #[test]
    fn what_was_never_written_is_zeros() {
        let xts = keyed();
        let mut three = vec![0; 3 * SECTOR];
        xts.encrypt(&mut three[SECTOR..2 * SECTOR], 1);
        assert!(three[SECTOR..2 * SECTOR].iter().any(|b| *b != 0));
        xts.decrypt(&mut three, 0);
        assert!(three.iter().all(|b| *b == 0));
    }
}
