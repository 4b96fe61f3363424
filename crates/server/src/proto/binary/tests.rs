use super::*;
use millpond_session::types::BaseType;

fn encode(base: BaseType, v: Value<'_>) -> Vec<u8> {
    let ty = SqlType::new(base);
    let wire = base.facts().wire;
    let mut out = Vec::new();
    row(&mut out, &[ty], &[wire], &[v]);
    assert_eq!(&out[..2], &[0, 0], "header and bitmap");
    out.split_off(2)
}

fn decode(wire: u8, bytes: &[u8]) -> Result<Value<'_>, Malformed> {
    let mut c = Cursor::new(bytes);
    let v = param(
        &mut c,
        ParamType {
            wire,
            unsigned: false,
        },
    )?;
    assert!(c.is_empty());
    Ok(v)
}

#[test]
fn null_bits_start_at_the_third() {
    let ty = SqlType::new(BaseType::Int);
    let wire = [ty.base.facts().wire; 8];
    let mut values = vec![Value::Null; 8];
    values[1] = Value::Int(5);
    let mut out = Vec::new();
    row(&mut out, &vec![ty; 8], &wire, &values);
    assert_eq!(out, [0, 0b1111_0100, 0b11, 5, 0, 0, 0]);
}

#[test]
fn integers_take_their_type_s_width() {
    assert_eq!(encode(BaseType::TinyInt, Value::Int(-1)), [255]);
    assert_eq!(encode(BaseType::SmallInt, Value::Int(-2)), [254, 255]);
    assert_eq!(encode(BaseType::MediumInt, Value::Int(1)), [1, 0, 0, 0]);
    assert_eq!(
        encode(BaseType::BigInt, Value::UInt(u64::MAX)),
        [255; 8],
        "unsigned"
    );
    assert_eq!(encode(BaseType::Year, Value::Int(2024)), [232, 7]);
}

#[test]
fn temporal_values_round_trip() {
    let t = DateTime {
        date: Date {
            year: 2024,
            month: 2,
            day: 29,
        },
        hour: 23,
        minute: 59,
        second: 58,
        micro: 123_456,
        later: false,
    };
    for t in [
        t,
        DateTime { micro: 0, ..t },
        at_midnight(t.date),
        DateTime::default(),
    ] {
        let bytes = encode(BaseType::DateTime, Value::DateTime(t));
        match decode(field::DATETIME, &bytes) {
            Ok(Value::DateTime(back)) => assert_eq!(back, t),
            other => panic!("{other:?}"),
        }
    }
    for micros in [0, 1, -1, 3_020_399_000_000, -86_400_000_000, 999_999] {
        let bytes = encode(BaseType::Time, Value::Time(Time { micros }));
        match decode(field::TIME, &bytes) {
            Ok(Value::Time(back)) => assert_eq!(back.micros, micros),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn impossible_temporal_parameters_are_texts_of_what_was_sent() {
    for (bytes, text) in [
        (&[4, 0xe8, 7, 13, 1][..], "2024-13-01 00:00:00"),
        (&[4, 0xe7, 7, 2, 29], "2023-02-29 00:00:00"),
        (&[7, 0xe8, 7, 1, 1, 24, 0, 0], "2024-01-01 24:00:00"),
    ] {
        let value = decode(field::DATETIME, bytes).unwrap();
        assert_eq!(value.to_text(), text.as_bytes());
    }
    let value = decode(field::DATE, &[4, 0xe8, 7, 2, 30]).unwrap();
    assert!(matches!(value, Value::Bytes(b) if &*b == b"2024-02-30"));
    for bytes in [&[5, 0xe8, 7, 1, 1, 0][..], &[4, 0xe8, 7]] {
        assert_eq!(decode(field::DATETIME, bytes).err(), Some(Malformed));
    }
    assert!(decode(field::TIME, &[8, 0, 0, 0, 0, 0, 25, 0, 0]).is_err());
    assert!(decode(99, &[1]).is_err());
}

#[test]
fn times_of_more_days_than_there_may_be_are_the_greatest() {
    for (sign, micros) in [(0, 3_020_399_000_000), (1, -3_020_399_000_000)] {
        for days in [[35, 0, 0, 0], [0xff; 4]] {
            let bytes = [&[8, sign][..], &days, &[0, 0, 0]].concat();
            let value = decode(field::TIME, &bytes).unwrap();
            assert!(matches!(value, Value::Time(t) if t.micros == micros));
        }
    }
}

#[test]
fn long_data_and_nulls_stand_in_for_bytes() {
    let types = [ParamType {
        wire: field::STRING,
        unsigned: false,
    }; 3];
    let long = [None, Some(b"long".to_vec()), None];
    let mut out: Vec<Value<'_>> = Vec::new();
    let mut c = Cursor::new(b"\x01a");
    params(&mut c, &[0b100], &types, &long, &mut out).unwrap();
    assert!(c.is_empty());
    assert!(matches!(&out[0], Value::Bytes(b) if &**b == b"a"));
    assert!(matches!(&out[1], Value::Bytes(b) if &**b == b"long"));
    assert!(out[2].is_null());
    assert!(params(&mut Cursor::new(b""), &[], &types, &[], &mut out).is_err());
}
