//! Where the service listens.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// What a Unix socket's path stands behind.
const UNIX: &str = "unix:";

/// An address to listen at: `127.0.0.1:7474`, `[::1]:7474`, `localhost:7474`, or `unix:/path.sock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Over the network.
    Tcp(SocketAddr),
    /// On this machine alone.
    Unix(PathBuf),
}

/// Why that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address: write `127.0.0.1:7474`, `[::1]:7474` or `unix:/run/gatelog.sock`")]
pub struct AddressError {
    text: String,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let no_address = || AddressError { text: text.to_owned() };
        if let Some(path) = text.strip_prefix(UNIX) {
            return if path.is_empty() { Err(no_address()) } else { Ok(Self::Unix(PathBuf::from(path))) };
        }
        let numbers = match text.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => text.to_owned(),
        };
        numbers.parse().map(Self::Tcp).map_err(|_| no_address())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl Address {
    /// Whether only this machine reaches it.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

/// A socket that takes connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, Socket),
}

/// The file of a Unix socket, which goes with the service.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A connection that was taken.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    /// Listens. The file of a Unix socket is for the own user alone, unless others may ask too.
    pub(crate) async fn bind(address: &Address, for_others: bool) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            Address::Unix(path) => {
                remove_dead(path).await?;
                let listener = UnixListener::bind(path)?;
                let socket = Socket { path: path.clone() };
                let mode = if for_others { 0o666 } else { 0o600 };
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
                Ok(Self::Unix(listener, socket))
            }
        }
    }

    /// Where it listens, with the port that was chosen.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            Self::Unix(_, socket) => Ok(Address::Unix(socket.path.clone())),
        }
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Answers are small, and are waited for.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// Removes the socket that a service left behind which was killed. One that answers stays, and so does any other file.
async fn remove_dead(path: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a file of that name, and it is no socket",
        ));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Ok(_) | Err(_) => Err(io::ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let rows = [
            ("127.0.0.1:7474", Some(true)),
            ("[::1]:0", Some(true)),
            ("localhost:80", Some(true)),
            ("0.0.0.0:7474", Some(false)),
            ("10.0.0.1:7474", Some(false)),
            ("unix:/run/x.sock", Some(true)),
            ("unix:", None),
            ("7474", None),
            ("example.org:7474", None),
            ("", None),
        ];
        for (text, local) in rows {
            let address: Option<Address> = text.parse().ok();
            assert_eq!(address.map(|address| address.is_local()), local, "{text}");
        }
    }
}
