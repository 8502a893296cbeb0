"""A plugin that gates the tool calls of google-adk agents.

    from gatelog.adk import GatePlugin
    runner = Runner(app_name="desk", agent=agent, session_service=sessions, plugins=[GatePlugin(policy="payment.dl")])

Every call of a tool is judged before it runs, with the arguments as they stand and everything that the model was shown. A
call that may not run is answered in place of its tool, so that the model reads why.
"""

from gatelog.adk.instructions import agents_file
from gatelog.adk.plugin import GatePlugin

__all__ = ["GatePlugin", "agents_file"]
