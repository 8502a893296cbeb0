//! Policies in an editor.
//!
//! In: messages of the language server protocol, and the texts of included files from whoever may open files. Out: findings,
//! answers and edits, as messages. Never: decides, opens a file, or ends because a message is malformed.

mod actions;
mod analysis;
mod answers;
mod complete;
mod cursor;
mod format;
mod frame;
mod hover;
mod index;
mod navigate;
mod outline;
mod places;
mod publish;
mod rename;
mod server;
mod signature;
mod uri;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use crate::program::Includes;

/// The texts of open documents, by the names under which findings show them: paths, for documents that lie in files.
pub type Open = BTreeMap<String, String>;

/// Where files come from that open documents include.
pub trait Files {
    /// What the document of that name includes, directly or through others. Open texts go before those on disk.
    fn includes(&self, root: &str, open: &Open) -> Box<dyn Includes>;
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The editor said that it would end, and ended.
    Orderly,
    /// The editor went away without a word.
    Gone,
    /// What came in could not be told apart into messages, or nothing could be written any more.
    Broken,
}

/// Answers an editor until it leaves.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, files: &dyn Files) -> End {
    let mut server = server::Server::new(files);
    loop {
        let received = match frame::read(input) {
            Ok(received) => received,
            Err(fault) => {
                if frame::refuse(output, &fault).is_err() || fault.ends {
                    return End::Broken;
                }
                continue;
            }
        };
        let Some(message) = received else { return End::Gone };
        let (answers, end) = server.receive(message);
        for answer in answers {
            if frame::write(output, &answer).is_err() {
                return End::Broken;
            }
        }
        if let Some(end) = end {
            return end;
        }
    }
}
