use super::*;
use socket2::{Domain, Type};

const FOREVER: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_millis(20);

fn pair() -> (Arc<Socket>, Arc<Socket>) {
    let (a, b) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    (Arc::new(a), Arc::new(b))
}

fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut p = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    p.push(seq);
    p.extend_from_slice(payload);
    p
}

fn read(r: &mut PacketReader, max: usize) -> Result<Vec<u8>, ReadError> {
    let at = r.read(&mut 0, max, FOREVER, FOREVER)?;
    Ok(r.bytes(at).to_vec())
}

#[test]
fn several_packets_of_one_delivery_and_one_of_several() {
    let (client, server) = pair();
    let mut r = PacketReader::new(server);
    let mut bytes = framed(0, b"one");
    bytes.extend(framed(0, b""));
    bytes.extend(framed(0, b"three"));
    let (head, tail) = bytes.split_at(bytes.len() - 2);
    (&*client).write_all(head).unwrap();
    assert_eq!(read(&mut r, 100).unwrap(), b"one");
    assert_eq!(read(&mut r, 100).unwrap(), b"");
    let tail = tail.to_vec();
    let writer = std::thread::spawn(move || (&*client).write_all(&tail).unwrap());
    assert_eq!(read(&mut r, 100).unwrap(), b"three");
    writer.join().unwrap();
    assert!(matches!(read(&mut r, 100), Err(ReadError::Closed)));
}

#[test]
fn packets_of_any_length_survive_both_ways() {
    for len in [
        0,
        1,
        READ_BUFFER,
        KEEP_BUFFER + 5,
        MAX_PAYLOAD - 1,
        MAX_PAYLOAD,
        MAX_PAYLOAD + 1,
        2 * MAX_PAYLOAD,
    ] {
        let (client, server) = pair();
        let payload: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let copy = payload.clone();
        let sender = std::thread::spawn(move || {
            let mut w = PacketWriter::new(client);
            w.packet(|out| out.extend_from_slice(&copy));
            let last = w.sequence();
            w.set_sequence(0);
            w.packet(|out| out.extend_from_slice(b"next"));
            w.flush().unwrap();
            assert_eq!(last as usize, len / MAX_PAYLOAD + 1);
        });
        let mut r = PacketReader::new(server);
        assert!(read(&mut r, 3 * MAX_PAYLOAD).unwrap() == payload, "{len}");
        r.shrink();
        assert!(r.buf.len() <= KEEP_BUFFER);
        assert_eq!(read(&mut r, 100).unwrap(), b"next");
        sender.join().unwrap();
    }
}

#[test]
fn a_packet_too_large_is_skipped_and_the_stream_stays_in_step() {
    for len in [101, KEEP_BUFFER, MAX_PAYLOAD + 10] {
        let (client, server) = pair();
        let sender = std::thread::spawn(move || {
            let mut w = PacketWriter::new(client);
            w.packet(|out| out.extend(std::iter::repeat_n(1, len)));
            w.set_sequence(0);
            w.packet(|out| out.extend_from_slice(b"next"));
            w.flush().unwrap();
        });
        let mut r = PacketReader::new(server);
        let e = read(&mut r, 100).map(|p| p.len());
        assert!(matches!(e, Err(ReadError::TooLarge)), "{len}: {e:?}");
        assert_eq!(read(&mut r, 100).unwrap(), b"next");
        assert!(r.buf.len() <= KEEP_BUFFER);
        sender.join().unwrap();
    }
}

#[test]
fn sequence_ids_are_checked() {
    let (client, server) = pair();
    let mut r = PacketReader::new(server);
    (&*client).write_all(&framed(3, b"x")).unwrap();
    assert!(matches!(read(&mut r, 100), Err(ReadError::OutOfOrder)));
}

#[test]
fn silence_before_and_within_a_packet_are_told_apart() {
    let (client, server) = pair();
    let mut r = PacketReader::new(server);
    assert!(matches!(
        r.read(&mut 0, 100, SOON, SOON),
        Err(ReadError::Idle)
    ));
    (&*client).write_all(&framed(0, b"abc")[..5]).unwrap();
    assert!(matches!(
        r.read(&mut 0, 100, SOON, SOON),
        Err(ReadError::Broken(_))
    ));
}

#[test]
fn what_a_header_announces_is_not_allocated() {
    let (client, server) = pair();
    let mut r = PacketReader::new(server);
    (&*client)
        .write_all(&[0xfe, 0xff, 0xff, 0, 1, 2, 3])
        .unwrap();
    drop(client);
    assert!(matches!(
        r.read(&mut 0, usize::MAX, FOREVER, FOREVER),
        Err(ReadError::Broken(_))
    ));
    assert!(r.buf.len() <= KEEP_BUFFER);
}

#[test]
fn a_broken_writer_stays_broken() {
    let (client, server) = pair();
    drop(client);
    let mut w = PacketWriter::new(server);
    w.packet(|out| out.push(1));
    assert!(w.flush().is_err());
    assert!(w.broken());
    w.packet(|out| out.push(1));
    assert!(w.flush().is_err());
}

#[test]
fn what_is_not_sent_yet_is_never_more_than_a_packet_beyond_the_bound() {
    const ROW: usize = 1000;
    let (client, server) = pair();
    let reader = std::thread::spawn(move || io::copy(&mut &*client, &mut io::sink()).unwrap());
    let mut w = PacketWriter::new(server);
    for _ in 0..10_000 {
        w.packet(|out| out.extend_from_slice(&[7; ROW]));
        w.flush_if_due().unwrap();
        assert!(w.position() < FLUSH_AT && w.out.capacity() <= 2 * KEEP_BUFFER);
    }
    // A long one takes no more than it has to, and not for long.
    w.packet(|out| out.resize(out.len() + (3 << 20), 7));
    w.flush_if_due().unwrap();
    assert!(w.position() == 0 && w.out.capacity() <= 2 * KEEP_BUFFER);
    drop(w);
    let all = 10_000 * (ROW + HEADER) + (3 << 20) + HEADER;
    assert_eq!(reader.join().unwrap(), all as u64);
}
