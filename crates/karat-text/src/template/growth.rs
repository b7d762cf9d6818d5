//! The largest value that a template may make. Fuel bounds its steps, but one step can double a text, or indent it by
//! two billion spaces; and a program that gets no memory is ended, not told.
//!
//! - `+`, `*` and `~` check what they make, see `types`; filters that can make much of little compute the size of their
//!   result first
//! - a value that is assigned passes through the filter [`KEEP`], which `instrument` writes around it: so none has lists
//!   within lists that overflow the stack, and none holds another so often that nothing could list it to its end
//! - the same holds for what else gets a name: items of loops, `with`, and what macros and callers are given. `instrument`
//!   writes [`KEEP_ALL`] behind the block that names them
//! - filters and comparisons that read a value to its end, such as `tojson`, weigh it first
//! - what is written is counted, by `write` in `engine` and by [`Sink`]; text that a block collects (`set`, `macro`) is
//!   counted by the filter [`COUNT`], which `instrument` writes before it

use std::cell::Cell;
use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

/// Largest text that a template may make, in bytes.
pub(super) const SIZE: usize = 64 << 20;

/// Most members of a list that a template may make.
pub(super) const MEMBERS: usize = 1 << 20;

/// Most lists and maps within each other in a value that a template keeps.
const DEPTH: usize = 128;

/// The filter through which kept values pass.
pub(super) const KEEP: &str = "karat_keep";

/// The filter through which values pass that a namespace keeps.
pub(super) const KEEP_MEMBER: &str = "karat_keep_member";

/// The filter for a list of all values that a block gives names to; it writes nothing.
pub(super) const KEEP_ALL: &str = "karat_keep_all";

/// The filter that counts text which a block collects.
pub(super) const COUNT: &str = "karat_count";

/// The detail of the errors of this file, by which they are known again.
pub(super) const TOO_LARGE: &str = "larger than 64 MiB";

/// The same, of a value with too many lists and maps within each other.
pub(super) const TOO_DEEP: &str = "lists within each other";

thread_local! {
    /// Bytes that the rendering of this thread has written.
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
}

/// The members and bytes that a look at a value may still find. A short list can hold one large value a million times.
pub(super) struct Budget {
    members: usize,
    bytes: usize,
}

impl Budget {
    /// Enough for everything that can be written.
    pub fn of_text() -> Self {
        Self { members: 4 * MEMBERS, bytes: SIZE }
    }

    /// Pays for one member and its bytes; `None` if the budget does not have them.
    pub fn spend(&mut self, bytes: usize) -> Option<()> {
        let (members, bytes) = self.members.checked_sub(1).zip(self.bytes.checked_sub(bytes))?;
        *self = Self { members, bytes };
        Some(())
    }

    /// Returns whether so many members can be paid for.
    pub fn has_members(&self, members: usize) -> bool {
        members <= self.members
    }
}

/// Starts counting for a new rendering.
pub(super) fn start() {
    WRITTEN.set(0);
}

/// Counts bytes before they are written.
pub(super) fn count(bytes: usize) -> Result<(), Error> {
    let written = WRITTEN.get().saturating_add(bytes);
    WRITTEN.set(written);
    if written > SIZE { Err(too_large()) } else { Ok(()) }
}

pub(super) fn too_large() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_LARGE)
}

/// Collects the rendered text, up to [`SIZE`].
#[derive(Default)]
pub(super) struct Sink(Vec<u8>);

