//! The quarter or year of a table's column or of a row.

/// A quarter or a year; in time's order among its like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Period {
    year: u16,
    quarter: Option<u8>,
}

impl Period {
    /// `Q2 2025`, `2025-Q2`, `2Q25`, `Q2 FY2025`, `FY 2025`, `2025`; nothing where it is another or not the only one.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let mut quarters = Vec::new();
        let mut years = Vec::new();
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            let numbers: Vec<&str> = word.split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty()).collect();
            let letters: String = word.chars().filter(char::is_ascii_alphabetic).collect();
            match (letters.as_str(), numbers.as_slice()) {
                ("q", [quarter]) => quarters.push(*quarter),
                ("q" | "qfy", [quarter, year]) => {
                    quarters.push(*quarter);
                    years.push(*year);
                }
                ("" | "fy" | "cy", [year]) => years.push(*year),
                ("fy" | "cy", []) => {}
                _ => return None,
            }
        }
        let [year] = years.as_slice() else { return None };
        let year: u16 = match (year.len(), year.parse()) {
            (4, Ok(year)) => year,
            (2, Ok(year)) => 2000_u16.checked_add(year)?,
            _ => return None,
        };
        let quarter = match quarters.as_slice() {
            [] => None,
            [quarter] => Some(quarter.parse().ok().filter(|quarter| (1..=4).contains(quarter))?),
            _ => return None,
        };
        (1900..2200).contains(&year).then_some(Self { year, quarter })
    }

    /// Returns whether both are quarters, or both years.
    pub fn is_like(self, other: Self) -> bool {
        self.quarter.is_some() == other.quarter.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_as_they_are_written() {
        let quarter = Some(Period { year: 2025, quarter: Some(2) });
        for text in ["Q2 2025", "2025-Q2", "2Q25", "Q2'25", "q2 fy2025", "Q2 FY 25", "2025 Q2", "2q2025"] {
            assert_eq!(Period::read(text), quarter, "{text}");
        }
        for text in ["2025", "FY2025", "FY 2025", "fy25"] {
            assert_eq!(Period::read(text), Some(Period { year: 2025, quarter: None }), "{text}");
        }
        for text in ["Change", "", "Q5 2025", "Q1 Q2 2025", "2024 to 2025", "Change 2025", "June 30, 2025", "12345"] {
            assert_eq!(Period::read(text), None, "{text}");
        }
        assert!(Period::read("Q4 2024") < Period::read("Q1 2025"));
    }
}
