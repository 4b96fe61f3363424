use super::*;
use crate::catalog::tests::sample;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::time::{Date, DateTime, MAX_TIME, Time};
use crate::value::{Decimal, Lookup, Value, Zone, json, lookup, member_number};
use proptest::prelude::*;

const TZ: Zone = Zone::Fixed(7200);

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ".to_string()),
        Just("a".to_string()),
        Just("A".to_string()),
        Just("\t".to_string()),
        Just("é".to_string()),
        Just("😀".to_string()),
        any::<char>().prop_map(|c| c.to_string()),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|v| v.concat())
}

fn date() -> impl Strategy<Value = Date> {
    (1i64..3_652_424).prop_map(|d| Date::from_days(d).unwrap())
}

fn int(min: i64, max: i64) -> BoxedStrategy<i64> {
    prop_oneof![
        min..=max,
        Just(min),
        Just(max),
        (min.max(-3))..=(max.min(3))
    ]
    .boxed()
}

/// A value as `store` would leave it for a column of this type, or NULL.
fn value_of(ty: &SqlType) -> BoxedStrategy<Value<'static>> {
    use BaseType as B;
    let signed = |bits: u32| {
        int(-1 << (bits - 1), i64::MAX >> (64 - bits))
            .prop_map(Value::Int)
            .boxed()
    };
    let unsigned = |bits: u32| {
        int(0, (1i64 << bits) - 1)
            .prop_map(|v| Value::UInt(v as u64))
            .boxed()
    };
    let micros = move |v: u32, fsp: u8| crate::value::time::truncate_micros(v as i64, fsp) as u32;
    let fsp = ty.decimals;
    let some = match ty.base {
        B::TinyInt => signed(8),
        B::SmallInt => unsigned(16),
        B::MediumInt => signed(24),
        B::Int => unsigned(32),
        B::Bit => unsigned(13),
        B::BigInt if ty.unsigned => any::<u64>().prop_map(Value::UInt).boxed(),
        B::BigInt => signed(64),
        B::Decimal => {
            let wide = ty.length > 30;
            any::<i64>()
                .prop_map(move |v| {
                    let d = Decimal::from_i128((v % 10_000_000_000) as i128, fsp);
                    let big = Decimal::from_i128(v as i128, 0);
                    Value::Decimal(if wide && v % 2 == 0 {
                        big.round(fsp)
                    } else {
                        d
                    })
                })
                .boxed()
        }
        B::Double => prop_oneof![
            any::<f64>().prop_filter("finite", |v| v.is_finite()),
            Just(-0.0)
        ]
        .prop_map(Value::Double)
        .boxed(),
        B::Float => any::<f32>()
            .prop_filter("finite", |v| v.is_finite())
            .prop_map(|v| Value::Double(v as f64))
            .boxed(),
        B::Char => text()
            .prop_map(|s| Value::string(s.trim_end_matches(' ').to_string()))
            .boxed(),
        B::VarChar | B::Text => text().prop_map(Value::string).boxed(),
        B::VarBinary => prop::collection::vec(
            prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()],
            0..6,
        )
        .prop_map(|b| Value::Bytes(b.into()))
        .boxed(),
        B::Date => date().prop_map(Value::Date).boxed(),
        B::Time => int(-MAX_TIME / 1000, MAX_TIME / 1000)
            .prop_map(|v| Value::Time(Time { micros: v * 1000 }))
            .boxed(),
        B::DateTime => (date(), 0u32..1_000_000, 0u8..24, 0u8..60)
            .prop_map(move |(date, m, hour, minute)| {
                Value::DateTime(DateTime {
                    date,
                    hour,
                    minute,
                    second: 7,
                    micro: micros(m, fsp),
                    later: false,
                })
            })
            .boxed(),
        B::Timestamp => (1i64..=i32::MAX as i64, 0u32..1_000_000)
            .prop_map(move |(s, m)| {
                Value::DateTime(DateTime::from_unix(s, micros(m, fsp), TZ).unwrap())
            })
            .boxed(),
        B::Year => prop_oneof![Just(0u64), 1901u64..=2155]
            .prop_map(Value::UInt)
            .boxed(),
        B::Enum => (0usize..3)
            .prop_map({
                let members = ty.members.clone().unwrap();
                move |i| Value::string(members[i].clone())
            })
            .boxed(),
        B::Set => prop_oneof![Just(""), Just("x"), Just("y y"), Just("x,y y")]
            .prop_map(Value::str)
            .boxed(),
        B::Json => prop_oneof![
            any::<i64>().prop_map(|n| json::View::Int(n).to_json()),
            text().prop_map(|s| json::View::String(&s).to_json()),
            prop::collection::vec(text(), 0..4).prop_map(|list| {
                let list: Vec<_> = list
                    .iter()
                    .map(|s| json::View::String(s).to_json())
                    .collect();
                json::array_of(&list)
            }),
        ]
        .prop_map(Value::Json)
        .boxed(),
        other => panic!("no values for {other:?}"),
    };
    prop_oneof![8 => some, 1 => Just(Value::Null)].boxed()
}

