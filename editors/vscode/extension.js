// Starts `gatelog lsp` for policies.

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("gatelog").get("path") || "gatelog";
  client = new LanguageClient(
    "gatelog",
    "Gatelog",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "gatelog" }],
      // Included files may change on disk without being open.
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.dl") },
    },
  );
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
