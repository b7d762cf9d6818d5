//! The parts of a split and their shares.

/// A part and its share of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PartShare {
    /// Its name; it names a file.
    pub name: String,
    /// Its share, above 0 and below 1.
    pub share: f64,
}

/// The parts cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SharesError {
    /// An item is not a `NAME=SHARE`.
    #[error("`{0}` is not NAME=SHARE, such as test=0.2 or test=20%")]
    Form(String),
    /// A name is not a name of a file.
    #[error("the name `{0}` names a file, and may hold letters, digits, `-` and `_` only")]
    Name(String),
    /// A name occurs twice.
    #[error("the part `{0}` is named twice")]
    Twice(String),
    /// A share is not between 0 and 1.
    #[error("the share of `{0}` must be above 0 and below 1")]
    Share(String),
    /// There are less than two parts.
    #[error("a split has at least two parts")]
    One,
    /// The shares do not add up.
    #[error("the shares add up to {0}, not to 1")]
    Sum(f64),
}

impl PartShare {
    /// Reads `train=0.8,dev=0.1,test=0.1`, or the same with percentages.
    ///
    /// # Errors
    /// See [`SharesError`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, SharesError> {
        let mut parts: Vec<Self> = Vec::new();
        for item in text.split(',').map(str::trim) {
            let form = || SharesError::Form(item.to_owned());
            let (name, share) = item.split_once('=').ok_or_else(form)?;
            let (name, share) = (name.trim(), share.trim());
            let share = match share.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
                None => share.parse::<f64>(),
            };
            let share = share.ok().filter(|share| share.is_finite()).ok_or_else(form)?;
            let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_');
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(SharesError::Name(name.to_owned()));
            }
            if parts.iter().any(|part| part.name.to_lowercase() == name.to_lowercase()) {
                return Err(SharesError::Twice(name.to_owned()));
            }
            if share <= 0.0 || share >= 1.0 {
                return Err(SharesError::Share(name.to_owned()));
            }
            parts.push(Self { name: name.to_owned(), share });
        }
        let sum: f64 = parts.iter().map(|part| part.share).sum();
        match parts.len() {
            0 | 1 => Err(SharesError::One),
            // Thirds are written as 0.333.
            _ if (sum - 1.0).abs() > 0.005 => Err(SharesError::Sum((sum * 1e4).round() / 1e4)),
            _ => {
                parts.iter_mut().for_each(|part| part.share /= sum);
                Ok(parts)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-04: parts must have names of files and shares that add up to 1.
    #[test]
    fn shares_add_up_to_one() {
        let parse = PartShare::parse_list;
        let parts = parse("train=80%, dev=0.1,test=0.1").unwrap();
        let shown: Vec<(&str, f64)> = parts.iter().map(|part| (&*part.name, (part.share * 10.0).round())).collect();
        assert_eq!(shown, [("train", 8.0), ("dev", 1.0), ("test", 1.0)]);
        assert!(parse("a=0.333,b=0.333,c=0.333").is_ok());
        assert_eq!(parse("a=0.8,b=0.3"), Err(SharesError::Sum(1.1)));
        assert_eq!(parse("a=0.5,A=0.5"), Err(SharesError::Twice("A".to_owned())));
        assert_eq!(parse("../x=0.5,b=0.5"), Err(SharesError::Name("../x".to_owned())));
        assert_eq!(parse("a=1,b=0"), Err(SharesError::Share("a".to_owned())));
        assert_eq!(parse("a=nan,b=1"), Err(SharesError::Form("a=nan".to_owned())));
        assert_eq!(parse("a=0.9"), Err(SharesError::One));
        assert_eq!(parse(""), Err(SharesError::Form(String::new())));
    }
}
