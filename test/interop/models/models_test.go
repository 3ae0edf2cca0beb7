// Package models holds the vendors' own clients against the zoo of model
// endpoints, so that the zoo is no straw man: what they send is accepted, and they
// understand what it says.
package models

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/castalia-org/castalia/internal/service/oracle/model/zoo"
)

var schema = map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}

// open starts the named case.
func open(t *testing.T, name string) *zoo.Server {
	t.Helper()
	all := zoo.Cases()
	at := slices.IndexFunc(all, func(c zoo.Case) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no case %q", name)
	}
	s := zoo.Open(all[at])
	t.Cleanup(s.Close)
	return s
}

func TestChat(t *testing.T) {
	t.Parallel()
	// Those that speak as OpenAI itself: the others differ, which is what they are for.
	for _, name := range []string{"openai chat", "xai", "vllm", "openrouter"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			client := openai.NewClient(option.WithBaseURL(s.URL()), option.WithAPIKey("k"))
			ask := openai.ChatCompletionNewParams{
				Model: s.Model, Messages: []openai.ChatCompletionMessageParamUnion{
					openai.SystemMessage("Be good."), openai.UserMessage("How is the zoo?"),
				},
				Tools: []openai.ChatCompletionToolUnionParam{
					openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "zoo_count", Parameters: schema}),
				},
			}
			first := chat(t, client, ask)
			calls := first.Choices[0].Message.ToolCalls
			if len(calls) != 2 || calls[1].Function.Arguments != `{"n":2}` {
				t.Fatalf("%+v after %q", first, s.Refused())
			}
			ask.Messages = append(ask.Messages, first.Choices[0].Message.ToParam())
			for _, c := range calls {
				ask.Messages = append(ask.Messages, openai.ToolMessage("1", c.ID))
			}
			whole, err := client.Chat.Completions.New(t.Context(), ask)
			if err != nil || whole.Choices[0].Message.Content != zoo.Answer ||
				whole.Usage.PromptTokensDetails.CachedTokens == 0 {
				t.Errorf("%+v, %v", whole, err)
			}
		})
	}
}

func chat(t *testing.T, client openai.Client, ask openai.ChatCompletionNewParams) openai.ChatCompletion {
	t.Helper()
	var all openai.ChatCompletionAccumulator
	events := client.Chat.Completions.NewStreaming(t.Context(), ask)
	for events.Next() {
		all.AddChunk(events.Current())
	}
	if err := events.Err(); err != nil || len(all.Choices) == 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all.ChatCompletion
}

func TestResponses(t *testing.T) {
	t.Parallel()
	s := open(t, "openai responses")
	client := openai.NewClient(option.WithBaseURL(s.URL()), option.WithAPIKey("k"))
	ask := responses.ResponseNewParams{
		Model: s.Model, Store: param.NewOpt(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("How is the zoo?", responses.EasyInputMessageRoleUser),
		}},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("zoo_count", schema, false)},
	}
	var first responses.Response
	events := client.Responses.NewStreaming(t.Context(), ask)
	for events.Next() {
		if e := events.Current(); e.Type == "response.completed" {
			first = e.Response
		}
	}
	if err := events.Err(); err != nil || len(first.Output) != 3 {
		t.Fatalf("%+v, %v, refused %q", first, err, s.Refused())
	}
	list := ask.Input.OfInputItemList
	for _, item := range first.Output {
		switch item.Type {
		case "reasoning":
			r := item.AsReasoning()
			list = append(list, responses.ResponseInputItemUnionParam{OfReasoning: &responses.ResponseReasoningItemParam{
				Summary: []responses.ResponseReasoningItemSummaryParam{}, EncryptedContent: param.NewOpt(r.EncryptedContent),
			}})
		case "function_call":
			c := item.AsFunctionCall()
			list = append(list, responses.ResponseInputItemParamOfFunctionCall(c.Arguments, c.CallID, c.Name))
		}
	}
	for _, item := range first.Output {
		if item.Type == "function_call" {
			result := responses.ResponseInputItemParamOfFunctionCallOutput("1")
			result.OfFunctionCallOutput.CallID = param.NewOpt(item.CallID)
			list = append(list, result)
		}
	}
	ask.Input.OfInputItemList = list
	whole, err := client.Responses.New(t.Context(), ask)
	if err != nil || whole.OutputText() != zoo.Answer {
		t.Errorf("%+v, %v, refused %q", whole, err, s.Refused())
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"anthropic, an older model", "anthropic, bound thoughts", "anthropic, redacted thoughts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			client := anthropic.NewClient(anthropicoption.WithBaseURL(s.URL()), anthropicoption.WithAPIKey("k"))
			ask := anthropic.MessageNewParams{
				Model: anthropic.Model(s.Model), MaxTokens: 1000,
				Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("How is the zoo?"))},
				Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
					Name: "zoo_count", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"]},
				}}},
			}
			first := messages(t, client, ask)
			ask.Messages = append(ask.Messages, first.ToParam())
			var results []anthropic.ContentBlockParamUnion
			for _, b := range first.Content {
				if b.Type == "tool_use" {
					results = append(results, anthropic.NewToolResultBlock(b.ID, "1", false))
				}
			}
			if len(results) != 2 {
				t.Fatalf("%+v", first)
			}
			ask.Messages = append(ask.Messages, anthropic.NewUserMessage(results...))
			whole, err := client.Messages.New(context.Background(), ask)
			if err != nil || whole.Content[len(whole.Content)-1].Text != zoo.Answer {
				said, _ := json.Marshal(whole)
				t.Errorf("%s, %v, refused %q", said, err, s.Refused())
			}
		})
	}
}

func messages(t *testing.T, client anthropic.Client, ask anthropic.MessageNewParams) anthropic.Message {
	t.Helper()
	var all anthropic.Message
	events := client.Messages.NewStreaming(t.Context(), ask)
	for events.Next() {
		if err := all.Accumulate(events.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
