use proptest::prelude::*;
use serde_json::Value;

use rust_decimal::Decimal;

use super::numeral::spelled::{SMALL, TENS};
use super::*;

/// Phrases with the numbers in them, and answers with the outcome of a comparison.
const PHRASES: &str = include_str!("../../../fixtures/numeric-phrases.jsonl");

fn phrases() -> Vec<Value> {
    let parsed = PHRASES.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().unwrap()
}

/// `value[..high][ unit]`, as in the table of phrases.
fn show(quantity: &Quantity) -> String {
    let high = quantity.high.map(|high| format!("..{}", high.normalize()));
    let unit = match quantity.unit {
        Unit::Plain => String::new(),
        Unit::Percent => " %".to_owned(),
        Unit::Money(currency) => format!(" {}", currency.code()),
        Unit::Conflicting => " ?".to_owned(),
    };
    format!("{}{}{unit}", quantity.value, high.unwrap_or_default())
}

const FINANCE: Reading = Reading { mark: DecimalMark::Auto, context: Context::Finance };

/// The contexts in which a row of the table holds: with the finance layer, and without it unless the row needs it.
fn contexts(row: &Value) -> Vec<Context> {
    match row["context"].as_str() {
        Some("finance") => vec![Context::Finance],
        _ => vec![Context::Finance, Context::General],
    }
}

/// RG-05: a hand-checked table of phrases; scale, unit, currency, sign, locale, range.
#[test]
fn phrases_hold_the_numbers_of_the_table() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for phrase in phrases() {
        let Some(text) = phrase["text"].as_str() else { continue };
        let expected: Vec<&str> = phrase["numbers"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for context in contexts(&phrase) {
            let found = extract_with(text, Reading { context, ..Reading::default() }).into_iter();
            let amounts = found.filter(|quantity| quantity.role == Role::Quantity);
            let amounts: Vec<String> = amounts.map(|quantity| show(&quantity)).collect();
            if amounts != expected {
                wrong.push(format!("{context:?} {text:?}: expected {expected:?}, found {amounts:?}"));
            }
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 300, "{checked} phrases");
}

/// F9: a unit that the expected number states itself counts once, so that an equal answer matches.
#[test]
fn a_stated_unit_counts_once() {
    for (expected, unit) in [
        ("3.2 million USD", "million USD"),
        ("$3.2m", "million USD"),
        ("USD 3.2bn", "million USD"),
        ("€1.5bn", "EUR bn"),
        ("10–12 million USD", "million USD"),
        ("25 bps", "bps"),
        ("0.25%", "bps"),
        ("12 %", "fraction"),
        ("5 cents", "cents"),
        ("300 K", "K"),
        ("7 bn", "bn"),
        ("2 million barrels", "million barrels"),
        ("1.5e3", "million USD"),
        ("3.2", "million USD"),
    ] {
        let target = Target::parse(expected).unwrap().unit(unit).unwrap();
        assert!(target.exact(expected).passed(), "{expected} in {unit}: {}", target.exact(expected));
    }
    for (expected, unit, value) in [
        ("3.2 million", "USD", "3200000"),
        ("$3.2", "million USD", "3200000"),
        ("3200 thousand", "million USD", "3200000"),
        ("$5", "cents", "5"),
        ("5", "cents", "0.05"),
        ("0.12", "fraction", "12"),
        ("1.5e3", "million USD", "1500000000"),
    ] {
        let target = Target::parse(expected).unwrap().unit(unit).unwrap();
        assert_eq!(target.value().unwrap().to_string(), value, "{expected} in {unit}");
    }
    // A bare number of the answer may still stand in the unit.
    assert!(Target::parse("3.2 million USD").unwrap().unit("million USD").unwrap().exact("3.2").passed());
    let error = Target::parse("5 %").unwrap().unit("million USD").unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading the unit of the expected number: the number says %, the unit USD; correct one of them"
    );
}

/// F6: integers beyond 64 bits keep their digits.
#[test]
fn large_numbers_are_exact() {
    let target = |text: &str| Target::json(&serde_json::from_str(text).unwrap(), Context::General);
    assert!(target("-9223372036854775809").unwrap().exact("-9223372036854775809").passed());
    assert!(!target("-9223372036854775809").unwrap().exact("-9223372036854775808").passed());
    assert!(target("123456789012345678901").unwrap().exact("it is 123456789012345678901").passed());
    assert!(!target("123456789012345678901").unwrap().exact("it is 123456789012345678999").passed());
    assert!(target("[18446744073709551616, 18446744073709551617]").is_ok());
    assert!(target("0.30000000000000004").unwrap().exact("0.3").passed());
    let error = target("1267650600228229401496703205376").unwrap_err().to_string();
    assert!(error.contains("1267650600228229401496703205376 is not a number of at most 28 digits"), "{error}");
}

