//! The key `only` of a row: the systems that the row is for. It is not a column, so templates do not see it and it is not part
//! of what a cell is identified by.

use std::sync::Arc;

use karat_types::{ModelSpec, SystemFilter, names_variant};
use serde_json::Value;

use crate::dataset::DatasetError;
use crate::dataset::source::raw::RowPlace;
use crate::diagnostics::nearest::suggestion;

/// The key, and the keys of its value.
const ONLY: &str = "only";
const VARIANTS: &str = "variants";
const MODELS: &str = "models";

/// The variants and models of a suite, whether they are selected or not.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownSystems {
    pub variants: Vec<String>,
    pub models: Vec<ModelSpec>,
}

/// Takes the filter out of a row. A text, number or boolean under the key is a column like any other.
///
/// # Errors
/// The value is not a map of the two lists.
pub(in crate::dataset) fn take(row: &mut Value, at: &RowPlace) -> Result<Option<Arc<SystemFilter>>, DatasetError> {
    let Some(columns) = row.as_object_mut() else { return Ok(None) };
    if columns.get(ONLY).is_none_or(|value| !(value.is_object() || value.is_array())) {
        return Ok(None);
    }
    let wrong = |message: String| {
        let hint = "write `only: { variants: [ID], models: [ID] }`, with one or both of the lists".to_owned();
        Err(at.problem_with_hint(ONLY, message, Some(hint)))
    };
    let Some(Value::Object(lists)) = columns.shift_remove(ONLY) else {
        return wrong("`only` must be a map, this is a list".to_owned());
    };
    let mut filter = SystemFilter::default();
    if lists.is_empty() {
        return wrong("`only` names neither variants nor models".to_owned());
    }
    for (key, list) in lists {
        let names = match key.as_str() {
            VARIANTS => &mut filter.variants,
            MODELS => &mut filter.models,
            _ => {
                let hint = suggestion(&key, [VARIANTS, MODELS]);
                return Err(at.problem_with_hint(ONLY, format!("unknown key `{key}` in `only`"), hint));
            }
        };
        let texts = list.as_array().map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)));
        *names = match texts.and_then(Iterator::collect::<Option<Vec<String>>>) {
            Some(texts) if !texts.is_empty() => texts,
            Some(_) => return wrong(format!("`only.{key}` is an empty list, so the row would have no cell")),
            None => return wrong(format!("`only.{key}` must be a list of ids")),
        };
    }
    Ok(Some(Arc::new(filter)))
}

impl KnownSystems {
    /// The texts that a name of a gate's condition can be: the variant, or a part of the model. `None` for other names.
    pub fn values_of(&self, name: &str) -> Option<Vec<String>> {
        let models = self.models.iter();
        Some(match name {
            "variant" => self.variants.clone(),
            "model.id" => models.flat_map(|model| std::iter::once(model.id.clone()).chain(model.spellings())).collect(),
            "model.name" => models.map(|model| model.model.clone()).collect(),
            "model.family" => models.filter_map(|model| model.family.clone()).collect(),
            _ => return None,
        })
    }

    /// The problem of a filter that names a variant or a model which the suite does not have, with a hint.
    pub fn unknown_name(&self, filter: &SystemFilter) -> Option<(String, Option<String>)> {
        let is_variant = |name: &String| self.variants.iter().any(|variant| names_variant(name, variant));
        if let Some(name) = filter.variants.iter().find(|name| !is_variant(name)) {
            let hint = suggestion(name, self.variants.iter().map(String::as_str));
            return Some((format!("`only` names the variant `{name}`, which the suite does not have"), hint));
        }
        let is_model = |name: &String| self.models.iter().any(|model| model.is_called(name));
        let name = filter.models.iter().find(|name| !is_model(name))?;
        let hint = suggestion(name, self.models.iter().map(|model| model.id.as_str()));
        Some((format!("`only` names the model `{name}`, which the suite does not have"), hint))
    }
}
