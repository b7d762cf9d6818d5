//! Patterns of names, such as `quality.*`.

/// Whether a name fits a pattern in which `*` stands for anything.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for name in ["quality.accuracy", "quality.", "quality.a.b"] {
            assert!(fits("quality.*", name), "{name}");
        }
        assert!(fits("*", "x") && fits("quality", "quality") && fits("*.a*y", "quality.accuracy"));
        for name in ["quality", "other.accuracy"] {
            assert!(!fits("quality.*", name), "{name}");
        }
        assert!(!fits("quality", "quality.accuracy") && !fits("*.b*y", "quality.accuracy"));
    }
}
