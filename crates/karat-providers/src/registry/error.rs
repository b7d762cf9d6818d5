//! Errors that are found before the first call.

/// A model that cannot be connected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Nothing of this name exists.
    #[error("model {model}: there is no provider `{provider}`; use one of {known}")]
    UnknownProvider {
        /// Registry id.
        model: String,
        /// The name.
        provider: String,
        /// The names that exist.
        known: String,
    },
    /// The variable that holds the key is not set.
    #[error(
        "model {model}: provider `{provider}` needs a key and {variable} is not set; set {variable} in the environment or in `.env.local`, or leave the model out"
    )]
    MissingKey {
        /// Registry id.
        model: String,
        /// The provider.
        provider: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// The value contains characters that a header may not contain.
    #[error(
        "model {model}: the value for {place} contains characters that are not allowed in HTTP headers; check it for line breaks and quotes"
    )]
    BadHeader {
        /// Registry id.
        model: String,
        /// The variable or header of the value.
        place: String,
    },
    /// A `${NAME}` that is not set.
    #[error(
        "model {model}: `{field}` needs {variable}, which is not set; set it in the environment or write `${{{variable}:-default}}`"
    )]
    MissingVariable {
        /// Registry id.
        model: String,
        /// Key of the entry.
        field: &'static str,
        /// Name of the environment variable.
        variable: String,
    },
    /// The API root is not a usable address.
    #[error("model {model}: {origin} is not an API root ({problem}); write it like `https://host/v1`")]
    BadUrl {
        /// Registry id.
        model: String,
        /// The key or variable that holds the address.
        origin: String,
        /// The problem.
        problem: String,
    },
    /// The provider has no address of its own.
    #[error("model {model}: provider `{provider}` has no address of its own; write `base_url` into the model's entry")]
    MissingBaseUrl {
        /// Registry id.
        model: String,
        /// The provider.
        provider: String,
    },
    /// The options do not fit the provider.
    #[error("model {model}: `with` is wrong for provider `{provider}`: {problem}")]
    BadOptions {
        /// Registry id.
        model: String,
        /// The provider.
        provider: String,
        /// The problem.
        problem: String,
    },
    /// Two different entries share an id.
    #[error("model {model}: two different entries have this id; rename one of them")]
    Ambiguous {
        /// Registry id.
        model: String,
    },
    /// A step, scorer or service needs a variable that is not set.
    #[error(
        "{who}: it needs {variable}, which is not set; set it in the environment or write `${{{variable}:-default}}`"
    )]
    MissingGap {
        /// The step, scorer or service.
        who: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// A host function that this process does not have.
    #[error("{who}: it calls the host function `{function}`, which this program does not have; {advice}")]
    UnknownFunction {
        /// The step, scorer or tool.
        who: String,
        /// Name of the function.
        function: String,
        /// The next step for the user.
        advice: String,
    },
    /// A header that depends on an unset variable would be sent empty to another machine.
    #[error(
        "{who}: its header `{header}` needs {variable}, which is not set, and only services on this machine are called without it; set it in the environment, or take the header out of the step's `headers`"
    )]
    EmptyHeader {
        /// The step or scorer.
        who: String,
        /// Name of the header.
        header: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// A key would go to an address that only a file of the folder names.
    #[error(
        "{who}: the {what} {address} stands only in `{file}` ({variable}), and its key elsewhere ({key}), so the key is not sent there; \
         if you trust it, export {variable}, or write the key into `{file}`"
    )]
    KeyElsewhere {
        /// The model, step or scorer.
        who: String,
        /// `address` or `proxy`.
        what: &'static str,
        /// The address, without a query.
        address: String,
        /// Name of the variable that holds it.
        variable: String,
        /// The file.
        file: String,
        /// The key's variable and its place.
        key: String,
    },
    /// A proxy variable holds no usable proxy.
    #[error("requests cannot be sent: {variable} {problem}, or unset it")]
    BadProxy {
        /// Name of the environment variable.
        variable: String,
        /// The problem and the remedy, without the value, which may contain a password.
        problem: String,
    },
    /// The HTTP client cannot be built.
    #[error("cannot create the HTTP client: {problem}; check HTTPS_PROXY and the system's certificates")]
    Client {
        /// The problem.
        problem: String,
    },
}

impl ProviderError {
    /// The error for a host function that is not among the known ones.
    pub(crate) fn unknown_function(who: &str, function: &str, known: &[String]) -> Self {
        let advice = match known {
            [] => "run the suite from the program that registers it, such as a Python program with `@karat.scorer`"
                .to_owned(),
            known => format!("register it before the run; registered are {}", known.join(", ")),
        };
        Self::UnknownFunction { who: who.to_owned(), function: function.to_owned(), advice }
    }
}