impl Sink {
    /// The text; minijinja writes nothing else.
    pub fn into_text(self) -> String {
        String::from_utf8(self.0).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > SIZE {
            return Err(io::Error::other(TOO_LARGE));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The filters as minijinja has them.
static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
});

/// The size of a filter's result in bytes, by its arguments.
type ResultSize = fn(&[Value], &Kwargs) -> Option<usize>;

/// Filters whose result can be far larger than what they get. What they get is weighed, too.
const GROWING: [(&str, ResultSize); 7] = [
    ("indent", indent_size),
    ("replace", replace_size),
    ("join", join_size),
    ("format", format_size),
    ("batch", group_size),
    ("slice", group_size),
    ("tojson", tojson_size),
];

/// Filters that write or compare all that they get, at any depth.
const READING: [&str; 17] = [
    "capitalize",
    "dictsort",
    "e",
    "escape",
    "groupby",
    "lines",
    "lower",
    "max",
    "min",
    "pprint",
    "sort",
    "split",
    "string",
    "title",
    "trim",
    "unique",
    "upper",
];

/// Replaces the filters that can grow, and adds those that `instrument` writes.
pub(super) fn add(environment: &mut Environment<'_>) {
    let reading = READING.map(|name| (name, (|_: &[Value], _: &Kwargs| None) as ResultSize));
    for (name, size) in GROWING.into_iter().chain(reading) {
        environment.add_filter(name, move |arguments: Rest<ValueOrKwargs>| {
            let arguments: Vec<Value> = arguments.0.into_iter().map(ValueOrKwargs::into_value).collect();
            let named = arguments.last().filter(|last| last.is_kwargs()).cloned();
            let named = named.and_then(|named| Kwargs::try_from(named).ok());
            let named = named.unwrap_or_else(|| Kwargs::from_iter::<[(&str, Value); 0]>([]));
            arguments.iter().try_for_each(weigh)?;
            match size(&arguments, &named) {
                Some(size) if size > SIZE => Err(too_large()),
                _ => PLAIN.empty_state().apply_filter(name, &arguments),
            }
        });
    }
    environment.add_filter(COUNT, |bytes: usize| count(bytes).map(|()| ""));
    environment.add_filter(KEEP, keep);
    environment
        .add_filter(KEEP_ALL, |values: Vec<Value>| values.iter().try_for_each(|it| keep(it).map(drop)).map(|()| ""));
    environment
        .add_filter(KEEP_MEMBER, |value: &Value| if is_namespace(value) { Err(too_deep()) } else { keep(value) });
}

fn number(arguments: &[Value], at: usize, named: &Kwargs, name: &str) -> Option<usize> {
    let given = arguments.get(at).and_then(Value::as_usize);
    given.or_else(|| named.peek::<Option<usize>>(name).ok().flatten())
}

fn indent_size(arguments: &[Value], named: &Kwargs) -> Option<usize> {
    let text = arguments.first()?.as_str()?;
    let width = number(arguments, 1, named, "width").unwrap_or(4);
    let lines = text.matches('\n').count() + 1;
    Some(lines.saturating_mul(width).max(width).saturating_add(text.len()))
}

fn replace_size(arguments: &[Value], _: &Kwargs) -> Option<usize> {
    let [text, from, to] = arguments else { return None };
    let (text, from, to) = (text.as_str()?, from.as_str()?, to.as_str()?);
    Some(text.matches(from).count().saturating_mul(to.len()).saturating_add(text.len()))
}

fn join_size(arguments: &[Value], named: &Kwargs) -> Option<usize> {
    let given = arguments.get(1).and_then(|joiner| joiner.as_str().map(str::len));
    let joiner = given.or_else(|| named.peek::<Option<&str>>("d").ok().flatten().map(str::len)).unwrap_or(0);
    let list = arguments.first()?;
    if let Some(text) = list.as_str() {
        return Some(text.len().saturating_mul(joiner.saturating_add(1)));
    }
    let length = |item: &Value| match item.as_str() {
        Some(text) => Some(text.len()),
        None => concat([item]).ok().map(|text| text.len()),
    };
    let add = |size: usize, item: Value| Some(size + length(&item)? + joiner).filter(|size| *size <= SIZE);
    Some(list.try_iter().ok()?.try_fold(0, add).unwrap_or(SIZE + 1))
}

/// The text of values one after the other.
pub(super) fn concat<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<String, Error> {
    struct Bounded(String);
    impl std::fmt::Write for Bounded {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            if self.0.len() + text.len() > SIZE {
                return Err(std::fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut text = Bounded(String::new());
    values.into_iter().try_for_each(|value| write!(text, "{value}")).map_err(|_| too_large())?;
    Ok(text.0)
}

/// The widths and precisions that a format asks for; `*` takes them from the arguments.
fn format_size(arguments: &[Value], _: &Kwargs) -> Option<usize> {
    let format = arguments.first()?.as_str()?;
    let digits = format.split(|it: char| !it.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = digits.map(|digits| digits.parse::<usize>().unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
    let dynamic = arguments.iter().skip(1).filter(|_| format.contains('*')).filter_map(Value::as_usize);
    Some(dynamic.fold(widths, usize::saturating_add).saturating_add(format.len()))
}

/// Groups hold members, not bytes.
fn group_size(arguments: &[Value], named: &Kwargs) -> Option<usize> {
    let count = number(arguments, 1, named, "count")?;
    Some(if count > MEMBERS { SIZE + 1 } else { 0 })
}

fn tojson_size(arguments: &[Value], named: &Kwargs) -> Option<usize> {
    let width = number(arguments, 1, named, "indent").unwrap_or(0);
    Some(if width > 1000 { SIZE + 1 } else { 0 })
}

/// Refuses a text or a list that is too large.
pub(super) fn check_size(value: &Value) -> Result<(), Error> {
    let is_small = match value.kind() {
        ValueKind::String | ValueKind::Bytes => value.as_bytes().is_none_or(|bytes| bytes.len() <= SIZE),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => value.len().is_none_or(|members| members <= MEMBERS),
        _ => true,
    };
    if is_small { Ok(()) } else { Err(too_large()) }
}

/// Lets a value through that is small enough to be kept, and not nested too deep.
fn keep(value: &Value) -> Result<Value, Error> {
    check_size(value)?;
    check_nesting(value, DEPTH, &mut Budget { bytes: usize::MAX, ..Budget::of_text() })?;
    Ok(value.clone())
}

/// Refuses a value that cannot be read to its end: nested too deep, or with more in it than can be written.
pub(super) fn weigh(value: &Value) -> Result<(), Error> {
    check_nesting(value, DEPTH, &mut Budget::of_text())
}

/// Refuses a value whose lists and maps reach deeper than this many levels, or hold more than the budget has. A namespace
/// can be changed later, so that it would hold itself: none is kept within another value.
fn check_nesting(value: &Value, levels: usize, budget: &mut Budget) -> Result<(), Error> {
    if !is_list(value) {
        return Ok(());
    }
    let deeper = levels.checked_sub(1).ok_or_else(too_deep)?;
    for item in value.try_iter().into_iter().flatten() {
        let (key, item) = match value.kind() {
            ValueKind::Map => (item.as_str().map_or(0, str::len), value.get_item(&item)?),
            _ => (0, item),
        };
        budget.spend(key.saturating_add(item.as_bytes().map_or(0, <[u8]>::len))).ok_or_else(too_large)?;
        if is_namespace(&item) {
            return Err(too_deep());
        }
        check_nesting(&item, deeper, budget)?;
    }
    Ok(())
}

/// Returns whether a value has members.
pub(super) fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map)
}

fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("Namespace"))
}

fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_DEEP)
}
