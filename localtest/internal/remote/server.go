package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// quiet is what DynamoDB Local takes for: do not report to the vendor.
const quiet = "DDB_LOCAL_TELEMETRY=0"

// startTimeout is for a Java machine on a busy computer, or for an image that has to be fetched.
const startTimeout = 2 * time.Minute

// server is a DynamoDB that this process has started. It ends with this process, however that ends.
type server struct {
	url string

	lifeline *os.File // its other end is closed with this process, which the watchdog takes as the sign to end
}

// watchdog runs a program until the standard input ends, or the program does. It is a shell's work, since whoever is
// killed can do none. The end is that of the whole process group, so of what the program has started, too; whatever
// does not listen is killed after five seconds. The one who kills outlives the rest, so that the group's number
// cannot be another one's by then.
const watchdog = `exec 3<&0
"$@" </dev/null 3<&- &
child=$!
(trap '' TERM; cat <&3 >/dev/null; kill -TERM 0; sleep 5; kill -KILL 0) 2>/dev/null &
watch=$!
exec 3<&-
wait "$child"
code=$?
kill -KILL "$watch" 2>/dev/null
exit "$code"`

// jar is the command that serves from the directory of DynamoDB Local.
func jar(dir, javaHome string) func(port string) ([]string, error) {
	return func(port string) ([]string, error) {
		file := filepath.Join(dir, "DynamoDBLocal.jar")
		if _, err := os.Stat(file); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s=%s: there is no DynamoDBLocal.jar in it", jarVariable, dir)
			}
			return nil, fmt.Errorf("%s=%s: %w", jarVariable, dir, err)
		}
		java := "java"
		if javaHome != "" {
			java = filepath.Join(javaHome, "bin", "java")
		}
		path, err := exec.LookPath(java)
		if err != nil {
			return nil, fmt.Errorf("%s is set, and it takes Java: %w", jarVariable, err)
		}
		return []string{
			path, "-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"), "-jar", file,
			"-inMemory", "-sharedDb", "-port", port,
		}, nil
	}
}

// container is the command that serves from an image of DynamoDB Local.
func container(image string) func(port string) ([]string, error) {
	return func(port string) ([]string, error) {
		path, err := exec.LookPath("docker")
		if err != nil {
			return nil, fmt.Errorf("%s is set, and it takes Docker: %w", imageVariable, err)
		}
		return []string{
			path, "run", "--rm", "--init", "--publish", "127.0.0.1:" + port + ":8000", "--env", quiet, image,
			"-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb",
		}, nil
	}
}

// start runs the command on a free port and waits until it answers.
func (s settings) start(answers func(url string) error) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	command, err := s.command(port)
	if err != nil {
		return nil, err
	}
	output, err := os.CreateTemp("", "localtest-dynamodb-*.log")
	if err != nil {
		return nil, err
	}
	defer output.Close() //nolint:errcheck // nothing was written to it from here
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close() //nolint:errcheck // the child has its own
	// Not CommandContext: it lives as long as this process.
	watched := exec.Command("sh", append([]string{"-c", watchdog, "sh"}, command...)...) //nolint:gosec,noctx // the user's own program
	watched.Stdin, watched.Stdout, watched.Stderr = stdin, output, output
	watched.Env = append(os.Environ(), quiet)
	watched.SysProcAttr = ownGroup()
	err = watched.Start()
	_ = os.Remove(output.Name()) // both have it open; where that forbids it, a file too many stays in the folder for such
	if err != nil {
		return nil, fmt.Errorf("%s: start %s: %w", s.name, strings.Join(command, " "), err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = watched.Wait() // its state says how it has ended
	}()
	server := &server{url: "http://127.0.0.1:" + port, lifeline: lifeline}
	err = poll(startTimeout, func() error {
		err := answers(server.url)
		select {
		case <-ended: // before whoever answered there: it is somebody else
			return permanentError{fmt.Errorf("it has ended: %v", watched.ProcessState)}
		default:
			return err
		}
	})
	if err != nil {
		_ = lifeline.Close() // ends it
		text := make([]byte, 4<<10)
		n, _ := output.ReadAt(text, max(0, size(output)-int64(len(text))))
		return nil, fmt.Errorf("%s: %s: %w\n%s", s.name, strings.Join(command, " "), err, text[:n])
	}
	return server, nil
}

func size(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// freePort is one that nobody has at the moment.
func freePort() (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// permanentError is one that asking again does not change.
type permanentError struct{ error }

// poll asks until there is no error, or a permanent one, or the time is up.
func poll(limit time.Duration, ask func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		err := ask()
		if err == nil {
			return nil
		}
		if permanent, ok := errors.AsType[permanentError](err); ok {
			return permanent.error
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %v: %w", limit, err)
		}
	}
}
