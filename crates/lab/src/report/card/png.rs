//! PNG: eight bits for each of red, green and blue, no transparency.

use flate2::Crc;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// The first bytes of every such file.
const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// Bytes of a pixel.
const PIXEL: usize = 3;
/// A row is written as what it differs by from the one above: most of a drawing is as above.
const UP: u8 = 2;

/// A picture of so many pixels in a row, from the top, each red, green and blue.
pub fn encode(width: u32, pixels: &[u8]) -> io::Result<Vec<u8>> {
    let row = width as usize * PIXEL;
    let height = (pixels.len() / row) as u32;
    let mut data = ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let mut above = vec![0; row];
    for line in pixels.chunks_exact(row) {
        let less: Vec<u8> = line
            .iter()
            .zip(&above)
            .map(|(a, b)| a.wrapping_sub(*b))
            .collect();
        data.write_all(&[UP])?;
        data.write_all(&less)?;
        above.copy_from_slice(line);
    }
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Bits of a colour; colours, no palette; the only compression and filtering that there are; not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    let mut out = SIGNATURE.to_vec();
    chunk(&mut out, *b"IHDR", &header);
    chunk(&mut out, *b"IDAT", &data.finish()?);
    chunk(&mut out, *b"IEND", &[]);
    Ok(out)
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let mut sum = Crc::new();
    sum.update(&kind);
    sum.update(data);
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend(data);
    out.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_picture_comes_back() {
        let pixels: Vec<u8> = (0..5 * 4 * PIXEL).map(|i| (i * 37) as u8).collect();
        let png = encode(5, &pixels).unwrap();
        assert_eq!(png[..8], SIGNATURE);
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        let (mut at, mut kinds, mut data) = (8, Vec::new(), Vec::new());
        while at < png.len() {
            let length = number(at) as usize;
            let body = &png[at + 4..at + 8 + length];
            let mut sum = Crc::new();
            sum.update(body);
            assert_eq!(number(at + 8 + length), sum.sum());
            kinds.push(String::from_utf8_lossy(&body[..4]).into_owned());
            if &body[..4] == b"IDAT" {
                flate2::read::ZlibDecoder::new(&body[4..])
                    .read_to_end(&mut data)
                    .unwrap();
            }
            at += length + 12;
        }
        assert_eq!(kinds, ["IHDR", "IDAT", "IEND"]);
        assert_eq!((number(16), number(20)), (5, 4));
        let mut back = vec![0u8; 5 * PIXEL];
        let mut all: Vec<u8> = Vec::new();
        for line in data.chunks(5 * PIXEL + 1) {
            assert_eq!(line[0], UP);
            for (b, d) in back.iter_mut().zip(&line[1..]) {
                *b = b.wrapping_add(*d);
            }
            all.extend(&back);
        }
        assert_eq!(all, pixels);
    }
}