fn target(spec: &Value, context: Context) -> Target {
    let text = |name: &str| spec[name].as_str().unwrap_or_default();
    let pick = match text("pick") {
        "first" => Pick::First,
        "last" => Pick::Last,
        _ => Pick::Any,
    };
    let target = Target::json(&spec["value"], context).unwrap();
    let target = target.unit(text("unit")).unwrap().currency(text("currency")).unwrap();
    target.pick(pick)
}

/// RG-05: exact and within a tolerance, wrong currency, contested matches.
#[test]
fn answers_compare_as_in_the_table() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for case in phrases() {
        let Some(answer) = case["answer"].as_str() else { continue };
        let spec = &case["target"];
        let tolerance = Tolerance::new(spec["rel"].as_f64(), spec["abs"].as_f64()).unwrap();
        for context in contexts(&case) {
            let result = target(spec, context).within(answer, tolerance);
            let outcome = match result.outcome {
                Outcome::Matched => "matched",
                Outcome::Different => "different",
                Outcome::WrongUnit => "wrong_unit",
                Outcome::NoNumber => "no_number",
            };
            if outcome != case["outcome"] || result.contested != case["contested"] {
                let contested = result.contested;
                wrong
                    .push(format!("{context:?} {answer:?} against {spec}: {outcome}, contested {contested}: {result}"));
            }
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 50, "{checked} comparisons");
}

/// The finance layer changes a negative reading only where it is on.
#[test]
fn words_around_a_number_count_only_in_finance() {
    let signs = |text: &str| {
        let read = |context| Target::number(-5.0).unwrap().context(context).exact(text).passed();
        (read(Context::General), read(Context::Finance))
    };
    assert_eq!(signs("a net loss of 5"), (false, true));
    assert_eq!(signs("The result was (5.0)"), (false, true));
    assert_eq!(signs("The result is -5"), (true, true));
    let five = |text: &str, context| Target::number(5.0).unwrap().context(context).exact(text).passed();
    for text in ["at most 5", "It was not 5", "down 5 %"] {
        assert!(five(text, Context::General) && !five(text, Context::Finance), "{text}");
    }
}

/// `digits` in groups of three, from the right.
fn grouped(digits: &str, separator: &str) -> String {
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(separator)
}

/// The same as in India: the last three, then pairs.
fn grouped_in_pairs(digits: &str) -> String {
    let (head, tail) = digits.split_at(digits.len().saturating_sub(3));
    let pairs = head.as_bytes().rchunks(2).rev().filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs.chain([tail]).collect::<Vec<_>>().join(",")
}

