//! A value of a column as JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType,
    IntervalYearMonthType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::{ArrowError, DataType, IntervalUnit, TimeUnit};
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

const DAY: i128 = 86_400 * SECOND;
const SECOND: i128 = 1_000_000_000;

/// Returns a value as JSON: numbers with all their digits, dates, times and durations as ISO 8601 texts, NaN and infinity
/// as null.
///
/// # Errors
/// A type without a form in JSON, or a time outside of the calendar's range.
pub(crate) fn value(array: &dyn Array, at: usize) -> Result<Value, ArrowError> {
    if array.is_null(at) {
        return Ok(Value::Null);
    }
    let integer = |of: i64| Ok(Value::from(of));
    match array.data_type() {
        DataType::Null => Ok(Value::Null),
        DataType::Boolean => Ok(array.as_boolean().value(at).into()),
        DataType::Int8 => integer(number::<Int8Type>(array, at).into()),
        DataType::Int16 => integer(number::<Int16Type>(array, at).into()),
        DataType::Int32 => integer(number::<Int32Type>(array, at).into()),
        DataType::Int64 => integer(number::<Int64Type>(array, at)),
        DataType::UInt8 => integer(number::<UInt8Type>(array, at).into()),
        DataType::UInt16 => integer(number::<UInt16Type>(array, at).into()),
        DataType::UInt32 => integer(number::<UInt32Type>(array, at).into()),
        DataType::UInt64 => Ok(number::<UInt64Type>(array, at).into()),
        DataType::Float16 => shortest(number::<Float16Type>(array, at).to_f32()),
        DataType::Float32 => shortest(number::<Float32Type>(array, at)),
        DataType::Float64 => Ok(number::<Float64Type>(array, at).into()),
        DataType::Decimal32(..) => digits(&array.as_primitive::<Decimal32Type>().value_as_string(at)),
        DataType::Decimal64(..) => digits(&array.as_primitive::<Decimal64Type>().value_as_string(at)),
        DataType::Decimal128(..) => digits(&array.as_primitive::<Decimal128Type>().value_as_string(at)),
        DataType::Decimal256(..) => digits(&array.as_primitive::<Decimal256Type>().value_as_string(at)),
        DataType::Utf8 => Ok(array.as_string::<i32>().value(at).into()),
        DataType::LargeUtf8 => Ok(array.as_string::<i64>().value(at).into()),
        DataType::Utf8View => Ok(array.as_string_view().value(at).into()),
        DataType::List(_) => list(&array.as_list::<i32>().value(at)),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(at)),
        DataType::ListView(_) => list(&view::<i32>(array, at)),
        DataType::LargeListView(_) => list(&view::<i64>(array, at)),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(at)),
        DataType::Struct(fields) => {
            let parts = fields.iter().zip(array.as_struct().columns());
            parts.map(|(field, part)| Ok((field.name().clone(), value(part, at)?))).collect()
        }
        DataType::Map(..) => map(array, at),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = value(dictionary.keys(), at)?.as_u64().and_then(|key| usize::try_from(key).ok());
            let key = key.filter(|key| *key < dictionary.values().len());
            let key = key.ok_or_else(|| ArrowError::ParseError("a dictionary lacks one of its values".to_owned()))?;
            value(dictionary.values(), key)
        }
        DataType::RunEndEncoded(ends, _) => {
            let (values, at) = match ends.data_type() {
                DataType::Int16 => run::<Int16Type>(array, at),
                DataType::Int32 => run::<Int32Type>(array, at),
                _ => run::<Int64Type>(array, at),
            };
            value(values, at)
        }
        other if other.is_temporal() => temporal(array, at).map(Value::from),
        other => Err(ArrowError::NotYetImplemented(format!("a value of type {other}"))),
    }
}

fn number<T: ArrowPrimitiveType>(array: &dyn Array, at: usize) -> T::Native {
    array.as_primitive::<T>().value(at)
}

