//! Texts as numbers of the same order.

/// The rank of each text; equal texts have the same.
pub(crate) fn ranks(texts: Vec<String>) -> Vec<u32> {
    let mut sorted: Vec<(&str, usize)> = texts.iter().map(String::as_str).zip(0..).collect();
    sorted.sort_unstable();
    let mut ranks = vec![0; texts.len()];
    let (mut rank, mut last) = (0, None);
    for (text, at) in sorted {
        rank += u32::from(last.is_some_and(|last| last != text));
        last = Some(text);
        if let Some(place) = ranks.get_mut(at) {
            *place = rank;
        }
    }
    ranks
}
