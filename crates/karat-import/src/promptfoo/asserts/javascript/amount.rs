//! Numbers that code computes from a count of the output: `1 / (output.length + 1)`, `Math.max(0, 1 - output.length / 900)`.

use super::Language;

/// A number that is computed from one count of the output.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Amount {
    Number(f64),
    Count,
    Of(Operation, Vec<Amount>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Sum,
    Difference,
    Product,
    Quotient,
    QuotientOfPython,
    Least,
    Most,
    Magnitude,
    Floor,
    Ceiling,
    Rounding,
    Root,
    Logarithm,
}

impl Amount {
    /// The number for a count.
    pub fn at(&self, count: f64) -> f64 {
        let (operation, parts) = match self {
            Self::Number(number) => return *number,
            Self::Count => return count,
            Self::Of(operation, parts) => (operation, parts),
        };
        let mut numbers = parts.iter().map(|part| part.at(count));
        let first = numbers.next().unwrap_or(f64::NAN);
        match operation {
            Operation::Sum => numbers.fold(first, |sum, number| sum + number),
            Operation::Difference => numbers.fold(first, |sum, number| sum - number),
            Operation::Product => numbers.fold(first, |product, number| product * number),
            Operation::Quotient => numbers.fold(first, |product, number| product / number),
            // Python raises an error, so that nothing passes.
            Operation::QuotientOfPython => {
                numbers.fold(first, |product, number| if number.abs() > 0.0 { product / number } else { f64::NAN })
            }
            Operation::Least => {
                numbers.fold(first, |least, number| if number < least || number.is_nan() { number } else { least })
            }
            Operation::Most => {
                numbers.fold(first, |most, number| if number > most || number.is_nan() { number } else { most })
            }
            Operation::Magnitude => first.abs(),
            Operation::Floor => first.floor(),
            Operation::Ceiling => first.ceil(),
            // JavaScript rounds halves up, also below zero.
            Operation::Rounding => (first + 0.5).floor(),
            Operation::Root => first.sqrt(),
            Operation::Logarithm => first.ln(),
        }
    }
}

/// The operation of a function, and the number of values that it takes; 0 of any number.
pub(super) fn function(name: &str, language: Language) -> Option<(Operation, usize)> {
    Some(match (name, language) {
        ("max", _) => (Operation::Most, 0),
        ("min", _) => (Operation::Least, 0),
        ("abs", _) => (Operation::Magnitude, 1),
        ("round", Language::JavaScript) => (Operation::Rounding, 1),
        ("floor", Language::JavaScript) => (Operation::Floor, 1),
        ("ceil", Language::JavaScript) => (Operation::Ceiling, 1),
        ("sqrt", Language::JavaScript) => (Operation::Root, 1),
        ("log", Language::JavaScript) => (Operation::Logarithm, 1),
        _ => return None,
    })
}