/// The shortest number that a short float stands for: 0.1, not the 0.10000000149 of its bits.
fn shortest(of: f32) -> Result<Value, ArrowError> {
    Ok(of.to_string().parse::<f64>().map_or(Value::Null, Value::from))
}

/// A number with all its digits.
fn digits(text: &str) -> Result<Value, ArrowError> {
    serde_json::from_str(text).map_err(|error| ArrowError::ParseError(format!("{text} is not a number: {error}")))
}

fn list(items: &ArrayRef) -> Result<Value, ArrowError> {
    (0..items.len()).map(|at| value(items, at)).collect()
}

fn view<O: OffsetSizeTrait>(array: &dyn Array, at: usize) -> ArrayRef {
    array.as_list_view::<O>().value(at)
}

fn run<K: arrow_array::types::RunEndIndexType>(array: &dyn Array, at: usize) -> (&ArrayRef, usize) {
    let run = array.as_run::<K>();
    (run.values(), run.get_physical_index(at))
}

/// A map with texts as keys.
fn map(array: &dyn Array, at: usize) -> Result<Value, ArrowError> {
    let entries = array.as_map().value(at);
    let (keys, values) = (entries.column(0), entries.column(1));
    let pair = |at| match value(keys, at)? {
        Value::String(key) => Ok((key, value(values, at)?)),
        _ => Err(ArrowError::NotYetImplemented(format!("a map with keys of type {}", keys.data_type()))),
    };
    (0..entries.len()).map(pair).collect::<Result<Map<_, _>, _>>().map(Value::from)
}

/// Dates, times, moments, durations and intervals.
fn temporal(array: &dyn Array, at: usize) -> Result<String, ArrowError> {
    let text = match array.data_type() {
        DataType::Date32 => date(i128::from(number::<Date32Type>(array, at)) * DAY).map(|it| it.date().to_string()),
        DataType::Date64 => {
            date(i128::from(number::<Date64Type>(array, at)) * (SECOND / 1000)).map(|it| it.to_string())
        }
        DataType::Time32(TimeUnit::Second) => time(i128::from(number::<Time32SecondType>(array, at)) * SECOND),
        DataType::Time32(_) => time(i128::from(number::<Time32MillisecondType>(array, at)) * 1_000_000),
        DataType::Time64(TimeUnit::Microsecond) => time(i128::from(number::<Time64MicrosecondType>(array, at)) * 1_000),
        DataType::Time64(_) => time(number::<Time64NanosecondType>(array, at).into()),
        DataType::Timestamp(unit, zone) => {
            let nanoseconds = match unit {
                TimeUnit::Second => i128::from(number::<TimestampSecondType>(array, at)) * SECOND,
                TimeUnit::Millisecond => i128::from(number::<TimestampMillisecondType>(array, at)) * 1_000_000,
                TimeUnit::Microsecond => i128::from(number::<TimestampMicrosecondType>(array, at)) * 1_000,
                TimeUnit::Nanosecond => number::<TimestampNanosecondType>(array, at).into(),
            };
            match zone {
                None => date(nanoseconds).map(|it| it.to_string()),
                Some(zone) => moment(nanoseconds, zone)?,
            }
        }
        DataType::Duration(unit) => Some(duration(match unit {
            TimeUnit::Second => SignedDuration::from_secs(number::<DurationSecondType>(array, at)),
            TimeUnit::Millisecond => SignedDuration::from_millis(number::<DurationMillisecondType>(array, at)),
            TimeUnit::Microsecond => SignedDuration::from_micros(number::<DurationMicrosecondType>(array, at)),
            TimeUnit::Nanosecond => SignedDuration::from_nanos(number::<DurationNanosecondType>(array, at)),
        })),
        DataType::Interval(unit) => Some(match unit {
            IntervalUnit::YearMonth => format!("P{}M", number::<IntervalYearMonthType>(array, at)),
            IntervalUnit::DayTime => {
                let it = number::<IntervalDayTimeType>(array, at);
                interval(0, it.days, SignedDuration::from_millis(it.milliseconds.into()))
            }
            IntervalUnit::MonthDayNano => {
                let it = number::<IntervalMonthDayNanoType>(array, at);
                interval(it.months, it.days, SignedDuration::from_nanos(it.nanoseconds))
            }
        }),
        _ => None,
    };
    text.ok_or_else(|| ArrowError::CastError(format!("a {} outside of the years -9999 to 9999", array.data_type())))
}

