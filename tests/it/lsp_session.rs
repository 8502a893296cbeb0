//! One whole conversation with `gatelog lsp`, as it goes over the wire.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::editor::{Editor, at, marked};

const URI: &str = "untitled:pay.dl";

/// Columns of a line before it is broken.
const WIDTH: usize = 116;

/// What was said, one message after another.
struct Session {
    editor: Editor,
    told: String,
    version: i32,
}

impl Session {
    fn new() -> Self {
        Self { editor: Editor::silent(), told: String::new(), version: 0 }
    }

    fn remark(&mut self, words: &str) {
        writeln!(self.told, "\n# {words}").unwrap();
    }

    fn sent(&mut self, method: &str, params: &Value) {
        writeln!(self.told, "→ {method} {}", laid(params, 0)).unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.sent(method, &params);
        self.editor.tell(method, params);
    }

    /// A request with its answer, and what came before that.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent(method, &params);
        let mut answer = self.editor.ask(method, params);
        self.notes();
        let key = if answer["error"].is_null() { "result" } else { "error" };
        let body = answer[key].take();
        writeln!(self.told, "← {key} {}", laid(&body, 0)).unwrap();
        body
    }

    fn notes(&mut self) {
        for note in std::mem::take(&mut self.editor.notes) {
            let method = note["method"].as_str().unwrap_or_default();
            writeln!(self.told, "← {method} {}", laid(&note["params"], 0)).unwrap();
        }
    }

    /// Opens the document, or has another text stand in it. The text may have a mark, whose position is given.
    fn write(&mut self, text: &str) -> Value {
        let (bare, position) =
            if text.contains('‸') { marked(text) } else { (text.to_owned(), Value::Null) };
        self.version += 1;
        let lines: String = text.lines().map(|line| format!("    | {line}\n")).collect();
        if self.version == 1 {
            let document = json!({ "uri": URI, "languageId": "gatelog", "version": 1, "text": bare });
            self.editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
            write!(self.told, "→ textDocument/didOpen version 1\n{lines}").unwrap();
        } else {
            self.editor.change(URI, self.version, &bare);
            write!(self.told, "→ textDocument/didChange version {}\n{lines}", self.version).unwrap();
        }
        self.settle();
        position
    }

    /// Shows what came of a notification: an answer comes after everything that was sent before its request was read.
    fn settle(&mut self) {
        self.editor.ask("none", Value::Null);
        self.notes();
    }

    /// Asks about the mark in a text without writing that text.
    fn ask_at(&mut self, text: &str, method: &str) -> Value {
        let (bare, position) = marked(text);
        let line = text.lines().find(|line| line.contains('‸')).unwrap_or_default();
        writeln!(self.told, "  at {line}").unwrap();
        assert!(POLICY.contains(bare.trim()), "{bare} is not what is open");
        self.ask(method, at(URI, &position))
    }

    /// Asks what may stand at the mark in a text that is written for it, and shows each answer on a line.
    fn complete(&mut self, text: &str) {
        let position = self.write(text);
        let params = at(URI, &position);
        self.sent("textDocument/completion", &params);
        let items = self.editor.result("textDocument/completion", params);
        self.notes();
        let items = items.as_array().unwrap();
        writeln!(
            self.told,
            "← result, {} items; the first one whole, of the others label and detail",
            items.len()
        )
        .unwrap();
        for (at, item) in items.iter().enumerate() {
            let shown = if at == 0 {
                laid(item, 0)
            } else {
                let part = |key: &str| item[key].as_str().unwrap_or_default();
                format!("{}  {}", part("label"), part("detail"))
            };
            writeln!(self.told, "{shown}").unwrap();
        }
    }
}

