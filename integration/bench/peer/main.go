// Measures servers against each other, in turns, and prints their ratios.
//
//	peer wine RUN OURS.exe THEIRS.exe LOAD.exe RESULT [SECONDS [TURNS]]
//	peer windows OURS.exe THEIRS.exe LOAD.exe RESULT [SECONDS [TURNS]]    on Windows itself
//	peer linux OURS GRPC_GO ECHO LOAD RESULT [SECONDS [TURNS]]
//	peer storm linux OURS CLIENT SCENARIO RESULT [TURNS]
//	peer storm wine NODE_RUN OURS.exe THEIRS.exe CLIENT.exe SCENARIO RESULT [TURNS]
//
// All also write RESULT.json.
package main

import (
	"log"
	"os"

	"csi-proxy.example/integration/bench/peer/figures"
)

func main() {
	log.SetFlags(0)
	if measurePair(os.Args[1:]) || measureStorm(os.Args[1:]) {
		return
	}
	if len(os.Args) >= 7 && os.Args[1] == "linux" {
		length, turns := figures.LengthAndTurns(os.Args[7:])
		linux(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6], length, turns)
		return
	}
	log.Fatal("usage: " + pairUsage + "\n" +
		"       peer linux OURS GRPC_GO ECHO LOAD RESULT [SECONDS [TURNS]]\n" +
		"       " + stormUsage)
}
