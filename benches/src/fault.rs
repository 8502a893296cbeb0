//! What goes wrong while measuring.

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The members of a ratio do not agree, or one of them cannot answer.
    #[error("{0}")]
    Words(String),
    /// A file or a process.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// JSON that is none.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A database.
    #[error("{0}")]
    Database(#[from] rusqlite::Error),
    /// A database, as it is read for a replay.
    #[error("{0}")]
    Store(#[from] gatelog::store::StoreError),
    /// A recording.
    #[error("{0}")]
    Recording(#[from] gatelog::recording::RecordingError),
}

impl Fault {
    /// A fault in words.
    #[must_use]
    pub fn new(words: impl Into<String>) -> Self {
        Self::Words(words.into())
    }
}

/// What a measurement comes to.
pub type Outcome<T> = Result<T, Fault>;
