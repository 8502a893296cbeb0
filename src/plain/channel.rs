use crate::plain::Target;
use crate::program::Program;
use crate::program::Relation;
use crate::program::RelationId;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::Directive;
use crate::syntax::ast::DirectiveKind;
use crate::syntax::ast::Name;

/// What a [`Channel`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// `.input`
    Read,
    /// `.output`
    Write,
    /// `.printsize`
    Count,
}

/// Where a [`Channel`] leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A file of the folder of inputs or of outputs. The name leads to no other folder than to one inside.
    File(String),
    /// Standard input or standard output.
    Standard,
}

impl Place {
    /// As messages show it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::File(name) => name,
            Self::Standard => "<standard input>",
        }
    }
}

/// How rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Between the columns; never empty.
    pub delimiter: String,
    /// Whether the first line names the columns.
    pub headers: bool,
    /// For an input, the column of the file that holds each column of the relation; none where they are the same.
    pub columns: Option<Vec<usize>>,
    /// Whether fields may be quoted, as RFC 4180 says.
    pub quoted: bool,
    /// Whether rows stand in a frame that names the relation.
    pub framed: bool,
}

/// One input or output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The relation.
    pub relation: RelationId,
    /// What is done.
    pub task: Task,
    /// Where.
    pub place: Place,
    /// How.
    pub format: Format,
}

/// What a program reads and writes, in the order of its text. `.input` on a relation of the prelude is left out: there is
/// no session.
///
/// # Errors
/// Every directive that asks for what is not possible here.
pub fn channels(program: &Program, target: Target) -> Result<Vec<Channel>, Vec<Diagnostic>> {
    let (mut channels, mut findings) = (Vec::new(), Vec::new());
    let mut standard_input: Option<Span> = None;
    for directive in &program.directives {
        let Some(id) = program.relation(&directive.relation.text) else { continue };
        let Some(relation) = program.schema(id) else { continue };
        let of_prelude = program.sources.iter().next().is_some_and(|(file, _)| file == relation.span.file);
        if directive.kind == DirectiveKind::Input && of_prelude {
            continue;
        }
        match channel(directive, id, relation, target) {
            Ok(channel) if channel.task == Task::Read && channel.place == Place::Standard => {
                if let Some(first) = standard_input {
                    let message = "standard input holds the facts of one relation";
                    let finding = Diagnostic::error("E0055", directive.span, message)
                        .with_secondary(first, "it is read here")
                        .with_help("read the others from files");
                    findings.push(finding);
                } else {
                    standard_input = Some(directive.span);
                    channels.push(channel);
                }
            }
            Ok(channel) => channels.push(channel),
            Err(faults) => findings.extend(faults),
        }
    }
    if findings.is_empty() { Ok(channels) } else { Err(findings) }
}

/// The parameters of one directive.
#[derive(Debug, Default)]
struct Parameters {
    standard: bool,
    file: Option<String>,
    delimiter: Option<String>,
    headers: bool,
    columns: Option<Vec<usize>>,
    quoted: bool,
}

