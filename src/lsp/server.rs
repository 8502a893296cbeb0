//! Open documents, and what becomes of each message.

use std::collections::BTreeMap;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use lsp_types::notification as note;
use lsp_types::notification::Notification as _;
use lsp_types::request as ask;
use lsp_types::request::Request as _;
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, MessageType,
    Position, ShowMessageParams, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lsp::analysis::Analysis;
use crate::lsp::{End, Files, Open};
use crate::lsp::{answers, publish, uri};
use crate::source::{FileId, Span};

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// What is asked for cannot be done.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::RequestFailed, message)
    }
}

/// The parameters of a message.
pub(crate) fn read<P: DeserializeOwned>(params: Value) -> Result<P, Fault> {
    serde_json::from_value(params)
        .map_err(|error| Fault::new(ErrorCode::InvalidParams, format!("the parameters do not fit: {error}")))
}

/// What a message says.
pub(crate) fn written(value: impl Serialize) -> Result<Value, Fault> {
    serde_json::to_value(value).map_err(|error| {
        Fault::new(ErrorCode::InternalError, format!("the answer cannot be written: {error}"))
    })
}

/// A document that the editor shows.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) uri: Uri,
    /// Its name in [`Open`] and in findings.
    pub(crate) name: String,
    pub(crate) version: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fresh,
    Running,
    Leaving,
}

/// A byte of a file, and the analysis that it is looked at in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) file: FileId,
    pub(crate) offset: usize,
}

impl Spot<'_> {
    pub(crate) fn span(&self) -> Span {
        let offset = u32::try_from(self.offset).unwrap_or(u32::MAX);
        Span { file: self.file, start: offset, end: offset }
    }
}

pub(crate) struct Server<'a> {
    pub(crate) files: &'a dyn Files,
    /// By address.
    pub(crate) documents: BTreeMap<String, Document>,
    /// The texts of the documents, by name.
    pub(crate) open: Open,
    /// By the address of the document that was checked.
    analyses: BTreeMap<String, Analysis>,
    /// The documents that no other open document includes; of a circle, one.
    tops: Vec<String>,
    pub(crate) published: BTreeMap<String, (Uri, Vec<lsp_types::Diagnostic>)>,
    phase: Phase,
    outbox: Vec<Message>,
}

