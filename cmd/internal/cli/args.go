package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// oneArg demands the one argument that the command's usage names.
func oneArg(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	name := strings.Fields(c.Use)[1]
	return usageError{fmt.Errorf("`%s` takes one %s, not %d; see `%s --help`", c.CommandPath(), name, len(args), c.CommandPath())}
}
