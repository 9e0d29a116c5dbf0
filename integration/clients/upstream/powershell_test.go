//go:build windows

// Stands in for powershell.exe: runs the commands of upstream's tests as calls to the admin service
// of the double's node (integration/wine/double), on which the service works. Fails for a command
// that is not in this file.
package integrationtests

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type object = map[string]any

func list(in object, key string) (found []object) {
	all, _ := in[key].([]any)
	for _, one := range all {
		found = append(found, one.(object))
	}
	return found
}

// find returns the first object of the list in[key] in which field equals text, ignoring case; nil if there is none.
func find(in object, key, field, text string) object {
	for _, one := range list(in, key) {
		if value, _ := one[field].(string); strings.EqualFold(value, text) {
			return one
		}
	}
	return nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// call calls a method of server/simulator/admin.proto; integration/wine/double/admin_pipe_windows.h describes the pipe.
func call(method string, request object) (object, error) {
	var set descriptorpb.FileDescriptorSet
	must(0, proto.Unmarshal(must(os.ReadFile(os.Getenv("UPSTREAM_DESCRIPTORS"))), &set))
	service := must(must(protodesc.NewFiles(&set)).FindDescriptorByName("csi_proxy.simulated.Admin"))
	descriptor := service.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	in, out := dynamicpb.NewMessage(descriptor.Input()), dynamicpb.NewMessage(descriptor.Output())
	must(0, protojson.Unmarshal(must(json.Marshal(request)), in))
	body := must(proto.Marshal(in))
	pipe := must(os.OpenFile(`\\.\pipe\csi-proxy-node-double`, os.O_RDWR, 0))
	defer pipe.Close()
	must(pipe.Write(append(binary.LittleEndian.AppendUint32([]byte(method+"\n"), uint32(len(body))), body...)))
	var answer struct{ Code, Length uint32 }
	must(0, binary.Read(pipe, binary.LittleEndian, &answer))
	body = make([]byte, answer.Length)
	must(io.ReadFull(pipe, body))
	if answer.Code != 0 {
		return nil, fmt.Errorf("%s: %s", method, body)
	}
	must(0, proto.Unmarshal(body, out))
	var result object
	return result, json.Unmarshal(must(protojson.MarshalOptions{UseProtoNames: true}.Marshal(out)), &result)
}

func dump() object { return must(call("DumpState", object{}))["node"].(object) }

// change detaches a disk, edits it and attaches it again, so that the node's WMI shows the change
// immediately.
func change(number string, edit func(disk object)) (string, error) {
	for _, disk := range list(dump(), "disk") {
		if fmt.Sprint(disk["number"]) == number {
			edit(disk)
			if _, err := call("DetachDisk", object{"disk_number": disk["number"]}); err != nil {
				return "", err
			}
			return do("AttachDisk", object{"disk": disk})
		}
	}
	return "", fmt.Errorf("there is no disk %s", number)
}

func do(method string, request object) (string, error) {
	_, err := call(method, request)
	return "", err
}

// stored returns the path of Wine's file that stands for a file of the node or of a share.
func stored(path string) string {
	return filepath.Join(os.TempDir(), strings.NewReplacer(`\`, "_", ":", "_").Replace(strings.ToLower(path)))
}

// vhd returns the number of the attached disk whose page 83 text is the file name in path; "" if there is none.
func vhd(path string) string {
	if disk := find(dump(), "disk", "page83", filepath.Base(path)); disk != nil {
		return fmt.Sprint(disk["number"])
	}
	return ""
}

// newVolumeID returns an id that no volume of the node has had: Windows gives each new partition
// another id.
func newVolumeID() string {
	var guid [16]byte
	must(rand.Read(guid[:]))
	return fmt.Sprintf(`\\?\Volume{%x-%x-%x-%x-%x}\`, guid[:4], guid[4:6], guid[6:8], guid[8:10], guid[10:])
}

func service(name string) object { return find(dump(), "service", "name", name) }

func serviceStatus(name string) string {
	return map[any]string{"STOPPED": "Stopped", "RUNNING": "Running"}[service(name)["state"]]
}

var commands = []struct {
	pattern string
	run     func(of []string) (string, error)
}{
	{`hostname`, func([]string) (string, error) { return os.Hostname() }},
	{`mkdir (\S+)`, func(of []string) (string, error) { return do("MakeDirectory", object{"path": of[1]}) }},
	{`rmdir (\S+?)\\?`, func(of []string) (string, error) { return do("RemoveFolder", object{"path": of[1]}) }},
	{`rm (\S+)`, func(of []string) (string, error) { return "", os.Remove(stored(of[1])) }},
	{`New-VHD -Path (\S+) -SizeBytes (\d+)`, func(of []string) (string, error) {
		return "", os.WriteFile(stored(of[1]), []byte(of[2]), 0o600)
	}},
	{`Mount-VHD -Path (\S+)`, func(of []string) (string, error) {
		size, err := os.ReadFile(stored(of[1]))
		if err != nil {
			return "", err
		}
		return do("AttachDisk", object{"choose_number": true,
			"disk": object{"size_bytes": string(size), "page83": filepath.Base(of[1])}})
	}},
	{`Dismount-VHD -Path (\S+)`, func(of []string) (string, error) {
		return do("DetachDisk", object{"disk_number": json.Number(vhd(of[1]))})
	}},
	{`Resize-VHD -Path (\S+) -SizeBytes (\d+)`, func(of []string) (string, error) {
		return change(vhd(of[1]), func(disk object) { disk["size_bytes"] = of[2] })
	}},
	{`\(Get-VHD -Path (\S+)\)\.DiskNumber`, func(of []string) (string, error) { return vhd(of[1]), nil }},
	{`Initialize-Disk -Number (\d+) -PartitionStyle (\S+)`, func(of []string) (string, error) {
		return change(of[1], func(disk object) { disk["style"] = of[2] })
	}},
	{`New-Partition -DiskNumber (\d+) -UseMaximumSize`, func(of []string) (string, error) {
		return change(of[1], func(disk object) {
			size := must(json.Number(disk["size_bytes"].(string)).Int64())
			disk["partition"] = []object{{"type": "MICROSOFT_RESERVED", "size_bytes": 16 << 20},
				{"size_bytes": size - 18<<20, "volume": object{"id": newVolumeID()}}}
		})
	}},
	{`Get-Disk -Number (\d+) \| Set-Disk -IsOffline \$true`, func(of []string) (string, error) {
		return change(of[1], func(disk object) { disk["offline"] = true })
	}},
	{`Get-Disk -Number (\d+) \| Select-Object -ExpandProperty IsOffline`, func(of []string) (string, error) {
		for _, disk := range list(dump(), "disk") {
			if fmt.Sprint(disk["number"]) == of[1] {
				return fmt.Sprint(disk["offline"] == true), nil
			}
		}
		return "", fmt.Errorf("there is no disk %s", of[1])
	}},
	{`\(Get-Partition -DriveLetter C \| Get-Volume\)\.UniqueId`, func([]string) (string, error) {
		return volume("drive_letter", "C")["id"].(string), nil
	}},
	{`\(Get-CimInstance -ClassName Win32_BIOS\)\.SerialNumber`, func([]string) (string, error) {
		return dump()["bios_serial_number"].(string), nil
	}},
	// Only checks, because the service is already stopped when a test runs this command. The test starts and stops it
	// by rpcs afterwards.
	{`Stop-Service -Name "(\S+)"`, func(of []string) (string, error) {
		if status := serviceStatus(of[1]); status != "Stopped" {
			return "", fmt.Errorf("%s is %s", of[1], status)
		}
		return "", nil
	}},
	{`Get-Service -Name "(\S+)" \| Select-Object -ExpandProperty Status`, func(of []string) (string, error) {
		return serviceStatus(of[1]), nil
	}},
	// Status and StartType are the numbers of .NET's ServiceControllerStatus and ServiceStartMode.
	{`Get-Service -Name "(\S+)" \| Select-Object DisplayName, Status, StartType \| ConvertTo-Json`, func(of []string) (string, error) {
		return string(must(json.Marshal(object{"DisplayName": service(of[1])["display_name"],
			"Status":    map[string]int{"Stopped": 1, "Running": 4}[serviceStatus(of[1])],
			"StartType": map[any]int{"AUTOMATIC": 2, "MANUAL": 3, "DISABLED": 4}[service(of[1])["start_type"]]}))), nil
	}},
	// Adds a share, because a server of the node has at least one. The tests add `domain\` to the user.
	{`\$PWord = .*;New-Localuser .*`, func([]string) (string, error) {
		do("AddShare", object{"server": must(os.Hostname()), "share": "other"})
		return do("SetSmbPassword", object{"server": must(os.Hostname()), "user": `domain\` + os.Getenv("username"),
			"password": os.Getenv("password")})
	}},
	{`New-SMBShare -Name \$Env:sharename .*`, func([]string) (string, error) {
		return do("AddShare", object{"server": must(os.Hostname()), "share": os.Getenv("sharename")})
	}},
	{`\(Get-SmbGlobalMapping -RemotePath \$Env:smbremotepath\)\.Status`, func([]string) (string, error) {
		if find(dump(), "smb_mapping", "remote_path", os.Getenv("smbremotepath")) == nil {
			return "", fmt.Errorf("no mapping")
		}
		return "OK", nil
	}},
	// Does nothing: users and shares may stay, because their names are random.
	{`Remove-SMBShare .*|Remove-Localuser .*|.*Install-WindowsFeature FS-iSCSITarget-Server.*`, func([]string) (string, error) {
		return "", nil
	}},
	// The targets are those of scenario.textproto, which a reset restores. A dump leaves out their secrets.
	{`.*\$targetName = "(\S+)".*New-IscsiServerTarget.*`, func(of []string) (string, error) {
		for _, portal := range list(dump(), "iscsi_portal") {
			if target := find(portal, "target", "iqn", "iqn.2026-01.example.upstream:"+of[1]); target != nil {
				return string(must(json.Marshal(object{"iqn": target["iqn"], "ip": portal["address"]}))), nil
			}
		}
		return "", fmt.Errorf("there is no target %s", of[1])
	}},
	{`.*Set-IscsiServerTarget -TargetName \$targetName -Enable(Reverse)?Chap.*`, func([]string) (string, error) { return "", nil }},
	{`.*Remove-IscsiServerTarget.*`, func([]string) (string, error) { return do("Reset", object{}) }},
}

// runPowershell runs the command or the script that the last argument gives, and ends the program.
func runPowershell() {
	command := os.Args[len(os.Args)-1]
	if script, err := os.ReadFile(command); err == nil {
		command = string(script)
	}
	wrapper := regexp.MustCompile(`^& \{ \$global:ProgressPreference = '\w+'; (.*) \}$`)
	command = wrapper.ReplaceAllString(command, "$1")
	for _, known := range commands {
		if of := regexp.MustCompile(`(?s)^(?:` + known.pattern + `)$`).FindStringSubmatch(command); of != nil {
			said, err := known.run(of)
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(said)
			os.Exit(0)
		}
	}
	fmt.Println("not mapped to the node:", command)
	os.Exit(1)
}
