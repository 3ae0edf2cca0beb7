package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	claims "github.com/castalia-org/castalia/test/interop/querybench/baseline/ixo/claims/v1beta1"
	entity "github.com/castalia-org/castalia/test/interop/querybench/baseline/ixo/entity/v1beta1"
)

// loadHTTP asks over keep-alive connections until the time is up. Its client
// reads as little as it can, so that the gateway is what is measured.
func loadHTTP(ctx context.Context, addr, path string, clients int, length time.Duration) (sample, int, error) {
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: bench\r\n\r\n")
	return load(clients, length, func() (func() error, func(), error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		in := bufio.NewReaderSize(conn, 64<<10)
		return func() error {
			if _, err := conn.Write(request); err != nil {
				return err
			}
			return skipResponse(in)
		}, func() { _ = conn.Close() }, nil
	})
}

// skipResponse reads one response with a length or in chunks.
func skipResponse(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("answer: %s", line)
	}
	length, chunked := -1, false
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
		chunked = chunked || bytes.HasPrefix(line, []byte("Transfer-Encoding: chunked"))
	}
	if !chunked {
		_, err = in.Discard(length)
		return err
	}
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := in.Discard(int(size) + 2); err != nil || size == 0 {
			return err
		}
	}
}

// loadGRPC asks the node itself with the generated client.
func loadGRPC(ctx context.Context, node string, which, clients int, length time.Duration) (sample, int, error) {
	conn, err := grpc.NewClient(node, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return sample{}, 0, err
	}
	defer func() { _ = conn.Close() }()
	ask := func() error {
		_, err := entity.NewQueryClient(conn).Entity(ctx, &entity.QueryEntityRequest{Id: "did:ixo:entity:1"})
		return err
	}
	if which == 1 {
		ask = func() error {
			_, err := claims.NewQueryClient(conn).ClaimList(ctx, &claims.QueryClaimListRequest{})
			return err
		}
	}
	return load(clients, length, func() (func() error, func(), error) { return ask, func() {}, nil })
}

func load(clients int, length time.Duration,
	connect func() (ask func() error, done func(), err error),
) (sample, int, error) {
	var group sync.WaitGroup
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	begin := time.Now()
	for i := range clients {
		group.Go(func() {
			ask, done, err := connect()
			if err != nil {
				errs[i] = err
				return
			}
			defer done()
			for start := time.Now(); start.Sub(begin) < length; {
				if errs[i] = ask(); errs[i] != nil {
					return
				}
				now := time.Now()
				took[i] = append(took[i], now.Sub(start))
				start = now
			}
		})
	}
	group.Wait()
	elapsed := time.Since(begin)
	for _, err := range errs {
		if err != nil && err != io.EOF { //nolint:errorlint // bufio returns it bare
			return sample{}, 0, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	if len(all) == 0 {
		return sample{}, 0, fmt.Errorf("no answer in %s", length)
	}
	return sample{
		rate: float64(len(all)) / elapsed.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
	}, len(all), nil
}

// cpuTime is what a process has used, by its own clock.
func cpuTime(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED: nanoseconds of all threads
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &at); err != nil {
		return 0, fmt.Errorf("clock of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}