impl<'a> Server<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            documents: BTreeMap::new(),
            open: Open::new(),
            analyses: BTreeMap::new(),
            tops: Vec::new(),
            published: BTreeMap::new(),
            phase: Phase::Fresh,
            outbox: Vec::new(),
        }
    }

    /// Takes in a message, and gives what is to be sent and whether the conversation is over.
    pub(crate) fn receive(&mut self, message: Message) -> (Vec<Message>, Option<End>) {
        match message {
            Message::Request(Request { id, method, params }) => {
                let answer = self.request(&method, params);
                self.outbox.push(Message::Response(response(id, answer)));
            }
            Message::Notification(Notification { method, .. }) if method == note::Exit::METHOD => {
                let end = if self.phase == Phase::Leaving { End::Orderly } else { End::Gone };
                return (Vec::new(), Some(end));
            }
            Message::Notification(Notification { method, params }) => {
                // What comes before the greeting or after the farewell is dropped, as the protocol says.
                if self.phase == Phase::Running
                    && let Err(fault) = self.notification(&method, params)
                {
                    self.log(format!("{method}: {}", fault.message));
                }
            }
            // Nothing is ever asked of the editor.
            Message::Response(_) => {}
        }
        (std::mem::take(&mut self.outbox), None)
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Fault> {
        match (self.phase, method) {
            (Phase::Fresh, ask::Initialize::METHOD) => {
                self.phase = Phase::Running;
                written(answers::greeting())
            }
            (Phase::Fresh, _) => {
                Err(Fault::new(ErrorCode::ServerNotInitialized, "`initialize` has to come first"))
            }
            (Phase::Running, ask::Initialize::METHOD) => {
                Err(Fault::new(ErrorCode::InvalidRequest, "`initialize` comes once"))
            }
            (Phase::Running, ask::Shutdown::METHOD) => {
                self.phase = Phase::Leaving;
                Ok(Value::Null)
            }
            (Phase::Running, _) => answers::answer(self, method, params),
            (Phase::Leaving, _) => {
                Err(Fault::new(ErrorCode::InvalidRequest, "after `shutdown` there is only `exit`"))
            }
        }
    }

    fn notification(&mut self, method: &str, params: Value) -> Result<(), Fault> {
        match method {
            note::DidOpenTextDocument::METHOD => {
                let document = read::<DidOpenTextDocumentParams>(params)?.text_document;
                let name = uri::name(document.uri.as_str());
                self.open.insert(name.clone(), document.text);
                let key = document.uri.as_str().to_owned();
                let document = Document { uri: document.uri, name, version: document.version };
                self.documents.insert(key, document);
                self.refresh(None);
            }
            note::DidChangeTextDocument::METHOD => self.change(read(params)?)?,
            note::DidCloseTextDocument::METHOD => {
                let closed = read::<DidCloseTextDocumentParams>(params)?.text_document.uri;
                let Some(document) = self.documents.remove(closed.as_str()) else {
                    return Err(not_open(&closed));
                };
                self.open.remove(&document.name);
                self.refresh(None);
            }
            note::DidSaveTextDocument::METHOD | note::DidChangeWatchedFiles::METHOD => self.refresh(None),
            _ => {}
        }
        Ok(())
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) -> Result<(), Fault> {
        let changed = params.text_document;
        let Some(document) = self.documents.get_mut(changed.uri.as_str()) else {
            return Err(not_open(&changed.uri));
        };
        let mut changes = params.content_changes;
        if changes.iter().any(|change| change.range.is_some()) {
            return Err(Fault::new(ErrorCode::InvalidParams, "only whole texts are understood"));
        }
        // Each is the whole text, so the last one holds.
        let Some(last) = changes.pop() else { return Ok(()) };
        document.version = changed.version;
        let name = document.name.clone();
        self.open.insert(name.clone(), last.text);
        self.refresh(Some(&name));
        Ok(())
    }

    /// Checks what has to be checked again after the text of that name changed (or anything, without a name), and sends
    /// the findings.
    fn refresh(&mut self, changed: Option<&str>) {
        self.analyses.retain(|uri, _| self.documents.contains_key(uri));
        for (uri, document) in &self.documents {
            let old = self.analyses.get(uri);
            let untouched = old.zip(changed).is_some_and(|(old, name)| old.file(name).is_none());
            if !untouched {
                let analysis = Analysis::new(&document.name, &self.open, self.files);
                self.analyses.insert(uri.clone(), analysis);
            }
        }
        self.tops = self.find_tops();
        let sent = publish::publish(self, changed);
        self.outbox.extend(sent.into_iter().map(Message::Notification));
    }

    fn find_tops(&self) -> Vec<String> {
        let holds = |top: &str, name: &str| {
            self.analyses.get(top).is_some_and(|analysis| analysis.file(name).is_some())
        };
        let alone = |uri: &str, name: &str| {
            self.documents.keys().filter(|&other| other != uri).all(|other| !holds(other, name))
        };
        let mut tops: Vec<String> = Vec::new();
        for (uri, document) in &self.documents {
            if alone(uri, &document.name) {
                tops.push(uri.clone());
            }
        }
        // Documents that include each other in a circle.
        for (uri, document) in &self.documents {
            if !tops.iter().any(|top| holds(top, &document.name)) {
                tops.push(uri.clone());
            }
        }
        tops
    }

    /// The analyses that findings and answers come from.
    pub(crate) fn analyses(&self) -> impl Iterator<Item = &Analysis> {
        self.tops.iter().filter_map(|uri| self.analyses.get(uri))
    }

    /// The name of the document whose analysis holds the file of that name.
    pub(crate) fn top_of(&self, name: &str) -> Option<&str> {
        let top = self
            .tops
            .iter()
            .find(|&uri| self.analyses.get(uri).is_some_and(|analysis| analysis.file(name).is_some()))?;
        self.documents.get(top).map(|document| document.name.as_str())
    }

    /// The open document at an address, and the analysis that it is looked at in.
    pub(crate) fn view(&self, uri: &Uri) -> Result<(&Analysis, FileId), Fault> {
        let document = self.documents.get(uri.as_str()).ok_or_else(|| not_open(uri))?;
        let found = self.analyses().find_map(|analysis| Some((analysis, analysis.file(&document.name)?)));
        found.ok_or_else(|| not_open(uri))
    }

    pub(crate) fn spot(&self, uri: &Uri, position: Position) -> Result<Spot<'_>, Fault> {
        let (analysis, file) = self.view(uri)?;
        let offset = analysis.lines(file).offset(analysis.text(file), position);
        Ok(Spot { analysis, file, offset })
    }

    /// The address of a file of an analysis. The prelude has none: it is in no file.
    pub(crate) fn uri_of(&self, analysis: &Analysis, file: FileId) -> Option<Uri> {
        if file == crate::lsp::analysis::PRELUDE {
            return None;
        }
        let name = analysis.name(file);
        let open = self.documents.values().find(|document| document.name == name);
        open.map(|document| document.uri.clone()).or_else(|| uri::of_name(name))
    }

    fn log(&mut self, message: String) {
        let params = ShowMessageParams { typ: MessageType::WARNING, message };
        if let Ok(params) = written(params) {
            let method = note::LogMessage::METHOD.to_owned();
            self.outbox.push(Message::Notification(Notification { method, params }));
        }
    }
}

fn not_open(uri: &Uri) -> Fault {
    Fault::new(ErrorCode::InvalidParams, format!("`{}` is not open", uri.as_str()))
}

fn response(id: RequestId, answer: Result<Value, Fault>) -> Response {
    let response_result =
        answer.map_err(|fault| ResponseError { code: fault.code as i32, message: fault.message, data: None });
    Response { id, response_result }
}