/// JSON on one line where it fits, else with its parts on lines of their own.
fn laid(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    if line.chars().count() + 2 * depth <= WIDTH {
        return line;
    }
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    match value {
        Value::Array(all) => {
            let each: Vec<_> = all.iter().map(|part| format!("{inner}{}", laid(part, depth + 1))).collect();
            format!("[\n{}\n{outer}]", each.join(",\n"))
        }
        Value::Object(all) => {
            let each = all.iter().map(|(key, part)| format!("{inner}\"{key}\": {}", laid(part, depth + 1)));
            format!("{{\n{}\n{outer}}}", each.collect::<Vec<_>>().join(",\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => line,
    }
}

const POLICY: &str = "\
// Who may pay.
.decl Payer(agent: symbol)
Payer(\"ann\").
IsAuthorized(i) :- Actions(i, a), IsTool(a, \"pay\").
// @id: pay
// @deny_message: {to} is no host of ours
Unauthorized(i) :- Actions(i, a), IsTool(a, \"pay\"), a = $CallTool(_, args),
    to = @json_str(args, \"to\"), !Payer(to).
IsAuthorized( i ):-Actions(i,b), IsTool(b, \"read-mail\"), ToolOutput(x, tool, _), Current(x).
";

fn with(part: &str, mark: &str) -> String {
    POLICY.replacen(part, mark, 1)
}

#[test]
fn a_whole_session() {
    let mut session = Session::new();
    session.remark("the greeting");
    session.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    session.tell("initialized", json!({}));
    session.remark("a policy is opened, and its findings come");
    session.write(POLICY);
    session.remark("hover: a relation of the policy, with what fills it");
    session.ask_at(&with("!Payer", "!Pay‸er"), "textDocument/hover");
    session.remark("hover: a relation that the host fills");
    session.ask_at(&with("Actions(i, a)", "Act‸ions(i, a)"), "textDocument/hover");
    session.remark("hover: a functor");
    session.ask_at(&with("@json_str", "@json‸_str"), "textDocument/hover");
    session.remark("hover: a variable");
    session.ask_at(&with("!Payer(to)", "!Payer(t‸o)"), "textDocument/hover");
    session.remark("definition");
    session.ask_at(&with("!Payer", "!Pay‸er"), "textDocument/definition");
    session.remark("references, the declaration among them");
    let (_, position) = marked(&with("!Payer", "!Pay‸er"));
    let mut params = at(URI, &position);
    params["context"] = json!({ "includeDeclaration": true });
    session.ask("textDocument/references", params);
    session.remark("rename: a relation, then a variable with its placeholder, then what cannot be");
    let mut rename = |mark: String, new: &str| {
        let mut params = at(URI, &marked(&mark).1);
        params["newName"] = json!(new);
        session.ask("textDocument/rename", params);
    };
    rename(with("!Payer", "!Pay‸er"), "Cashier");
    rename(with("!Payer(to)", "!Payer(t‸o)"), "payee");
    rename(with("Actions(i, a)", "Act‸ions(i, a)"), "Deeds");
    session.remark("a code action with the change that mends a finding");
    let place = marked(&with("(x, tool, _)", "(x, to‸ol, _)")).1;
    let mut params = json!({ "textDocument": { "uri": URI }, "context": { "diagnostics": [] } });
    params["range"] = json!({ "start": place, "end": place });
    session.ask("textDocument/codeAction", params);
    session.remark("formatting");
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": URI }, "options": options });
    let edits = session.ask("textDocument/formatting", params);
    assert_eq!(edits.as_array().map(Vec::len), Some(1));
    completions(&mut session);
    session.remark("wrong text, and its finding");
    session.write("Unauthorized(i) :- Actions(i, a), IsTol(a, \"pay\").\n");
    session.write("Unauthorized(i) :- Actions(i, a), IsTool(a, \"pay\"\n");
    session.remark("the end");
    session.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    session.settle();
    session.ask("shutdown", Value::Null);
    session.tell("exit", Value::Null);
    let Session { editor, mut told, .. } = session;
    writeln!(told, "exit code {}", editor.ended().unwrap()).unwrap();
    assert_snapshot!(told.trim_start());
}

fn completions(session: &mut Session) {
    session.remark("completion: the fields of a message");
    session.complete("R(x) :- SentMessage(x, msg), msg.‸\n");
    session.remark("completion: functors");
    session.complete("R(x) :- ToolResult(_, _, t), x = @json‸\n");
    session.remark("completion: annotations");
    session.complete("// @‸\nUnauthorized(i) :- Actions(i, _).\n");
    session.remark("completion: the names of tools that the policy speaks of");
    session.complete("IsAuthorized(i) :- Actions(i, a), IsTool(a, \"pay\"), ToolResult(_, \"read-mail\", _).\nUnauthorized(i) :- Actions(i, a), IsTool(a, \"‸\").\n");
}
