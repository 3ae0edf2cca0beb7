// Command gen writes Go code for the project's .proto files with the public
// protoc plugins, for the baseline of the benchmark only. It needs no protoc:
// the files are compiled by the same code that the program uses.
//
// usage: gen OUTPUT PLUGIN…
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/castalia-org/castalia/internal/service/query/protosource"
	protospec "github.com/castalia-org/castalia/spec/proto"
)

const base = "github.com/castalia-org/castalia/test/interop/querybench/baseline/"

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, plugins []string) error {
	files, err := protosource.Compile(ctx, protospec.Files)
	if err != nil {
		return err
	}
	parameter := []string{"paths=source_relative"}
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: files}
	for _, f := range files {
		if strings.HasPrefix(f.GetName(), "google/") {
			continue
		}
		request.FileToGenerate = append(request.FileToGenerate, f.GetName())
		dir := path.Dir(f.GetName())
		name := strings.NewReplacer("/", "", "_", "").Replace(dir)
		parameter = append(parameter, fmt.Sprintf("M%s=%s%s;%s", f.GetName(), base, dir, name))
	}
	request.Parameter = new(strings.Join(parameter, ","))
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		cmd := exec.CommandContext(ctx, plugin)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
		reply, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
		var response pluginpb.CodeGeneratorResponse
		if err := proto.Unmarshal(reply, &response); err != nil {
			return err
		}
		if response.Error != nil {
			return fmt.Errorf("%s: %s", plugin, response.GetError())
		}
		for _, f := range response.GetFile() {
			target := filepath.Join(out, f.GetName())
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(target, []byte(f.GetContent()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
