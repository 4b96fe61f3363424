use super::*;
use crate::proto::HEADER;
use crate::scratch::Scratch;
use millpond_session::ResultSink;
use socket2::{Domain, Type};
use std::io::Read;

/// What no command here has: a result.
struct Nothing;

impl ResultSink for Nothing {
    fn columns(&mut self, _: &[millpond_session::result::ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[millpond_session::Value<'_>]) -> io::Result<()> {
        Ok(())
    }
    fn finish(&mut self, _: &millpond_session::Completion) -> io::Result<()> {
        Ok(())
    }
}

/// A statement that is done but not settled.
fn unsettled(db: &Scratch) -> Unsettled {
    let mut session = db.instance.connect(Default::default()).unwrap();
    session.leave_commits_unsettled();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (i INT PRIMARY KEY)"] {
        session.execute(sql, &mut Nothing).unwrap();
        assert!(session.take_unsettled().is_none(), "{sql} waits itself");
    }
    let sql = "INSERT INTO d.t VALUES (1)";
    session.execute(sql, &mut Nothing).unwrap();
    session.take_unsettled().expect("it is not durable yet")
}

fn ok_packet(writer: &mut PacketWriter) {
    writer.set_sequence(1);
    writer.packet(|p| p.extend_from_slice(&[0, 1, 0, 2, 0, 0, 0]));
}

fn packet(from: &Socket) -> Vec<u8> {
    let mut head = [0; HEADER];
    (&*from).read_exact(&mut head).unwrap();
    let mut payload = vec![0; head[0] as usize];
    (&*from).read_exact(&mut payload).unwrap();
    [head.to_vec(), payload].concat()
}

#[test]
fn an_ok_arrives_once_its_commit_is_durable() {
    let db = Scratch::open("answer-ok");
    let unsettled = unsettled(&db);
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    let mut writer = PacketWriter::new(Arc::new(ours.try_clone().unwrap()));
    let answer = Answer::new(db.instance.clone(), Arc::new(ours));
    ok_packet(&mut writer);
    answer.withhold(&mut writer, unsettled);
    assert_eq!(packet(&theirs), [7, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0]);
    answer.wait_sent();
}

#[test]
fn a_failed_log_puts_an_error_in_the_place_of_ok() {
    let db = Scratch::open("answer-err");
    let unsettled = unsettled(&db);
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    let mut writer = PacketWriter::new(Arc::new(ours.try_clone().unwrap()));
    let answer = Answer::new(db.instance.clone(), Arc::new(ours));
    ok_packet(&mut writer);
    {
        let mut held = answer.held.lock();
        held.bytes = writer.unsent().to_vec();
        held.unsettled = Some(unsettled);
    }
    answer
        .clone()
        .done(Err(StoreError::Stopped("no disk".into())));
    let packet = packet(&theirs);
    assert_eq!((packet[3], packet[4]), (1, 0xff));
    assert!(String::from_utf8_lossy(&packet).contains("no disk"));
    // A second call finds nothing to answer.
    answer.clone().done(Ok(()));
    answer.wait_sent();
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let db = Scratch::open("answer-slow");
    let unsettled = unsettled(&db);
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
    let ours = Arc::new(ours);
    ours.set_nonblocking(true).unwrap();
    let mut filler = 0u64;
    while let Ok(n) = (&*ours).write(&[7; 4096]) {
        filler += n as u64;
    }
    ours.set_nonblocking(false).unwrap();
    let mut writer = PacketWriter::new(ours.clone());
    let answer = Answer::new(db.instance.clone(), ours);
    ok_packet(&mut writer);
    answer.withhold(&mut writer, unsettled);
    // The log's part is over; the answer is not, until the client reads.
    let mut skipped = io::sink();
    io::copy(&mut (&theirs).take(filler), &mut skipped).unwrap();
    assert_eq!(packet(&theirs)[3], 1);
    answer.wait_sent();
}
