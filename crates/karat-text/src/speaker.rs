//! A speaker in one text: a name, with a role beside it.

/// Name and role of `Ada Lind (CFO)` or `Ada Lind, CFO`; of anything else the text, and no role.
///
/// ```
/// use karat_text::speaker::name_and_role;
///
/// assert_eq!(name_and_role("Ada Lind (CFO)"), ("Ada Lind", Some("CFO")));
/// assert_eq!(name_and_role("Ada Lind, CFO"), ("Ada Lind", Some("CFO")));
/// assert_eq!(name_and_role("Ada Lind"), ("Ada Lind", None));
/// ```
#[must_use]
pub fn name_and_role(text: &str) -> (&str, Option<&str>) {
    let bracketed = text.trim().strip_suffix(')').and_then(|text| text.rsplit_once('('));
    match bracketed.or_else(|| text.split_once(',')) {
        Some((name, role)) => (name.trim(), Some(role.trim())),
        None => (text.trim(), None),
    }
}
