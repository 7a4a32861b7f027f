/** The command: `start` (all in one), one subcommand per server, the `kubectl` plugins. */
export {};