fn row() -> impl Strategy<Value = Vec<Value<'static>>> {
    let s = sample();
    let columns: Vec<_> = s
        .columns
        .iter()
        .map(|c| {
            let nullable = c.nullable;
            value_of(&c.ty)
                .prop_map(move |v| {
                    if v.is_null() && !nullable {
                        Value::UInt(9)
                    } else {
                        v
                    }
                })
                .boxed()
        })
        .collect();
    columns
}

/// Order of two values of a column: NULL first, ENUMs and SETs by number, else as `Value::compare` has it.
fn order(a: &Value<'_>, b: &Value<'_>, ty: &SqlType) -> std::cmp::Ordering {
    match (a.is_null(), b.is_null()) {
        (false, false) if ty.is_enumerated() => {
            let number = |v: &Value<'_>| member_number(&v.to_text(), ty).unwrap().to_i64();
            number(a).cmp(&number(b))
        }
        (false, false) => a.compare(b, ty.collation).unwrap(),
        (x, y) => y.cmp(&x),
    }
}

fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        _ => a.compare(b, Collation::Binary).is_some_and(|o| o.is_eq()),
    }
}

proptest! {
    #[test]
    fn rows_return(values in row(), pad in 0usize..40_000) {
        let s = sample();
        let mut values = values;
        if let Value::Bytes(b) = &mut values[13] {
            // Long enough at times for wide offsets.
            let n = b.len() + pad * 2;
            b.to_mut().resize(n, b'x');
        }
        let mut bytes = vec![1, 2, 3];
        encode_row(&s, &values, TZ, &mut bytes).unwrap();
        let row = &bytes[3..];
        for (i, v) in values.iter().enumerate() {
            let back = s.layout().column(&s, row, i, TZ);
            prop_assert!(same(&back, v), "column {}: {:?} became {:?}", i, v, back);
        }
        let mut all = Vec::new();
        decode_row(&s, row, TZ, &mut all);
        prop_assert_eq!(all.len(), values.len());
    }

    #[test]
    fn keys_sort_as_values_do(a in row(), b in row()) {
        let s = sample();
        let (mut ra, mut rb) = (Vec::new(), Vec::new());
        encode_row(&s, &a, TZ, &mut ra).unwrap();
        encode_row(&s, &b, TZ, &mut rb).unwrap();
        for (i, index) in s.indexes.iter().enumerate() {
            let ty = &s.columns[i].ty;
            let (mut ka, mut kb, mut looked) = (Vec::new(), Vec::new(), Vec::new());
            let null = s.key_of_row(i, &ra, &mut ka);
            s.key_of_row(i, &rb, &mut kb);
            prop_assert_eq!(null, a[i].is_null());
            encode_key_values(&s, i, &a[i..=i], TZ, &mut looked);
            prop_assert_eq!(&looked, &ka);
            let mut want = order(&a[i], &b[i], ty);
            if index.parts[0].prefix.is_none() {
                if index.parts[0].desc {
                    want = want.reverse();
                }
                prop_assert_eq!(ka.cmp(&kb), want, "index {} {:?} {:?}", i, a[i], b[i]);
            }
            let mut back = Vec::new();
            decode_key(&s, i, &ka, TZ, &mut back).unwrap();
            if key_part_decodable(&s, i, 0) {
                prop_assert!(same(&back[0], &a[i]), "index {}: {:?} became {:?}", i, a[i], back[0]);
            }
            for desc in [false, true] {
                let (mut sa, mut sb) = (Vec::new(), Vec::new());
                encode_sort_value(&a[i], ty, desc, &mut sa);
                encode_sort_value(&b[i], ty, desc, &mut sb);
                let want = order(&a[i], &b[i], ty);
                prop_assert_eq!(sa.cmp(&sb), if desc { want.reverse() } else { want });
            }
        }
    }

    #[test]
    fn like_prefixes_are_key_prefixes(s in text(), more in text()) {
        let schema = sample();
        let whole = Value::string(format!("{s}{more}"));
        for i in [10, 12] {
            let (mut key, mut prefix) = (Vec::new(), Vec::new());
            encode_key_values(&schema, i, &[whole.borrowed()], TZ, &mut key);
            prop_assert!(encode_key_like(&schema, i, 0, s.as_bytes(), &mut prefix));
            prop_assert!(key.starts_with(&prefix));
        }
    }
}

