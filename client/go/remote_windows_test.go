package csiproxy

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func TestOnlyTheServicesPipeIsTrusted(t *testing.T) {
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	own := "O:" + self.User.Sid.String()
	for owner, squats := range map[string]string{"O:LS": "S-1-5-19", "O:BA": "S-1-5-32-544", "O:SY": "", own: ""} {
		path := fmt.Sprintf(`\\.\pipe\csi-proxy-test-%d-%s`, os.Getpid(), strings.TrimPrefix(owner, "O:"))
		listener, err := winio.ListenPipe(path, &winio.PipeConfig{SecurityDescriptor: owner + "D:P(A;;GA;;;WD)"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		conn, err := dialPipe(ctx, path)
		cancel()
		if err == nil {
			conn.Close()
		}
		if squats == "" && err != nil || squats != "" && (err == nil || !strings.Contains(err.Error(), squats)) {
			t.Errorf("owner %q: got %v", owner, err)
		}
		listener.Close()
	}
}

func TestRegistryValueShowsAContainer(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil {
		t.Skip("it would write to the registry of a real machine")
	}
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control`, registry.ALL_ACCESS)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	key.DeleteValue("ContainerType")
	if signs := lookForContainer(); signs.containerType || !signs.known || !strings.HasPrefix(signs.user, "S-1-") {
		t.Errorf("outside: got %+v", signs)
	}
	if err := key.SetDWordValue("ContainerType", 2); err != nil {
		t.Fatal(err)
	}
	defer key.DeleteValue("ContainerType")
	if signs := lookForContainer(); !signs.containerType || !signs.known {
		t.Errorf("inside: got %+v", signs)
	}
	if may, why := mayManageStorage(); may {
		t.Errorf("it would embed: %s", why)
	}
}
