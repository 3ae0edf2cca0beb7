package cli

// commands is the explicit list of what the program can do, in the order in
// which help shows it. A new command is one line here and one file beside it.
func commands() []command {
	return []command{
		serveCommand(),
		keyCommand(),
		ucanCommand(),
		cidCommand(),
		fsCommand(),
		chatCommand(),
		mcpCommand(),
		chainCommand(),
		dialCommand(),
		menuCommand(),
		configCommand(),
		migrateCommand(),
		doctorCommand(),
		rotateCommand(),
		backupCommand(),
		restoreCommand(),
		versionCommand(),
		documentCommand(),
	}
}
