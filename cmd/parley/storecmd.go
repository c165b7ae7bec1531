package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) storeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Check, compact or back up a store file", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

var _ = fmt.Sprint
