package program

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built: -ldflags "-X parley/cmd/program.version=1.2.3".
var version = ""

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.stdout, "parley %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// versionText is the release, else the revision the program was built from.
func versionText() string {
	if version != "" {
		return version
	}
	text := "dev"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return text
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			text += " " + s.Value[:12]
		}
		if s.Key == "vcs.modified" && s.Value == "true" {
			text += " (changed)"
		}
	}
	return text
}
