package main

import (
	"flag"

	client "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
)

// connector gives each caller its own connection to the pipe that the released client opens.
func connector() func() ([]call, func(), error) {
	callers := flag.Int("callers", 1, "how many at once")
	return func() ([]call, func(), error) {
		var calls []call
		var clients []*client.Client
		closeAll := func() {
			for _, c := range clients {
				c.Close()
			}
		}
		for i := 0; i < *callers; i++ {
			c, err := client.NewClient()
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			clients = append(clients, c)
			calls = append(calls, pathExists(c))
		}
		return calls, closeAll, nil
	}
}
