//! What can be wrong before the first call.

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
    /// The variable with the key is not set.
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
    /// A header cannot hold the value.
    #[error(
        "model {model}: the value for {place} holds characters that no HTTP header may hold; check it for line breaks and quotes"
    )]
    BadHeader {
        /// Registry id.
        model: String,
        /// The variable or header it was meant for.
        place: String,
    },
    /// A `${NAME}` without value.
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
    /// The API root is no address that can be called.
    #[error("model {model}: {origin} is no API root ({problem}); write it like `https://host/v1`")]
    BadUrl {
        /// Registry id.
        model: String,
        /// Where the address comes from.
        origin: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The options are not those of the provider.
    #[error("model {model}: `with` is wrong for provider `{provider}`: {problem}")]
    BadOptions {
        /// Registry id.
        model: String,
        /// The provider.
        provider: String,
        /// What is wrong.
        problem: String,
    },
    /// Two different entries have one id.
    #[error("model {model}: two different entries have this id; rename one of them")]
    Ambiguous {
        /// Registry id.
        model: String,
    },
    /// A step, scorer or service wants a variable that is not set.
    #[error(
        "{who}: it needs {variable}, which is not set; set it in the environment or write `${{{variable}:-default}}`"
    )]
    MissingGap {
        /// Whose text it stands in.
        who: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// A header that only the environment could fill would go elsewhere empty.
    #[error(
        "{who}: its header `{header}` needs {variable}, which is not set, and only a service on this machine is asked without it; set it in the environment, or take the header out of the step's `headers`"
    )]
    EmptyHeader {
        /// Whose header it is.
        who: String,
        /// Name of the header.
        header: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// What is to be the proxy is none.
    #[error("requests cannot be sent: {variable} {problem}, or unset it")]
    BadProxy {
        /// Name of the environment variable.
        variable: String,
        /// What is wrong with its value, and what to do; the value itself may hold a password.
        problem: String,
    },
    /// There is no HTTP client to be had.
    #[error("no HTTP client can be made: {problem}; check HTTPS_PROXY and the system's certificates")]
    Client {
        /// What is wrong.
        problem: String,
    },
}
