// Package knowledgeembed asks a service with OpenAI's /embeddings endpoint what
// texts mean.
//
// It promises a vector for each text, in order and all of one length, or an error
// in which neither the key nor a text stands. The key goes to the configured host
// alone. It refuses answers that are too long, too short or not numbers.
//
// Decision: ADR 0202.
package knowledgeembed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex/vector"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Config says which service.
type Config struct {
	BaseURL string // with its version, such as https://api.openai.com/v1
	Key     string // empty sends none
	Model   string
}

// maxAnswer bounds what is read from the service.
const maxAnswer = 32 << 20

// Service is one endpoint. It is a knowledge.Embedder.
type Service struct {
	cfg  Config
	http *http.Client
}

var _ knowledge.Embedder = (*Service)(nil)

// New makes a Service.
func New(cfg Config) (*Service, error) {
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if !strings.HasPrefix(cfg.BaseURL, "http://") && !strings.HasPrefix(cfg.BaseURL, "https://") {
		return nil, errors.New("the address of an embeddings service begins with http:// or https://")
	}
	if cfg.Model == "" || len(cfg.Model) > vector.MaxName {
		return nil, errors.New("an embeddings service needs the name of a model")
	}
	return &Service{cfg: cfg, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		// the key stays where it belongs
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Model implements knowledge.Embedder.
func (s *Service) Model() string { return s.cfg.Model }

// Embed implements knowledge.Embedder.
func (s *Service) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": s.cfg.Model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, fmt.Errorf("encode texts: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.BaseURL+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the embeddings service: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the embeddings service does not answer: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the embeddings service's answer: %w", err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return nil, fmt.Errorf("%w: status %d", knowledge.ErrRefusedText, resp.StatusCode)
	default:
		return nil, fmt.Errorf("the embeddings service answers with status %d", resp.StatusCode)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("the embeddings service's answer has more than %d bytes", maxAnswer)
	}
	return readVectors(data, len(texts))
}

var errNonsense = errors.New("the embeddings service's answer makes no sense")

// readVectors reads an answer with as many vectors as texts were sent.
func readVectors(data []byte, texts int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, errNonsense // the cause may quote it
	}
	if len(answer.Data) != texts {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", errNonsense, len(answer.Data), texts)
	}
	out := make([][]float32, texts)
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= texts || out[d.Index] != nil {
			return nil, fmt.Errorf("%w: a vector is for text %d", errNonsense, d.Index)
		}
		if n := len(d.Embedding); n == 0 || n > vector.MaxDimensions || n != len(answer.Data[0].Embedding) {
			return nil, fmt.Errorf("%w: a vector has %d dimensions", errNonsense, n)
		}
		for _, v := range d.Embedding {
			if math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("%w: a number is too large", errNonsense)
			}
		}
		out[d.Index] = d.Embedding
	}
	return out, nil
}

// Check asks for one vector and says how long it is.
func (s *Service) Check(ctx context.Context) (dimensions int, err error) {
	vectors, err := s.Embed(ctx, []string{"water"})
	if err != nil {
		return 0, err
	}
	return len(vectors[0]), nil
}
