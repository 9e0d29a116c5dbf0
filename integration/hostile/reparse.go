package main

import "csi-proxy.example/drivers/steps"

func reparseRace(service *steps.Service, o options) (bool, error) { return true, nil }
