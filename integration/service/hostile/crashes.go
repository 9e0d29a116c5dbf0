package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"csi-proxy.example/drivers/steps"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// crashing kills a service repeatedly, while clients retry their calls.
//
// Under Wine the service works on the machine's own directories, which survive a crash: the test compares a
// client's answers with them. Elsewhere the simulated node is lost with each crash, and the clients start over;
// that test only shows that the service comes back and answers.
type crashing struct {
	o          options
	persistent bool
	kills      atomic.Int64
	cycles     atomic.Int64
	retried    atomic.Int64
}

func crashes(o options) (bool, error) {
	c := &crashing{o: o, persistent: runtime.GOOS == "windows"}
	if c.persistent {
		if err := os.MkdirAll(root, 0o755); err != nil {
			return false, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var all sync.WaitGroup
	failures := make(chan error, 8)
	for client := 0; client < 8; client++ {
		conn, err := connect("filesystem-v1", grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 50 * time.Millisecond}}))
		if err != nil {
			return false, err
		}
		all.Add(1)
		go func() {
			defer all.Done()
			defer conn.Close()
			if err := c.work(ctx, client, filesystem.NewFilesystemClient(conn)); err != nil {
				failures <- fmt.Errorf("client %d: %w", client, err)
			}
		}()
	}
	began := time.Now()
	slowest := time.Duration(0)
	var failure error
	for kills := 0; kills < o.crashes && failure == nil; kills++ {
		started := time.Now()
		command, err := c.start()
		if err != nil {
			return false, fmt.Errorf("start %d: %w", kills, err)
		}
		slowest = max(slowest, time.Since(started))
		select {
		case failure = <-failures:
		case <-time.After(time.Duration(rand.Intn(100)) * time.Millisecond):
		}
		command.Process.Kill()
		command.Wait()
		c.kills.Add(1)
	}
	// Starts the service once more, so that the clients can finish.
	command, err := c.start()
	if err != nil {
		return false, err
	}
	defer command.Process.Kill()
	stop()
	all.Wait()
	close(failures)
	for err := range failures {
		failure = errors.Join(failure, err)
	}
	fmt.Printf("%d crashes in %v; %d pieces of work done, %d calls repeated; slowest start %v\n", c.kills.Load(),
		time.Since(began).Round(time.Second), c.cycles.Load(), c.retried.Load(), slowest.Round(time.Millisecond))
	if failure != nil {
		fmt.Println("FAILED:", failure)
	}
	if c.cycles.Load() == 0 {
		return false, fmt.Errorf("no client got anything done")
	}
	return failure == nil, nil
}

// start starts the service and waits until its pipes are open.
func (c *crashing) start() (*exec.Cmd, error) {
	flags := append([]string{"--host=simulated", "--api-groups=filesystem"}, steps.ServiceFlags...)
	if c.persistent {
		flags[0] = "--host=windows"
	}
	command := exec.Command(c.o.service, flags...)
	output, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	serves := make(chan string, 1)
	go func() {
		last := ""
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if last = lines.Text(); strings.Contains(last, " serves ") {
				serves <- ""
			}
		}
		serves <- "it ended: " + last
	}()
	select {
	case problem := <-serves:
		if problem != "" {
			return nil, errors.New(problem)
		}
		return command, nil
	case <-time.After(time.Minute):
		command.Process.Kill()
		return nil, fmt.Errorf("it took more than a minute")
	}
}

// errLost means that the simulated node is gone, with all that was created on it.
var errLost = errors.New("the node is another one")

// work creates and removes directories until ctx ends, and then finishes the current one.
func (c *crashing) work(ctx context.Context, client int, files filesystem.FilesystemClient) error {
	base := fmt.Sprintf(`%s\crash\%d`, root, client)
	for number := 0; ctx.Err() == nil; number++ {
		err := c.piece(files, fmt.Sprintf(`%s\%d`, base, number))
		if errors.Is(err, errLost) {
			continue
		}
		if err != nil {
			return err
		}
		c.cycles.Add(1)
	}
	return nil
}

func (c *crashing) piece(files filesystem.FilesystemClient, directory string) error {
	deep := directory + `\a\b`
	kills := c.kills.Load()
	exists := func(want bool) error {
		// The service's view.
		err := c.insist(func(ctx context.Context) error {
			out, err := files.PathExists(ctx, &filesystem.PathExistsRequest{Path: deep})
			if err == nil && out.Exists != want {
				err = fmt.Errorf("PathExists says %v of %s", out.Exists, deep)
			}
			return err
		})
		// If the connection was idle at the crash, grpc-go redials silently.
		if err != nil && !c.persistent && c.kills.Load() != kills {
			return errLost
		}
		if err != nil || !c.persistent {
			return err
		}
		// The file system's view.
		_, err = os.Stat(deep)
		if there := err == nil; there != want || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("%s: %v", deep, err)
		}
		return nil
	}
	for _, step := range []func() error{
		func() error {
			return c.insist(func(ctx context.Context) error {
				_, err := files.Mkdir(ctx, &filesystem.MkdirRequest{Path: deep})
				return err
			})
		},
		func() error { return exists(true) },
		func() error {
			return c.insist(func(ctx context.Context) error {
				_, err := files.Rmdir(ctx, &filesystem.RmdirRequest{Path: directory, Force: true})
				return err
			})
		},
		func() error { return exists(false) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// insist repeats a call until the service answers it, as the kubelet does.
func (c *crashing) insist(call func(ctx context.Context) error) error {
	began := time.Now()
	for tries := 0; ; tries++ {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := call(ctx)
		cancel()
		switch {
		case status.Code(err) == codes.Unavailable && time.Since(began) < time.Minute:
			if !c.persistent {
				return errLost
			}
			c.retried.Add(1)
			time.Sleep(5 * time.Millisecond)
		// An earlier try removed the directory, but the crash lost its answer.
		case status.Code(err) == codes.NotFound && tries > 0:
			return nil
		default:
			return err
		}
	}
}
