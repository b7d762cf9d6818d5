//! The largest value that a template may make. Fuel bounds its steps, but one step can double a text, or indent it by
//! two billion spaces; and a program that gets no memory is ended, not told.
//!
//! - filters that can make much of little compute the size of their result first
//! - a value that is kept (`set`, `with`, an argument) passes through the filter [`KEEP`], which `instrument` writes
//!   around it: so no step starts from more than [`SIZE`], or from lists within lists that overflow the stack
//! - what is written is counted, by `write` in `engine` and by [`Sink`]; text that a block collects (`set`, `macro`) is
//!   written by `write`, too, since `instrument` makes an insertion of it

use std::cell::Cell;
use std::fmt::Write as _;
use std::io;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value};

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

/// The detail of the errors of this file, by which they are known again.
pub(super) const TOO_LARGE: &str = "larger than 64 MiB";

/// The same, of a value with too many lists and maps within each other.
pub(super) const TOO_DEEP: &str = "lists within each other";

thread_local! {
    /// Bytes that the rendering of this thread has written.
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
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

/// Replaces the filters whose result can be far larger than what they get.
pub(super) fn add(environment: &mut Environment<'_>) {
    use minijinja::filters;
    environment.add_filter("karat indent", filters::indent);
    environment.add_filter("karat replace", filters::replace);
    environment.add_filter("karat join", filters::join);
    environment.add_filter("karat format", filters::format);
    environment.add_filter("karat batch", filters::batch);
    environment.add_filter("karat slice", filters::slice);
    environment.add_filter("karat tojson", filters::tojson);
    guard(environment, "indent", "karat indent", indent_size);
    guard(environment, "replace", "karat replace", replace_size);
    guard(environment, "join", "karat join", join_size);
    guard(environment, "format", "karat format", format_size);
    guard(environment, "batch", "karat batch", group_size);
    guard(environment, "slice", "karat slice", group_size);
    guard(environment, "tojson", "karat tojson", tojson_size);
    environment.add_filter(KEEP, keep);
    environment
        .add_filter(KEEP_MEMBER, |value: &Value| if is_namespace(value) { Err(too_deep()) } else { keep(value) });
}

/// Registers a filter that computes the size of its result, in bytes, before it calls the one that makes it.
fn guard(
    environment: &mut Environment<'_>,
    name: &'static str,
    inner: &'static str,
    size: fn(&[Value], &Kwargs) -> Option<usize>,
) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
        let arguments: Vec<Value> = arguments.0.into_iter().map(ValueOrKwargs::into_value).collect();
        let named = arguments.last().filter(|last| last.is_kwargs()).cloned();
        let named = named
            .and_then(|named| Kwargs::try_from(named).ok())
            .unwrap_or_else(|| Kwargs::from_iter::<[(&str, Value); 0]>([]));
        match size(&arguments, &named) {
            Some(size) if size > SIZE => Err(too_large()),
            _ => state.apply_filter(inner, &arguments),
        }
    });
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
    let list = arguments.first()?;
    if list.as_str().is_some() {
        let characters = list.as_str()?.len();
        return Some(characters.saturating_mul(joiner_length(arguments, named).saturating_add(1)));
    }
    let joiner = joiner_length(arguments, named);
    let mut size = 0_usize;
    for item in list.try_iter().ok()? {
        let length = match item.as_str() {
            Some(text) => text.len(),
            None => text_length(&item),
        };
        size = size.saturating_add(length).saturating_add(joiner);
        if size > SIZE {
            break;
        }
    }
    Some(size)
}

fn joiner_length(arguments: &[Value], named: &Kwargs) -> usize {
    let given = arguments.get(1).filter(|it| !it.is_kwargs()).and_then(|it| it.as_str().map(str::len));
    given.or_else(|| named.peek::<Option<String>>("d").ok().flatten().map(|it| it.len())).unwrap_or(0)
}

/// The length of a value as text, up to [`SIZE`].
fn text_length(value: &Value) -> usize {
    struct Length(usize);
    impl std::fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            if self.0 > SIZE { Err(std::fmt::Error) } else { Ok(()) }
        }
    }
    let mut length = Length(0);
    match write!(length, "{value}") {
        Ok(()) => length.0,
        Err(_) => SIZE + 1,
    }
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

/// Lets a value through that is small enough to be kept, and not nested too deep.
fn keep(value: &Value) -> Result<Value, Error> {
    let is_small = match value.kind() {
        ValueKind::String | ValueKind::Bytes => value.as_bytes().is_none_or(|bytes| bytes.len() <= SIZE),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => value.len().is_none_or(|members| members <= MEMBERS),
        _ => true,
    };
    if !is_small {
        return Err(too_large());
    }
    check_nesting(value, DEPTH, &mut (4 * MEMBERS))?;
    Ok(value.clone())
}

/// Refuses a value whose lists and maps reach deeper than this many levels. A namespace can be changed later, so that it
/// would hold itself: none is kept within another value.
fn check_nesting(value: &Value, levels: usize, members: &mut usize) -> Result<(), Error> {
    // A value that is listed only once is no list of the template's own.
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Map) && value.len().is_none() {
        return Ok(());
    }
    let deeper = levels.checked_sub(1).ok_or_else(too_deep)?;
    for item in value.try_iter().into_iter().flatten() {
        *members = members.checked_sub(1).ok_or_else(too_large)?;
        let item = if value.kind() == ValueKind::Map { value.get_item(&item)? } else { item };
        if is_namespace(&item) {
            return Err(too_deep());
        }
        if matches!(item.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
            check_nesting(&item, deeper, members)?;
        }
    }
    Ok(())
}

fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("Namespace"))
}

fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, TOO_DEEP)
}
