// Measures what csi-proxy's calls cost as its simulated node grows, and over a day of a large node.
//
//	scale nodes CSI_PROXY DESCRIPTORS RESULT [SECONDS [TURNS]]
//	scale day CSI_PROXY DESCRIPTORS RESULT [MINUTES [SPEED]]
//
// DESCRIPTORS is what protoc makes of admin.proto. Writes RESULT.json, and RESULT*.dat for the plot.
package main

import (
	"log"
	"os"

	"csi-proxy.example/integration/bench/peer/figures"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) >= 5 && os.Args[1] == "nodes" {
		length, turns := figures.LengthAndTurns(os.Args[5:])
		scale(os.Args[2], os.Args[3], os.Args[4], length, turns)
		return
	}
	if len(os.Args) >= 5 && os.Args[1] == "day" {
		minutes, speed := minutesAndSpeed(os.Args[5:])
		replayDay(os.Args[2], os.Args[3], os.Args[4], minutes, speed)
		return
	}
	log.Fatal("usage: scale nodes CSI_PROXY DESCRIPTORS RESULT [SECONDS [TURNS]]\n" +
		"       scale day CSI_PROXY DESCRIPTORS RESULT [MINUTES [SPEED]]")
}