/// Constants of every kind that a WHERE clause may compare a column with.
fn constant() -> impl Strategy<Value = Value<'static>> {
    let number = prop_oneof![-300i64..300, any::<i64>(), Just(20_240_131i64)];
    prop_oneof![
        number.clone().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        (number.clone(), 0u8..4)
            .prop_map(|(v, s)| Value::Decimal(Decimal::from_i128(v as i128, s))),
        (number.clone(), 0i32..4).prop_map(|(v, s)| Value::Double(v as f64 / 10f64.powi(s))),
        number.prop_map(|v| Value::string(v.to_string())),
        (-300i64..300, 0u8..4)
            .prop_map(|(v, s)| Value::string(Decimal::from_i128(v as i128, s).to_string())),
        text().prop_map(Value::string),
        date().prop_map(Value::Date),
        (date(), 0u32..3).prop_map(|(date, micro)| Value::DateTime(DateTime {
            date,
            micro,
            ..DateTime::default()
        })),
        date().prop_map(|d| Value::Bytes(Value::Date(d).to_text().into_owned().into())),
        int(-90_000, 90_000).prop_map(|s| Value::Time(Time {
            micros: s * 1_000_001
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn lookups_say_what_comparison_says(row in row(), v in constant()) {
        use std::cmp::Ordering;
        let s = sample();
        for (c, column) in row.iter().zip(&s.columns) {
            if c.is_null() || column.ty.is_enumerated() {
                continue;
            }
            let said = c.compare(&v, column.ty.collation);
            let own = |k: &Value<'_>| c.compare(k, column.ty.collation).unwrap();
            let want = match lookup(&v, &column.ty, TZ) {
                Lookup::Exact(k) => own(&k),
                // The constant lies just above `k`: what is not above `k` is below it.
                Lookup::Above(k) => if own(&k).is_gt() { Ordering::Greater } else { Ordering::Less },
                Lookup::BelowAll => Ordering::Greater,
                Lookup::AboveAll => Ordering::Less,
                Lookup::Null | Lookup::Unusable => continue,
            };
            prop_assert_eq!(said, Some(want), "{} {:?} against {:?}", column.ty.column_type(), c, v);
        }
    }
}

#[test]
fn a_short_key_is_refused() {
    let s = sample();
    let mut out = Vec::new();
    assert_eq!(
        decode_key(&s, 4, &[1, 2], TZ, &mut out).unwrap_err().code,
        1034
    );
    assert_eq!(
        decode_key(&s, 11, b"\x01abc", TZ, &mut out)
            .unwrap_err()
            .code,
        1034
    );
}

#[test]
fn a_number_wider_than_its_column_is_refused() {
    let column = |ty: SqlType| {
        Schema::new(
            vec![crate::types::Column {
                ty,
                ..sample().columns[0].clone()
            }],
            Vec::new(),
            Collation::Utf8mb4Bin,
            String::new(),
            0,
        )
    };
    let fits = |ty: &SqlType, v: Value<'_>| {
        encode_row(&column(ty.clone()), &[v], TZ, &mut Vec::new()).is_ok()
    };
    let tiny = SqlType::new(BaseType::TinyInt);
    let small = SqlType {
        unsigned: true,
        ..SqlType::new(BaseType::SmallInt)
    };
    assert!(fits(&tiny, Value::UInt(127)) && fits(&tiny, Value::Int(-128)));
    assert!(!fits(&tiny, Value::UInt(128)) && !fits(&tiny, Value::Int(-129)));
    assert!(fits(&small, Value::UInt(65_535)) && !fits(&small, Value::UInt(65_536)));
    assert!(!fits(&small, Value::Int(-1)));
    let big = SqlType::bigint();
    assert!(fits(&big, Value::Int(i64::MIN)) && !fits(&big, Value::UInt(1 << 63)));
}
