use crate::program::{Program, RelationId};
use crate::records::Role;
use crate::value::ConstructorId;

macro_rules! schema {
    (session { $($session:ident = $session_name:literal),* $(,)? } request { $($request:ident = $request_name:literal),* $(,)? }) => {
        /// The host's relations and value constructors in one program, by the names that the prelude gives them.
        #[derive(Debug, Clone)]
        pub struct Schema {
            $(#[doc = concat!("`", $session_name, "`")] pub $session: RelationId,)*
            $(#[doc = concat!("`", $request_name, "`")] pub $request: RelationId,)*
            /// `Message`
            pub message: ConstructorId,
            /// `$SendAttempt`
            pub send_attempt: ConstructorId,
            /// `$CallTool`
            pub call_tool: ConstructorId,
            /// `$HTTPRequest`
            pub http_request: ConstructorId,
            roles: [ConstructorId; 4],
        }

        impl Schema {
            /// Looks the names up. A name that the program does not have gets an id that no relation has: facts for it
            /// are left out.
            #[must_use]
            pub fn of(program: &Program) -> Self {
                let relation = |name: &str| program.relation(name).unwrap_or(RelationId(u32::MAX));
                let variant = |name: &str| program.types.variant(name).unwrap_or(ConstructorId::NIL);
                Self {
                    $($session: relation($session_name),)*
                    $($request: relation($request_name),)*
                    message: program.types.record("Message").unwrap_or(ConstructorId::NIL),
                    send_attempt: variant("SendAttempt"),
                    call_tool: variant("CallTool"),
                    http_request: variant("HTTPRequest"),
                    roles: ["Assistant", "SystemRole", "UserRole", "AgentType"].map(variant),
                }
            }

            /// The relations that only grow while a session lasts.
            #[must_use]
            pub fn session_facts(&self) -> Vec<RelationId> {
                vec![$(self.$session),*]
            }
        }
    };
}

schema! {
    session {
        sent_message = "SentMessage",
        message_metadata = "MessageMetadata",
        tool_result = "ToolResult",
        edge_principal = "EdgePrincipal",
        edge_entity = "EdgeEntity",
        record_event = "RecordEvent",
        proposed_call = "ProposedCall",
        tool_output = "ToolOutput",
        confirmation = "Confirmation",
        state_write = "StateWrite",
        state_read = "StateRead",
        artifact_write = "ArtifactWrite",
        artifact_read = "ArtifactRead",
        tool_source = "ToolSource",
        session_user = "SessionUser",
        policy_metadata = "PolicyMetadata",
    }
    request {
        // Its `running` rows come and go with the calls that run.
        tool_outcome = "ToolOutcome",
        current = "Current",
        actions = "Actions",
        action_metadata = "ActionMetadata",
        action_record = "ActionRecord",
        principal = "Principal",
        principal_role = "PrincipalRole",
        entity = "Entity",
        tenant = "TenantId",
        clock = "Clock",
    }
}

impl Schema {
    /// The variant of a role.
    #[must_use]
    pub fn role(&self, role: Role) -> ConstructorId {
        let [assistant, system, user, agent] = self.roles;
        match role {
            Role::Assistant => assistant,
            Role::System => system,
            Role::User => user,
            Role::Agent => agent,
        }
    }
}
