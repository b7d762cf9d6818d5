//! Durations such as `120s`.

const UNITS: &[(&str, f64)] = &[("ms", 1.0), ("s", 1e3), ("m", 6e4), ("h", 3.6e6), ("d", 8.64e7)];

/// Milliseconds of `500ms`, `120s`, `20m`, `24h` or `90d`; decimals are allowed. `None` for anything else.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|character: char| !(character.is_ascii_digit() || character == '.'))?;
    let number: f64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let milliseconds = (number * factor).round();
    (1.0..1e15).contains(&milliseconds).then_some(milliseconds as u64)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units() {
        let cases = [("500ms", 500), ("120s", 120_000), ("20m", 1_200_000), ("24h", 86_400_000), ("1.5s", 1500)];
        for (text, milliseconds) in cases {
            assert_eq!(parse(text), Some(milliseconds), "{text}");
        }
        for wrong in ["120", "s", "-1s", "1 year", "", "0s", "1e5s"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
