package main

import "csi-proxy.example/drivers/steps"

func crashes(service *steps.Service, o options) (bool, error) { return false, nil }
func hostilePaths(service *steps.Service, o options) (bool, error) { return false, nil }