fn channel(
    directive: &Directive,
    id: RelationId,
    relation: &Relation,
    target: Target,
) -> Result<Channel, Vec<Diagnostic>> {
    let (mut found, mut findings) = (Parameters::default(), Vec::new());
    for (key, value) in &directive.parameters {
        if let Err(finding) = parameter(directive.kind, relation, (key, value), &mut found) {
            findings.push(*finding);
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let task = match directive.kind {
        DirectiveKind::Input => Task::Read,
        DirectiveKind::Output => Task::Write,
        DirectiveKind::PrintSize => Task::Count,
    };
    let redirected = task == Task::Write && target == Target::Standard && !found.standard;
    let standard = found.standard || redirected || task == Task::Count;
    let ending = if task == Task::Read { "facts" } else { "csv" };
    let file = found.file.unwrap_or_else(|| format!("{}.{ending}", relation.name));
    let usual = if found.quoted { "," } else { "\t" };
    let format = Format {
        delimiter: found.delimiter.unwrap_or_else(|| usual.to_owned()),
        headers: found.headers || redirected,
        columns: found.columns,
        quoted: found.quoted,
        framed: standard && task == Task::Write,
    };
    let place = if standard { Place::Standard } else { Place::File(file) };
    Ok(Channel { relation: id, task, place, format })
}

fn parameter(
    kind: DirectiveKind,
    relation: &Relation,
    (key, value): (&Name, &str),
    into: &mut Parameters,
) -> Result<(), Box<Diagnostic>> {
    match key.text.as_str() {
        "IO" => into.standard = is_standard(kind, key, value)?,
        "filename" | "name" => into.file = Some(inside(key, value)?),
        "delimiter" if value.is_empty() => {
            return Err(faulty(key, value, "a delimiter of one character or more"));
        }
        "delimiter" => into.delimiter = Some(value.to_owned()),
        "headers" => into.headers = flag(key, value)?,
        "rfc4180" => into.quoted = flag(key, value)?,
        "columns" if kind == DirectiveKind::Input => {
            let places: Option<Vec<usize>> = value.split(':').map(|place| place.parse().ok()).collect();
            let places = places.filter(|places| places.len() == relation.columns.len());
            let wanted = "a column number, from 0, for each column of the relation, with `:` between them";
            into.columns = Some(places.ok_or_else(|| faulty(key, value, wanted))?);
        }
        other => {
            let message = format!("the parameter `{other}` is not supported here");
            let known = "`IO`, `filename`, `delimiter`, `headers`, `rfc4180`, and `columns` for an input";
            let finding = Diagnostic::error("E0006", key.span, message);
            return Err(Box::new(finding.with_help(format!("there are {known}"))));
        }
    }
    Ok(())
}

fn is_standard(kind: DirectiveKind, key: &Name, value: &str) -> Result<bool, Box<Diagnostic>> {
    match (value, kind) {
        ("file", _) => Ok(false),
        ("stdin", DirectiveKind::Input)
        | ("stdout" | "stdoutprintsize", DirectiveKind::Output | DirectiveKind::PrintSize) => Ok(true),
        _ => {
            let message = format!("`{}={value}` is not supported here", key.text);
            let own = if kind == DirectiveKind::Input { "stdin" } else { "stdout" };
            let help = format!("there are `IO=file` and `IO={own}`");
            Err(Box::new(Diagnostic::error("E0006", key.span, message).with_help(help)))
        }
    }
}

/// The name of a file that lies in the folder of inputs or outputs, or deeper.
fn inside(key: &Name, value: &str) -> Result<String, Box<Diagnostic>> {
    let part = |part: &str| !part.is_empty() && part != ".." && !part.contains([':', '\0']);
    if value.split(['/', '\\']).all(part) {
        return Ok(value.to_owned());
    }
    let message = format!("`{value}` lies outside the folder of facts");
    let help = "name a file in it: `-F` gives the folder of inputs, `-D` that of outputs";
    Err(Box::new(Diagnostic::error("E0055", key.span, message).with_help(help)))
}

fn flag(key: &Name, value: &str) -> Result<bool, Box<Diagnostic>> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(faulty(key, value, "`true` or `false`")),
    }
}

fn faulty(key: &Name, value: &str, wanted: &str) -> Box<Diagnostic> {
    let message = format!("`{}` cannot be `{value}`", key.text);
    Box::new(Diagnostic::error("E0055", key.span, message).with_help(format!("write {wanted}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoIncludes;
    use crate::program::Prelude;
    use crate::program::check_plain;

    #[test]
    fn parameters_that_cannot_be_followed_are_faults() {
        let rows = [
            (".input A", Ok("A.facts")),
            (".input A(filename=\"x/a.csv\")", Ok("x/a.csv")),
            (".output A(headers=true)", Ok("A.csv")),
            (".printsize A", Ok("<standard input>")),
            (".input A(filename=\"/a\")", Err("E0055")),
            (".input A(filename=\"../a\")", Err("E0055")),
            (".input A(filename=\"x/../../a\")", Err("E0055")),
            (".output A(filename=\"C:/a\")", Err("E0055")),
            (".input A(filename=\"\")", Err("E0055")),
            (".input A(delimiter=\"\")", Err("E0055")),
            (".input A(columns=\"0\")", Err("E0055")),
            (".input A(columns=\"0:b\")", Err("E0055")),
            (".output A(columns=\"0:1\")", Err("E0006")),
            (".input A(headers=maybe)", Err("E0055")),
            (".input A(IO=sqlite)", Err("E0006")),
            (".output A(IO=jsonfile)", Err("E0006")),
            (".output A(IO=stdin)", Err("E0006")),
            (".output A(compress=true)", Err("E0006")),
            (".input A(IO=stdin) .input A(IO=stdin)", Err("E0055")),
        ];
        for (text, expected) in rows {
            let text = format!(".decl A(x: symbol, n: number)\n{text}");
            let file = ("a.dl".to_owned(), text.clone());
            let program = check_plain(&[file], Prelude::Absent, &mut NoIncludes).unwrap();
            let found = channels(&program, Target::Files);
            let found = found
                .map(|channels| channels.first().map_or("", |channel| channel.place.name()).to_owned())
                .map_err(|findings| findings.first().map_or("", |finding| finding.code).to_owned());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
