//! Rust values to SQL values and back.

use std::borrow::Cow;

use millpond_session::value::{Date, DateTime, Decimal, Time, Value};

/// A Rust value that a placeholder takes.
pub trait ToValue {
    /// The SQL value.
    fn to_value(&self) -> Value<'_>;
}

/// A Rust type that a column's value can be read as. Numbers are converted where nothing is lost; `String` takes
/// the text of any value but NULL; `Option` takes NULL.
pub trait FromValue: Sized {
    /// The Rust value; `None` if the SQL value is none of this type.
    fn from_value(value: &Value<'static>) -> Option<Self>;
}

macro_rules! signed {
    ($($t:ty),*) => { $(
        impl ToValue for $t {
            fn to_value(&self) -> Value<'_> {
                Value::Int(i64::from(*self))
            }
        }
        integer_from!($t);
    )* };
}

macro_rules! unsigned {
    ($($t:ty),*) => { $(
        impl ToValue for $t {
            fn to_value(&self) -> Value<'_> {
                Value::UInt(u64::from(*self))
            }
        }
        integer_from!($t);
    )* };
}

macro_rules! integer_from {
    ($t:ty) => {
        impl FromValue for $t {
            fn from_value(value: &Value<'static>) -> Option<$t> {
                match value {
                    Value::Int(v) => <$t>::try_from(*v).ok(),
                    Value::UInt(v) => <$t>::try_from(*v).ok(),
                    // A decimal without a fraction (SUM of integers) is an integer.
                    Value::Decimal(_) => std::str::from_utf8(&value.to_text()).ok()?.parse().ok(),
                    _ => None,
                }
            }
        }
    };
}

signed!(i8, i16, i32, i64);
unsigned!(u8, u16, u32, u64);

macro_rules! sized {
    ($t:ty, $wide:ty, $variant:ident) => {
        impl ToValue for $t {
            fn to_value(&self) -> Value<'_> {
                Value::$variant(*self as $wide)
            }
        }
        integer_from!($t);
    };
}

// No platform has pointers wider than 64 bits.
sized!(isize, i64, Int);
sized!(usize, u64, UInt);

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Int(i64::from(*self))
    }
}

impl FromValue for bool {
    fn from_value(value: &Value<'static>) -> Option<bool> {
        match value {
            Value::Int(v) => Some(*v != 0),
            Value::UInt(v) => Some(*v != 0),
            _ => None,
        }
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Double(*self)
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value<'static>) -> Option<f64> {
        match value {
            Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
                Some(value.to_f64())
            }
            _ => None,
        }
    }
}

impl ToValue for f32 {
    fn to_value(&self) -> Value<'_> {
        Value::Double(f64::from(*self))
    }
}

impl FromValue for f32 {
    fn from_value(value: &Value<'static>) -> Option<f32> {
        f64::from_value(value).map(|v| v as f32)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self.as_bytes()))
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        self.as_str().to_value()
    }
}

impl FromValue for String {
    fn from_value(value: &Value<'static>) -> Option<String> {
        if value.is_null() {
            return None;
        }
        String::from_utf8(value.to_text().into_owned()).ok()
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        self.as_slice().to_value()
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        self.as_slice().to_value()
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value<'static>) -> Option<Vec<u8>> {
        match value {
            Value::Bytes(b) => Some(b.to_vec()),
            _ => None,
        }
    }
}

impl ToValue for Value<'_> {
    fn to_value(&self) -> Value<'_> {
        self.borrowed()
    }
}

impl FromValue for Value<'static> {
    fn from_value(value: &Value<'static>) -> Option<Value<'static>> {
        Some(value.clone())
    }
}

macro_rules! as_is {
    ($($t:ident),*) => { $(
        impl ToValue for $t {
            fn to_value(&self) -> Value<'_> {
                Value::$t(*self)
            }
        }
        impl FromValue for $t {
            fn from_value(value: &Value<'static>) -> Option<$t> {
                match value {
                    Value::$t(v) => Some(*v),
                    _ => None,
                }
            }
        }
    )* };
}

as_is!(Date, DateTime, Time, Decimal);

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value<'static>) -> Option<Option<T>> {
        if value.is_null() {
            Some(None)
        } else {
            T::from_value(value).map(Some)
        }
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

/// Values for a statement's placeholders: `()` for none, a tuple, an array or slice of one type, or
/// `&[&dyn ToValue]`.
pub trait Params {
    /// The values, in order.
    fn values(&self) -> Vec<Value<'_>>;
}

impl Params for () {
    fn values(&self) -> Vec<Value<'_>> {
        Vec::new()
    }
}

impl<T: ToValue, const N: usize> Params for [T; N] {
    fn values(&self) -> Vec<Value<'_>> {
        self.iter().map(ToValue::to_value).collect()
    }
}

impl<T: ToValue> Params for &[T] {
    fn values(&self) -> Vec<Value<'_>> {
        self.iter().map(ToValue::to_value).collect()
    }
}

impl<T: ToValue> Params for Vec<T> {
    fn values(&self) -> Vec<Value<'_>> {
        self.iter().map(ToValue::to_value).collect()
    }
}

macro_rules! tuple {
    ($($t:ident $i:tt),*) => {
        impl<$($t: ToValue),*> Params for ($($t,)*) {
            fn values(&self) -> Vec<Value<'_>> {
                vec![$(self.$i.to_value()),*]
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromValue>(v: Value<'static>) -> Option<T> {
        T::from_value(&v)
    }

    #[test]
    fn numbers_convert_where_nothing_is_lost() {
        assert_eq!(read::<i8>(Value::Int(-128)), Some(-128));
        assert_eq!(read::<i8>(Value::Int(128)), None);
        assert_eq!(read::<u64>(Value::Int(-1)), None);
        assert_eq!(read::<i64>(Value::UInt(u64::MAX)), None);
        assert_eq!(read::<f64>(Value::Int(3)), Some(3.0));
        assert_eq!(read::<i64>(Value::Double(3.0)), None);
        assert_eq!(read::<bool>(Value::Int(2)), Some(true));
    }

    #[test]
    fn null_is_none_and_nothing_else() {
        assert_eq!(read::<Option<i64>>(Value::Null), Some(None));
        assert_eq!(read::<i64>(Value::Null), None);
        assert_eq!(read::<String>(Value::Null), None);
        assert_eq!(read::<String>(Value::Int(7)).as_deref(), Some("7"));
        assert!(matches!(None::<i64>.to_value(), Value::Null));
    }

    #[test]
    fn params_come_in_order() {
        let v = (1i32, "a", None::<f64>).values();
        assert!(matches!(v[0], Value::Int(1)));
        assert_eq!(&*v[1].to_text(), b"a");
        assert!(v[2].is_null());
        let dynamic: &[&dyn ToValue] = &[&1u8, &"x"];
        assert_eq!(dynamic.values().len(), 2);
    }
}
