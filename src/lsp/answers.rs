//! Which request is answered where.

use lsp_server::ErrorCode;
use lsp_types::request as ask;
use lsp_types::request::Request as _;
use lsp_types::{
    CodeActionProviderCapability, CompletionOptions, HoverProviderCapability, InitializeResult, OneOf,
    RenameOptions, ServerCapabilities, ServerInfo, SignatureHelpOptions, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkDoneProgressOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lsp::server::{Fault, Server, read, written};
use crate::lsp::{actions, complete, format, hover, navigate, outline, rename, signature};

/// What the server can do.
pub(crate) fn greeting() -> InitializeResult {
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::Supported(true)),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: words(&[".", "@", "$", "\"", ":"]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: words(&["(", ","]),
            ..SignatureHelpOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        ..ServerCapabilities::default()
    };
    let version = Some(env!("CARGO_PKG_VERSION").to_owned());
    InitializeResult { capabilities, server_info: Some(ServerInfo { name: "gatelog".to_owned(), version }) }
}

/// Answers a request.
pub(crate) fn answer(server: &Server<'_>, method: &str, params: Value) -> Result<Value, Fault> {
    match method {
        ask::HoverRequest::METHOD => with(params, |params| hover::hover(server, params)),
        ask::Completion::METHOD => with(params, |params| complete::complete(server, params)),
        ask::SignatureHelpRequest::METHOD => with(params, |params| signature::help(server, params)),
        ask::GotoDefinition::METHOD => with(params, |params| navigate::definition(server, params)),
        ask::References::METHOD => with(params, |params| navigate::references(server, params)),
        ask::PrepareRenameRequest::METHOD => with(params, |params| rename::prepare(server, params)),
        ask::Rename::METHOD => with(params, |params| rename::rename(server, params)),
        ask::DocumentSymbolRequest::METHOD => with(params, |params| outline::outline(server, params)),
        ask::Formatting::METHOD => with(params, |params| format::format(server, params)),
        ask::CodeActionRequest::METHOD => with(params, |params| actions::actions(server, params)),
        _ => Err(Fault::new(ErrorCode::MethodNotFound, format!("`{method}` is not known here"))),
    }
}

fn with<P: DeserializeOwned, R: Serialize>(
    params: Value,
    answer: impl FnOnce(&P) -> Result<R, Fault>,
) -> Result<Value, Fault> {
    answer(&read(params)?).and_then(written)
}
