//! An editor that speaks to `gatelog lsp` in frames on standard input and output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::root;

/// Longer than any answer takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Notifications that came before an answer.
    pub(crate) notes: Vec<Value>,
    next: i32,
}

impl Editor {
    /// An editor before its greeting.
    pub(crate) fn silent() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatelog"))
            .arg("lsp")
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            loop {
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if output.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    if line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.strip_prefix("Content-Length: ") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                output.read_exact(&mut body).unwrap();
                if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, input, messages, notes: Vec::new(), next: 1 }
    }

    pub(crate) fn greeted() -> Self {
        let mut editor = Self::silent();
        let greeting = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(greeting["result"]["serverInfo"]["name"], "gatelog");
        editor.tell("initialized", json!({}));
        editor
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        // The server may have left already: its answer is what counts.
        let _closed = input.write_all(bytes).and_then(|()| input.flush());
    }

    pub(crate) fn frame(&mut self, body: &str) {
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        message["params"] = params;
        self.frame(&message.to_string());
    }

    /// The next message.
    pub(crate) fn message(&mut self) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap_or_else(|fault| panic!("no message: {fault}"))
    }

    /// The answer to a request.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        message["params"] = params;
        self.frame(&message.to_string());
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// The result of a request that is answered.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert_eq!(answer["error"], Value::Null, "{method}");
        answer["result"].clone()
    }

    /// The words of a refusal.
    pub(crate) fn refusal(&mut self, method: &str, params: Value) -> String {
        let answer = self.ask(method, params);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {answer}")).to_owned()
    }

    pub(crate) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "gatelog", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub(crate) fn change(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", params);
    }

    /// The codes of the errors that were last sent for a document, once everything sent is answered.
    pub(crate) fn codes(&mut self, uri: &str) -> Vec<String> {
        let mut findings = self.findings(uri);
        findings.retain(|finding| finding["severity"] == 1);
        findings.iter().map(|finding| finding["code"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn findings(&mut self, uri: &str) -> Vec<Value> {
        // An answer comes after everything that was sent before its request was read.
        self.ask("none", Value::Null);
        let of = |note: &&Value| {
            note["method"] == "textDocument/publishDiagnostics" && note["params"]["uri"] == uri
        };
        let last = self.notes.iter().rev().find(of);
        let last = last.unwrap_or_else(|| panic!("nothing was sent for {uri}: {:?}", self.notes));
        last["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// The exit code once the input is closed.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind; one that ended is gone already.
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// The text without its mark `‸`, and the position of that.
pub(crate) fn marked(text: &str) -> (String, Value) {
    let (before, after) = text.split_once('‸').unwrap_or_else(|| panic!("no mark in {text}"));
    let line = before.matches('\n').count();
    let last = before.rsplit('\n').next().unwrap_or("");
    (format!("{before}{after}"), json!({ "line": line, "character": last.encode_utf16().count() }))
}

pub(crate) fn at(uri: &str, position: &Value) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": position })
}

/// A folder for the files of one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp").join(name);
    std::fs::create_dir_all(folder.join("inner")).unwrap();
    folder.canonicalize().unwrap()
}

pub(crate) fn uri_of(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// The text after an edit.
pub(crate) fn apply(text: &str, edit: &Value) -> String {
    let place = |position: &Value| {
        let line = usize::try_from(position["line"].as_u64().unwrap()).unwrap();
        let column = usize::try_from(position["character"].as_u64().unwrap()).unwrap();
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let units: Vec<u16> = text[start..].encode_utf16().take(column).collect();
        start + String::from_utf16(&units).unwrap().len()
    };
    let (start, end) = (place(&edit["range"]["start"]), place(&edit["range"]["end"]));
    format!("{}{}{}", &text[..start], edit["newText"].as_str().unwrap(), &text[end..])
}
