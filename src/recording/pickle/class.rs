//! The classes that a pickle of an event may name. Every other name is refused.

/// A class that may be named.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// What instances of a class are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `EventActions`, the outermost value.
    Actions,
    /// A model of the library: its fields.
    Model,
    /// A model of a message: its fields, which hold nothing but JSON and known bytes.
    Message,
    /// A credential or a part of one: left out.
    Secret,
    /// An enumeration whose members are named as their values.
    Enumeration,
    Set,
    FrozenSet,
    ByteArray,
    Complex,
    OrderedDict,
    DefaultDict,
    Date,
    DateTime,
    Time,
    TimeDelta,
    TimeZone,
    Decimal,
    Uuid,
    Path,
    /// A built-in type that nothing is made of here: it is the default of a `defaultdict`.
    Factory,
}

/// The class of that name.
pub(crate) fn named(module: &str, name: &str) -> Option<&'static Class> {
    CLASSES.iter().find(|class| class.name == name && class.module == module)
}

const fn class(module: &'static str, name: &'static str, kind: Kind) -> Class {
    Class { module, name, kind }
}

const ACTIONS: &str = "google.adk.events.event_actions";
const CREDENTIAL: &str = "google.adk.auth.auth_credential";
const SCHEMES: &str = "google.adk.auth.auth_schemes";
const OPENAPI: &str = "fastapi.openapi.models";
const GENAI: &str = "google.genai.types";

const CLASSES: &[Class] = &[
    class(ACTIONS, "EventActions", Kind::Actions),
    class(ACTIONS, "EventCompaction", Kind::Model),
    class("google.adk.events.ui_widget", "UiWidget", Kind::Model),
    class("google.adk.tools.tool_confirmation", "ToolConfirmation", Kind::Model),
    class(GENAI, "Blob", Kind::Message),
    class(GENAI, "CodeExecutionResult", Kind::Message),
    class(GENAI, "Content", Kind::Message),
    class(GENAI, "ExecutableCode", Kind::Message),
    class(GENAI, "FileData", Kind::Message),
    class(GENAI, "FunctionCall", Kind::Message),
    class(GENAI, "FunctionResponse", Kind::Message),
    class(GENAI, "FunctionResponseBlob", Kind::Message),
    class(GENAI, "FunctionResponseFileData", Kind::Message),
    class(GENAI, "FunctionResponsePart", Kind::Message),
    class(GENAI, "Part", Kind::Message),
    class(GENAI, "PartMediaResolution", Kind::Message),
    class(GENAI, "PartialArg", Kind::Message),
    class(GENAI, "SpeechMetadata", Kind::Message),
    class(GENAI, "ToolCall", Kind::Message),
    class(GENAI, "ToolResponse", Kind::Message),
    class(GENAI, "Transcription", Kind::Message),
    class(GENAI, "VideoMetadata", Kind::Message),
    class(GENAI, "WordInfo", Kind::Message),
    class(GENAI, "FunctionResponseScheduling", Kind::Enumeration),
    class(GENAI, "Language", Kind::Enumeration),
    class(GENAI, "MediaProcessing", Kind::Enumeration),
    class(GENAI, "Outcome", Kind::Enumeration),
    class(GENAI, "PartMediaResolutionLevel", Kind::Enumeration),
    class(GENAI, "ToolType", Kind::Enumeration),
    class("google.adk.auth.auth_tool", "AuthConfig", Kind::Secret),
    class(CREDENTIAL, "AuthCredential", Kind::Secret),
    class(CREDENTIAL, "AuthCredentialTypes", Kind::Secret),
    class(CREDENTIAL, "HttpAuth", Kind::Secret),
    class(CREDENTIAL, "HttpCredentials", Kind::Secret),
    class(CREDENTIAL, "OAuth2Auth", Kind::Secret),
    class(CREDENTIAL, "ServiceAccount", Kind::Secret),
    class(CREDENTIAL, "ServiceAccountCredential", Kind::Secret),
    class(SCHEMES, "CustomAuthScheme", Kind::Secret),
    class(SCHEMES, "ExtendedOAuth2", Kind::Secret),
    class(SCHEMES, "OAuthGrantType", Kind::Secret),
    class(SCHEMES, "OpenIdConnectWithConfig", Kind::Secret),
    class(OPENAPI, "APIKey", Kind::Secret),
    class(OPENAPI, "APIKeyIn", Kind::Secret),
    class(OPENAPI, "HTTPBase", Kind::Secret),
    class(OPENAPI, "HTTPBearer", Kind::Secret),
    class(OPENAPI, "OAuth2", Kind::Secret),
    class(OPENAPI, "OAuthFlow", Kind::Secret),
    class(OPENAPI, "OAuthFlowAuthorizationCode", Kind::Secret),
    class(OPENAPI, "OAuthFlowClientCredentials", Kind::Secret),
    class(OPENAPI, "OAuthFlowImplicit", Kind::Secret),
    class(OPENAPI, "OAuthFlowPassword", Kind::Secret),
    class(OPENAPI, "OAuthFlows", Kind::Secret),
    class(OPENAPI, "OpenIdConnect", Kind::Secret),
    class(OPENAPI, "SecurityBase", Kind::Secret),
    class(OPENAPI, "SecurityScheme", Kind::Secret),
    class(OPENAPI, "SecuritySchemeType", Kind::Secret),
    class("builtins", "set", Kind::Set),
    class("builtins", "frozenset", Kind::FrozenSet),
    class("builtins", "bytearray", Kind::ByteArray),
    class("builtins", "complex", Kind::Complex),
    class("builtins", "bool", Kind::Factory),
    class("builtins", "bytes", Kind::Factory),
    class("builtins", "dict", Kind::Factory),
    class("builtins", "float", Kind::Factory),
    class("builtins", "int", Kind::Factory),
    class("builtins", "list", Kind::Factory),
    class("builtins", "str", Kind::Factory),
    class("builtins", "tuple", Kind::Factory),
    class("collections", "OrderedDict", Kind::OrderedDict),
    class("collections", "defaultdict", Kind::DefaultDict),
    class("datetime", "date", Kind::Date),
    class("datetime", "datetime", Kind::DateTime),
    class("datetime", "time", Kind::Time),
    class("datetime", "timedelta", Kind::TimeDelta),
    class("datetime", "timezone", Kind::TimeZone),
    class("decimal", "Decimal", Kind::Decimal),
    class("uuid", "UUID", Kind::Uuid),
    class("pathlib", "PosixPath", Kind::Path),
    class("pathlib", "PurePosixPath", Kind::Path),
    class("pathlib", "PureWindowsPath", Kind::Path),
    class("pathlib", "WindowsPath", Kind::Path),
    class("pathlib._local", "PosixPath", Kind::Path),
    class("pathlib._local", "PurePosixPath", Kind::Path),
    class("pathlib._local", "PureWindowsPath", Kind::Path),
    class("pathlib._local", "WindowsPath", Kind::Path),
];
