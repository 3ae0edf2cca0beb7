package zoo

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// facts is where most manners were collected, with how sure they are.
const facts = "wire facts of November 2026"

func geminiFailure(status int, _, message string) string {
	b, _ := json.Marshal([]object{{"error": object{"code": status, "message": message, "status": "INVALID_ARGUMENT"}}}) // texts
	return string(b)
}

func textFailure(_ int, code, message string) string {
	b, _ := json.Marshal(object{"code": code, "error": message}) // texts
	return string(b)
}

func mistralFailure(status int, code, message string) string {
	if status == http.StatusUnprocessableEntity {
		b, _ := json.Marshal(object{"detail": []object{{"loc": []string{"body"}, "msg": message}}}) // texts
		return string(b)
	}
	b, _ := json.Marshal(object{"object": "error", "message": message, "type": "invalid_request_message_order", "code": code}) // texts
	return string(b)
}

func routerFailure(status int, _, message string) string {
	// texts
	raw, _ := json.Marshal(object{"error": object{"message": message}})
	// texts
	b, _ := json.Marshal(object{"error": object{"code": status, "message": "Provider returned error", "metadata": object{"raw": string(raw)}}})
	return string(b)
}

// Cases are the endpoints, each with its quirks.
func Cases() []Case {
	groqOnce := refusal{status: http.StatusBadRequest, body: `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function"}}`}
	loading := refusal{status: http.StatusServiceUnavailable, body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`}
	return []Case{
		{Name: "openai chat", Source: "openapi.yaml 2026-08-21", Base: "https://api.openai.com/v1", Model: "gpt-4o-mini", Wire: Chat, chat: chatManners{completion: true}},
		{
			Name: "openai chat, a model that reasons", Source: "openai-openapi#541, LibreChat#14231: tools only with effort none",
			Base: "https://api.openai.com/v1", Model: "gpt-6-luna", Wire: Chat, chat: chatManners{completion: true, effortful: true},
		},
		{Name: "openai responses", Source: "openapi.yaml 2026-08-21; vercel/ai#12689 on ids", Base: "https://api.openai.com/v1", Model: "gpt-6-luna", Wire: Responses},
		{
			Name: "azure", Source: facts + " 1: api-key, filter results in a first chunk without choices",
			Base: "https://zoo.openai.azure.com/openai/v1", Model: "deployment", Wire: Chat, chat: chatManners{completion: true, filtered: true, key: "Api-Key"},
		},
		{Name: "azure responses", Source: "vercel/ai#12689: ids are refused", Base: "https://zoo.openai.azure.com/openai/v1", Model: "deployment", Wire: Responses},
		{Name: "anthropic, an older model", Source: "anthropic-sdk-go v1.84.0", Base: "https://api.anthropic.com", Model: "claude-sonnet-4-5", Wire: Messages},
		{
			Name: "anthropic, a small model", Source: "anthropic-sdk-go v1.84.0: max_tokens beyond the model's own", Base: "https://api.anthropic.com",
			Model: "claude-3-5-haiku-20241022", Wire: Messages, messages: messageManners{most: 8192},
		},
		{
			Name: "anthropic, bound thoughts", Source: facts + " 0.4: blocks bound to their prefix", Base: "https://api.anthropic.com",
			Model: "claude-sonnet-5-5", Wire: Messages, messages: messageManners{thinks: true, bound: true, demands: true},
		},
		{
			Name: "anthropic behind something that does not know the controls", Source: facts + " 0.4", Base: "https://proxy.example",
			Model: "claude-opus-5-5", Wire: Messages, messages: messageManners{thinks: true, bound: true, strict: true},
		},
		{
			Name: "anthropic, redacted thoughts", Source: "anthropic-sdk-go v1.84.0", Base: "https://api.anthropic.com",
			Model: "claude-opus-5", Wire: Messages, messages: messageManners{thinks: true, redacted: true, demands: true},
		},
		{
			Name: "anthropic that pauses", Source: facts + " 2: pause_turn", Base: "https://api.anthropic.com",
			Model: "claude-sonnet-5-5", Wire: Messages, messages: messageManners{thinks: true, pauses: true},
		},
		{
			Name: "gemini", Source: "open-webui/computer#224, hermes-agent#62937; AI SDK: index 0 for all, finish stop, errors in a list",
			Base: "https://generativelanguage.googleapis.com/v1beta/openai", Model: "gemini-3-pro", Wire: Chat,
			chat: chatManners{index: "zero", wholeCalls: true, signed: true, callsStop: true, failure: geminiFailure},
		},
		{
			Name: "gemini without numbers", Source: facts + " 3: index absent", Base: "https://generativelanguage.googleapis.com/v1beta/openai", Model: "gemini-3-flash",
			Wire: Chat, chat: chatManners{
				index: "none", wholeCalls: true, signed: true, callsStop: true, failure: geminiFailure,
			},
		},
		{
			Name: "mistral", Source: facts + " 3: ids of nine, thinking parts, 422 with a list", Base: "https://api.mistral.ai/v1", Model: "magistral-medium",
			Wire: Chat, chat: chatManners{
				nine: true, wholeCalls: true, thoughts: "parts", usage: "finish", failure: mistralFailure,
			},
		},
		{
			Name: "deepseek", Source: "api-docs.deepseek.com; AI SDK 3.0.56; LiteLLM: reasoning_content with calls comes back",
			Base: "https://api.deepseek.com/v1", Model: "deepseek-v4", Wire: Chat,
			chat: chatManners{thinks: true, thoughts: "reasoning_content", comment: ": keep-alive", usage: "finish"},
		},
		{
			Name: "xai", Source: "AI SDK xai: completion tokens without reasoning; errors as text", Base: "https://api.x.ai/v1", Model: "grok-5", Wire: Chat,
			chat: chatManners{thoughts: "reasoning_content", wholeCalls: true, reasoningBeside: true, failure: textFailure},
		},
		{
			Name: "groq", Source: facts + " 3: usage in x_groq, tool_use_failed", Base: "https://api.groq.com/openai/v1", Model: "gpt-oss-120b", Wire: Chat,
			chat: chatManners{thoughts: "reasoning", wholeCalls: true, usage: "x_groq", once: &groqOnce},
		},
		{
			Name: "openrouter", Source: facts + " 3: comments, reasoning_details, the truth in metadata.raw", Base: "https://openrouter.ai/api/v1", Model: "anthropic/claude-sonnet-5.5",
			Wire: Chat, chat: chatManners{details: true, thoughts: "reasoning_details", comment: ": OPENROUTER PROCESSING", failure: routerFailure},
		},
		{
			Name: "vllm", Source: "vLLM source: field reasoning, name in each delta", Base: "http://vllm.example:8000/v1", Model: "qwen3", Wire: Chat,
			chat: chatManners{thoughts: "reasoning", named: true},
		},
		{
			Name: "vllm without a reasoning parser", Source: "vLLM source: only the closing tag", Base: "http://vllm.example:8000/v1", Model: "r1", Wire: Chat,
			chat: chatManners{thoughts: "closing"},
		},
		{
			Name: "llama.cpp", Source: "llama.cpp server source: comments while it reads, 503 while it loads", Base: "http://llama.example:8080/v1", Model: "local", Wire: Chat,
			chat: chatManners{thoughts: "reasoning_content", comment: ":", once: &loading},
		},
		{
			Name: "llama.cpp with tags", Source: "llama.cpp --reasoning-format none", Base: "http://llama.example:8080/v1", Model: "local", Wire: Chat,
			chat: chatManners{thoughts: "tags"},
		},
		{
			Name: "ollama", Source: "Ollama source: whole calls with index 0", Base: "http://ollama.example:11434/v1", Model: "qwen3:8b", Wire: Chat,
			chat: chatManners{thoughts: "reasoning", index: "zero", wholeCalls: true},
		},
		{
			Name: "lm studio", Source: "lmstudio-bug-tracker: errors as text", Base: "http://lmstudio.example:1234/v1", Model: "local", Wire: Chat,
			chat: chatManners{thoughts: "tags", failure: textFailure},
		},
		{
			Name: "calls without ids", Source: facts + " 5", Base: "http://any.example/v1", Model: "m", Wire: Chat,
			chat: chatManners{noID: true, index: "none", noDone: true},
		},
		{
			Name: "calls joined", Source: "hermes-agent#62937, lens#49", Base: "http://any.example/v1", Model: "m", Wire: Chat,
			chat: chatManners{joined: true, index: "zero"},
		},
	}
}

// Overflows are endpoints with a small window, each with its own words for it.
func Overflows() []Case {
	plain := func(status int, format string) func(int, int) refusal {
		return func(asked, window int) refusal {
			return refusal{status: status, body: openaiFailure(status, "invalid_request_error", fmt.Sprintf(format, asked, window))}
		}
	}
	shaped := func(status int, shape func(int, string, string) string, format string) func(int, int) refusal {
		return func(asked, window int) refusal {
			return refusal{status: status, body: shape(status, "invalid", fmt.Sprintf(format, asked, window))}
		}
	}
	chat := func(name, source string, full func(int, int) refusal) Case {
		return Case{Name: name, Source: source, Base: "http://small.example/v1", Model: "m", Wire: Chat, Window: SmallWindow, full: full}
	}
	anthropic := func(name, format string) Case {
		return Case{
			Name: name, Source: facts + " 4", Base: "https://api.anthropic.com", Model: "claude-sonnet-4-5", Wire: Messages, Window: SmallWindow,
			full: func(asked, window int) refusal { return *invalid(format, asked, window) },
		}
	}
	const pi = "pi-ai 1.5.0 overflow.js"
	return []Case{
		chat("openai", "openapi.yaml", plain(400, "This model's maximum context length is %[2]d tokens. However, your messages resulted in %[1]d tokens.")),
		chat("openai's window", pi, plain(400, "Your input exceeds the context window of this model. %.0[1]d%.0[2]d")),
		anthropic("anthropic", "prompt is too long: %d tokens > %d maximum"),
		anthropic("anthropic with max_tokens", "input length and `max_tokens` exceed context limit: %d + 32000 > %d, decrease input length or `max_tokens` and try again"),
		chat("gemini", pi, shaped(400, geminiFailure, "The input token count (%d) exceeds the maximum number of tokens allowed (%d).")),
		chat("xai", pi, shaped(400, textFailure, "This model's maximum prompt length is %[2]d but the request contains %[1]d tokens.")),
		chat("groq", pi, plain(413, "Please reduce the length of the messages or completion. %.0[1]d%.0[2]d")),
		chat("cerebras", pi, plain(400, "Current length is %d while limit is %d")),
		chat("cerebras without a word", pi, func(int, int) refusal { return refusal{status: 413} }),
		chat("openrouter", facts+" 4", shaped(400, routerFailure, "This endpoint's maximum context length is %[2]d tokens. However, you requested about %[1]d tokens.")),
		chat("vllm", "vLLM source", plain(400, "The decoder prompt (length %d) is longer than the maximum model length of %d.")),
		chat("mistral", pi, shaped(400, mistralFailure, "Prompt contains %d tokens, too large for model with %d maximum context length")),
		chat("llama.cpp", "llama.cpp server source", func(asked, window int) refusal {
			return refusal{status: 400, body: fmt.Sprintf(`{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%d,"n_ctx":%d}}`, asked, window)}
		}),
		chat("llama.cpp, later", "llama.cpp server source", plain(500, "Context size has been exceeded. %.0[1]d%.0[2]d")),
		chat("ollama", "Ollama source", plain(400, "the prompt is longer than the context length currently available %.0[1]d%.0[2]d")),
		chat("ollama, by how much", "Ollama source", plain(400, "prompt too long; exceeded max context length by %d tokens %.0[2]d")),
		chat("lm studio", "lmstudio-bug-tracker#546", shaped(400, textFailure, "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: %d>= n_ctx: %d).")),
		chat("lm studio, the first", "lmstudio-bug-tracker#546", shaped(400, textFailure, "Trying to keep the first %d tokens when context the overflows. %.0[2]d")),
		chat("lm studio, truncating", "opencode#11141", shaped(400, textFailure, "Cannot truncate prompt with n_keep (%d) >= n_ctx (%d)")),
		chat("together", pi, plain(400, "The input (%d tokens) is longer than the model's context length (%d tokens).")),
		chat("bedrock", pi, plain(400, "Input is too long for requested model. %.0[1]d%.0[2]d")),
		chat("vercel", pi, plain(400, "Input too long: %d input tokens, limit is %d")),
		chat("qwen", pi, plain(400, "Range of input length should be [1, %[2]d] %.0[1]d")),
		chat("kimi", pi, plain(400, "Your request exceeded model token limit: %[2]d %.0[1]d")),
		chat("minimax", pi, plain(400, "context window exceeds limit %.0[1]d%.0[2]d")),
		chat("copilot", pi, plain(400, "prompt token count of %d exceeds the limit of %d")),
		chat("in no known words", facts+" 4", plain(400, "Eingabe zu lang %.0[1]d%.0[2]d")),
	}
}

// SmallWindow is the window of Overflows.
const SmallWindow = 6000

// Filters are endpoints that refuse every prompt as their filter would.
func Filters() []Case {
	says := func(name, source string, status int, body string) Case {
		return Case{
			Name: name, Source: source, Base: "http://prudish.example/v1", Model: "m", Wire: Chat, Window: 1,
			full: func(int, int) refusal { return refusal{status: status, body: body} },
		}
	}
	return []Case{
		says("azure", facts+" 1: content_filter with an inner error", http.StatusBadRequest, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"medium"}}}}}`),
		says("openai", "openapi.yaml 2026-08-21", http.StatusBadRequest, `{"error":{"message":"Your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"content_policy_violation"}}`),
		says("openrouter", facts+" 3: moderation", http.StatusForbidden, `{"error":{"code":403,"message":"The model requires moderation and your input was flagged.","metadata":{"reasons":["violence"],"flagged_input":"..."}}}`),
	}
}
