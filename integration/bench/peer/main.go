// Measures servers against each other, in turns, and prints their ratios.
//
//	peer wine RUN OURS.exe THEIRS.exe LOAD.exe RESULT [SECONDS [TURNS]]
//	peer linux OURS GRPC_GO ECHO LOAD RESULT [SECONDS [TURNS]]
//
// Both also write RESULT.json, the second RESULT.dat for a plot.
package main

import (
	"log"
	"os"

	"csi-proxy.example/integration/bench/peer/figures"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) >= 7 && os.Args[1] == "wine" {
		length, turns := figures.LengthAndTurns(os.Args[7:])
		wine(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6], length, turns)
		return
	}
	if len(os.Args) >= 7 && os.Args[1] == "linux" {
		length, turns := figures.LengthAndTurns(os.Args[7:])
		linux(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6], length, turns)
		return
	}
	log.Fatal("usage: peer wine RUN OURS.exe THEIRS.exe LOAD.exe RESULT [SECONDS [TURNS]]\n" +
		"       peer linux OURS GRPC_GO ECHO LOAD RESULT [SECONDS [TURNS]]")
}
