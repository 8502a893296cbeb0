//! A service that runs, and a client that speaks to it byte by byte.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use gatelog::recording::journal;
use serde_json::{Value, json};

use crate::support::{gatelog, text};

/// How long an answer is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service that runs.
pub(crate) struct Service {
    child: Option<Child>,
    said: BufReader<ChildStderr>,
    pub(crate) address: String,
}

/// A service with the tokens it knows.
pub(crate) struct Started {
    pub(crate) service: Service,
    /// By `principal@tenant:scope`.
    pub(crate) tokens: BTreeMap<String, String>,
}

impl Started {
    pub(crate) fn client(&self, holder: &str) -> Client {
        let token = self.tokens.get(holder).unwrap_or_else(|| panic!("nobody is {holder}"));
        Client { token: Some(token.clone()), ..self.service.client() }
    }
}

impl Service {
    /// Starts a service on the policy `p.dl` of a folder, and waits until it listens.
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatelog"));
        command.args(["serve", "--policy", "p.dl", "--deadline", "60000"]).args(flags);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let child =
            command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at ").unwrap_or_else(|| panic!("{line}"));
        let address = address.strip_prefix("http://").or(address.strip_prefix("https://")).unwrap_or(address);
        Self { child: Some(child), said, address: address.to_owned() }
    }

    pub(crate) fn client(&self) -> Client {
        Client { address: self.address.clone(), token: None, stream: None, seen: Vec::new() }
    }

    /// A connection, on which nothing was said.
    pub(crate) fn connect(&self) -> Box<dyn Stream> {
        connect(&self.address)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it: its exit code, and whether it says that nothing was cut.
    pub(crate) fn end(mut self) -> (Option<i32>, bool) {
        self.signal("-TERM");
        self.ended()
    }

    /// Waits until it says that.
    pub(crate) fn says(&mut self, words: &str) {
        let mut line = String::new();
        while self.said.read_line(&mut line).unwrap() > 0 {
            if line.trim_end() == words {
                return;
            }
            line.clear();
        }
        panic!("it never says `{words}`");
    }

    /// What it says until it ends.
    pub(crate) fn last_words(&mut self) -> String {
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        said
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> (Option<i32>, bool) {
        let said = self.last_words();
        let code = self.child.take().unwrap().wait().unwrap().code();
        (code, said.trim_end().ends_with("ended"))
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// What bytes are sent and received on.
pub(crate) trait Stream: Read + Write + Send {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

fn connect(address: &str) -> Box<dyn Stream> {
    if let Some(path) = address.strip_prefix("unix:") {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        return Box::new(stream);
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    Box::new(stream)
}

/// Who asks.
pub(crate) struct Client {
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    stream: Option<Box<dyn Stream>>,
    /// What was asked and answered so far.
    pub(crate) seen: Vec<Exchange>,
}

/// A request with its answer.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) answer: Answer,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The kind of the error that it is.
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// What it says of that header; empty where it says nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
            .unwrap_or_default()
    }
}

impl Client {
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[], None)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &["Content-Type: application/json"], Some(body.to_string().as_bytes()))
    }

    /// The same, of a service that may be about to end: none where it is gone.
    pub(crate) fn try_post(&mut self, path: &str, body: &Value) -> Option<Answer> {
        let bytes = body.to_string();
        let token = self.token.as_deref().unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{bytes}",
            bytes.len()
        );
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => Box::new(TcpStream::connect(&self.address).ok()?),
        };
        stream.write_all(head.as_bytes()).ok()?;
        let answer = answer(&mut *stream)?;
        self.stream = Some(stream);
        Some(answer)
    }

    /// Sends a request with these headers, on the connection that is there.
    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &[&str], body: Option<&[u8]>) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            head += "Host: localhost\r\n";
        }
        if let Some(token) = &self.token {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for header in headers {
            head += &format!("{header}\r\n");
        }
        if let Some(body) = body {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend(body.unwrap_or_default());
        let mut stream = self.stream.take().unwrap_or_else(|| connect(&self.address));
        // A service that refuses a head may not wait for the body.
        let _refused = stream.write_all(&bytes);
        let answer = answer(&mut *stream).unwrap_or_else(|| panic!("no answer to {method} {path}"));
        if answer.header("connection") != "close" {
            self.stream = Some(stream);
        }
        self.seen.push(Exchange {
            method: method.to_owned(),
            path: path.to_owned(),
            body: body.map(<[u8]>::to_vec),
            answer: answer.clone(),
        });
        answer
    }

    /// A check of a call of the agent `bot`, on the history that the service has.
    pub(crate) fn check(&mut self, session: &Value, id: &str, tool: &str, args: &Value) -> Value {
        let name = |key: &str| session[key].as_str().unwrap_or_default().to_owned();
        let path = format!(
            "/v1/sessions/history?app={}&user={}&session={}",
            name("app"),
            name("user"),
            name("session")
        );
        let history = self.get(&path).json();
        let check = json!({
            "session": session, "call_id": id, "tool": tool, "args": args, "agent": "bot",
            "events": history["events"], "digest": history["digest"],
        });
        let answer = self.post("/v1/checks", &check);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

/// The next answer on a stream; none where it ends before.
pub(crate) fn answer(stream: &mut dyn Stream) -> Option<Answer> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.extend(byte),
            Ok(_) | Err(_) => return None,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer { status, head, body: String::new() };
    let length = answer.header("content-length").parse().unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    answer.body = String::from_utf8(body).unwrap();
    Some(answer)
}

/// Makes a token for each, and the file `tokens.json` of them.
pub(crate) fn tokens(folder: &Path, holders: &[(&str, &str, &str)]) -> BTreeMap<String, String> {
    let (mut tokens, mut rows) = (BTreeMap::new(), Vec::new());
    for (principal, tenant, scope) in holders {
        let flags = ["serve", "token", "--principal", principal, "--tenant", tenant, "--scope", scope];
        let made = gatelog(folder, &flags, None);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        tokens.insert(format!("{principal}@{tenant}:{scope}"), made.stdout.trim().to_owned());
        rows.push(made.stderr.trim().to_owned());
    }
    let path = folder.join("tokens.json");
    std::fs::write(&path, format!("[{}]", rows.join(",\n"))).unwrap();
    assert!(tokens.values().all(|token| !text(&path).contains(token)));
    tokens
}

pub(crate) fn named(session: &str) -> Value {
    json!({"app": "a", "user": "u", "session": session})
}

pub(crate) fn call(id: &str, tool: &str, amount: u32) -> Value {
    let call = json!({"id": id, "name": tool, "args": {"amount": amount}});
    json!({"id": format!("call-{id}"), "author": "bot", "content": {"parts": [{"functionCall": call}]}})
}

pub(crate) fn digest_of(ids: &[&str]) -> String {
    journal::digest_of(ids.iter().copied())
}
