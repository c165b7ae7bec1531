package program

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parley/core/turn"
	"parley/store/bolt"
)

func (p *program) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Check, compact or back up a store file",
		Long:  "Each works on a file that no running program holds: stop parley first.",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check FILE",
			Short: "Walk the file and list what is wrong in it (exit code 3 if anything is)",
			Args:  cobra.ExactArgs(1),
			RunE:  func(_ *cobra.Command, args []string) error { return p.storeCheck(args[0]) },
		},
		&cobra.Command{
			Use:   "compact FILE [TARGET]",
			Short: "Write the file anew without its free space, in its place or to TARGET",
			Args:  cobra.RangeArgs(1, 2),
			RunE:  func(_ *cobra.Command, args []string) error { return p.storeCompact(args[0], args[1:]) },
		},
		&cobra.Command{
			Use:   "backup FILE [TARGET]",
			Short: "Copy the file to TARGET, or to a new file beside it",
			Args:  cobra.RangeArgs(1, 2),
			RunE:  func(_ *cobra.Command, args []string) error { return p.storeBackup(args[0], args[1:]) },
		},
	)
	return cmd
}

// brokenHint is what to do about a file that the check itself found broken.
const brokenHint = "keep a copy of it as it is, and restore a backup; see docs/operations.md"

func (p *program) storeCheck(file string) error {
	report, err := bolt.Check(file)
	if err != nil {
		hint := storeHint(err)
		if errors.Is(err, turn.ErrDamaged) {
			hint = brokenHint
		}
		return failed(err, hint)
	}
	if _, err := fmt.Fprint(p.stdout, report); err != nil {
		return err
	}
	if !report.OK() {
		return &failure{code: exitBroken, err: fmt.Errorf("%s is broken", file), hint: brokenHint}
	}
	return nil
}

func (p *program) storeCompact(file string, target []string) error {
	to := file
	if len(target) > 0 {
		to = target[0]
	}
	before, statErr := os.Stat(file) // where it fails Compact says why
	if err := bolt.Compact(file, to); err != nil {
		return failed(err, storeHint(err))
	}
	after, err := os.Stat(to)
	if err := errors.Join(statErr, err); err != nil {
		return failed(fmt.Errorf("compact: %w", err), "the file was written; look at it with parley store check")
	}
	_, err = fmt.Fprintf(p.stdout, "%s: %d bytes, before %d\n", to, after.Size(), before.Size())
	return err
}

func (p *program) storeBackup(file string, target []string) error {
	to := file + "." + time.Now().UTC().Format("20060102T150405Z") + ".backup"
	if len(target) > 0 {
		to = target[0]
	}
	if err := bolt.Backup(file, to); err != nil {
		hint := storeHint(err)
		if errors.Is(err, os.ErrExist) {
			hint = "name a file that does not exist yet"
		}
		return failed(err, hint)
	}
	_, err := fmt.Fprintln(p.stdout, to)
	return err
}