/// The date and time so many nanoseconds after 1970.
fn date(nanoseconds: i128) -> Option<DateTime> {
    Some(Offset::UTC.to_datetime(Timestamp::from_nanosecond(nanoseconds).ok()?))
}

fn time(nanoseconds: i128) -> Option<String> {
    let of_day = (0..DAY).contains(&nanoseconds).then(|| SignedDuration::try_from_nanos_i128(nanoseconds))?;
    Some(DateTime::from_parts(Date::ZERO, Time::midnight()).checked_add(of_day?).ok()?.time().to_string())
}

/// `2024-01-31T12:00:00+01:00` in the zone of the column; `Z` for UTC.
fn moment(nanoseconds: i128, zone: &str) -> Result<Option<String>, ArrowError> {
    let zone = match zone {
        "Z" | "z" => TimeZone::UTC,
        _ => DateTimeParser::new()
            .parse_time_zone(zone)
            .map_err(|error| ArrowError::ParseError(format!("the time zone `{zone}`: {error}")))?,
    };
    let Ok(moment) = Timestamp::from_nanosecond(nanoseconds) else { return Ok(None) };
    let offset = zone.to_offset(moment);
    let text = offset.to_datetime(moment).to_string();
    Ok(Some(if offset == Offset::UTC { format!("{text}Z") } else { format!("{text}{}", offset_text(offset)) }))
}

/// `+01:00`.
fn offset_text(offset: Offset) -> String {
    let minutes = offset.seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

/// `PT90S`.
fn duration(of: SignedDuration) -> String {
    let sign = if of.is_negative() { "-" } else { "" };
    let of = of.unsigned_abs();
    let fraction = format!("{:09}", of.subsec_nanos());
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}PT{}S", of.as_secs()),
        fraction => format!("{sign}PT{}.{fraction}S", of.as_secs()),
    }
}

