// Package faces holds clients that people already have against the faces of the
// real program: OpenAI's own for Go here, those of npm beside.
package faces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/castalia-org/castalia/internal/service/oracle/model/zoo"
)

var schema = map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}

// program runs a command of the binary under test and returns what it printed.
func program(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(), args...).Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

func binary() string {
	return cmp.Or(os.Getenv("CASTALIA_BINARY"), filepath.Join("..", "..", "..", "bin", "castalia"))
}

// connect starts the program with a model of the zoo, and returns a client that
// has an app key for it.
func connect(t *testing.T, model string) openai.Client {
	t.Helper()
	all := zoo.Cases()
	s := zoo.Open(all[slices.IndexFunc(all, func(c zoo.Case) bool { return c.Name == model })])
	t.Cleanup(s.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	folder := t.TempDir()
	server := exec.CommandContext(t.Context(), binary(), "serve")
	var log bytes.Buffer
	server.Stdout, server.Stderr, server.WaitDelay = &log, &log, 10*time.Second
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	server.Env = []string{
		"HOME=" + folder, "CASTALIA_DATA=" + filepath.Join(folder, "data"), "HOST=127.0.0.1", fmt.Sprint("PORT=", port),
		"MODEL_PROVIDER=openai", "OPENAI_BASE_URL=" + s.URL(), "OPENAI_API_KEY=sk-test", "MODEL=" + s.Model,
	}
	for _, name := range []string{"CASTALIA_REAL", "TEST_POSTGRES_URL", "TEST_S3_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if value := os.Getenv(name); value != "" && os.Getenv("CASTALIA_REAL") != "" { // a fleet stands for the program
			server.Env = append(server.Env, name+"="+value)
		}
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() })
	url := fmt.Sprint("http://127.0.0.1:", port)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if r, err := http.Get(url + "/ready"); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not start:\n%s", log.String())
		}
	}
	mine := filepath.Join(folder, "me.key")
	program(t, "key", "new", "--out", mine)
	key := regexp.MustCompile(`cak_[a-z0-9]+`).FindString(program(t, "key", "app", "--for", "tests", "--days", "1",
		"--key", mine, "--server", url))
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey(key))
}

func TestOpenAI(t *testing.T) {
	t.Parallel()
	client := connect(t, "openai chat")
	t.Run("models", func(t *testing.T) {
		list, err := client.Models.List(t.Context())
		if err != nil || len(list.Data) != 2 || list.Data[0].ID != "oracle" {
			t.Fatalf("%+v, %v", list, err)
		}
		if m, err := client.Models.Get(t.Context(), "oracle-small"); err != nil || m.ID != "oracle-small" {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("chat", func(t *testing.T) {
		ask := openai.ChatCompletionNewParams{
			Model: "oracle", Messages: []openai.ChatCompletionMessageParamUnion{
				openai.SystemMessage("Be good."), openai.UserMessage("How is the zoo?"),
			},
			Tools: []openai.ChatCompletionToolUnionParam{
				openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "zoo_count", Parameters: schema}),
			},
		}
		first, err := client.Chat.Completions.New(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		m := first.Choices[0].Message
		if first.Choices[0].FinishReason != "tool_calls" || len(m.ToolCalls) != 2 || m.ToolCalls[1].Function.Arguments != `{"n":2}` {
			t.Fatalf("%s", first.RawJSON())
		}
		ask.Messages = append(ask.Messages, m.ToParam())
		for _, c := range m.ToolCalls {
			ask.Messages = append(ask.Messages, openai.ToolMessage("1", c.ID))
		}
		ask.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		stream := client.Chat.Completions.NewStreaming(t.Context(), ask)
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Errorf("the client does not understand %s", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil || all.Choices[0].Message.Content != zoo.Answer ||
			all.Choices[0].FinishReason != "stop" || all.Usage.TotalTokens == 0 {
			told, _ := json.Marshal(all)
			t.Errorf("%s, %v", told, err)
		}
	})
	t.Run("errors", func(t *testing.T) {
		_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
			Model: "gpt-9", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")},
		})
		refused, ok := errors.AsType[*openai.Error](err)
		if !ok || refused.StatusCode != http.StatusNotFound || refused.Code != "model_not_found" || refused.Param != "model" {
			t.Errorf("%v", err)
		}
	})
}
