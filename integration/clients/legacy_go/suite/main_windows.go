package suite

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/Microsoft/go-winio"
	"google.golang.org/grpc"
)

// Main runs the whole table -rounds times with clients that open their own pipes, and exits.
func Main(clients []Client) {
	cases := flag.String("cases", "", "the table, as dump_cases writes it")
	rounds := flag.Int("rounds", 1, "how often")
	flag.Parse()
	if err := all(clients, *cases, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func all(clients []Client, path string, rounds int) error {
	s := &Suite{Clients: clients}
	// The first call goes through the release's own client, before anything has warmed the service up.
	v, err := s.open(clients[0])
	if err != nil {
		return err
	}
	v.close()
	s.Conn, err = grpc.Dial("admin", grpc.WithInsecure(), grpc.WithBlock(), grpc.WithTimeout(30*time.Second),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return winio.DialPipeContext(ctx, `\\.\pipe\csi-proxy-admin`)
		}))
	if err != nil {
		return fmt.Errorf("admin pipe: %v", err)
	}
	for round := 1; round <= rounds; round++ {
		calls, err := s.Run(path)
		if err != nil {
			return fmt.Errorf("round %d: %v", round, err)
		}
		fmt.Printf("round %d: %d versions, %d calls, all as expected\n", round, len(clients), calls)
	}
	return nil
}
