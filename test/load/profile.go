package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// longestProfile is what a server takes at most.
const longestProfile = time.Minute

// profile takes what every node spends its time on after the warm-up, and what
// it has allocated by then, when the settings say where to put it. The channel
// yields once, when all is written or went wrong.
func profile(ctx context.Context, s settings, urls []string) <-chan error {
	done := make(chan error, 1)
	if s.profiles == "" {
		done <- nil
		return done
	}
	go func() {
		select {
		case <-time.After(s.warmup):
		case <-ctx.Done():
		}
		length := max(1, int(min(s.duration, longestProfile)/time.Second))
		each := make(chan error)
		for i, url := range urls {
			go func() {
				base := filepath.Join(s.profiles, fmt.Sprintf("node%d", i+1))
				each <- errors.Join(
					fetchProfile(ctx, fmt.Sprintf("%s/debug/profile/cpu?seconds=%d", url, length), base+".cpu.pprof"),
					fetchProfile(ctx, url+"/debug/profile/allocs", base+".allocs.pprof"))
			}()
		}
		var errs []error
		for range urls {
			errs = append(errs, <-each)
		}
		done <- errors.Join(errs...)
	}()
	return done
}

func fetchProfile(ctx context.Context, url, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile %s: %s (servers that run already need PROFILING_ENABLED=true)", url, response.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, response.Body)
	return errors.Join(err, out.Close())
}