/// `P14M3DT4.5S`: months, days and time do not add up to each other.
fn interval(months: i32, days: i32, time: SignedDuration) -> String {
    let time = duration(time);
    let (sign, time) = time.strip_prefix("-PT").map_or(("", time.trim_start_matches("PT")), |time| ("-", time));
    format!("P{months}M{days}DT{sign}{time}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
    use arrow_array::{
        Date32Array, Decimal128Array, DurationMillisecondArray, Float32Array, Float64Array, Int8Array, Int32Array,
        IntervalYearMonthArray, RunArray, StringArray, StringViewArray, StructArray, Time64MicrosecondArray,
        TimestampMillisecondArray, TimestampSecondArray, UInt64Array, UnionArray,
    };
    use arrow_schema::{Field, UnionFields};
    use serde_json::json;

    use super::*;

    fn all(array: &dyn Array) -> Vec<Value> {
        (0..array.len()).map(|at| value(array, at).unwrap()).collect()
    }

    /// F6, F86: numbers keep their digits.
    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(all(&Int8Array::from(vec![Some(-128), None])), [json!(-128), Value::Null]);
        assert_eq!(all(&UInt64Array::from(vec![u64::MAX])), [json!(u64::MAX)]);
        assert_eq!(all(&Float32Array::from(vec![0.1, f32::NAN])), [json!(0.1), Value::Null]);
        assert_eq!(all(&Float64Array::from(vec![0.1, f64::INFINITY])), [json!(0.1), Value::Null]);
        let decimals = Decimal128Array::from(vec![12_345_678_901_234_567_890_123_i128, -5]);
        let decimals = decimals.with_precision_and_scale(38, 3).unwrap();
        let texts: Vec<String> = all(&decimals).iter().map(Value::to_string).collect();
        assert_eq!(texts, ["12345678901234567890.123", "-0.005"]);
    }

    #[test]
    fn times_are_iso_texts() {
        assert_eq!(all(&Date32Array::from(vec![0, -1, 19_782])), ["1970-01-01", "1969-12-31", "2024-02-29"]);
        let times = Time64MicrosecondArray::from(vec![0, 3_723_500_000]);
        assert_eq!(all(&times), ["00:00:00", "01:02:03.5"]);
        let moments = TimestampMillisecondArray::from(vec![1_700_000_000_123]);
        assert_eq!(all(&moments), ["2023-11-14T22:13:20.123"]);
        for (zone, text) in [
            ("UTC", "2023-11-14T22:13:20.123Z"),
            ("Z", "2023-11-14T22:13:20.123Z"),
            ("+00:00", "2023-11-14T22:13:20.123Z"),
            ("-03:30", "2023-11-14T18:43:20.123-03:30"),
            ("Europe/Berlin", "2023-11-14T23:13:20.123+01:00"),
        ] {
            assert_eq!(all(&moments.clone().with_timezone(zone)), [text], "{zone}");
        }
        assert_eq!(all(&DurationMillisecondArray::from(vec![90_000, -1_500])), ["PT90S", "-PT1.5S"]);
        assert_eq!(all(&IntervalYearMonthArray::from(vec![14])), ["P14M"]);
    }

    /// A time that no calendar has is an error, as are a zone and a type that are unknown.
    #[test]
    fn what_has_no_form_is_an_error() {
        let late = TimestampSecondArray::from(vec![i64::MAX]);
        assert!(value(&late, 0).unwrap_err().to_string().contains("outside of the years"), "{late:?}");
        let nowhere = TimestampSecondArray::from(vec![0]).with_timezone("Mars/Olympus");
        assert!(value(&nowhere, 0).unwrap_err().to_string().contains("Mars/Olympus"));
        let fields = UnionFields::from_fields(vec![Field::new("a", DataType::Int32, true)]);
        let union =
            UnionArray::try_new(fields, vec![0_i8].into(), None, vec![Arc::new(Int32Array::from(vec![1]))]).unwrap();
        assert!(value(&union, 0).is_err());
    }

    #[test]
    fn nested_values_are_lists_and_objects() {
        let mut lists = ListBuilder::new(Int64Builder::new());
        lists.append_value([Some(1), None]);
        lists.append_null();
        lists.append_value([]);
        assert_eq!(all(&lists.finish()), [json!([1, null]), Value::Null, json!([])]);
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        maps.keys().append_value("a");
        maps.values().append_null();
        maps.append(true).unwrap();
        assert_eq!(all(&maps.finish()), [json!({ "a": null })]);
        let text: ArrayRef = Arc::new(StringViewArray::from(vec![Some("x"), None]));
        let parts = StructArray::from(vec![(Arc::new(Field::new("t", DataType::Utf8View, true)), text)]);
        assert_eq!(all(&parts), [json!({ "t": "x" }), json!({ "t": null })]);
    }

    #[test]
    fn encoded_columns_give_their_values() {
        let mut words = StringDictionaryBuilder::<Int32Type>::new();
        words.append_value("b");
        words.append_null();
        words.append_value("b");
        assert_eq!(all(&words.finish()), [json!("b"), Value::Null, json!("b")]);
        let runs = RunArray::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec![Some("x"), None])).unwrap();
        assert_eq!(all(&runs), [json!("x"), json!("x"), Value::Null]);
        assert_eq!(all(&runs.slice(1, 2)), [json!("x"), Value::Null]);
    }
}
