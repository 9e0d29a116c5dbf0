// Measures what csi-proxy's calls cost as its simulated node grows.
//
//	scale CSI_PROXY DESCRIPTORS RESULT [SECONDS [TURNS]]
//
// DESCRIPTORS is what protoc makes of admin.proto. Writes RESULT.json, and RESULT*.dat for a plot.
package main

import (
	"log"
	"os"

	"csi-proxy.example/integration/bench/peer/figures"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 {
		log.Fatal("usage: scale CSI_PROXY DESCRIPTORS RESULT [SECONDS [TURNS]]")
	}
	length, turns := figures.LengthAndTurns(os.Args[4:])
	scale(os.Args[1], os.Args[2], os.Args[3], length, turns)
}
