package aswritten

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside is an environment variable that is set in the network namespace.
const inside = "TRIDENT_TEST_OWN_NETWORK"

// errNoNetwork is the reason why the tests don't run in a network namespace of their own; nil if they do.
var errNoNetwork error

// TestMain runs the tests in a network namespace, in which all ports are free and nothing but this machine is reached.
func TestMain(m *testing.M) {
	flag.Parse()
	switch {
	case testing.Short():
	case os.Getenv(inside) == "":
		code, err := rerun()
		if err == nil {
			os.Exit(code) //nolint:forbidigo // the tests ran in the child
		}
		errNoNetwork = err
	default:
		errNoNetwork = enableLoopback()
	}
	os.Exit(m.Run()) //nolint:forbidigo // a TestMain has no error to return
}

// rerun runs this program again in a new network namespace, and returns its exit code. A user who isn't root needs a
// new user namespace for that.
func rerun() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if id := os.Getuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() >= 0 {
		return failed.ExitCode(), nil
	}
	if err != nil {
		return 1, nil //nolint:nilerr // killed: the tests have failed, and must not run a second time
	}
	return 0, nil
}

// enableLoopback sets the loopback interface of a new network namespace up.
func enableLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