/// A number below a quintillion in English words.
fn spelled(number: u64) -> String {
    let below_hundred = |n: u64| match n {
        0..20 => SMALL[n as usize].to_owned(),
        _ if n.is_multiple_of(10) => TENS[n as usize / 10 - 2].to_owned(),
        _ => format!("{}-{}", TENS[n as usize / 10 - 2], SMALL[n as usize % 10]),
    };
    let below_thousand = |n: u64| match (n / 100, n % 100) {
        (0, rest) => below_hundred(rest),
        (hundreds, 0) => format!("{} hundred", SMALL[hundreds as usize]),
        (hundreds, rest) => format!("{} hundred and {}", SMALL[hundreds as usize], below_hundred(rest)),
    };
    let scales = [
        (1_000_000_000_000, " trillion"),
        (1_000_000_000, " billion"),
        (1_000_000, " million"),
        (1_000, " thousand"),
        (1, ""),
    ];
    let parts = scales.iter().filter_map(|(size, name)| {
        let n = number / size % 1_000;
        (n > 0).then(|| format!("{}{name}", below_thousand(n)))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Thousands separator, decimal mark, and the mark to read lone groups with.
const LOCALES: [(&str, &str, DecimalMark); 8] = [
    ("", ".", DecimalMark::Point),
    (",", ".", DecimalMark::Point),
    ("'", ".", DecimalMark::Point),
    ("’", ".", DecimalMark::Point),
    ("", ",", DecimalMark::Comma),
    (".", ",", DecimalMark::Comma),
    ("\u{a0}", ",", DecimalMark::Comma),
    ("\u{202f}", ",", DecimalMark::Comma),
];

/// Prefix, suffix, power of ten, and the unit they mean.
const NOTATIONS: [(&str, &str, u32, &str); 14] = [
    ("", "", 0, ""),
    ("$", "", 0, "USD"),
    ("€", "bn", 9, "EUR"),
    ("£", " million", 6, "GBP"),
    ("USD ", " thousand", 3, "USD"),
    ("", " USD", 0, "USD"),
    ("", "M USD", 6, "USD"),
    ("", " Mrd. €", 9, "EUR"),
    ("", " billion dollars", 9, "USD"),
    ("", "%", 0, "%"),
    ("", " percent", 0, "%"),
    ("", " trillion", 12, ""),
    ("CHF ", "", 0, "CHF"),
    ("", "億円", 8, "JPY"),
];

#[derive(Debug, Clone, Copy)]
enum Sign {
    None,
    Hyphen,
    Minus,
    Accounts,
}

proptest! {
    /// RG-05: what is formatted in any locale and notation is read back.
    #[test]
    fn formatted_numbers_are_read_back(
        mantissa in 0..10_000_000_000_i64,
        decimals in 0..5_u32,
        locale in prop::sample::select(LOCALES.as_slice()),
        notation in prop::sample::select(NOTATIONS.as_slice()),
        sign in prop::sample::select([Sign::None, Sign::Hyphen, Sign::Minus, Sign::Accounts].as_slice()),
    ) {
        let (separator, point, mark) = locale;
        let (prefix, suffix, power, unit) = notation;
        let number = Decimal::new(mantissa, decimals);
        let plain = number.to_string();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let joint = if fraction.is_empty() { "" } else { point };
        let body = format!("{prefix}{}{joint}{fraction}{suffix}", grouped(whole, separator));
        let (written, negative) = match sign {
            Sign::None => (body, false),
            Sign::Hyphen => (format!("-{body}"), true),
            Sign::Minus => (format!("−{body}"), true),
            Sign::Accounts => (format!("({body})"), true),
        };
        let text = format!("It was {written}, they say.");
        let found = extract_with(&text, Reading { mark, context: Context::Finance });
        prop_assert_eq!(found.len(), 1, "{}", text);
        let expected = number * Decimal::from(10_i64.pow(power));
        // A year and a footnote in parentheses are not negative amounts.
        let amount = found[0].role == Role::Quantity;
        let expected = if negative && amount { -expected } else { expected };
        prop_assert_eq!(found[0].value, expected, "{}", text);
        let shown = match found[0].unit {
            Unit::Plain => "",
            Unit::Percent => "%",
            Unit::Money(currency) => currency.code(),
            Unit::Conflicting => "?",
        };
        prop_assert_eq!(shown, unit, "{}", text);
        prop_assert!(written.contains(&found[0].text), "{}", text);
        prop_assert_eq!(&text[found[0].span.clone()], &found[0].text);
    }

    /// RG-05: numbers in Indian groups are read back, alone and with a sign.
    #[test]
    fn indian_groups_are_read_back(mantissa in 1..10_000_000_000_i64, decimals in 0..3_u32) {
        let number = Decimal::new(mantissa, decimals);
        let plain = number.to_string();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let joint = if fraction.is_empty() { "" } else { "." };
        let text = format!("₹{}{joint}{fraction} in all", grouped_in_pairs(whole));
        let found = extract_with(&text, FINANCE);
        prop_assert_eq!(found.len(), 1, "{}", text);
        prop_assert_eq!((found[0].value, found[0].unit), (number.normalize(), Unit::Money(Currency::from_name("INR").unwrap())), "{}", text);
    }

    /// RG-05: numbers in English words are one number, whatever their scales.
    #[test]
    fn spelled_numbers_are_read_back(number in 2..1_000_000_000_000_000_u64, negative in any::<bool>()) {
        let sign = if negative { "minus " } else { "" };
        let text = format!("It was {sign}{} dollars.", spelled(number));
        let found = extract_with(&text, FINANCE);
        prop_assert_eq!(found.len(), 1, "{}", text);
        let expected = if negative { -Decimal::from(number) } else { Decimal::from(number) };
        prop_assert_eq!((found[0].value, found[0].unit), (expected, Unit::Money(Currency::from_name("dollars").unwrap())), "{}", text);
    }

    #[test]
    fn any_text_is_read_without_panic_and_spans_are_in_order(text in any::<String>()) {
        let found = extract_with(&text, FINANCE);
        for quantity in &found {
            prop_assert_eq!(&text[quantity.span.clone()], &quantity.text);
        }
        for pair in found.windows(2) {
            prop_assert!(pair[0].span.end <= pair[1].span.start);
        }
    }

    #[test]
    fn number_like_noise_is_read_in_order(text in "[0-9., $%()e×^\\-–/:MQ#€'a-c\\[\\]\n]{0,40}") {
        let found = extract_with(&text, FINANCE);
        for pair in found.windows(2) {
            prop_assert!(pair[0].span.end <= pair[1].span.start, "{:?}", text);
        }
        for quantity in &found {
            prop_assert_eq!(&text[quantity.span.clone()], &quantity.text);
        }
    }

    /// RG-05: a value passes its own exact comparison, and one off by more than the tolerance fails.
    #[test]
    fn the_expected_number_matches_itself(mantissa in 1..1_000_000_000_i64, decimals in 0..4_u32) {
        let value = Decimal::new(mantissa, decimals);
        let target = Target::decimal(value).currency("EUR").unwrap();
        let answer = format!("It was EUR {value}.");
        prop_assert!(target.exact(&answer).passed());
        prop_assert!(target.within(&answer, Tolerance::relative(0.0).unwrap()).passed());
        let off = value * Decimal::new(1011, 3);
        let answer = format!("It was EUR {off}.");
        prop_assert!(!target.within(&answer, Tolerance::relative(0.01).unwrap()).passed());
    }
}

#[test]
fn large_texts_of_any_kind_take_linear_time() {
    let kinds = [
        "minus ",
        "half a ",
        "one million ",
        "page 1-",
        "down by ",
        "a ",
        "Q3'25 ",
        "1 d'",
        "7 ",
        "1,",
        "1.1,",
        "a1",
        "1, ",
        "[1] ",
        "1-",
        "9",
        " ",
        "(",
        "one ",
        "twenty-",
        "$",
        "東1",
        "10 km\n",
        "1 234 ",
    ];
    for kind in kinds {
        let text = kind.repeat(20_000 / kind.len());
        assert!(extract_with(&text, FINANCE).len() <= text.len(), "{kind}");
    }
    let megabyte = "Growth was strong in every segment, at 12.5 %. ".repeat(21_000);
    assert_eq!(extract_with(&megabyte, FINANCE).len(), 21_000);
}

#[test]
fn hedges_nouns_and_positions_are_recorded() {
    let text = "Größe: about €1.2bn and more than 1,234 Full-time staff";
    let found = extract_with(text, FINANCE);
    assert_eq!(found[0].hedge, Some(Hedge::About));
    assert_eq!(found[0].text, "€1.2bn");
    assert_eq!(found[0].span, 15..23);
    assert_eq!(found[1].hedge, Some(Hedge::AtLeast));
    assert_eq!(found[1].phrase, ["full", "time", "staff"]);
    assert_eq!((found[1].significant, found[1].step), (4, Decimal::ONE));
}

/// RG-05: the matched number and its position are recorded, and the closest when none matches.
#[test]
fn a_comparison_says_which_number_and_where() {
    let target = Target::parse("$1.2 billion").unwrap();
    let matched = target.exact("It was $1.2 billion, not $1.1 billion.");
    assert!(matched.contested);
    assert_eq!(matched.to_string(), "\"$1.2 billion\" at byte 7 matches, but other numbers contradict it");
    let missed = target.exact("It was $5, then $1.1 billion.");
    assert_eq!(missed.to_string(), "the closest number is \"$1.1 billion\" at byte 16");
    assert_eq!(target.exact("It was 12%.").to_string(), "no number has the right unit or currency");
    assert_eq!(target.exact("").to_string(), "no number in the answer");
}

#[test]
fn invalid_targets_name_the_problem() {
    assert!(matches!(Target::number(f64::NAN), Err(TargetError::Range(_))));
    assert!(matches!(Target::number(1e300), Err(TargetError::Range(_))));
    assert!(matches!(Target::parse("5 or 6"), Err(TargetError::NotOneNumber(_))));
    assert!(matches!(Target::json(&serde_json::json!([5, 6, 7]), Context::General), Err(TargetError::NotOneNumber(_))));
    assert!(matches!(Target::json(&Value::Null, Context::General), Err(TargetError::NotOneNumber(_))));
    assert!(matches!(Tolerance::relative(-0.1), Err(TargetError::Tolerance(_))));
    let target = Target::number(5.0).unwrap();
    assert!(matches!(target.clone().currency("furlong"), Err(TargetError::Currency(_))));
    for odd in ["gazillion USD", "milion EUR", "USD (bilions)"] {
        assert!(matches!(target.clone().unit(odd), Err(TargetError::Scale(_))), "{odd}");
    }
    assert!(target.clone().unit("thousand Canadian dollars").is_ok());
    let conflict = target.unit("EUR").unwrap().currency("USD").unwrap_err();
    assert!(conflict.to_string().contains("it is EUR but the currency is USD"), "{conflict}");
}

#[test]
fn floats_are_read_as_the_decimals_they_stand_for() {
    for (value, expected) in
        [(0.1 + 0.2, "0.3"), (1_200_000_000.0, "1200000000"), (-12.5, "-12.5"), (1e-9, "0.000000001"), (0.0, "0")]
    {
        let target = Target::number(value).unwrap();
        assert_eq!(target.value().unwrap().to_string(), expected);
    }
}

/// Marks of East Asian typography take several bytes; a dash may follow them.
#[test]
fn full_width_marks_and_dashes_are_read() {
    for text in ["2．-1,2 Mio.", "5．- €", "1，— €"] {
        for context in [Context::General, Context::Finance] {
            let numbers = extract_with(text, Reading { context, ..Reading::default() });
            assert_eq!(numbers[0].span.start, 0, "{text}");
        }
    }
}

/// F10: a letter is a magnitude only where currency or reference say so; beside a slash it is a unit.
#[test]
fn letters_may_be_units() {
    for (text, expected, passes) in [
        ("The temperature is 300 K.", 300.0, true),
        ("300K", 300.0, true),
        ("The tower is 72m high.", 72.0, true),
        ("It moves at 72m/s.", 72.0, true),
        ("It moves at 72m/s.", 72_000_000.0, false),
        ("an area of 5m²", 5.0, true),
        ("8 B", 8.0, true),
        ("8 B", 8_000_000_000.0, true),
        ("100k", 100_000.0, true),
        ("5M", 5_000_000.0, true),
        ("5M users", 5_000_000.0, true),
        ("5M users", 5.0, false),
        ("10K steps", 10.0, false),
        ("$5M", 5.0, false),
        ("€300 K", 300.0, false),
        ("USD 72m", 72.0, false),
        ("72 million", 72.0, false),
    ] {
        assert_eq!(Target::number(expected).unwrap().exact(text).passed(), passes, "{text} {expected}");
    }
    let money = Target::number(5.0).unwrap().currency("USD").unwrap();
    assert!(!money.exact("5M").passed());
    let finance = Target::number(5.0).unwrap().context(Context::Finance);
    assert!(!finance.exact("Revenue was 5M.").passed());
    let kelvin = Target::parse("300 K").unwrap();
    assert!(["300 K", "300 kelvin", "300K"].iter().all(|text| kelvin.exact(text).passed()));
    assert!(!kelvin.exact("300").passed() && !kelvin.exact("300 people").passed());
}

/// F10: places and either end of a range are numbers of an answer.
#[test]
fn places_and_ends_of_ranges_match() {
    for (text, expected, passes) in [
        ("He came 3rd.", 3.0, true),
        ("on the 21st", 21.0, true),
        ("1st, 2nd and 3rd", 2.0, true),
        ("He came 3rd.", 4.0, false),
        ("3rds", 3.0, false),
        ("3–4", 4.0, true),
        ("3-4", 3.0, true),
        ("It takes 3 to 4 days.", 4.0, true),
        ("3–5", 4.0, false),
        ("0.5–0.7", 0.7, true),
    ] {
        assert_eq!(Target::number(expected).unwrap().exact(text).passed(), passes, "{text} {expected}");
    }
    let last = Target::number(3.0).unwrap().pick(Pick::Last);
    assert!(!last.exact("3–4").passed() && last.pick(Pick::First).exact("3–4").passed());
    let finance = Target::number(4.0).unwrap().context(Context::Finance);
    assert!(!finance.exact("3–4 %").passed(), "a range is another answer");
}
