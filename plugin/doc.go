// Package plugin is the contract between the oracle and its plugins.
//
// A plugin is a Go value that implements Plugin and whichever of the small
// optional interfaces it needs: tools, request tools, sub-agents, prompt text,
// middleware around model and tool calls, HTTP routes, public routes, a gate
// before routes, shared state, jobs, MCP servers, turn observers. The oracle
// finds them by type assertion; there is no registration at import time.
//
// What the oracle promises. Boot fails with one clear line when two plugins
// claim one name, tool, route or state key, when a dependency is missing or
// circular, when a configuration is bad. After boot a failing hook disables its
// plugin for that request and never the turn. Every hook gets a context that is
// cancelled when the turn ends. Hooks may run concurrently on many nodes: state
// belongs in the Store, not in the plugin's fields.
//
// What a plugin promises. It names itself in kebab case, returns quickly from
// hooks that are not tools, respects its context, marks a tool Safe only if
// running it twice does no harm, and never keeps a Runtime after the call.
//
// HTTP routes are in pluginhttp. Both packages import only the standard
// library, so that a plugin can be built and tested by itself.
//
// Decisions: ADR 0005, ADR 0042.
package plugin
