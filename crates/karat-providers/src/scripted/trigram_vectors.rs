//! The stub's vectors of texts: hashed trigrams of characters. Texts with the same words are close; meaning plays no part.

use karat_types::Key;

/// Length of a vector where none is asked for.
const DIMENSIONS: u32 = 256;

/// The vector of a text, of length 1: one count for each trigram, at a place given by its hash. Letter case and runs of white
/// space do not count. A text without characters has the vector of the empty trigram.
pub(crate) fn vector(text: &str, dimensions: Option<u32>) -> Vec<f32> {
    let places = dimensions.unwrap_or(DIMENSIONS).max(1) as usize;
    let words = text.to_lowercase();
    let padded = format!(" {} ", words.split_whitespace().collect::<Vec<_>>().join(" "));
    let chars: Vec<char> = padded.chars().collect();
    let mut counts = vec![0.0_f32; places];
    for trigram in chars.windows(3.min(chars.len())) {
        let trigram: String = trigram.iter().collect();
        let Key(hash) = Key::of("karat/trigram/1", trigram.as_bytes());
        let place = u128::from_le_bytes(hash) % places as u128;
        counts[place as usize] += 1.0;
    }
    let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
    counts.iter().map(|count| count / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-36: the stub needs no network, and texts that share words are closer than others.
    #[test]
    fn shared_words_make_texts_close() {
        let cosine = |one: &str, other: &str| -> f32 {
            let (one, other) = (vector(one, None), vector(other, None));
            one.iter().zip(&other).map(|(a, b)| a * b).sum()
        };
        assert!((cosine("The order ships on Monday.", "the  order ships on monday.") - 1.0).abs() < 1e-6);
        let (near, far) =
            (cosine("the order ships on Monday", "your order ships Monday"), cosine("the order", "xyz qq"));
        assert!(near > 0.6 && far < 0.2, "{near} {far}");
        assert_eq!(vector("", Some(8)).len(), 8);
        assert!((vector("", Some(8)).iter().map(|n| n * n).sum::<f32>() - 1.0).abs() < 1e-6);
    }
}
